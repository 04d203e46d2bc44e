"""The fixtures of these tests; tests/support/console.py defines them."""

from tests.support.console import console, hall, people, studio

__all__ = ["console", "hall", "people", "studio"]
