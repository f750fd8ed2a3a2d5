"""How much a run of the benchmark does."""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Scale:
    """``seconds`` of one run, ``repeat`` runs of each, and the ``share`` of the usual rows."""

    seconds: float = 5.0
    repeat: int = 3
    share: float = 1.0

    def rows(self, usual: int, minimum: int = 1) -> int:
        """The number of rows, questions or documents for this run."""
        return max(minimum, int(usual * self.share))


FULL: Final = Scale()
BRIEF: Final = Scale(seconds=0.2, repeat=1, share=0.02)
"""About a second for each part, to check that it runs: its figures mean nothing."""
