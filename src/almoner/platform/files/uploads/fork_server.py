"""The process that reads received files, beside the server: for each file it makes a child, which confines itself.

It has loaded the parsers once, so that a child costs the time of a fork. It holds no secret and no connection, hears
from its server alone, and ends when that has ended. Nothing of the service but this package is loaded here.
"""

import json
import os
import select
import signal
import socket
import sys
from io import BytesIO
from time import monotonic
from typing import Any, Final, NoReturn

import pikepdf
from PIL import Image

from almoner.platform.files.uploads import image_checks, pdf_checks
from almoner.platform.files.uploads.confinement import confine_process
from almoner.platform.files.uploads.verdicts import FileRefused

REAL_SECONDS: Final = 20.0
STARTED: Final = b"+"
UNREADABLE: Final = "cannot be read in full as a JPEG, PNG or PDF"

_PDF: Final = "application/pdf"
_SIGNATURES: Final = ((b"\xff\xd8\xff", image_checks.JPEG), (b"\x89PNG\r\n\x1a\n", image_checks.PNG), (b"%PDF-", _PDF))
_LOOK_SECONDS: Final = 0.5
_MOST_TASK: Final = 4096


def main(control: int) -> None:
    """Serve the socket with this number until its other end is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _preload_parsers()
    with socket.socket(fileno=control) as server:
        _serve(server)


def _serve(server: socket.socket) -> None:
    running: dict[int, float] = {}  # children, and when they are stopped
    try:
        while True:
            readable, _, _ = select.select([server], [], [], _LOOK_SECONDS if running else None)
            _reap(running)
            if not readable:
                continue
            task, files, _, _ = socket.recv_fds(server, _MOST_TASK, 3)
            if not task:
                return
            if (child := os.fork()) == 0:
                server.close()
                _read(json.loads(task), *files)
            running[child] = monotonic() + REAL_SECONDS
            for file in files:
                os.close(file)
    finally:
        for child in running:
            os.kill(child, signal.SIGKILL)


def _reap(running: dict[int, float]) -> None:
    """Forget the children that have ended; stop those that take too long."""
    for child, end in list(running.items()):
        if monotonic() > end:
            os.kill(child, signal.SIGKILL)
        if os.waitpid(child, os.WNOHANG)[0]:
            del running[child]


def _read(task: dict[str, Any], source: int, target: int, verdict: int) -> NoReturn:
    """The child's life."""
    stated: dict[str, Any] = {"refused": UNREADABLE}
    try:
        os.write(verdict, STARTED)
        confined = confine_process()
        stated = inspect_file(source, target, task["declared"], task["longestSide"], square=task["square"]) | {
            "confined": confined
        }
    except FileRefused as refused:
        stated = {"refused": str(refused)}
    except BaseException as error:  # noqa: BLE001 (a parser may raise anything at what was made to break it)
        stated["cause"] = type(error).__name__
    finally:
        os.write(verdict, json.dumps(stated).encode())
        os._exit(0)


def inspect_file(
    source: int, target: int, declared: str | None, longest_side: int | None, *, square: bool
) -> dict[str, Any]:
    """Find out what the file is, and write it anew when it is an image. Raises Refused, or whatever a parser raises."""
    content = b""
    while part := os.pread(source, 1 << 20, len(content)):
        content += part
    found = next((kind for signature, kind in _SIGNATURES if content.startswith(signature)), None)
    if found is None:
        raise FileRefused("is neither a JPEG nor a PNG nor a PDF")
    if declared is not None and found != declared:
        raise FileRefused(f"is declared as {declared} and is {found}")
    if found == _PDF:
        return {"mediaType": found, "flags": pdf_checks.inspect_pdf(content), "rewritten": False}
    written = BytesIO()
    media_type = image_checks.rewrite_image(content, found, written, longest_side, square=square)
    with os.fdopen(target, "wb") as file:
        file.write(written.getbuffer())
    return {"mediaType": media_type, "flags": [], "rewritten": True}


def _preload_parsers() -> None:
    """Load every module that reading takes, by reading: a child can open none any more."""
    for kind, found, mode in (
        ("JPEG", image_checks.JPEG, "RGB"),
        ("PNG", image_checks.PNG, "RGBA"),
        ("PNG", image_checks.PNG, "P"),
    ):
        image, made = BytesIO(), BytesIO()
        Image.new(mode, (8, 6)).save(image, kind, exif=Image.Exif())
        image_checks.rewrite_image(image.getvalue(), found, made, 4)
        image_checks.rewrite_image(image.getvalue(), found, made, 4, square=True)
        image_checks.rewrite_image(image.getvalue(), found, made, None)
    page = BytesIO()
    with pikepdf.new() as made_pdf:
        made_pdf.add_blank_page()
        made_pdf.save(page)
    pdf_checks.inspect_pdf(page.getvalue())


if __name__ == "__main__":
    main(int(sys.argv[1]))
