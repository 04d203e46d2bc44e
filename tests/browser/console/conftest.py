"""The fixtures of these tests; tests/support/desk.py and desk_classes.py define them."""

from tests.support.desk import desk_page, desk_site, loaded_demo, page
from tests.support.desk_classes import ride

__all__ = ["desk_page", "desk_site", "loaded_demo", "page", "ride"]
