"""The command `studiogate import-csv`."""

import csv
import json
import os
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.support.commands import run_command
from tests.support.csv_imports import SAMPLES
from tests.support.studio_files import small_studio


class Terminal:
    """Runs commands in a folder of its own, against a database with the small studio."""

    def __init__(self, database_url: str, folder: Path) -> None:
        self._environment = {**os.environ, "STUDIOGATE_DATABASE_URL": database_url}
        self.folder = folder

    def run(self, *words: str, stdin: bytes = b"") -> tuple[int, str, str]:
        done = run_command(*words, environ=self._environment, folder=self.folder, stdin=stdin)
        return done.returncode, done.stdout.decode(), done.stderr.decode().replace("\n", " ")

    def import_csv(self, *words: str, stdin: bytes = b"") -> tuple[int, str, str]:
        return self.run("import-csv", *words, "--studio", "north", stdin=stdin)

    def file(self, text: str, name: str = "rows.csv") -> str:
        (self.folder / name).write_text(text)
        return name

    def verdicts(self, name: str = "rows.csv.verdicts.csv") -> list[str]:
        with (self.folder / name).open(newline="") as file:
            return [row["verdict"] for row in csv.DictReader(file)]


@pytest.fixture(scope="module")
def imported(new_database: Callable[[], str], tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return the name of a database with the small studio, to be copied."""
    url = new_database()
    first = Terminal(url, tmp_path_factory.mktemp("imported"))
    assert first.run("import", first.file(json.dumps(small_studio()), "studio.json"))[0] == 0
    return urlsplit(url).path.removeprefix("/")


@pytest.fixture
def terminal(own_databases: Callable[[str], str], imported: str, tmp_path: Path) -> Terminal:
    return Terminal(own_databases(imported), tmp_path)


ROWS = "external_id,first_name,last_name,email,Shoe size\n1,Ann,Lee,ann@example.com,38\n2,Bo,Lee,,39\n"


def test_a_dry_run_then_the_import_then_nothing_new(terminal: Terminal) -> None:
    status, said, _ = terminal.import_csv("members", terminal.file(ROWS))
    assert status == 0
    assert "Dry run: nothing was changed. --apply imports the rows." in said
    assert "Columns that are not imported: Shoe size." in said
    assert terminal.verdicts() == ["created", "created"]
    assert "Ann" not in terminal.run("member", "find", "Ann", "--studio", "north")[1]

    status, said, _ = terminal.import_csv("members", "rows.csv", "--apply")
    assert (status, "Applied." in said) == (0, True)
    assert "Ann" in terminal.run("member", "find", "Ann", "--studio", "north")[1]

    status, answer, _ = terminal.import_csv("members", "rows.csv", "--apply", "--json", "-o", "other.csv")
    assert status == 0
    assert json.loads(answer) == {
        "verdicts": "other.csv",
        "applied": True,
        "counts": {"created": 0, "updated": 0, "unchanged": 2, "skipped": 0, "fault": 0},
        "encoding": "UTF-8",
        "missing_columns": json.loads(answer)["missing_columns"],
        "ignored_columns": ["Shoe size"],
    }
    assert terminal.verdicts("other.csv") == ["unchanged", "unchanged"]
    assert "studio.import_csv" in terminal.run("audit", "list", "--studio", "north", "--json")[1]


def test_faults_are_an_error_and_can_be_left_out(terminal: Terminal) -> None:
    terminal.file(ROWS + "3,Cy,Lee,nobody,\n")
    status, _, complaint = terminal.import_csv("members", "rows.csv", "--apply")
    assert status == 1
    assert "1 row cannot be imported. Nothing was changed." in complaint
    assert terminal.verdicts() == ["created", "created", "fault"]
    assert terminal.import_csv("members", "rows.csv", "--apply", "--skip-faults")[0] == 0
    assert terminal.import_csv("members", "rows.csv", "--apply", "--skip-faults")[0] == 0
    assert terminal.verdicts() == ["unchanged", "unchanged", "fault"]


def test_a_mapping_of_ones_own(terminal: Terminal) -> None:
    mapping = terminal.file('[members.columns]\nexternal_id = "No"\nname = "Who"\ncreated_at = "Since"\n', "ours.toml")
    terminal.file("No;Who;Since\n1;Ann Lee;01/02/2026\n")
    status, _, _ = terminal.import_csv("members", "rows.csv", "--map", mapping)
    assert (status, terminal.verdicts()) == (1, ["fault"])
    status, _, _ = terminal.import_csv("members", "rows.csv", "--map", mapping, "--dates", "DD/MM/YYYY", "--apply")
    assert (status, terminal.verdicts()) == (0, ["created"])


def test_a_preset(terminal: Terminal) -> None:
    (terminal.folder / "clients.csv").write_bytes((SAMPLES / "mindbody_clients.csv").read_bytes())
    words = ("members", "clients.csv", "--map", "mindbody", "--dates", "M/D/YYYY", "--apply")
    assert terminal.import_csv(*words)[0] == 0
    assert terminal.verdicts("clients.csv.verdicts.csv") == ["created"] * 3 + ["skipped"] * 2


def test_standard_input(terminal: Terminal) -> None:
    status, _, _ = terminal.import_csv("members", "-", "-o", "out.csv", "--apply", stdin=ROWS.encode("utf-16"))
    assert (status, terminal.verdicts("out.csv")) == (0, ["created", "created"])


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("members", "nowhere.csv"), "nowhere.csv cannot be read: No such file"),
        (("members", "-"), "give a file with -o"),
        (("members", "rows.csv", "-o", "rows.csv"), "The verdicts would replace the input"),
        (("members", "rows.csv", "-o", "no/folder/v.csv"), "cannot be written"),
        (("members", "rows.csv", "--map", "nowhere"), "the presets are generic, glofox, mindbody"),
        (("members", "rows.csv", "--dates", "YY"), "must have one year (YYYY)"),
        (("schedule", "rows.csv", "--map", "glofox"), "has no section [schedule]: it maps members, memberships, leads"),
        (("leads", "empty.csv"), "The file is empty"),
        (("schedule", "rows.csv"), "The file has no column for title"),
    ],
)
def test_what_cannot_be_done_is_said_in_a_line(terminal: Terminal, words: tuple[str, ...], said: str) -> None:
    terminal.file(ROWS)
    terminal.file("", "empty.csv")
    before = sorted(path.name for path in terminal.folder.iterdir())
    status, _, complaint = terminal.import_csv(*words)
    assert status == 1
    assert said in complaint
    assert "Traceback" not in complaint
    assert sorted(path.name for path in terminal.folder.iterdir()) == before


def test_wrong_usage(terminal: Terminal) -> None:
    assert terminal.import_csv("people", terminal.file(ROWS))[0] == 2
    status, _, complaint = terminal.run("import-csv", "members", "rows.csv", "--studio", "nowhere")
    assert status == 1
    assert "There is no studio 'nowhere'" in complaint


def test_faults_are_an_error_in_json_as_well(terminal: Terminal) -> None:
    terminal.file(ROWS + "3,Cy,Lee,nobody,\n")
    _, _, plain = terminal.import_csv("members", "rows.csv", "--apply")
    status, answer, complaint = terminal.import_csv("members", "rows.csv", "--apply", "--json")
    assert (status, complaint) == (1, plain)
    error = json.loads(answer)["error"]
    assert f"error: {error['message']} " == complaint
    assert (error["code"], error["details"], error["faults"]) == ("validation_error", {}, [])
    assert json.loads(answer)["counts"]["fault"] == 1
    status, answer, complaint = terminal.import_csv("members", "rows.csv", "--apply", "--json", "--skip-faults")
    assert (status, complaint, "error" in json.loads(answer)) == (0, "", False)
