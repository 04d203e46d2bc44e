"""Measure `studiogate import` and `studiogate import-csv` with a large studio: time, CPU and memory of the commands."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from bench import dataset, labels, processes
from bench.results import Figure
from studiogate.server.postgres.embedded import EmbeddedPostgres

DATABASE = "imports"
SLUG = "large"
ROOMS, PER_DAY = 20, 40
LOOK_SECONDS = 0.02
STEPS = (labels.CREATES, labels.SAME, labels.CHANGES, labels.CSV)


def _id(kind: str, number: int = 0) -> str:
    return str(dataset.id_of(f"import-{kind}{number}"))


def studio_file(members: int, classes: int, version: str) -> Iterator[str]:
    """Yield the text of a studio file; another version has other names and titles."""
    own = {"id": _id("studio"), "name": "Large", "slug": SLUG, "timezone": "UTC", "currency": "USD", "country": "US"}
    rooms = [
        {"id": _id("room", n), "location_id": _id("location"), "name": f"R{n}", "capacity": 50} for n in range(ROOMS)
    ]
    sections = {"studio": own, "locations": [{"id": _id("location"), "name": "L"}], "rooms": rooms}
    yield json.dumps(sections).removesuffix("}") + ', "members": ['
    for n in range(members):
        person = {"id": _id("member", n), "first_name": version, "last_name": f"L{n}", "email": f"m{n}@example.com"}
        yield ("," if n else "") + json.dumps(person | {"phone": f"+1718{n % 10_000_000:07d}"}) + "\n"
    yield '], "classes": ['
    for n in range(classes):
        day, hour = n // PER_DAY, n % PER_DAY // 4
        date = f"{2027 + day // 336}-{day % 336 // 28 + 1:02d}-{day % 28 + 1:02d}"
        when = {"start_time": f"{date}T{hour + 6:02d}:00:00Z", "end_time": f"{date}T{hour + 6:02d}:50:00Z"}
        place = {"location_id": _id("location"), "room_id": _id("room", n % ROOMS), "capacity": 20}
        yield ("," if n else "") + json.dumps({"id": _id("class", n), "title": version, **place, **when}) + "\n"
    yield "]}"


def csv_file(members: int) -> Iterator[str]:
    yield "external_id,first_name,last_name,email,phone,created_at\n"
    for n in range(members):
        yield f"C-{n},First{n},Last{n},c{n}@example.com,(646) 555-{n % 10_000:04d},2024-01-{n % 28 + 1:02d}\n"


def measure(postgres: EmbeddedPostgres, folder: Path, members: int, classes: int) -> Iterator[Figure]:
    """Run the commands one after the other on an empty database; yield three figures for each."""
    environment = {**os.environ, "STUDIOGATE_DATABASE_URL": postgres.dsn(DATABASE)}
    command = [sys.executable, "-m", "studiogate"]
    subprocess.run([*command, "migrate"], env=environment, check=True, stdout=subprocess.DEVNULL)
    first, second, rows = folder / "first.json", folder / "second.json", folder / "members.csv"
    for path, pieces in (
        (first, studio_file(members, classes, "A")),
        (second, studio_file(members, classes, "B")),
        (rows, csv_file(members)),
    ):
        with path.open("w") as file:
            file.writelines(pieces)
    imports = {name: ["import", str(path)] for name, path in zip(STEPS, (first, first, second), strict=False)}
    imports[labels.CSV] = ["import-csv", "members", str(rows), "--studio", SLUG, "--apply"]
    for name in STEPS:
        yield from _run(name, [*command, *imports[name]], environment, postgres)


def _run(name: str, command: list[str], environment: dict[str, str], postgres: EmbeddedPostgres) -> Iterator[Figure]:
    before, started = processes.postgres_cpu_seconds(postgres.cluster), time.perf_counter()
    process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL)
    peak = 0.0
    while not (ended := os.wait4(process.pid, os.WNOHANG))[0]:
        peak = max(peak, processes.peak_megabytes(process.pid))
        time.sleep(LOOK_SECONDS)
    seconds = time.perf_counter() - started
    _, status, used = ended
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"{' '.join(command)} failed")
    spent = used.ru_utime + used.ru_stime + processes.postgres_cpu_seconds(postgres.cluster) - before
    for measure, unit, value in (
        (labels.SECONDS, "s", seconds),
        (labels.CPU_SECONDS, "s", spent),
        (labels.MEMORY, "MB", peak),
    ):
        yield Figure(name, labels.STUDIOGATE, measure, unit, (value,))
