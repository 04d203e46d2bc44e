"""What processes have used so far, by the kernel's own accounts."""

from collections.abc import Iterable
from pathlib import Path

import psutil


def cpu_seconds(pids: Iterable[int]) -> float:
    """User and system time of these processes."""
    spent = [psutil.Process(pid).cpu_times() for pid in pids]
    return sum(each.user + each.system for each in spent)


def postgres_cpu_seconds(cluster: Path) -> float:
    """All of a PostgreSQL: the postmaster, its living children, and the dead ones, whose time it inherits."""
    postmaster = psutil.Process(int((cluster / "postmaster.pid").read_text().split()[0]))
    own = postmaster.cpu_times()
    total = own.user + own.system + own.children_user + own.children_system
    for child in postmaster.children():
        try:
            spent = child.cpu_times()
        except psutil.NoSuchProcess:  # it ended at this moment: the postmaster has its time, next time we look
            continue
        total += spent.user + spent.system
    return total


def resident_megabytes(pid: int) -> float:
    return psutil.Process(pid).memory_info().rss / 1e6
