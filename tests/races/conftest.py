"""The fixtures of these tests; tests/support defines them."""

from tests.support.races.places import api_module, arena, mutant_arena, mutant_place, place

__all__ = ["api_module", "arena", "mutant_arena", "mutant_place", "place"]
