"""Commands accept ids in the 36-character form only, as the API does."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from studiogate.cli.main import commands

ID = "0192f0c1-a2b3-7c4d-8e5f-60718293a4b5"
COMMANDS = {
    "form link": ["form", "link", "{}", "--member", ID],
    "form link --member": ["form", "link", ID, "--member", "{}"],
    "class cancel": ["class", "cancel", "{}"],
    "booking check-in": ["booking", "check-in", "{}"],
    "key create": ["key", "create", "--studio", "demo", "--name", "n", "--all-scopes", "--location", "{}"],
}


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("text", [ID.replace("-", ""), "{" + ID + "}", "urn:uuid:" + ID, "x" * 36])
def test_other_forms_of_an_id_are_rejected(command: str, text: str, tmp_path: Path) -> None:
    arguments = [each.replace("{}", text) if each == "{}" else each for each in COMMANDS[command]]
    outcome = CliRunner().invoke(commands(), [*arguments, "--data", str(tmp_path)])
    assert outcome.exit_code == 2
    assert "isnotanid" in "".join(filter(str.isalpha, outcome.output)), "wrapped in a frame"
    assert list(tmp_path.iterdir()) == [], "refused before the database is started"
