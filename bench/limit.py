"""The limit: pgbench plays the fixed transactions, without Python and without HTTP.

pgbench knows only numbers and constants, so an id is computed from the number of the request inside the statement, as
in the dataset.
"""

import os
import re
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from bench.load import Outcome
from bench.transactions import NEW_ID, PARAMETER, Transaction
from studiogate.server.postgres.embedded import EmbeddedPostgres
from studiogate.server.postgres.programs import installation
from studiogate.storage.db.pool import SESSION

THREADS = 2
# Each client prepares its statements and lets PostgreSQL try their plans; the servers' connections are past that.
WARMING_UP, COUNTED = 10, 30  # transactions per client; the second is a minimum
NUMBER = ["\\set n :first + :turn * :clients + :client_id", "\\set turn :turn + 1"]


class Script:
    """A transaction as a pgbench script. ``numbers`` are expressions computed from :n, ``given`` is the SQL for each
    value of the request."""

    def __init__(self, transaction: Transaction, numbers: Mapping[str, str], given: Mapping[str, str]) -> None:
        self._given = given
        self._new_ids: list[str] = []
        self.constants = transaction.constants
        computed = [f"\\set {name} {expression}" for name, expression in numbers.items()]
        self.text = "\n".join([*NUMBER, *computed, *map(self._statement, transaction.statements)]) + "\n"

    def _statement(self, text: str) -> str:
        text = PARAMETER.sub(self._parameter, text.strip())
        # pgbench would take a colon within a string literal for a variable.
        return re.sub(r"'([a-z_]+):([a-z_]+)'", r"'\1' || chr(58) || '\2'", text) + ";"

    def _parameter(self, found: re.Match[str]) -> str:
        name = found[1]
        if name in self._given:
            return f"({self._given[name]})"
        if not name.startswith(NEW_ID):
            return found[0]
        if name not in self._new_ids:
            self._new_ids.append(name)
        return f"('01900000-0000-7000-8{self._new_ids.index(name):03d}-' || lpad(:n::text, 12, '0'))"


def run(postgres: EmbeddedPostgres, script: Script, *, clients: int, first: int, count: int) -> Outcome:
    """Run the script for ``count`` numbers starting at ``first``; see ``least``."""
    variables = {**script.constants, "first": first, "turn": 0, "clients": clients}
    with tempfile.TemporaryDirectory() as folder:
        path, log = Path(folder) / "script", Path(folder) / "log"
        path.write_text(script.text)
        defined = [part for name, value in variables.items() for part in ("-D", f"{name}={value}")]
        options = ["-n", "-M", "prepared", "-c", clients, "-j", THREADS, "-t", count // clients, "-f", path]
        command = [installation() / "bin" / "pgbench", *options, "-l", "--log-prefix", log, *defined, postgres.dsn()]
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
