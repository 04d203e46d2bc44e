"""From one machine to a cluster with nothing but the commands that stand in the operator's guide."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.battery import battery

ROOT = Path(__file__).parents[2]
GUIDE = ROOT / "docs" / "guides" / "operating.md"
CLUSTER = Path("/var/tmp/studiogate-cluster")  # noqa: S108  as the guide says
SECONDS = 900
needs_root = pytest.mark.skipif(
    os.geteuid() != 0 or shutil.which("apt-get") is None, reason="the guide begins as root on a Debian machine"
)


def commands() -> str:
    section = GUIDE.read_text().partition("### Try it on one machine")[2].partition("\n## ")[0]
    return "\n".join(re.findall(r"^```sh\n(.*?)^```", section, re.DOTALL | re.MULTILINE))


@needs_root
@pytest.mark.parametrize("doctors", [pytest.param(4, marks=battery("ha"))])
def test_a_cluster_from_the_guide(doctors: int) -> None:
    """In a process namespace of its own, so that nothing outlives the commands."""
    shutil.rmtree(CLUSTER, ignore_errors=True)
    alone = ["unshare", "--fork", "--pid", "--kill-child", "--mount-proc"]
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    try:
        done = subprocess.run(
            [*alone, "bash", "-euc", commands()],
            cwd=ROOT,
            env={**os.environ, "PATH": path},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
        logs = "\n".join(f"{log.name}: {log.read_text()[-1500:]}" for log in sorted(CLUSTER.glob("*.log")))
    finally:
        shutil.rmtree(CLUSTER, ignore_errors=True)
    assert done.returncode == 0, done.stdout + done.stderr + logs
    assert done.stdout.count("every upload has its file") == doctors
    assert "demo" in done.stdout.splitlines()[-1], "what the one machine had is in the cluster"
