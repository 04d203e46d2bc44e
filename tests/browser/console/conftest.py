"""The fixtures of these tests; tests/support/desk.py defines them."""

from tests.support.desk import desk_page, desk_site

__all__ = ["desk_page", "desk_site"]
