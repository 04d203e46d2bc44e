"""The fixtures of these tests; tests/support defines them."""

from tests.support.hosted_pages import artefacts, browser, chromium, client, site

__all__ = ["artefacts", "browser", "chromium", "client", "site"]
