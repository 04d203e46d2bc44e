"""docs/architecture.md names files and folders that exist."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/architecture.md").read_text()
PATH = re.compile(
    r"`((?:src|tests|docs|bench|requirements|\.github)/[\w./-]+|(?:api|cli|console|demo|domain|flows|hosted|server|storage|telemetry|web|worker)/[\w./-]*)`"
)


def test_every_path_exists() -> None:
    paths = PATH.findall(PAGE)
    assert len(paths) > 40, "the check sees what it looks for"
    assert [path for path in paths if not exists(path)] == []


def exists(path: str) -> bool:
    """Paths of the package are written without ``src/studiogate``."""
    return (ROOT / path).exists() or (ROOT / "src/studiogate" / path).exists()


def test_every_layer_is_on_the_page() -> None:
    package = ROOT / "src/studiogate"
    layers = [path.name for path in package.iterdir() if path.is_dir() and (path / "__init__.py").exists()]
    assert [layer for layer in layers if f"{layer}/" not in PAGE] == []


def test_every_file_that_tests_share_is_in_its_index() -> None:
    folder = ROOT / "tests/support"
    named = re.findall(r"`([\w/]+(?:\.py)?)`", re.sub(r"(?m)^(?!- ).*$|:.*", "", (folder / "README.md").read_text()))
    files = [path.relative_to(folder).as_posix() for path in folder.rglob("*.py") if path.name != "__init__.py"]
    assert sorted(named) == sorted([*files, "csv_samples"])
