"""Write command output to private files, and handle a standard output that is full or closed."""

import codecs
import io
import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

import typer

from almoner.kit.text import sanitise_for_terminal


def echo(text: str, *, error: bool = False) -> None:
    """Print lines that may quote a file or another system: without characters that control the terminal.

    Lines of CSV files end with a carriage return too, which is kept.
    """
    parts = re.split(r"(\r?\n)", f"{text}\n")
    printed = (part if place % 2 else sanitise_for_terminal(part) for place, part in enumerate(parts))
    typer.echo("".join(printed), nl=False, err=error)


def ensure_output_file_absent(path: Path) -> None:
    """Check that the output file does not exist yet, before the command does anything. Raises BadParameter."""
    if path.exists():
        raise typer.BadParameter(f"{path} already exists: choose another file")
    if not path.parent.is_dir():
        raise typer.BadParameter(f"there is no folder {path.parent}")


@contextmanager
def create_file(path: Path) -> Iterator[BinaryIO]:
    """Open a new file that only its owner can read. If an error occurs, such as a full disk, it is removed again."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as opened:
            yield opened
    except BaseException:
        path.unlink(missing_ok=True)
        raise


def write_file(path: Path, content: bytes) -> None:
    """Write the complete file, or no file at all if an error occurs."""
    with create_file(path) as opened:
        opened.write(content)


class OutputDiskFull(Exception):
    """Standard output cannot be written because its disk is full. The message explains what to do."""


class _Checked:
    """A wrapper of standard output.

    It raises its own error if the disk of the output is full, so that this is not mistaken for a full data disk.
    """

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        """Write text. Raises OutputDiskFull if the disk is full, and BrokenPipeError if the pipe is closed."""
        with _checked():
            return int(self._stream.write(text))

    def flush(self) -> None:
        """Flush the stream. Raises the same errors as ``write``."""
        with _checked():
            self._stream.flush()


@contextmanager
def _checked() -> Iterator[None]:
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise OutputDiskFull(
            f"The output could not be written ({error.strerror}): free some space on that disk, or write the output "
            "somewhere else."
        ) from None


def is_stdout_utf_8() -> bool:
    """Whether standard output is in UTF-8, so that every character can be printed."""
    return codecs.lookup(sys.stdout.encoding or "utf-8").name == "utf-8"


def escape_unencodable_characters() -> None:
    """Print characters that the encoding of standard output lacks as escapes, instead of failing."""
    if isinstance(sys.stdout, io.TextIOWrapper) and not is_stdout_utf_8():
        sys.stdout.reconfigure(errors="backslashreplace")


def detect_full_disk_on_stdout() -> None:
    """Wrap standard output for all commands, so that a full disk there is not mistaken for a full data disk."""
    sys.stdout = sys.stdout and _Checked(sys.stdout)


class _Unfailing:
    """A wrapper of standard output that ignores all errors. Output that cannot be written is lost."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        """Write text. Errors are ignored."""
        with suppress(OSError, ValueError):
            self._stream.write(text)
        return len(text)

    def flush(self) -> None:
        """Flush the stream. Errors are ignored."""
        with suppress(OSError, ValueError):
            self._stream.flush()


def ignore_output_errors() -> None:
    """Wrap standard output for long-running commands, to ignore errors such as a closed pipe or a full disk.

    A standard stream that was closed before the start is opened on the null device. Otherwise, the next socket would
    get the descriptor of the stream, and log lines would be written to the socket.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)  # the lowest free number: this one
    sys.stdout, sys.stderr = (stream and _Unfailing(stream) for stream in (sys.stdout, sys.stderr))
