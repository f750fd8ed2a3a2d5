"""How much a test does: bounded counts in `make test`, full ones in `make soak`, which also writes a report."""

import platform
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import psutil

EVIDENCE = Path(__file__).parents[2] / "docs" / "evidence"


@dataclass(frozen=True, slots=True)
class Figures:
    """Counts for one test; ``seed`` is the session's, printed with every failure and in the evidence."""

    soak: bool
    seed: int

    def count(self, bounded: int, full: int) -> int:
        """The number of rounds to run."""
        return full if self.soak else bounded

    def write(self, name: str, title: str, *findings: str) -> None:
        """Write the report of a full run to ``docs/evidence/<name>.md``."""
        if not self.soak:
            return
        EVIDENCE.mkdir(parents=True, exist_ok=True)
        memory = psutil.virtual_memory().total / 2**30
        machine = (
            f"{psutil.cpu_count()} cores, {memory:.0f} GiB, {platform.system()}, Python {platform.python_version()}"
        )
        lines = [f"# {title}", "", *(f"- {finding}" for finding in findings), ""]
        lines += [f"Seed {self.seed}, {datetime.now(UTC):%Y-%m-%d}, {machine}. Repeat with `make soak`.", ""]
        (EVIDENCE / f"{name}.md").write_text("\n".join(lines))
