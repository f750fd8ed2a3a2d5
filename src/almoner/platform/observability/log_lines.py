"""Writes log lines although writing may fail: full disk, missing or slow reader, closed stream.

Logging never ends or blocks the service. Lost lines are counted, and reported once writing works again.
"""

import json
import os
import select
import stat
from collections.abc import Callable
from contextlib import suppress
from typing import Final

import msgspec

from almoner.kit.time import SystemClock

Write = Callable[[bytes], object]

_AT_ONCE: Final = select.PIPE_BUF  # the bytes that a ready pipe accepts atomically and without blocking


def encode_line(line: object) -> bytes:
    """One line of JSON, whatever is in it."""
    try:
        return msgspec.json.encode(line) + b"\n"
    except Exception:  # noqa: BLE001 (an odd value or a lone surrogate: written in another form)
        return json.dumps(msgspec.to_builtins(line, str_keys=True, enc_hook=repr), default=repr).encode() + b"\n"


class LogLineWriter:
    """Writes whole lines and never raises. ``lost``: counts lines that could not be written."""

    def __init__(self, write: Write) -> None:
        self._write = write
        self._untold = 0
        self.lost = 0

    def __call__(self, line: object) -> None:
        """Write one line: bytes as they are, anything else as JSON."""
        try:
            if self._untold:
                reported = {
                    "at": SystemClock().real_now(),
                    "event": "log_lines_lost",
                    "level": "error",
                    "lines": self._untold,
                }
                self._write(encode_line(reported))
                self._untold = 0
            self._write(line if isinstance(line, bytes) else encode_line(line))
        except Exception:  # noqa: BLE001 (it cannot be logged)
            self._untold += 1
            self.lost += 1


class StderrWriter:
    """Writes to standard error without blocking. Raises OSError if a line cannot be written now."""

    def __init__(self, fd: int = 2) -> None:
        self._fd = _reopen_pipe(fd)
        self._ready = select.poll()
        self._ready.register(self._fd, select.POLLOUT)
        self._rest = b""

    def __call__(self, line: bytes) -> None:
        """Write a line at once; the rest of a partly written line is written before the next."""
        self._finish()
        self._rest = line
        try:
            self._finish()
        except OSError:
            if self._rest is line:  # nothing of it was written
                self._rest = b""
                raise

    def _finish(self) -> None:
        while self._rest:
            if not self._ready.poll(0):
                raise BlockingIOError("nobody reads")
            self._rest = self._rest[os.write(self._fd, self._rest[:_AT_ONCE]) :]


def stderr_log_writer() -> LogLineWriter:
    """Lines on standard error."""
    return LogLineWriter(StderrWriter())


def _reopen_pipe(fd: int) -> int:
    """Reopen a pipe for this process, since non-blocking mode would otherwise apply to all its writers."""
    with suppress(OSError):  # closed, somebody else's, or nobody reads it yet
        if stat.S_ISFIFO(os.fstat(fd).st_mode):
            return os.open(f"/dev/fd/{fd}", os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    return fd
