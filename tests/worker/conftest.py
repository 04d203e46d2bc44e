"""The fixtures of these tests; tests/support defines them."""

from tests.support.webhook_studio import house, strict_house

__all__ = ["house", "strict_house"]
