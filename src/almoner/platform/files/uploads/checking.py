"""Check received files in child processes: the server's side (U2, U8).

The server itself parses nothing. The fork server is started with the first file; a child of it starts within 5 ms, a
new Python with the parsers takes 200 ms of processor time (docs/evidence/uploads.md).
"""

import json
import os
import select
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from time import monotonic
from typing import Any, BinaryIO, Final

import almoner
from almoner.platform.bounded_concurrency import BoundedConcurrency
from almoner.platform.files.uploads.files import CheckedFile
from almoner.platform.files.uploads.problems import FiletypeNotSupported
from almoner.platform.jobs.sidecar import run_in_detached_thread

_AT_ONCE: Final = 2
"""The number of concurrent children; other files wait. The largest image takes 300 MB for a moment."""
_MAX_WAITING: Final = 30
_MAX_WAIT_SECONDS: Final = 30.0
"""Uploads that wait longer get a 503; their files stay on disk until then."""

_PATIENCE_SECONDS: Final = 25.0  # the fork server stops a child before this
_START_SECONDS: Final = 30.0
_END_SECONDS: Final = 0.5
_MOST_VERDICT: Final = 4096
_PART: Final = 256 * 1024
_STARTED: Final = b"+"
_BEGIN: Final = (
    "import sys; sys.path.insert(0, sys.argv[1]); from almoner.platform.files.uploads import fork_server; "
    "fork_server.main(int(sys.argv[2]))"
)


class CheckerUnavailable(Exception):
    """The process that checks files cannot be started."""


class UploadChecker:
    """Checks received files in child processes, a few at a time, and reports each outcome and duration."""

    def __init__(
        self,
        reported: Callable[[str, float], None] = lambda _outcome, _seconds: None,
        line: BoundedConcurrency | None = None,
    ) -> None:
        self._line = line or BoundedConcurrency(_AT_ONCE, max_count=_MAX_WAITING, seconds=_MAX_WAIT_SECONDS)
        self._fork_server = _ForkServer()
        self._reported = reported

    async def check(
        self,
        content: BinaryIO,
        media_types: Sequence[str] | None,
        *,
        field_name: str = "file",
        longest_side: int | None = None,
        pad_to_square: bool = False,
        pdf_page: int | None = None,
        quarter_turns: int = 0,
        form_fields: Mapping[str, str] | None = None,
    ) -> CheckedFile:
        """Check a file in a child process; images are re-encoded. ``media_types``: those accepted.

        The declared media type is ignored: clients send image/jpg, or none. ``pdf_page``: render this page to an image
        instead of checking the whole PDF. ``quarter_turns``: clockwise turns by 90 degrees. ``form_fields``: the text
        fields sent with the file, which are returned with it.

        Raises FiletypeNotSupported, ServiceUnavailable.
        """
        task = {
            "kinds": None if media_types is None else list(media_types),
            "longestSide": longest_side,
            "padToSquare": pad_to_square,
            "page": pdf_page,
            "quarterTurns": quarter_turns,
        }
        async with self._line.slot():
            started = monotonic()
            target: BinaryIO = tempfile.TemporaryFile()  # noqa: SIM115 (returned open)
            stored = None
            try:
                stated = await run_in_detached_thread(lambda: self._fork_server.ask(content, target, task))
                outcome = "killed" if stated is None else "refused" if "refused" in stated else "accepted"
                self._reported(outcome, monotonic() - started)
                if stated is None:
                    raise FiletypeNotSupported(
                        f"body.{field_name} cannot be read within the limits of time and memory", cause="complex"
                    )
                if "refused" in stated:
                    raise FiletypeNotSupported(
                        f"body.{field_name} {stated['refused']}", cause=stated.get("reason", "damaged")
                    )
                stored = target if stated["rewritten"] else content
                size, digest = await run_in_detached_thread(lambda: _hash_file(stored))
            finally:
                if stored is not target:
                    target.close()
        flags, pages = tuple(stated["flags"]), stated.get("pages", 1)
        return CheckedFile(stated["mediaType"], size, digest, stored, flags, form_fields or {}, pages)

    def close(self) -> None:
        """Stop the process that checks files."""
        self._fork_server.close()


def _hash_file(file: BinaryIO) -> tuple[int, bytes]:
    file.seek(0)
    size, seen = 0, sha256()
    while part := file.read(_PART):
        size += len(part)
        seen.update(part)
    file.seek(0)
    return size, seen.digest()


class _ForkServer:
    """The fork server process and its socket; used from threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._control: socket.socket | None = None

    def ask(self, source: BinaryIO, target: BinaryIO, task: Mapping[str, object]) -> dict[str, Any] | None:
        """The child's result; None if it was stopped before. Raises CheckerUnavailable."""
        source.flush()
        encoded = json.dumps(task).encode()
        for _ in range(2):  # retry once, if the fork server has ended
            received, verdict = os.pipe()
            try:
                if self._begin(encoded, [source.fileno(), target.fileno()], received, verdict):
                    return _read_verdict(received)
            finally:
                os.close(received)
        raise CheckerUnavailable("the process that reads received files ends as soon as it is started")

    def _begin(self, task: bytes, files: list[int], received: int, verdict: int) -> bool:
        """Start a child, one task at a time on the socket. False if the fork server has ended."""
        with self._lock:
            try:
                control = self._control or self._start()
                with suppress(OSError):
                    socket.send_fds(control, [task], [*files, verdict])
            finally:
                os.close(verdict)  # the child holds the last one, so that the pipe ends with it
            readable, _, _ = select.select([received, control.fileno()], [], [], _START_SECONDS)
            # The fork server never writes to its socket: it becomes readable only when closed.
            if received in readable and (os.read(received, 1) == _STARTED or not _is_readable(control)):
                return True  # a child has started, even if it was killed before confirming
            self._end()
            return False

    def _start(self) -> socket.socket:
        ours, other = socket.socketpair()
        with other:
            folder = str(Path(almoner.__file__).parents[1])
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-c", _BEGIN, folder, str(other.fileno())],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                pass_fds=[other.fileno()],
                env={},
                cwd="/",
                start_new_session=True,
            )
        self._control = ours
        return ours

    def _end(self) -> None:
        if self._control is not None:
            self._control.close()
            self._control = None
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def close(self) -> None:
        """End the process."""
        with self._lock:
            self._end()


def _read_verdict(received: int) -> dict[str, Any] | None:
    """The child's result; None if it was killed or takes too long."""
    readable, _, _ = select.select([received], [], [], _PATIENCE_SECONDS)
    text = os.read(received, _MOST_VERDICT) if readable else b""
    return json.loads(text) if text else None


def _is_readable(control: socket.socket) -> bool:
    """Whether the other side has closed it: an ending process closes its pipes and sockets one after another."""
    return bool(select.select([control], [], [], _END_SECONDS)[0])
