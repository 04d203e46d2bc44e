"""The fixtures of these tests; tests/support defines them."""

from tests.support.partner_api import door, key, shared_door, studios

__all__ = ["door", "key", "shared_door", "studios"]
