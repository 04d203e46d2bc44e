"""What the processes of the service import."""

import subprocess
import sys

import pytest


@pytest.mark.parametrize("module", ["studiogate.server.api_process", "studiogate.server.worker_process"])
def test_processes_do_not_import_the_libraries_of_the_terminal(module: str) -> None:
    command = [sys.executable, "-X", "importtime", "-m", "studiogate.server.quick_start", module, "--help"]
    imported = subprocess.run(command, capture_output=True, text=True, check=True).stderr
    assert "structlog.dev" in imported
    assert "rich." not in imported
    assert "typer" not in imported
