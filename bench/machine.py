"""The machine of a measurement, and the processor time and memory of a run."""

import os
import platform
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import psutil

MEASURED: Final = "## Measured\n"
"""The heading on an evidence page below which a measurement writes."""


def facts(postgres_version: str) -> list[str]:
    """The machine and the versions, one fact each."""
    cpu = next(
        (
            line.partition(":")[2].strip()
            for line in Path("/proc/cpuinfo").read_text().splitlines()
            if "model name" in line
        ),
        platform.processor() or "unknown processor",
    )
    day, load = datetime.now(UTC).date(), psutil.getloadavg()[0]
    memory = psutil.virtual_memory().total / 2**30
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False
    ).stdout.strip()
    return [
        f"{psutil.cpu_count()} cores of {cpu}, {memory:.0f} GiB, {platform.system()} {platform.release()}",
        f"Python {platform.python_version()}, PostgreSQL {postgres_version}",
        f"{day}, commit {commit or 'unknown'}, load average before the run {load:.2f}",
    ]


def publish(report: str, page: Path, *, write: bool) -> None:
    """Print a report, and put it below the heading of its evidence page, replacing the previous one."""
    print(report)
    if write:
        introduction = page.read_text().partition(MEASURED)[0]
        page.write_text(f"{introduction}{MEASURED}\n{report}")


def forget(folder: Path) -> None:
    """Drop the files below a folder from the page cache, so that they are read from disk again."""
    for file in (found for found in folder.rglob("*") if found.is_file()):
        opened = os.open(file, os.O_RDONLY)
        try:
            os.fsync(opened)  # unwritten data stay in memory
            os.posix_fadvise(opened, 0, 0, os.POSIX_FADV_DONTNEED)
        finally:
            os.close(opened)


QUOTA_PERIOD_US: Final = 20_000
CGROUPS: Final = Path("/sys/fs/cgroup")


def can_set_quotas() -> bool:
    """Whether ``cpu_quota`` works here."""
    groups = _control_groups()
    controllers = groups / "cgroup.subtree_control"  # of version 2
    has_controller = "cpu" in controllers.read_text().split() if controllers.exists() else groups.name == "cpu"
    return has_controller and os.access(groups, os.W_OK)


def _control_groups() -> Path:
    first_version = CGROUPS / "cpu"
    return first_version if first_version.is_dir() else CGROUPS


@contextmanager
def cpu_quota(pid: int, cores: float) -> Iterator[None]:
    """Limit a process to a share of the processor for as long as the block runs. Needs a cgroup that can be written."""
    group, quota = _control_groups() / f"almoner-bench-{pid}", int(cores * QUOTA_PERIOD_US)
    group.mkdir()
    try:
        if (group / "cpu.cfs_quota_us").exists():
            (group / "cpu.cfs_period_us").write_text(str(QUOTA_PERIOD_US))
            (group / "cpu.cfs_quota_us").write_text(str(quota))
        else:
            (group / "cpu.max").write_text(f"{quota} {QUOTA_PERIOD_US}")
        (group / "cgroup.procs").write_text(str(pid))
        yield
    finally:
        (group.parent / "cgroup.procs").write_text(str(pid))
        group.rmdir()


_LOOP: Final = """
import os
os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
numbers = dict.fromkeys(range(100_000))
while True:
    for number in numbers:
        numbers[number] = number
"""


@contextmanager
def idle_cores_kept_busy() -> Iterator[None]:
    """Run a Python loop on each core, of a priority that only uses what everything else leaves idle.

    So measured programs have as much of the cores as before, but share their caches and units, as with a neighbour.
    """
    with ExitStack() as stack:
        for _ in range(psutil.cpu_count() or 1):
            loop = stack.enter_context(subprocess.Popen([sys.executable, "-c", _LOOP]))
            stack.callback(loop.kill)
        yield


@dataclass(frozen=True, slots=True)
class Spent:
    """Processor seconds of a process and its descendants, including those that have ended."""

    seconds: float

    @classmethod
    def by(cls, pid: int) -> "Spent":
        """The processor time that the process has used so far."""
        total = 0.0
        top = psutil.Process(pid)
        for process in [top, *top.children(recursive=True)]:
            try:
                times = process.cpu_times()
            except psutil.NoSuchProcess:
                continue  # it ended meanwhile; its parent's total includes it
            total += times.user + times.system
            if process.pid == pid:
                total += times.children_user + times.children_system
        return cls(total)

    def since(self, earlier: "Spent") -> float:
        """The seconds used between two measurements."""
        return self.seconds - earlier.seconds


def resident(pid: int) -> int:
    """Bytes of memory of a process and its children, plus their share of shared memory (PSS)."""
    top = psutil.Process(pid)
    return sum(int(process.memory_full_info().pss) for process in [top, *top.children(recursive=True)])
