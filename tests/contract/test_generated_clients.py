"""Clients that partners generate from the OpenAPI document: they compile, and a value that is new fails nowhere."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.generators import node_generators, python_generators, run
from tests.support.openapi_document import served_document

pytestmark = pytest.mark.timeout(900)
__all__ = ["node_generators", "python_generators"]
SAMPLES = Path(__file__).parents[1] / "support" / "generated_clients"
CLIENT = "studiogate_partner_api_client"


def _documented() -> dict[str, Any]:
    """Return the example of each successful answer, by the name of its schema, and that of each webhook."""
    examples: dict[str, Any] = {}
    document = served_document()
    for item in document["paths"].values():
        for operation in item.values():
            for status, answer in operation["responses"].items():
                media = answer.get("content", {}).get("application/json")
                if status.startswith("2") and media:
                    examples.setdefault(media["schema"]["$ref"].rpartition("/")[2], media["example"])
    for item in document["webhooks"].values():
        media = item["post"]["requestBody"]["content"]["application/json"]
        examples[media["schema"]["$ref"].rpartition("/")[2]] = media["example"]
    return examples


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the document and with the examples that clients have to read."""
    made = tmp_path_factory.mktemp("clients")
    (made / "openapi.json").write_text(json.dumps(served_document()))
    (made / "examples.json").write_text(json.dumps(_documented()))
    return made


@pytest.fixture(scope="module")
def package(folder: Path, python_generators: Path) -> Path:
    """The package that openapi-python-client generates; a warning fails."""
    said = run(
        python_generators / "openapi-python-client",
        *("generate", "--path", "openapi.json", "--output-path", "client", "--meta", "setup", "--fail-on-warning"),
        folder=folder,
    )
    assert "Unable to process" not in said
    return folder / "client"


def test_the_python_client_reads_every_answer(folder: Path, package: Path, python_generators: Path) -> None:
    shutil.copy(SAMPLES / "read_answers.py", folder)
    assert (package / "setup.py").exists(), "a package that can be installed"
    assert run(python_generators / "python", "read_answers.py", "client", folder=folder).split() == ["read"]


def test_the_python_client_is_typed(package: Path, python_generators: Path) -> None:
    python = python_generators / "python"
    run(
        "mypy",
        "--strict",
        "--python-executable",
        python,
        "--cache-dir",
        package / ".mypy_cache",
        CLIENT,
        folder=package,
    )


def test_pydantic_models_read_every_answer(folder: Path, python_generators: Path) -> None:
    run(
        python_generators / "datamodel-codegen",
        *("--input", "openapi.json", "--input-file-type", "openapi", "--output", "models.py"),
        *("--output-model-type", "pydantic_v2.BaseModel", "--formatters", "builtin"),
        folder=folder,
    )
    shutil.copy(SAMPLES / "validate_answers.py", folder)
    assert run(python_generators / "python", "validate_answers.py", folder=folder).split() == ["read"]


@pytest.fixture(scope="module")
def types(folder: Path, node_generators: Path) -> Path:
    made = folder / "types.ts"
    run(node_generators / "openapi-typescript", "openapi.json", "-o", made.name, folder=folder)
    return made


@pytest.mark.parametrize("sample", sorted(SAMPLES.glob("*.ts")), ids=lambda path: path.name)
def test_typescript_compiles(folder: Path, types: Path, node_generators: Path, sample: Path) -> None:
    shutil.copy(sample, folder)
    options = ("--strict", "--noEmit", "--target", "es2022", "--module", "nodenext", "--lib", "es2022,dom")
    run(node_generators / "tsc", *options, sample.name, types.name, folder=folder)


def test_the_linter_finds_no_fault(folder: Path, node_generators: Path) -> None:
    said = run(node_generators / "redocly", "lint", "openapi.json", folder=folder)
    assert "is valid" in said
    assert "error" not in said.lower().replace("0 errors", "")


def test_the_examples_are_those_of_all_resources() -> None:
    assert {"Booking", "BookingList", "EventList", "BookingCreatedEvent", "WebhookEndpointTestEvent"} <= set(
        _documented()
    )
    assert sum(1 for _ in _statuses(_documented())) > 20


def _statuses(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        yield from (each for name, each in value.items() if name == "status" and isinstance(each, str))
        for each in value.values():
            yield from _statuses(each)
    elif isinstance(value, list):
        for each in value:
            yield from _statuses(each)
