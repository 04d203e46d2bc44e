"""Import CSV files into the small studio, and read the verdicts."""

import csv
import io
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit
from uuid import UUID

import asyncpg
import pytest

from studiogate.domain.access import Access, operator_access
from studiogate.domain.csv_import.kinds import KINDS
from studiogate.domain.csv_import.mapping import ColumnMapping, parse_mapping
from studiogate.domain.refusals import Refusal
from studiogate.flows.csv_import import CsvFile, CsvOutcome, import_csv
from studiogate.flows.csv_rows import load_mapping
from studiogate.storage.db.pool import Connection
from tests.support.databases import run
from tests.support.studio_files import assert_promises_hold, load_well, small_studio, uid

SAMPLES = Path(__file__).parent / "csv_samples"
STUDIO = UUID(uid("north", "studio"))
ACCESS = operator_access(STUDIO, "tester")


class Imported(NamedTuple):
    outcome: CsvOutcome
    rows: list[dict[str, str]]

    @property
    def verdicts(self) -> list[str]:
        return [row["verdict"] for row in self.rows]

    @property
    def reasons(self) -> list[str]:
        return [f"{row['column']}: {row['reason']}" for row in self.rows if row["reason"]]


def mapping_of(kind: str, mapping: str = "generic", *dates: str) -> ColumnMapping:
    """Return a preset, or the mapping that a text in TOML describes."""
    if "\n" in mapping:
        return parse_mapping(mapping, "ours", KINDS[kind], dates)
    return load_mapping(mapping, KINDS[kind], dates)


async def attempt(
    connection: Connection, mapping: ColumnMapping, data: bytes, access: Access = ACCESS, **options: Any
) -> tuple[CsvOutcome | Refusal, str]:
    pieces: list[str] = []
    source = CsvFile(io.BytesIO(data), "rows.csv", mapping, pieces.append, **options)
    return await import_csv(connection, access, source), "".join(pieces)


async def imported(connection: Connection, mapping: ColumnMapping, data: bytes | str, **options: Any) -> Imported:
    """Import and apply a file that can be read; afterwards the doctor must find nothing."""
    given = data.encode() if isinstance(data, str) else data
    outcome, text = await attempt(connection, mapping, given, **{"apply": True, **options})
    assert isinstance(outcome, CsvOutcome), outcome
    rows = list(csv.DictReader(io.StringIO(text, newline="")))
    assert sum(outcome.counts.values()) == len(rows)
    await assert_promises_hold(connection)
    return Imported(outcome, rows)


def sample(name: str) -> bytes:
    return (SAMPLES / f"{name}.csv").read_bytes()


async def _loaded(url: str) -> None:
    opened = await asyncpg.connect(url, server_settings={"timezone": "UTC"})
    try:
        await load_well(opened, small_studio(), small_studio("south"))
    finally:
        await opened.close()


@pytest.fixture(scope="module")
def small_template(new_database: Callable[[], str]) -> str:
    url = new_database()
    run(_loaded(url))
    return urlsplit(url).path.removeprefix("/")


@pytest.fixture
async def small(own_databases: Callable[[str], str], small_template: str) -> AsyncIterator[asyncpg.Connection]:
    """Yield a connection to a database with two small studios, north and south."""
    opened = await asyncpg.connect(own_databases(small_template), server_settings={"timezone": "UTC"})
    yield opened
    await opened.close()
