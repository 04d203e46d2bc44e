"""The changelog begins with the section of the version that is being made, short enough to be read."""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
MAX_LINES = 80


def test_the_changelog_begins_with_this_version() -> None:
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    sections = re.split(r"^## ", (ROOT / "CHANGELOG.md").read_text(), flags=re.MULTILINE)[1:]
    number, _, when = sections[0].splitlines()[0].partition(" (")
    assert number == version.removesuffix(".dev0")
    assert re.fullmatch(r"\d{4}-\d\d-\d\d\)", when) if version == number else when == "not released yet)"
    assert len(("## " + sections[0]).strip().splitlines()) <= MAX_LINES


def test_what_is_deployed_names_this_version() -> None:
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"].removesuffix(".dev0")
    files = [ROOT / "deploy/compose.yaml", *(ROOT / "deploy/helm/studiogate").glob("*.yaml")]
    named = re.findall(
        r"(?:studiogate:|^(?:appV|v)ersion: )([0-9.]+)", "\n".join(map(Path.read_text, files)), re.MULTILINE
    )
    assert named == [version] * 4
