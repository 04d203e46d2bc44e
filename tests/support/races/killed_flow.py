"""Run staff flows in processes that are killed (SIGKILL) at a chosen statement. The product does not use this file.

The program is started once and imports everything; it reads one line of JSON per order and forks a process for each, so
that a kill costs no start-up. The process counts its statements and ends itself before the chosen one: whatever it had
sent before is then all that PostgreSQL got. It answers with one line of JSON.
"""

import asyncio
import base64
import json
import os
import pickle
import pkgutil
import signal
import sys
import traceback
from dataclasses import asdict, dataclass
from importlib import import_module
from typing import Any
from uuid import UUID

import asyncpg

import studiogate.flows
from studiogate.domain.access import operator_access
from studiogate.storage.db import pool

COMMIT = "COMMIT;"
METHODS = ("execute", "fetch", "fetchrow", "fetchval", "executemany", "copy_records_to_table")


@dataclass(frozen=True)
class Order:
    """A flow by its dotted name below ``studiogate.flows``, with its pickled arguments. It is killed before statement
    ``at`` (counted from 1, BEGIN included), before COMMIT if that is 0, after COMMIT if it is -1. With
    ``autocommit``, a mistake that must be noticed, the flow's transaction is none."""

    dsn: str
    studio_id: str
    flow: str
    arguments: str
    at: int
    autocommit: bool = False


@dataclass(frozen=True)
class Report:
    """The server process of the killed connection, and how many statements it had executed."""

    server_pid: int
    statements: int
    killed: bool


def pack(*arguments: Any, **options: Any) -> str:
    return base64.b64encode(pickle.dumps((arguments, options))).decode()


class Killer:
    """Counts the statements of this process and kills it at the chosen one; ``pipe`` gets the report before."""

    def __init__(self, wanted: Order, pipe: int) -> None:
        self._wanted, self._pipe = wanted, pipe
        self.statements, self.server_pid = 0, 0

    def before(self, statement: str) -> None:
        due = statement == COMMIT if self._wanted.at == 0 else self.statements + 1 == self._wanted.at
        if due:
            self.kill()
        self.statements += 1

    def after(self, statement: str) -> None:
        if self._wanted.at == -1 and statement == COMMIT:
            self.kill()

    def kill(self) -> None:
        self.report(killed=True)
        os.kill(os.getpid(), signal.SIGKILL)

    def report(self, *, killed: bool) -> None:
        os.write(self._pipe, json.dumps(asdict(Report(self.server_pid, self.statements, killed))).encode())

    def install(self) -> None:
        for name in METHODS:
            setattr(asyncpg.Connection, name, self._counting(getattr(asyncpg.Connection, name)))

    def _counting(self, method: Any) -> Any:
        async def counting(connection: Any, statement: str, *arguments: Any, **options: Any) -> Any:
            self.before(statement)
            if self._wanted.autocommit and statement in ("BEGIN;", COMMIT):
                return None
            result = await method(connection, statement, *arguments, **options)
            self.after(statement)
            return result

        return counting


async def _run(wanted: Order, killer: Killer) -> None:
    connection = await pool.connect(wanted.dsn)
    killer.server_pid = connection.get_server_pid()
    killer.install()
    module, _, name = wanted.flow.rpartition(".")
    flow = getattr(import_module(f"studiogate.flows.{module}"), name)
    arguments, options = pickle.loads(base64.b64decode(wanted.arguments))  # noqa: S301
    done = await flow(connection, operator_access(UUID(wanted.studio_id)), *arguments, **options)
    sys.stderr.write(f"{wanted.flow}: {done}\n")
    killer.report(killed=False)


def carry_out(wanted: Order) -> bytes:
    """Fork a process that runs the flow; return its report once it has ended."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        try:
            asyncio.run(_run(wanted, Killer(wanted, writing)))
        except Exception:
            traceback.print_exc()
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        said = pipe.read()
    os.waitpid(child, 0)
    return said or b"{}"


def main() -> None:
    for module in pkgutil.walk_packages(studiogate.flows.__path__, "studiogate.flows."):
        import_module(module.name)
    for line in sys.stdin.buffer:
        sys.stdout.buffer.write(carry_out(Order(**json.loads(line))) + b"\n")
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
