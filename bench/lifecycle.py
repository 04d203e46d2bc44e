"""Measure the start-up time of the service, and its memory after many requests."""

import http.client
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from itertools import cycle
from pathlib import Path

from bench import labels, processes
from bench.measure import Measurement, Server
from bench.results import Figure
from bench.scenarios import Scenario

TIMEOUT_SECONDS = 60.0
WARM_STARTS = 3
# The most frequent requests, sent in turn to make up the number of requests.
EVERYDAY = (labels.ONE_CLASS, labels.FIFTY, labels.OF_A_MEMBER, labels.MANY)
AT_ONCE = 1600


def start_times() -> list[Figure]:
    """Measure from `studiogate up` to the first 200, on a new data folder and on one that was used before."""
    with tempfile.TemporaryDirectory(prefix="studiogate-bench-") as folder:
        data = Path(folder) / "data"
        cold = (_start_time(data),)
        warm = tuple(_start_time(data) for _ in range(WARM_STARTS))
    return [
        Figure(labels.START, labels.STUDIOGATE, kind, "s", rounds)
        for kind, rounds in ((labels.COLD, cold), (labels.WARM, warm))
    ]


def _start_time(data: Path) -> float:
    port = _free_port()
    command = [sys.executable, "-m", "studiogate", "up", "--port", str(port), "--data", str(data)]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("STUDIOGATE_")}
    started = time.perf_counter()
    process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        while not _is_ready(port):
            if process.poll() is not None or time.perf_counter() - started > TIMEOUT_SECONDS:
                raise RuntimeError("`studiogate up` did not come up")
            time.sleep(0.01)
        return time.perf_counter() - started
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(TIMEOUT_SECONDS)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _is_ready(port: int) -> bool:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=TIMEOUT_SECONDS)
    try:
        connection.request("GET", "/readyz")
        return connection.getresponse().status == 200
    except OSError:
        return False
    finally:
        connection.close()


def memory(measurement: Measurement, server: Server, scenarios: Sequence[Scenario], requests: int) -> Figure:
    """Measure the memory of the largest worker after the server has served this many requests."""
    everyday = cycle([each for each in scenarios if each.name in EVERYDAY])
    while server.served < requests:
        measurement.play(next(everyday), server, min(AT_ONCE, requests - server.served))
    largest = max(processes.resident_megabytes(pid) for pid in server.pids())
    return Figure(labels.MEMORY, labels.STUDIOGATE, labels.MEMORY, "MB per worker", (largest,))
