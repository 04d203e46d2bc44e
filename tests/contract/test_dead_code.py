"""Every name that `requirements/vulture_allowed.py` lists would be reported without it."""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
ALLOWED = ROOT / "requirements" / "vulture_allowed.py"


def test_every_allowed_name_is_needed() -> None:
    """A name that is not needed would hide dead code of that name."""
    # The paths of the command replace those of pyproject.toml, with which `make lint` reads the list too.
    command = [sys.executable, "-m", "vulture", "src"]
    reported = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False).stdout
    unused = set(re.findall(r"unused \w+ '(\w+)'", reported))
    allowed = re.findall(r"^_\.(\w+)$", ALLOWED.read_text(), re.MULTILINE)
    assert len(unused) > 50, "vulture runs"
    assert [name for name in allowed if name not in unused] == []
    assert len(allowed) == len(set(allowed))
