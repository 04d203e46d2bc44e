"""The fixtures of these tests; tests/support defines them."""

from tests.support.races.places import (
    arena,
    largest_batch,
    mutant_arena,
    mutant_batch,
    mutant_place,
    mutant_places,
    place,
    places,
)

__all__ = [
    "arena",
    "largest_batch",
    "mutant_arena",
    "mutant_batch",
    "mutant_place",
    "mutant_places",
    "place",
    "places",
]
