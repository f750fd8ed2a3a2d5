"""Show a command's progress on one line of the terminal. Nothing is shown if the output is not a terminal."""

import shutil
import sys
import time
from typing import Final

import typer

_SHOW_EVERY_SECONDS: Final = 0.2
_WIDEST: Final = 78


class ProgressLine:
    """A progress line. ``clear`` removes it from the terminal."""

    def __init__(self) -> None:
        self._shown = 0.0

    def show(self, text: str) -> None:
        """Replace the text of the line. The line is updated a few times per second at most."""
        if sys.stdout.isatty() and time.monotonic() - self._shown >= _SHOW_EVERY_SECONDS:
            self._shown = time.monotonic()
            typer.echo(f"\r{f'  {text}'[: _width()]:<{_width()}}", nl=False)

    def clear(self) -> None:
        """Remove the line."""
        if self._shown:
            typer.echo(f"\r{' ' * _width()}\r", nl=False)


def _width() -> int:
    """The width of the line: a line as wide as the terminal could wrap, and would then not be replaced."""
    return max(min(shutil.get_terminal_size().columns - 1, _WIDEST), 1)
