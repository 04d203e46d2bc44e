"""Search everything that a studio has stored for the values of one person: every table, and the upload folder."""

import json
from collections.abc import Iterable
from pathlib import Path

import asyncpg

from tests.support.secret_search import forms_of

# Bytes are shown as hexadecimal digits by a row's text; answers are stored as bytes.
READABLE = "convert_from(body, 'UTF8')"


async def everything_stored(connection: asyncpg.Connection) -> dict[str, str]:
    """Return the content of every table as text, by its name."""
    tables = await connection.fetch("select tablename as name from pg_tables where schemaname = 'public'")
    found = {}
    for table in [row["name"] for row in tables]:
        rows = await connection.fetch(f'select row_to_json(t)::text as row from "{table}" t')
        found[table] = "\n".join(row["row"] for row in rows)
    answers = await connection.fetch(f"select {READABLE} as body from idempotency_keys")
    found["remembered answers"] = "\n".join(row["body"] for row in answers)
    return found


def found_in(stored: dict[str, str], values: Iterable[str]) -> set[tuple[str, str]]:
    """Return (table, value) for each value that can be read in a table, in any encoding."""
    return {
        (table, value)
        for table, text in stored.items()
        for value in values
        if any(form.lower() in text.lower() for form in {*forms_of(value), json.dumps(value)[1:-1]})
    }


def found_on_disk(folder: Path, values: Iterable[str]) -> set[tuple[str, str]]:
    """Return (file, value) for each file whose name or content has a value."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    return {
        (path.name, value)
        for path in files
        for value in values
        if value.encode() in path.read_bytes() or value in str(path)
    }
