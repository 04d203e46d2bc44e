"""The fixtures of these tests; tests/support defines them."""

from tests.support.races.places import (
    api_module,
    arena,
    largest_batch,
    mutant_arena,
    mutant_place,
    place,
    places,
)

__all__ = ["api_module", "arena", "largest_batch", "mutant_arena", "mutant_place", "place", "places"]
