"""Spots: faults, assignment, order."""

from random import Random
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from studiogate.domain.bookings.eligibility import assigned_spot, free_spots, spot_fault
from studiogate.domain.bookings.facts import SpotFacts, SpotSelectionMode
from tests.support.booking_facts import a_spot, uid, without_deadline

OPTIONAL, REQUIRED = SpotSelectionMode.OPTIONAL, SpotSelectionMode.REQUIRED
SPOTS = (a_spot(1, held=True), a_spot(2), a_spot(3))
FREE, HELD, UNKNOWN = uid(2), uid(1), uid(99)


@pytest.mark.parametrize(
    ("mode", "asked", "code"),
    [
        (None, None, None),
        (None, FREE, "spot_not_found"),
        (OPTIONAL, None, None),
        (OPTIONAL, FREE, None),
        (OPTIONAL, HELD, "spot_taken"),
        (OPTIONAL, UNKNOWN, "spot_not_found"),
        (REQUIRED, None, "spot_required"),
        (REQUIRED, FREE, None),
        (REQUIRED, HELD, "spot_taken"),
        (REQUIRED, UNKNOWN, "spot_not_found"),
    ],
)
def test_the_fault_of_a_spot(mode: SpotSelectionMode | None, asked: UUID | None, code: str | None) -> None:
    fault = spot_fault(mode, SPOTS, asked)
    assert (fault and fault.code) == code
    assert fault is None or fault.param == "class_spot_id"


def test_the_spot_asked_for_else_the_first_free_one() -> None:
    assert assigned_spot(OPTIONAL, SPOTS, uid(3)) == uid(3)
    assert assigned_spot(OPTIONAL, SPOTS) == uid(2)
    assert assigned_spot(REQUIRED, SPOTS) == uid(2)
    assert assigned_spot(None, SPOTS) is None
    assert assigned_spot(OPTIONAL, [a_spot(1, held=True)]) is None
    assert assigned_spot(OPTIONAL, []) is None


def test_labels_are_ordered_as_people_count() -> None:
    labels = ["B1", "A10", "A2", "10", "9", "a3", "A02b", "Mat 2", "Mat 10", ""]
    spots = [a_spot(n, label) for n, label in enumerate(labels, start=1)]
    spots[-1] = SpotFacts(uid(10), "", False)
    ordered = [spot.label for spot in free_spots(spots)]
    assert ordered == ["", "9", "10", "A2", "A02b", "a3", "A10", "B1", "Mat 2", "Mat 10"]


def test_equal_labels_are_ordered_by_id_and_no_label_is_too_long() -> None:
    spots = [a_spot(5, "A1"), a_spot(4, "a01"), a_spot(3, "9" * 10_000)]
    assert [spot.id.int for spot in free_spots(spots)] == [3, 4, 5]


@without_deadline
@given(st.lists(st.tuples(st.integers(0, 10**6), st.booleans()), unique_by=lambda pair: pair[0]))
def test_numbered_spots_are_ordered_by_number(pairs: list[tuple[int, bool]]) -> None:
    spots = [SpotFacts(uid(n), f"Bike {n}", held) for n, held in pairs]
    assert [spot.id.int for spot in free_spots(spots)] == sorted(n for n, held in pairs if not held)


@without_deadline
@given(st.lists(st.text(max_size=12)), st.randoms(use_true_random=False))
def test_any_labels_have_one_order(labels: list[str], random: Random) -> None:
    spots = [SpotFacts(uid(n), label, False) for n, label in enumerate(labels)]
    ordered = free_spots(spots)
    random.shuffle(spots)
    assert free_spots(spots) == ordered
