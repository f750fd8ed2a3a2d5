"""Show a command's progress on one line of the terminal. Nothing is shown if the output is not a terminal."""

import sys
import time
from typing import Final

import typer

_SHOW_EVERY_SECONDS: Final = 0.2
_WIDTH: Final = 78


class ProgressLine:
    """A progress line. ``clear`` removes it from the terminal."""

    def __init__(self) -> None:
        self._shown = 0.0

    def show(self, text: str) -> None:
        """Replace the text of the line. The line is updated a few times per second at most."""
        if sys.stdout.isatty() and time.monotonic() - self._shown >= _SHOW_EVERY_SECONDS:
            self._shown = time.monotonic()
            typer.echo(f"\r  {text:<{_WIDTH - 2}}", nl=False)

    def clear(self) -> None:
        """Remove the line."""
        if self._shown:
            typer.echo("\r" + " " * _WIDTH + "\r", nl=False)
