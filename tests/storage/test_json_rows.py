"""Rows as one JSON parameter: PostgreSQL reads back what was sent."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest

from studiogate.storage.db.pool import Connection, connect
from studiogate.storage.db.statement import json_rows, read_id

pytestmark = pytest.mark.anyio
READ = "select * from json_to_recordset($1::json) as each(number integer, value {})"


@pytest.fixture
async def connection(server_url: str) -> AsyncIterator[Connection]:
    opened = await connect(server_url)
    yield opened
    await opened.close()


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("uuid", UUID("4f1c2a9e-7b1d-4c59-9f27-0d3b6a5e8c11")),
        ("uuid", read_id("0199f0aa-1111-7222-8333-444455556666")),
        ("text", 'quoted "text", \\ and \n lines, ü, 😀'),
        ("text", "null"),
        ("bytea", bytes(range(256))),
        ("bytea", b""),
        ("bigint", -(2**63)),
        ("bigint", 2**63 - 1),
        ("boolean", False),
        ("numeric", Decimal("12.50")),
        ("timestamptz", datetime(2026, 3, 29, 1, 30, 0, 123457, UTC)),
        ("timestamptz", datetime(2026, 3, 29, 1, 30, tzinfo=timezone(timedelta(hours=5, minutes=45)))),
    ],
)
async def test_a_value_arrives_as_it_is(connection: Connection, kind: str, value: Any) -> None:
    rows = await connection.fetch(READ.format(kind), json_rows([{"value": value}, {"value": None}, {}]))
    assert [tuple(row) for row in rows] == [(0, value), (1, None), (2, None)]


async def test_nested_values_stay_json_and_none_is_null(connection: Connection) -> None:
    rows = json_rows([{"value": {"status": [None, "confirmed"]}}, {"value": None}])
    found = await connection.fetch(READ.format("jsonb"), rows)
    assert [row["value"] for row in found] == ['{"status": [null, "confirmed"]}', None]


@pytest.mark.parametrize("value", [{1}, bytearray(b"x"), object()])
def test_what_postgresql_would_misread_is_refused(value: object) -> None:
    with pytest.raises(TypeError, match="cannot be a value"):
        json_rows([{"value": value}])


async def test_no_rows(connection: Connection) -> None:
    assert await connection.fetch(READ.format("text"), json_rows([])) == []
