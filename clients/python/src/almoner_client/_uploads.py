"""Files to upload, from paths, bytes and streams."""

import mimetypes
import os
from pathlib import Path
from typing import IO, Any, Union

FileInput = Union[str, "os.PathLike[str]", bytes, IO[bytes], "tuple[str, bytes | IO[bytes], str]"]
"""A path, the bytes themselves, a binary stream, or (name, bytes or stream, media type)."""

_MAGIC = (
    (b"\xff\xd8\xff", "image/jpeg", "jpg"),
    (b"\x89PNG", "image/png", "png"),
    (b"%PDF-", "application/pdf", "pdf"),
)


class OpenedFile:
    """A file that can be sent again, unless it is a stream that cannot be rewound."""

    def __init__(self, name: str, content: bytes | IO[bytes], media_type: str, *, own: bool) -> None:
        self._name = name
        self._content = content
        self._media_type = media_type
        self._own = own
        self._start = 0
        self.is_repeatable = True
        if not isinstance(content, bytes):
            self.is_repeatable = content.seekable()
            self._start = content.tell() if self.is_repeatable else 0

    def part(self) -> tuple[str, Any, str]:
        """The part of a form, from its beginning."""
        if not isinstance(self._content, bytes) and self.is_repeatable:
            self._content.seek(self._start)
        return self._name, self._content, self._media_type

    def close(self) -> None:
        """Close it if it was opened here."""
        if self._own and not isinstance(self._content, bytes):
            self._content.close()


def open_file(given: FileInput) -> OpenedFile:
    """Open what is given, and tell its media type by its first bytes or its name."""
    if isinstance(given, tuple):
        name, content, media_type = given
        return OpenedFile(name, content, media_type, own=False)
    if isinstance(given, (str, os.PathLike)):
        path = Path(given)
        stream = path.open("rb")
        start = stream.read(16)
        stream.seek(0)
        return OpenedFile(path.name, stream, _media_type(start, path.name), own=True)
    if isinstance(given, bytes):
        return OpenedFile(_name_of(given), given, _media_type(given[:16], ""), own=False)
    name = Path(str(getattr(given, "name", "file"))).name
    start = b""
    if given.seekable():
        place = given.tell()
        start = given.read(16)
        given.seek(place)
    return OpenedFile(name, given, _media_type(start, name), own=False)


def _media_type(start: bytes, name: str) -> str:
    for magic, media_type, _ in _MAGIC:
        if start.startswith(magic):
            return media_type
    if start[4:8] == b"ftyp" and start[8:12] in (b"heic", b"heix", b"mif1", b"hevc"):
        return "image/heic"
    return mimetypes.guess_type(name)[0] or "application/octet-stream"


def _name_of(content: bytes) -> str:
    return next((f"file.{suffix}" for magic, _, suffix in _MAGIC if content.startswith(magic)), "file")
