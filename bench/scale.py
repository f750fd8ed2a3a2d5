"""How much a run of the benchmark does."""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Scale:
    """``seconds`` of one run, ``repeat`` runs of each, and the ``share`` of the usual rows that is made."""

    seconds: float = 5.0
    repeat: int = 3
    share: float = 1.0

    def rows(self, usual: int, minimum: int = 1) -> int:
        """As many of ``usual`` rows, questions or documents as this run makes."""
        return max(minimum, int(usual * self.share))


FULL: Final = Scale()
BRIEF: Final = Scale(seconds=0.2, repeat=1, share=0.02)
"""About a second of each part, to see that it runs: its figures mean nothing."""
