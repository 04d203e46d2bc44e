"""The service against its own OpenAPI document: schemathesis with all phases and all checks on.

15 cases an operation by default; ``STUDIOGATE_EXAMPLES=100`` (``make schemathesis``) looks longer.
"""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import asyncpg
import pytest

from studiogate.api.app import ROUTES
from tests.api.asgi import PREFIX
from tests.api.live import serving
from tests.conftest import run
from tests.seed import Studio, issue_key, seed_studio

EXAMPLES = int(os.environ.get("STUDIOGATE_EXAMPLES", "15"))
# How a parameter's name becomes the kind of a seeded row, where it is not the name itself.
KINDS = {"class_spot_id": "spot"}


async def _prepare(url: str) -> tuple[str, Studio]:
    connection = await asyncpg.connect(url)
    try:
        studio = await seed_studio(connection)
        return await issue_key(connection, studio), studio
    finally:
        await connection.close()


def _config(key: str, studio: Studio) -> str:
    """Every second id is a real one."""
    names = {field.alias for route in ROUTES for field in [*route.dependant.path_params, *route.dependant.query_params]}
    bound = {name: "path." + name for name in names if name.endswith("_id")}
    bound |= {f"{name} in a query": "query." + name for name in names if name.endswith("_id")}
    bound |= {name + " in a body": "body." + name for name in ("class_id", "member_id", "class_spot_id")}
    lines = [
        "[auth.openapi.ServiceKey]",
        f'api_key = "{key}"',
        "[generation]",
        f"max-examples = {EXAMPLES}",
        'database = "none"',
    ]
    used = {}
    for place in bound.values():
        name = place.split(".")[1]
        kind = KINDS.get(name, name.removesuffix("_id"))
        if kind in studio.ids:
            used[place] = kind
    for kind in sorted(set(used.values())):
        values = ", ".join(f'"{each}"' for each in studio.ids[kind])
        lines += [f"[dictionaries.{kind}]", f"values = [{values}]"]
    lines.append("[parameters]")
    lines += [f'"{place}" = {{ dictionary = "{kind}", probability = 0.5 }}' for place, kind in sorted(used.items())]
    return "\n".join(lines) + "\n"


@pytest.mark.timeout(60 + 20 * EXAMPLES)
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
                "--checks=all",
                "--max-response-time=2",
                "--continue-on-failure",
                "--output-truncate=false",
            ],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
    assert done.returncode == 0, done.stdout + done.stderr
