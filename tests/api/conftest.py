"""The fixtures of these tests; tests/support defines them."""

from tests.support.partner_api import api, key, shared_api, studios

__all__ = ["api", "key", "shared_api", "studios"]
