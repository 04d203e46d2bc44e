"""The fixtures of these tests; tests/support/console.py defines them."""

from tests.support.console import console, people, studio, studio_factory

__all__ = ["console", "people", "studio", "studio_factory"]
