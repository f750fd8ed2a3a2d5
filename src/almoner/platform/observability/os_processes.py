"""Information about a process from the operating system, by its process ID."""

import os
import subprocess
from contextlib import suppress
from pathlib import Path


def has_process_ended(pid: int) -> bool:
    """Whether the process has ended, including a zombie that nobody has waited for."""
    with suppress(ChildProcessError):
        os.waitpid(pid, os.WNOHANG)
    return read_process_column(pid, "stat")[:1] in {"", "Z", "X"}


def read_process_column(pid: int, column: str) -> str:
    """A property of a process, by its ``ps`` name; empty if there is no such process."""
    if not Path("/proc/self/stat").exists():
        command = ["/bin/ps", "-ww", "-o", f"{column}=", "-p", str(pid)]
        return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()
    with suppress(FileNotFoundError, ProcessLookupError):
        if column == "stat":
            return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].strip()
        return Path(f"/proc/{pid}/cmdline").read_text().replace("\0", " ")
    return ""
