"""What reads cost: Studiogate against the floor, and with one studio against two hundred, in one run.

    python bench/reads.py [--studios 200]

CPU is the server process's own (user and system), taken from the kernel's counters around a fixed number of requests.
"""

import argparse
import asyncio
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import dataset
import load

from studiogate.limits import Buckets
from studiogate.storage import database, migrate
from studiogate.storage.embedded import EmbeddedPostgres

ROUNDS = 5
CONNECTIONS = 8


def cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@contextmanager
def serving(command: list[str], listening: socket.socket, extra: tuple[int, ...], **settings: str) -> Iterator[int]:
    process = subprocess.Popen(
        command,
        env={**os.environ, **settings},
        pass_fds=(listening.fileno(), *extra),
        stdout=subprocess.DEVNULL,
        cwd=Path(__file__).parent,
    )
    try:
        _wait(listening.getsockname()[1])
        yield process.pid
    finally:
        process.terminate()
        process.wait(30)


def _wait(port: int) -> None:
    """Until the server has answered once, whatever it says."""
    request = b"GET /partner/v1/classes HTTP/1.1\r\nHost: bench\r\nConnection: close\r\n\r\n"
    with socket.create_connection(("127.0.0.1", port), timeout=30) as connection:
        connection.sendall(request)
        connection.recv(100)


def listen() -> socket.socket:
    listening = socket.socket()
    listening.bind(("127.0.0.1", 0))
    listening.listen(256)
    listening.set_inheritable(True)
    return listening


def measure(dsn: str, measured: dataset.Measured) -> dict[tuple[str, str], float]:
    """Milliseconds of CPU a request, the best of several rounds, floor and Studiogate taking turns."""
    lifeline = os.pipe()
    ours, floor = listen(), listen()
    with tempfile.TemporaryDirectory() as folder:
        buckets = Path(folder) / "buckets"
        Buckets.create(buckets)
        metrics = Path(folder) / "metrics"
        metrics.mkdir()
        api = ["-m", "studiogate.cli.api_process", "--socket", str(ours.fileno()), "--lifeline", str(lifeline[0])]
        bare = ["-m", "uvicorn", "floor:app", "--fd", str(floor.fileno()), "--no-access-log", "--log-level", "warning"]
        common = {"STUDIOGATE_DATABASE_URL": dsn, "BENCH_STUDIO_ID": str(measured.studio_id)}
        settings = {**common, "STUDIOGATE_RATE_LIMIT": "1000000", "STUDIOGATE_LOG_FORMAT": "json"}
        settings["PROMETHEUS_MULTIPROC_DIR"] = str(metrics)
        with (
            serving([sys.executable, *api, "--buckets", str(buckets)], ours, (lifeline[0],), **settings) as our_pid,
            serving([sys.executable, *bare], floor, (), **common) as floor_pid,
        ):
            servers = {"studiogate": (ours.getsockname()[1], our_pid), "floor": (floor.getsockname()[1], floor_pid)}
            return _measure_all(servers, measured)


def _measure_all(servers: dict[str, tuple[int, int]], measured: dataset.Measured) -> dict[tuple[str, str], float]:
    paths = {
        "one class": (f"/partner/v1/classes/{measured.class_id}", 4000),
        "50 classes": ("/partner/v1/classes", 2000),
        "200 classes": ("/partner/v1/classes?limit=200", 500),
    }
    best: dict[tuple[str, str], float] = {}
    for _ in range(ROUNDS):
        for what, (path, count) in paths.items():
            for name, (port, pid) in servers.items():
                cost = _cost(port, pid, load.http_get(path, measured.key), count)
                best[what, name] = min(cost, best.get((what, name), 1e9))
    return best


def _cost(port: int, pid: int, request: bytes, count: int) -> float:
    asyncio.run(load.run(port, [request] * 50, CONNECTIONS))
    before = cpu_seconds(pid)
    outcome = asyncio.run(load.run(port, [request] * count, CONNECTIONS))
    if outcome.statuses != {200: count}:
        raise SystemExit(f"unexpected answers: {outcome.statuses}")
    return (cpu_seconds(pid) - before) / count * 1000


async def prepare(dsn: str) -> None:
    connection = await database.connect(dsn)
    await migrate.migrate(connection)
    await connection.close()
    await dataset.fill(dsn, 1, 1)


def show(title: str, best: dict[tuple[str, str], float]) -> None:
    print(f"\n{title}\n{'':14}{'studiogate':>12}{'floor':>10}{'ratio':>8}   (ms CPU a request)")
    for what in ("one class", "50 classes", "200 classes"):
        ours, floor = best[what, "studiogate"], best[what, "floor"]
        print(f"{what:14}{ours:12.3f}{floor:10.3f}{ours / floor:8.2f}")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--studios", type=int, default=200)
    studios = parser.parse_args().studios
    with tempfile.TemporaryDirectory(prefix="studiogate-bench-") as folder:
        postgres = EmbeddedPostgres(Path(folder))
        postgres.start()
        try:
            asyncio.run(prepare(postgres.dsn()))
            measured = asyncio.run(dataset.measured_studio(postgres.dsn()))
            small = measure(postgres.dsn(), measured)
            show("1 studio, 1,000 classes, 5,000 bookings", small)
            started = time.perf_counter()
            asyncio.run(dataset.fill(postgres.dsn(), 2, studios))
            print(f"\n(filled {studios} studios in {time.perf_counter() - started:.0f} s)")
            large = measure(postgres.dsn(), measured)
            show(f"{studios} studios, {studios * 1000:,} classes, {studios * 5000:,} bookings", large)
            print("\ngrowth, the same studio:")
            for what in ("one class", "50 classes", "200 classes"):
                print(f"{what:14}{large[what, 'studiogate'] / small[what, 'studiogate']:8.2f}")
        finally:
            postgres.stop()


if __name__ == "__main__":
    main()
