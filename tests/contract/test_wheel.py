"""The wheel works without the checkout: everything that the package needs at run time is inside it."""

import json
import os
import subprocess
import sys
import zipfile
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

import pytest
from hatchling.builders.wheel import WheelBuilder

ROOT = Path(__file__).parents[2]
LOOK = """
import json, studiogate
from studiogate.api.app import ROUTES
from studiogate.api.framework import openapi
from studiogate.docs import contents
paths, guides = len(openapi.document(ROUTES)["paths"]), contents.read_sources()
pictures = [path.is_file() for path in contents.images()]
print(json.dumps({"file": studiogate.__file__, "paths": paths, "guides": len(guides), "pictures": pictures}))
"""


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the wheel and unpack it, as an installer would."""
    folder = tmp_path_factory.mktemp("wheel")
    (built,) = WheelBuilder(str(ROOT)).build(directory=str(folder), versions=["standard"])
    with zipfile.ZipFile(built) as archive:
        archive.extractall(folder / "site")
    return folder / "site"


def run(unpacked: Path, *arguments: str, **environment: str) -> str:
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("STUDIOGATE_")}
    done = subprocess.run(
        [sys.executable, *arguments],
        env={**inherited, "PYTHONPATH": str(unpacked), **environment},
        cwd=unpacked.parent,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_package_is_complete(unpacked: Path) -> None:
    found = json.loads(run(unpacked, "-c", LOOK))
    assert Path(found["file"]).is_relative_to(unpacked)
    assert found["paths"] > 30
    assert found["guides"] >= 20
    assert found["pictures"]
    assert all(found["pictures"])


def test_the_command_knows_its_version(unpacked: Path) -> None:
    assert run(unpacked, "-m", "studiogate", "--version").split() == ["studiogate", version("studiogate")]


def test_it_migrates_a_database_and_loads_the_demo_studio(
    unpacked: Path, databases: Callable[[str], str], tmp_path: Path
) -> None:
    url, folder = databases("template1"), str(tmp_path)
    settings = {"STUDIOGATE_DATABASE_URL": url, "STUDIOGATE_DATA_DIR": folder}
    run(unpacked, "-m", "studiogate", "migrate", **settings)
    run(unpacked, "-m", "studiogate", "demo", **settings)
    (studio,) = json.loads(run(unpacked, "-m", "studiogate", "studio", "list", "--json", **settings))
    assert studio["slug"] == "demo"
