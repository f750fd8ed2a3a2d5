"""Configure logging for our own code and for libraries. Each log line is a JSON object."""

import errno
import logging
import os
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from almoner.platform.observability import loggers
from almoner.platform.observability.failures import failure_log_fields
from almoner.platform.observability.log_lines import LogLineWriter, encode_line

_LARGEST: Final = 10_000_000  # bytes
_OLD_FILES: Final = 3
_LEVELS = {"debug": logging.DEBUG, "info": logging.INFO, "warning": logging.WARNING, "error": logging.ERROR}


class _Lines(logging.Handler):
    """Writes the log records of libraries such as uvicorn, asyncio and aiohttp as JSON."""

    def __init__(self, write: LogLineWriter) -> None:
        super().__init__()
        self._write = write

    def emit(self, record: logging.LogRecord) -> None:
        """Write one line."""
        try:
            message = record.getMessage()
        except Exception:  # noqa: BLE001 (a library logs with the wrong number of values)
            message = str(record.msg)
        line: dict[str, Any] = {
            "at": datetime.fromtimestamp(record.created, UTC),
            "event": record.name,
            "level": record.levelname.lower(),
            "message": message,
        }
        if record.exc_info and record.exc_info[1] is not None:
            line |= failure_log_fields(record.exc_info[1])
        self._write(line)


class _Structured:
    """Receives finished log lines from structlog."""

    def __init__(self, write: LogLineWriter) -> None:
        self._write = write

    def msg(self, line: str) -> None:
        """Write one line."""
        self._write(line.encode())

    debug = info = warning = error = critical = exception = msg


class LogFile:
    """A rotating log file.

    A full file is renamed to ``<name>.1``, the previous ``.1`` to ``.2`` and so on. The oldest file is deleted.
    """

    def __init__(self, file: Path, largest: int = _LARGEST, old_files: int = _OLD_FILES) -> None:
        self._file = file
        self._largest = largest
        self._old_files = old_files

    def __enter__(self) -> Self:
        self._open()
        return self

    def __exit__(
        self, _type: type[BaseException] | None, _error: BaseException | None, _frames: TracebackType | None
    ) -> None:
        self._lines.close()

    def write(self, line: bytes) -> None:
        """Append a line, but never part of a line.

        Raises OSError if the disk is full, or if a new file cannot be created.
        """
        if self._size and self._size + len(line) > self._largest:
            self._rotate()
        if (written := self._lines.write(line) or 0) != len(line):
            self._lines.truncate(self._lines.tell() - written)  # another process may have written lines before
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        self._size += len(line)

    def _rotate(self) -> None:
        """Rotate the files. A step that fails is retried with the next line, and no file is moved twice."""
        if self._file.exists():
            free = next((number for number in range(1, self._old_files) if not self._old(number).exists()), None)
            for number in range((free or self._old_files) - 1, 0, -1):
                self._old(number).replace(self._old(number + 1))
            self._file.replace(self._old(1))
        full = self._lines
        self._open()
        full.close()

    def _open(self) -> None:
        self._lines = self._file.open("ab", buffering=0)
        self._size = self._lines.tell()

    def _old(self, number: int) -> Path:
        return self._file.with_name(f"{self._file.name}.{number}")


def configure_logging(write: LogLineWriter, level: str) -> None:
    """Pass all log lines of at least this level to ``write``."""
    logging.basicConfig(level=_LEVELS[level], handlers=[_Lines(write)], force=True)
    loggers.configure(
        processors=[
            loggers.processors.add_log_level,
            loggers.processors.TimeStamper(fmt="iso", utc=True, key="at"),
            loggers.processors.JSONRenderer(serializer=lambda line, **_options: encode_line(line).decode()),
        ],
        wrapper_class=loggers.make_filtering_bound_logger(_LEVELS[level]),
        logger_factory=lambda *_names: _Structured(write),
        cache_logger_on_first_use=True,
    )
