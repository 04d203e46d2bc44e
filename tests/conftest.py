"""The fixtures of all tests; tests/support defines them."""

pytest_plugins = ["tests.support.battery", "tests.support.databases"]
