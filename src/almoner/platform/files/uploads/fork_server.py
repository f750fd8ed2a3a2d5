"""The process that checks received files: it forks a confined child for each file.

It has loaded the parsers once, so a child costs only a fork. It has no secrets and no connections, receives tasks only
from its server, and ends with it. Of the service, it loads only this package.
"""

import json
import os
import re
import select
import signal
import socket
import sys
from base64 import b64decode
from io import BytesIO
from time import monotonic
from typing import Any, Final, NoReturn

import pikepdf
from PIL import Image

from almoner.platform.files.uploads import image_checks, pdf_checks, pdf_pages
from almoner.platform.files.uploads.confinement import confine_process
from almoner.platform.files.uploads.verdicts import FileRefused

_REAL_SECONDS: Final = 20.0
_STARTED: Final = b"+"
_UNREADABLE: Final = "cannot be read in full as a JPEG, PNG, HEIC or PDF"

_PDF: Final = "application/pdf"
_HEIC_SAMPLE: Final = (
    "AAAAHGZ0eXBoZWljAAAAAG1pZjFoZWljbWlhZgAAAVZtZXRhAAAAAAAAACFoZGxyAAAAAAAAAABwaWN0AAAAAAAAAAAAAAAAAAAA"
    "ACJpbG9jAAAAAERAAAEAAQAAAAABegABAAAAAAAAABgAAAAjaWluZgAAAAAAAQAAABVpbmZlAgAAAAABAABodmMxAAAAAA5waXRt"
    "AAAAAAABAAAA1mlwcnAAAAC3aXBjbwAAAHhodmNDAQNwAAAAkAAAAAAAHvAA/P34+AAADwNgAAEAGEABDAH//wNwAAADAJAAAAMA"
    "AAMAHroCQGEAAQArQgEBA3AAAAMAkAAAAwAAAwAeoCCBBZbqSSmubgIaDAgAAAMAyAAAAwAIQGIAAQAHRAHBcrAiQAAAABNjb2xy"
    "bmNseAABAA0ABoAAAAAUaXNwZQAAAAAAAABAAAAAQAAAABBwaXhpAAAAAAMICAgAAAAXaXBtYQAAAAAAAAABAAEEgQIDBAAAACBt"
    "ZGF0AAAAFCgBrwtg+sbB1//VCt5JUfOm7Ttw"
)
"""The smallest image: reading it loads the decoder."""
_SIGNATURES: Final = ((b"\xff\xd8\xff", image_checks.JPEG), (b"\x89PNG\r\n\x1a\n", image_checks.PNG), (b"%PDF-", _PDF))
_BEFORE_PDF: Final = re.compile(
    rb"(?:\xef\xbb\xbf)?(?:[\x00\t\r\n ]|\x1b%-12345X|@PJL[^\r\n]*[\r\n]|HTTP/[0-9.]+ [^\r\n<]*[\r\n]"
    rb"|[A-Za-z-]{1,40}:[^\r\n<]*[\r\n])*+%PDF-"
)
"""Blanks, the commands of a printer, and the head of a response that was saved with its file."""
_LOOK_SECONDS: Final = 0.5
_MOST_TASK: Final = 4096


def main(control_socket_fd: int) -> None:
    """Serve check requests on this socket until its other end is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _preload_parsers()
    with socket.socket(fileno=control_socket_fd) as server:
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
            running[child] = monotonic() + _REAL_SECONDS
            for file in files:
                os.close(file)
    finally:
        for child in running:
            os.kill(child, signal.SIGKILL)


def _reap(running: dict[int, float]) -> None:
    """Reap ended children; stop those that take too long."""
    for child, end in list(running.items()):
        if monotonic() > end:
            os.kill(child, signal.SIGKILL)
        if os.waitpid(child, os.WNOHANG)[0]:
            del running[child]


def _read(task: dict[str, Any], source: int, target: int, verdict: int) -> NoReturn:
    """Run the check in the child."""
    stated: dict[str, Any] = {"refused": _UNREADABLE}
    try:
        os.write(verdict, _STARTED)
        confined = confine_process()
        stated = check_and_rewrite_file(source, target, task) | {"confined": confined}
    except FileRefused as refused:
        stated = {"refused": str(refused), "reason": refused.cause}
    except BaseException as error:  # noqa: BLE001 (a parser may raise anything)
        stated["cause"] = type(error).__name__
    finally:
        os.write(verdict, json.dumps(stated).encode())
        os._exit(0)


def check_and_rewrite_file(source_fd: int, target_fd: int, task: dict[str, Any]) -> dict[str, Any]:
    """Determine a file's type; re-encode an image; repair a PDF if necessary, or render the requested page.

    ``task``: its ``kinds`` are the accepted types, None for all. Raises FileRefused, or whatever a parser raises.
    """
    kinds, longest_side = task["kinds"], task["longestSide"]
    content = b""
    while part := os.pread(source_fd, 1 << 20, len(content)):
        content += part
    found = _kind_of(content)
    if found is None or (kinds is not None and found not in kinds):
        raise FileRefused("is none of " + ", ".join(kinds or [kind for _, kind in _SIGNATURES]), "type")
    if found == _PDF and task["page"] is not None:
        page = BytesIO()
        pages = pdf_pages.render_page_and_count_pages(
            content, task["page"], page, longest_side, quarter_turns=task["quarterTurns"]
        )
        with os.fdopen(target_fd, "wb") as file:
            file.write(page.getbuffer())
        return {"mediaType": image_checks.JPEG, "flags": [], "rewritten": True, "pages": pages}
    if found == _PDF:
        flags, repaired = pdf_checks.inspect_pdf(content)
        if repaired is not None:
            with os.fdopen(target_fd, "wb") as file:
                file.write(repaired)
        return {"mediaType": found, "flags": flags, "rewritten": repaired is not None}
    written = BytesIO()
    media_type = image_checks.reencode_image(
        content, found, written, longest_side, pad_to_square=task["padToSquare"], quarter_turns=task["quarterTurns"]
    )
    with os.fdopen(target_fd, "wb") as file:
        file.write(written.getbuffer())
    return {"mediaType": media_type, "flags": [], "rewritten": True}


def _kind_of(content: bytes) -> str | None:
    """The file's type by its first bytes, whatever type is declared; what readers skip may be before a PDF."""
    if content[4:8] == b"ftyp":
        return image_checks.HEIC if content[8:12] in image_checks.HEIC_BRANDS else None
    if _BEFORE_PDF.match(content[:1024]):
        return _PDF
    return next((kind for signature, kind in _SIGNATURES if content.startswith(signature)), None)


def _preload_parsers() -> None:
    """Load every module that parsing needs, by parsing samples: a confined child cannot open files."""
    for kind, found, mode in (
        ("JPEG", image_checks.JPEG, "RGB"),
        ("PNG", image_checks.PNG, "RGBA"),
        ("PNG", image_checks.PNG, "P"),
    ):
        image, result = BytesIO(), BytesIO()
        Image.new(mode, (8, 6)).save(image, kind, exif=Image.Exif())
        image_checks.reencode_image(image.getvalue(), found, result, 4)
        image_checks.reencode_image(image.getvalue(), found, result, 4, pad_to_square=True)
        image_checks.reencode_image(image.getvalue(), found, result, None)
    image_checks.reencode_image(b64decode(_HEIC_SAMPLE), image_checks.HEIC, BytesIO(), None)
    pdf_pages.initialise_pdfium()
    with pikepdf.new() as made_pdf:
        made_pdf.add_blank_page()
        for encryption in (False, pikepdf.Encryption(owner="a", user="", R=6)):
            page = BytesIO()
            made_pdf.save(page, encryption=encryption)
            pdf_checks.inspect_pdf(page.getvalue())
            pdf_checks.inspect_pdf(page.getvalue().replace(b"%%EOF", b""))
            pdf_pages.render_page_and_count_pages(page.getvalue(), 1, BytesIO(), 8)


if __name__ == "__main__":
    main(int(sys.argv[1]))
