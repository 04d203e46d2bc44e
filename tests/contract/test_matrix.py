"""The supported versions are the same wherever they are written down, and `make matrix` finds them."""

import re
import sys
import tomllib
from pathlib import Path

from studiogate.flows.doctor import OLDEST_POSTGRES
from studiogate.server.postgres.programs import MAJOR_VERSION, installation
from tests.support import matrix

ROOT = Path(__file__).parents[2]
OPERATIONS = (ROOT / "docs/operations.md").read_text()
# As text: no dependency of ours reads YAML.
WORKFLOW = (ROOT / ".github/workflows/test.yml").read_text()


def listed(job: str) -> set[str]:
    """Return the versions that a job of the workflow runs on."""
    found = re.search(rf"^  {job}:\n(?:   .*\n|\n)*?        version: \[(.*)\]$", WORKFLOW, re.MULTILINE)
    assert found is not None, job
    return set(re.findall(r'"([^"]+)"', found[1]))


def test_the_workflow_runs_on_every_supported_version() -> None:
    assert listed("postgres") == set(matrix.POSTGRES)
    # The job that runs all tests runs them on the oldest Python.
    assert listed("python") | {matrix.PYTHONS[0]} == set(matrix.PYTHONS)
    assert f'python-version: "{matrix.PYTHONS[0]}"' in WORKFLOW


def test_the_oldest_versions_are_those_that_we_require() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["requires-python"] == f">={matrix.PYTHONS[0]}"
    assert int(matrix.POSTGRES[0]) * 10_000 == OLDEST_POSTGRES
    assert f"PostgreSQL {matrix.POSTGRES[0]} to {matrix.POSTGRES[-1]}" in OPERATIONS
    assert f"Python {matrix.PYTHONS[0]} to {matrix.PYTHONS[-1]}" in OPERATIONS


def test_the_selected_tests_exist() -> None:
    assert [path for path in (*matrix.SELECTION, *matrix.RULES) if not (ROOT / path).exists()] == []


def test_what_is_installed_is_found() -> None:
    assert matrix.find_postgres(str(MAJOR_VERSION)) == installation() / "bin"
    assert matrix.find_postgres("9") is None
    assert matrix.find_python("2.1") is None
    ours = "{}.{}".format(*sys.version_info)
    assert matrix.environment(matrix.Version(f"python-{ours}", Path(sys.executable))) == Path(sys.executable)
