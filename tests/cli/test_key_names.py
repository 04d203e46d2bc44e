"""`key create` checks the name of a key before it starts a database."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from studiogate.cli.main import commands

REFUSED = {
    "empty": "",
    "blank": "  ",
    "too long": "x" * 201,
    "line feed": "Partner\nX",
    "escape": "Partner\x1b[31m",
    "right-to-left override": "Partner\u202eterces",
    "isolate": "Partner\u2066X",
    "zero width space": "Part\u200bner",
    "byte order mark": "\ufeffPartner",
    "tag": "Partner\U000e0041",
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_name_that_would_mislead_is_wrong_usage(case: str, tmp_path: Path) -> None:
    data = tmp_path / "data"
    arguments = ["key", "create", "--studio", "demo", "--name", REFUSED[case], "--all-scopes", "--data", str(data)]
    outcome = CliRunner().invoke(commands(), arguments)
    assert outcome.exit_code == 2, outcome.output
    assert "--name must" in outcome.output
    assert REFUSED[case].strip() not in outcome.output or not REFUSED[case].strip()
    assert not data.exists(), "refused before the database is started"
