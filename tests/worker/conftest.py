"""The fixtures of these tests; tests/support defines them."""

from tests.support.webhook_studio import strict_webhook_studio, webhook_studio

__all__ = ["strict_webhook_studio", "webhook_studio"]
