"""Multipart uploads (settled 1, 3): read in full up to the declared size, each refusal with its ``upload/...`` code."""

from dataclasses import dataclass
from hashlib import sha256
from io import BytesIO

from python_multipart.exceptions import MultipartParseError
from python_multipart.multipart import MultipartParser, parse_options_header

from almoner.platform.uploads.problems import (
    ContentTypeError,
    FileIsMissing,
    FiletypeNotSupported,
    MaxFileSize,
    MultipartBoundaryNotFound,
    TooManyFiles,
)


@dataclass(frozen=True, slots=True)
class Upload:
    """A declared upload: the name of the file's part, the largest file in bytes, the media types taken.

    ``longest_side``: what an image is scaled down to, in pixels. ``stored``: it is put into the storage, and the
    handler gets a ``Stored`` in place of a ``Checked``.
    """

    field: str
    max_bytes: int
    media_types: tuple[str, ...]
    longest_side: int | None = None
    stored: bool = False


@dataclass(frozen=True, slots=True)
class Uploaded:
    """One received file with the text parts beside it. The caller's file name is data, never a path."""

    filename: str
    media_type: str
    content: bytes
    fields: dict[str, str]

    def fingerprint(self) -> dict[str, object]:
        """What stands for the body in an idempotency fingerprint: hashes of the parts (settled 8)."""
        return {"file": sha256(self.content).hexdigest(), "type": self.media_type, "fields": self.fields}


@dataclass(slots=True)
class _Part:
    name: str = ""
    filename: str | None = None
    media_type: str = ""
    content: BytesIO | None = None


class _Collector:
    """Callbacks of the multipart parser, gathered into parts."""

    def __init__(self) -> None:
        self.parts: list[_Part] = []
        self._header = b""
        self._value = b""

    def begin(self) -> None:
        self.parts.append(_Part(content=BytesIO()))

    def header_field(self, data: bytes, start: int, end: int) -> None:
        self._header += data[start:end]

    def header_value(self, data: bytes, start: int, end: int) -> None:
        self._value += data[start:end]

    def header_end(self) -> None:
        part, name, value = self.parts[-1], self._header.lower(), self._value
        self._header = self._value = b""
        if name == b"content-disposition":
            _, options = parse_options_header(value)
            part.name = options.get(b"name", b"").decode("utf-8", "replace")
            if b"filename" in options:
                part.filename = options[b"filename"].decode("utf-8", "replace")
        elif name == b"content-type":
            part.media_type = value.decode("latin-1").split(";")[0].strip().lower()

    def data(self, data: bytes, start: int, end: int) -> None:
        content = self.parts[-1].content
        assert content is not None
        content.write(data[start:end])


def read(content_type: str, body: bytes, declared: Upload) -> Uploaded:
    """The one file of a multipart body. Raises the ``upload/...`` problems above."""
    media_type, options = parse_options_header(content_type)
    if media_type != b"multipart/form-data":
        raise ContentTypeError(f"header.Content-Type is '{content_type.split(';')[0][:100]}'")
    if not (boundary := options.get(b"boundary")):
        raise MultipartBoundaryNotFound
    parts = _parse(boundary, body)
    files = [part for part in parts if part.filename is not None]
    if len(files) > 1:
        raise TooManyFiles
    if not files or files[0].name != declared.field or files[0].content is None:
        raise FileIsMissing(f"body.{declared.field} is required and must be a file")
    content = files[0].content.getvalue()
    if not content:
        raise FileIsMissing(f"body.{declared.field} is an empty file")
    if len(content) > declared.max_bytes:
        raise MaxFileSize(f"body.{declared.field} must be at most {declared.max_bytes} bytes")
    if files[0].media_type not in declared.media_types:
        raise FiletypeNotSupported(f"body.{declared.field} must be one of {', '.join(declared.media_types)}")
    fields = {
        p.name: p.content.getvalue().decode("utf-8", "replace") for p in parts if p.filename is None and p.content
    }
    return Uploaded((files[0].filename or "")[:255], files[0].media_type, content, fields)


def _parse(boundary: bytes, body: bytes) -> list[_Part]:
    collector = _Collector()
    try:
        parser = MultipartParser(
            boundary,
            {
                "on_part_begin": collector.begin,
                "on_header_field": collector.header_field,
                "on_header_value": collector.header_value,
                "on_header_end": collector.header_end,
                "on_part_data": collector.data,
            },
        )
        parser.write(body)
        parser.finalize()
    except MultipartParseError as error:
        raise FileIsMissing("body is not a well-formed multipart/form-data body") from error
    return collector.parts
