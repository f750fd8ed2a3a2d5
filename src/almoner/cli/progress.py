"""Progress of a command: on one line of a terminal that is written over, and nowhere else."""

import sys
import time
from typing import Final

import typer

_SHOW_EVERY_SECONDS: Final = 0.2
_WIDTH: Final = 78


class ProgressLine:
    """One line. ``clear`` leaves nothing of it behind."""

    def __init__(self) -> None:
        self._shown = 0.0

    def show(self, text: str) -> None:
        """Write over what was there, a few times a second at most."""
        if sys.stdout.isatty() and time.monotonic() - self._shown >= _SHOW_EVERY_SECONDS:
            self._shown = time.monotonic()
            typer.echo(f"\r  {text:<{_WIDTH - 2}}", nl=False)

    def clear(self) -> None:
        """Remove the line."""
        if self._shown:
            typer.echo("\r" + " " * _WIDTH + "\r", nl=False)
