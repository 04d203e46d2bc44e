"""SIGTERM or Ctrl-C at every step of `up`: it ends, without an error, and leaves no process behind."""

import signal
from pathlib import Path

import pytest

from tests.support.stopping import SIGNALS, STEPS, Started, imports_libraries, place


@pytest.mark.skipif(not Path("/proc").exists(), reason="steps are observed through /proc")
@pytest.mark.parametrize(("step", "number"), list(zip(STEPS, SIGNALS, strict=False)))
def test_no_step_leaves_anything_behind(step: str, number: signal.Signals) -> None:
    with place() as folder, Started(folder, "up", "--port", "0", "--workers", "2") as up:
        up.reach(STEPS[step])
        assert up.stop(number) == 0, up.log
        assert "Traceback" not in up.log
        assert up.log.rstrip().endswith("Stopped.")
        assert up.left() == []


@pytest.mark.skipif(not Path("/proc").exists(), reason="steps are observed through /proc")
def test_ctrl_c_while_it_imports_says_nothing() -> None:
    """Nothing has been started. A KeyboardInterrupt in an import would print a traceback, or be lost in it."""
    with place() as folder, Started(folder, "up", "--port", "0") as up:
        up.reach(imports_libraries)
        assert up.stop(signal.SIGINT) in (-signal.SIGINT, 0), up.log
        assert "Traceback" not in up.log
        assert up.left() == []
