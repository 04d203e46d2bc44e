"""The limit: pgbench plays the recorded statements, without Python and without HTTP.

The SQL is the product's own except for its parameters: pgbench knows only numbers and constants, so an id is computed
from the number of the request inside the statement, as in the dataset.
"""

import os
import re
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from bench.load import Outcome
from bench.recording import Constant, FreshId, FreshNumber, FromRequest, Json, Now, Program, Several, Slot, Statement
from studiogate.server.postgres.embedded import EmbeddedPostgres
from studiogate.storage.db.pool import SESSION

THREADS = 2
# Each client prepares its statements and lets PostgreSQL try their plans; the servers' connections are past that.
WARMING_UP, COUNTED = 10, 30  # transactions per client; the second is a minimum
NUMBER = ["\\set n :first + :turn * :clients + :client_id", "\\set turn :turn + 1"]


class Script:
    """A program as a pgbench script, and the constants to pass to pgbench."""

    def __init__(self, program: Program, numbers: Mapping[str, str], given: Mapping[str, str]) -> None:
        """``numbers`` are expressions computed from :n, ``given`` is the SQL for each value of the request."""
        self._given = given
        self.constants: dict[str, str] = {}
        computed = [f"\\set {name} {expression}" for name, expression in numbers.items()]
        self.text = "\n".join([*NUMBER, *computed, *map(self._statement, program.statements)]) + "\n"

    def _statement(self, statement: Statement) -> str:
        def parameter(match: re.Match[str]) -> str:
            index = int(match[1]) - 1
            return f"({self._expression(statement.slots[index])})::{statement.types[index]}"

        # pgbench would take a colon within a string literal for a variable.
        text = re.sub(r"'([a-z_]+):([a-z_]+)'", r"'\1' || chr(58) || '\2'", statement.text)
        text = re.sub(r"\$(\d+)", parameter, text) if statement.slots else text
        return text.strip().removesuffix(";") + ";"

    def _expression(self, slot: Slot) -> str:
        match slot:
            case FromRequest(name):
                return self._given[name]
            case FreshId(number):
                return f"'01900000-0000-7000-8{number:03d}-' || lpad(:n::text, 12, '0')"
            case FreshNumber(number):
                return f"(:n::bigint << 8) + {number}"
            case Now():
                return "clock_timestamp()"
            case Several(slots):
                return f"array[{', '.join(map(self._expression, slots))}]"
            case Json(parts):
                texts = [self._constant(part) if isinstance(part, str) else self._expression(part) for part in parts]
                return " || ".join(f"({text})::text" for text in texts)
            case Constant(None):
                return "null"
            case Constant(""):  # a pgbench variable cannot be empty
                return "''"
            case Constant(value):
                return self._constant(value)

    def _constant(self, value: Any) -> str:
        name = f"constant_{len(self.constants)}"
        self.constants[name] = _text(value)
        return f":{name}"


def _text(value: Any) -> str:
    """Return the value in PostgreSQL's text format."""
    if isinstance(value, bytes):
        return f"\\x{value.hex()}"
    return value.isoformat() if isinstance(value, datetime) else str(value)


def run(postgres: EmbeddedPostgres, script: Script, *, clients: int, first: int, count: int) -> Outcome:
    """Run the script for ``count`` numbers starting at ``first``; see ``least``."""
    variables = {**script.constants, "first": first, "turn": 0, "clients": clients}
    with tempfile.TemporaryDirectory() as folder:
        path, log = Path(folder) / "script", Path(folder) / "log"
        path.write_text(script.text)
        defined = [part for name, value in variables.items() for part in ("-D", f"{name}={value}")]
        options = ["-n", "-M", "prepared", "-c", clients, "-j", THREADS, "-t", count // clients, "-f", path]
        command = [postgres.bin("pgbench"), *options, "-l", "--log-prefix", log, *defined, postgres.dsn()]
        session = {**os.environ, "PGOPTIONS": " ".join(f"-c {name}={value}" for name, value in SESSION.items())}
        done = subprocess.run([*map(str, command)], capture_output=True, text=True, check=False, env=session)
        if done.returncode:
            raise RuntimeError(f"pgbench failed:\n{done.stderr}\n{script.text}")
        transactions = sorted(_transactions(Path(folder)))
    begin = WARMING_UP * clients if count >= least(clients) else 0
    counted = transactions[begin:]
    seconds = counted[-1][0] - transactions[max(begin - 1, 0)][0]
    return Outcome(seconds, {0: len(counted)}, [latency for _, latency in counted])


def least(clients: int) -> int:
    """Return the smallest number of transactions that gives meaningful figures."""
    return (WARMING_UP + COUNTED) * clients


def _transactions(folder: Path) -> Iterator[tuple[float, float]]:
    """Yield the end time and the duration of each transaction: see pgbench's "Per-Transaction Logging"."""
    for log in folder.glob("log.*"):
        for line in log.read_text().splitlines():
            _, _, microseconds, _, second, part = map(int, line.split()[:6])
            yield second + part / 1e6, microseconds / 1e6
