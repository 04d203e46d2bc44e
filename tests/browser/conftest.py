"""The fixtures of these tests; tests/support defines them."""

from tests.support.browser import browser, chromium
from tests.support.hosted_pages import client, site

__all__ = ["browser", "chromium", "client", "site"]
