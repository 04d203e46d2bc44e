"""The size of jsonb as it is stored."""

import json
from typing import Any
from uuid import uuid4

import asyncpg
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from studiogate.domain.json_values import stored_size
from studiogate.domain.leads import metadata_too_large
from tests.support.databases import run

TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"))
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(TEXT, inner, max_size=5),
    max_leaves=20,
)


def test_it_is_what_postgresql_writes(database_url: str) -> None:
    """Compare the size that Python computes with PostgreSQL's, on random values."""
    values: list[Any] = [1e308, -0.0, 1e-300, 5e-324, 1.5, 10**300, '\u007f\u2028\x1f"\\/é😀', {"a": [1e22, {}]}]

    @settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
    @given(VALUES)
    def collect(value: Any) -> None:
        values.append(value)

    collect()

    async def compare() -> None:
        connection = await asyncpg.connect(database_url)
        try:
            for value in values:
                size = await connection.fetchval("select octet_length($1::jsonb::text)", json.dumps(value))
                assert stored_size(value, 10**9) == size, value
        finally:
            await connection.close()

    run(compare())


def test_metadata_is_measured_as_stored() -> None:
    assert not metadata_too_large({"a": "x" * (16 * 1024 - 9)})
    assert metadata_too_large({"a": "x" * (16 * 1024 - 8)})
    assert metadata_too_large({"a": [1e308] * 60})
    assert metadata_too_large({"a": [1e308] * 8000})


def submission() -> dict[str, str]:
    return {"form_id": str(uuid4()), "submission_id": str(uuid4()), "submitted_at": "2026-11-15T06:18:56.23734+00:00"}


def test_only_the_system_s_own_submissions_are_not_counted() -> None:
    rest = {"a": "x" * (16 * 1024 - 9)}
    assert not metadata_too_large({**rest, "form_submissions": [submission() for _ in range(20)]})
    others: list[Any] = [[submission() for _ in range(21)], [{**submission(), "x": 1}]]
    others += [["x" * 10], {"a": 1}, [[]], None]
    for other in others:
        assert metadata_too_large({**rest, "form_submissions": other})
    assert metadata_too_large({"form_submissions": [{**submission(), "submitted_at": "x" * 17_000}]})
    assert metadata_too_large({"form_submissions": [{**submission(), "form_id": "x" * 17_000}]})
