"""The service compared with its own OpenAPI document: schemathesis with all phases and all checks enabled.

By default 5 cases per operation, the same ones each time; ``SCHEMATHESIS_EXAMPLES=100`` (``make schemathesis``) runs
more cases, and new ones each time.
"""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from uuid import uuid4

import asyncpg
import pytest

from studiogate.api.app import ROUTES
from studiogate.domain.access import operator_access
from studiogate.domain.events import EventType
from studiogate.storage import events
from tests.support.asgi import PREFIX
from tests.support.databases import run
from tests.support.live_server import serving
from tests.support.newest_rows import newest_row
from tests.support.seed import Studio, issue_key, seed_studio

EXAMPLES = int(os.environ.get("SCHEMATHESIS_EXAMPLES", "5"))
# Parameters whose name differs from the kind of the seeded row, with that kind.
KINDS = {"class_spot_id": "spot"}
# The kind of the rows of each list, for valid cursors.
LISTED = {
    "/locations": "location",
    "/rooms": "room",
    "/class-types": "class_type",
    "/instructors": "instructor",
    "/classes": "class",
    "/products": "product",
    "/forms": "form",
    "/forms/{form_id}/submissions": "submission",
    "/leads": "lead",
    "/members": "member",
    "/bookings": "booking",
    "/waitlist": "waitlist",
    "/purchases": "purchase",
}
# The coverage phase alone takes minutes, so only long runs include it. Long runs also use a new random seed.
LONG = EXAMPLES >= 100
HOW = ["--phases=examples,coverage,fuzzing,stateful"] if LONG else ["--phases=examples,fuzzing,stateful", "--seed=1"]
# A title is trimmed before its length is checked: surrounding white space does not count.
TRIMMING = ("create_form", "update_form")
ACCEPTED = ["2xx", "3xx", "401", "403", "404", "409", "429", "5xx"]


async def _prepare(url: str) -> tuple[str, Studio]:
    connection = await asyncpg.connect(url)
    try:
        studio = await seed_studio(connection)
        # The seed's events are about nothing; these carry resources, as the document says.
        await connection.execute("delete from webhook_attempts; delete from webhook_deliveries; delete from events")
        for type_ in EventType:
            row_id = await newest_row(connection, studio.studio_id, type_)
            merged_id = uuid4() if type_ is EventType.MEMBER_MERGED else None
            change = events.Change(row_id, merged_id=merged_id)
            await events.emit(connection, operator_access(studio.studio_id), type_, change)
        return await issue_key(connection, studio), studio
    finally:
        await connection.close()


def _config(key: str, studio: Studio) -> str:
    lines = [
        "[auth.openapi.ServiceKey]",
        f'api_key = "{key}"',
        "[generation]",
        f"max-examples = {EXAMPLES}",
        'database = "none"',
        "[checks]",
        "enabled = true",
        *_real_ids(studio),
        *_beyond_the_schema(),
    ]
    return "\n".join(lines) + "\n"


def _real_ids(studio: Studio) -> list[str]:
    """Return settings by which every second id is that of an existing row."""
    parameters = {
        f"{place}.{field.alias}"
        for route in ROUTES
        for place, fields in (("path", route.dependant.path_params), ("query", route.dependant.query_params))
        for field in fields
    }
    parameters |= {"body.class_id", "body.member_id", "body.class_spot_id"}
    names = {each: each.split(".")[1] for each in sorted(parameters)}
    kinds = {each: KINDS.get(name, name.removesuffix("_id")) for each, name in names.items()}
    kinds = {each: kind for each, kind in kinds.items() if kind in studio.ids}
    lines = []
    for kind in sorted(set(kinds.values())):
        values = ", ".join(f'"{each}"' for each in studio.ids[kind])
        lines += [f"[dictionaries.{kind}]", f"values = [{values}]"]
    bound = [f'"{each}" = {{ dictionary = "{kind}", probability = 0.5 }}' for each, kind in kinds.items()]
    return [*lines, "[parameters]", *bound]


def _beyond_the_schema() -> list[str]:
    """Return settings for what a schema cannot express: a cursor is an id of this list, one instant is not after
    another, and a booking that was cancelled by DELETE can still be read, and so can its receipt."""
    listing = [route for route in ROUTES if any(field.alias == "cursor" for field in route.dependant.query_params)]
    lines = []
    for route in listing:
        refusals = ["400", "422"] if route.path == "/classes" else ["400"]
        lines += [
            "[[operations]]",
            f'include-operation-id = "{route.name}"',
            f"checks.positive_data_acceptance.expected-statuses = {[*ACCEPTED, *refusals]}",
        ]
        if route.path in LISTED:
            cursor = f'{{ dictionary = "{LISTED[route.path]}", probability = 0.8 }}'
            lines.append(f'parameters = {{ "query.cursor" = {cursor} }}')
    for route in ROUTES:
        if route.path.startswith("/bookings/{booking_id}"):
            lines += [
                "[[operations]]",
                f'include-operation-id = "{route.name}"',
                "checks.use_after_free.enabled = false",
            ]
        if set(route.methods or ()) & {"POST", "PUT", "PATCH"}:
            lines += [
                "[[operations]]",
                f'include-operation-id = "{route.name}"',
                # No schema can express that a rule names a field of its form, or that a URL is public.
                f"checks.positive_data_acceptance.expected-statuses = {[*ACCEPTED, '400', '422']}",
                f"checks.negative_data_rejection.enabled = {str(route.name not in TRIMMING).lower()}",
            ]
    return lines


@pytest.mark.timeout(600 + 60 * EXAMPLES)
def test_the_service_keeps_its_description(new_database: Callable[[], str], tmp_path: Path) -> None:
    url = new_database()
    key, studio = run(_prepare(url))
    (tmp_path / "schemathesis.toml").write_text(_config(key, studio))
    with serving(url, rate_limit=0) as port:
        done = subprocess.run(
            [
                str(Path(sys.executable).parent / "schemathesis"),
                "--no-color",
                "run",
                f"http://127.0.0.1:{port}{PREFIX}/openapi.json",
                *HOW,
                "--continue-on-failure",
                "--output-truncate=false",
                "--request-timeout=30",  # a long poll may take 20 seconds
            ],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
    assert done.returncode == 0, done.stdout + done.stderr
