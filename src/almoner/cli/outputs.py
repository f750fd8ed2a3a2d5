"""Output of commands: new files readable by their owner alone, and standard output that never fails."""

import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import typer


def ensure_new_file(out: Path) -> None:
    """Before anything is done. Raises BadParameter."""
    if out.exists():
        raise typer.BadParameter(f"{out} already exists: choose another file")
    if not out.parent.is_dir():
        raise typer.BadParameter(f"there is no folder {out.parent}")


def write_file(out: Path, content: bytes) -> None:
    """Whole or not at all."""
    with os.fdopen(os.open(out, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as opened:
        opened.write(content)


class _Unfailing:
    """A stream on which nothing fails: what cannot be printed is lost."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        """Print it if that is possible."""
        with suppress(OSError, ValueError):
            self._stream.write(text)
        return len(text)

    def flush(self) -> None:
        """Hand on what is held."""
        with suppress(OSError, ValueError):
            self._stream.flush()


def ignore_output_errors() -> None:
    """For long-running commands: the reader of their output may go away, and its disk may be full."""
    sys.stdout, sys.stderr = (stream and _Unfailing(stream) for stream in (sys.stdout, sys.stderr))
