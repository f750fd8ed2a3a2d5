"""Where log lines go: one JSON object a line, from our own code and from the libraries alike."""

import logging
import sys
from datetime import UTC, datetime
from typing import Any

import msgspec
import structlog

from almoner.platform.failures import failure
from almoner.platform.telemetry import Write

_LEVELS = {"debug": logging.DEBUG, "info": logging.INFO, "warning": logging.WARNING, "error": logging.ERROR}


class _Lines(logging.Handler):
    """Writes the records of the libraries: uvicorn, asyncio, aiohttp."""

    def __init__(self, write: Write) -> None:
        super().__init__()
        self._write = write

    def emit(self, record: logging.LogRecord) -> None:
        """Write one line."""
        line: dict[str, Any] = {
            "at": datetime.fromtimestamp(record.created, UTC),
            "event": record.name,
            "level": record.levelname.lower(),
            "message": record.getMessage(),
        }
        if record.exc_info and record.exc_info[1] is not None:
            line |= failure(record.exc_info[1])
        self._write(msgspec.json.encode(line) + b"\n")


class _Structured:
    """What structlog hands finished lines to."""

    def __init__(self, write: Write) -> None:
        self._write = write

    def msg(self, line: str) -> None:
        """Write one line."""
        self._write(line.encode() + b"\n")

    debug = info = warning = error = critical = exception = msg


def to_stderr(line: bytes) -> None:
    """Write a line at once."""
    sys.stderr.buffer.write(line)
    sys.stderr.buffer.flush()


def configure(write: Write, level: str) -> None:
    """Send everything of at least this level to ``write``, which is given whole lines."""
    logging.basicConfig(level=_LEVELS[level], handlers=[_Lines(write)], force=True)
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True, key="at"),
            structlog.processors.JSONRenderer(serializer=lambda line, **_options: msgspec.json.encode(line).decode()),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(_LEVELS[level]),
        logger_factory=lambda *_names: _Structured(write),
        cache_logger_on_first_use=True,
    )
