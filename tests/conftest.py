"""The fixtures of all tests; tests/support defines them."""

from hypothesis import HealthCheck, settings

pytest_plugins = [
    "tests.support.battery",
    "tests.support.buckets",
    "tests.support.collection",
    "tests.support.databases",
    "tests.support.long_timeouts_api",
    "tests.support.redis_server",
]

# A property holds however slow the machine is: no example has a deadline, and slow generation is no fault.
settings.register_profile("any speed", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("any speed")
