"""CPU time and memory of processes, as accounted by the kernel, and the commit that was measured."""

import os
import subprocess
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import psutil


def cpu_seconds(pids: Iterable[int]) -> float:
    """Return the user and system time of these processes."""
    spent = [psutil.Process(pid).cpu_times() for pid in pids]
    return sum(each.user + each.system for each in spent)


def postgres_cpu_seconds(cluster: Path) -> float:
    """Return the CPU time of a PostgreSQL server: the postmaster, its running children, and its ended children, whose
    time the postmaster inherits."""
    postmaster = psutil.Process(int((cluster / "postmaster.pid").read_text().split()[0]))
    own = postmaster.cpu_times()
    total = own.user + own.system + own.children_user + own.children_system
    for child in postmaster.children():
        try:
            spent = child.cpu_times()
        except psutil.NoSuchProcess:  # it has just ended: its time is in the postmaster's at the next call
            continue
        total += spent.user + spent.system
    return total


def postgres_pids(cluster: Path) -> list[int]:
    """Return the postmaster, whose later children inherit its cores, and its children."""
    postmaster = psutil.Process(int((cluster / "postmaster.pid").read_text().split()[0]))
    return [postmaster.pid, *(each.pid for each in postmaster.children())]


def cores() -> list[int]:
    return sorted(os.sched_getaffinity(0))


@contextmanager
def kept_apart(pids: Collection[int]) -> Iterator[None]:
    """Run this process on the first core, and the given ones on all others."""
    first, *others = every = cores()
    _assign(pids, others)
    _assign([0], [first])
    try:
        yield
    finally:
        _assign([0, *pids], every)


def _assign(pids: Iterable[int], to_cores: Collection[int]) -> None:
    for pid in pids:
        with suppress(ProcessLookupError):  # a process of PostgreSQL's has ended
            os.sched_setaffinity(pid, to_cores)


def resident_megabytes(pid: int) -> float:
    return psutil.Process(pid).memory_info().rss / 1e6


def peak_megabytes(pid: int) -> float:
    """Return the most memory that a process has had so far, 0 if it has just ended. The kernel's account of an ended
    process (``ru_maxrss``) would also count the memory of the one that started it."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return sum(int(line.split()[1]) / 1000 for line in lines if line.startswith("VmHWM"))


def measured_commit() -> str:
    """Return the short id of the checked-out commit, with " and changes" if files differ from it; "unknown" outside a
    checkout."""
    root = Path(__file__).parents[1]
    try:
        described = subprocess.run(
            ["git", "-C", str(root), "describe", "--always", "--exclude=*", "--abbrev=8", "--dirty= and changes"],
            capture_output=True,
            text=True,
            check=True,
        )
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return described.stdout.strip()


@dataclass(frozen=True)
class MachineTime:
    """The CPU time of the whole machine since it started, and the part of it that other guests of its host took."""

    total: float
    stolen: float

    @classmethod
    def now(cls) -> "MachineTime":
        spent = psutil.cpu_times()
        return cls(sum(spent), getattr(spent, "steal", 0.0))

    def stolen_since(self) -> float:
        """Return the share of the CPU time since then that other guests took."""
        now = MachineTime.now()
        return (now.stolen - self.stolen) / max(now.total - self.total, 0.01)
