"""Output of commands: new files readable by their owner alone, and standard output that never fails."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
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


class OutputFailed(Exception):
    """Standard output cannot be written because its disk is full; the message says what to do."""


class _Checked:
    """A stream whose failures are told from those of other files: a full disk behind it is not that of the data."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        """Print it. Raises OutputFailed, and BrokenPipeError when the reader is gone."""
        with _checked():
            return int(self._stream.write(text))

    def flush(self) -> None:
        """Flush the stream. Raises as ``write`` does."""
        with _checked():
            self._stream.flush()


@contextmanager
def _checked() -> Iterator[None]:
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise OutputFailed(
            f"The output could not be written ({error.strerror}): free space where it goes, or send it elsewhere."
        ) from None


def check_output() -> None:
    """Distinguish full standard output from a full data disk, for every command."""
    sys.stdout = sys.stdout and _Checked(sys.stdout)


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
