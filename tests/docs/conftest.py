"""The fixtures of these tests; tests/support defines them."""

from tests.support.browser import browser, chromium
from tests.support.desk import desk_site, loaded_demo
from tests.support.partner_api import api, shared_api

__all__ = ["api", "browser", "chromium", "desk_site", "loaded_demo", "shared_api"]
