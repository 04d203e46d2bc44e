"""Named parameters: compiled once, in order of appearance, and never confused with casts."""

import pytest

from studiogate.storage.db.pool import Database
from studiogate.storage.db.statement import Statement

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize(
    ("text", "compiled", "names"),
    [
        ("select 1", "select 1", ()),
        ("select :one, :two, :one", "select $1, $2, $1", ("one", "two")),
        ("select :ids::uuid[]", "select $1::uuid[]", ("ids",)),
        ("select a::text, (array[1,2])[1:2]", "select a::text, (array[1,2])[1:2]", ()),
        ("select 'bookings:read', :studio", "select 'bookings:read', $1", ("studio",)),
    ],
)
def test_names_become_numbers(text: str, compiled: str, names: tuple[str, ...]) -> None:
    statement = Statement(text)
    assert (statement._text, statement._names) == (compiled, names)


async def test_values_are_given_by_name(database_url: str) -> None:
    statement = Statement("select :second::integer as s, :first::text as f, :second + 1 as next")
    database = Database(database_url, 1)
    async with database.connection() as connection:
        row = await statement.row(connection, first="x", second=2)
        assert dict(row) == {"s": 2, "f": "x", "next": 3}
        assert len(await statement.rows(connection, first="x", second=2)) == 1
    await database.close()


@pytest.mark.parametrize("values", [{}, {"one": 1, "other": 2}])
def test_missing_and_unknown_values_are_refused(values: dict[str, int]) -> None:
    with pytest.raises(TypeError, match="names"):
        Statement("select :one")._arguments(values)


def test_a_wrong_name_is_refused() -> None:
    with pytest.raises(KeyError):
        Statement("select :one")._arguments({"other": 1})
