"""The text that draws a room's spots, and the grid in which they are placed."""

import random

import pytest

from studiogate.domain.refusals import Fault
from studiogate.domain.schedule.fields import MAX_SPOTS
from studiogate.domain.schedule.spot_map import MAX_SIDE, Spot, cells_of, read_text, text_of


def spots(text: str) -> list[Spot]:
    read = read_text("spots", text)
    assert not isinstance(read, Fault), read
    return [Spot(**each) for each in read]  # type: ignore[arg-type]


def fault(text: str) -> str:
    read = read_text("spots", text)
    assert isinstance(read, Fault)
    assert read.loc == ("spots",)
    return read.msg


def test_a_line_is_a_row_and_two_commas_are_a_gap() -> None:
    assert spots("A1, A2,,A3\r\n\r\nC1,") == [Spot("A1", 0, 0), Spot("A2", 1, 0), Spot("A3", 3, 0), Spot("C1", 0, 2)]


def test_empty_rows_and_places_around_the_spots_do_not_count() -> None:
    assert spots("\n,,A1\n,,,A2\n\n") == [Spot("A1", 0, 0), Spot("A2", 1, 1)]
    assert spots(" \n,\n") == []


@pytest.mark.parametrize("seed", range(20))
def test_what_is_drawn_is_read_again(seed: int) -> None:
    chosen = random.Random(seed)
    cells = {(chosen.randrange(MAX_SIDE), chosen.randrange(MAX_SIDE)) for _ in range(60)} | {(0, 5), (5, 0)}
    alphabet = 'ab ,"é'
    drawn = {
        Spot(f"{number}{''.join(chosen.choices(alphabet, k=3))}x", x, y) for number, (x, y) in enumerate(sorted(cells))
    }
    assert set(spots(text_of(list(drawn)))) == drawn


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("A1,A1", "has two spots named A1"),
        ('"A1', "quotation mark"),
        ('"A1"x', "quotation mark"),
        ("," * MAX_SIDE + "A1\nA2", "at most 40 rows"),
        ("A1" + "\n" * MAX_SIDE + "A2", "at most 40 rows"),
    ],
)
def test_what_is_wrong_is_said(text: str, message: str) -> None:
    assert message in fault(text)


def test_a_side_may_be_as_long_as_the_grid() -> None:
    assert len(spots("A1" + "\n" * (MAX_SIDE - 1) + "A2")) == 2


def test_spots_without_a_place_are_put_in_rows() -> None:
    assert text_of([Spot(str(each), None, 3.0) for each in range(8)]) == "0,1,2,3,4,5\n6,7\n"


def test_whole_coordinates_are_cells_and_others_keep_their_order() -> None:
    assert cells_of([Spot("a", -3, 10), Spot("b", -1, 12)]) == {(0, 0): "a", (2, 2): "b"}
    assert cells_of([Spot("a", 0.5, 0), Spot("b", 7.25, 0), Spot("c", 2, 9)]) == {(0, 0): "a", (2, 0): "b", (1, 9): "c"}


@pytest.mark.parametrize("seed", range(5))
def test_no_spot_is_lost_wherever_another_system_put_it(seed: int) -> None:
    """Spots at one point, and more places than the grid has rows and columns."""
    chosen = random.Random(seed)
    scattered = [Spot(str(each), chosen.uniform(-1e9, 1e9), chosen.gauss(0, 1)) for each in range(MAX_SPOTS // 2)]
    piled = [Spot(f"p{each}", 1.0, 1.0) for each in range(MAX_SPOTS // 2)]
    cells = cells_of(scattered + piled)
    assert sorted(cells.values()) == sorted(each.label for each in scattered + piled)
    assert all(0 <= side < MAX_SIDE for cell in cells for side in cell)
    assert len(spots(text_of(scattered + piled))) == MAX_SPOTS
