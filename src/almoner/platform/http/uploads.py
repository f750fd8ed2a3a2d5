"""Multipart uploads (settled 1, 3), streamed to disk up to their limit (U1)."""

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import BinaryIO, Final

from python_multipart.exceptions import MultipartParseError
from python_multipart.multipart import MultipartParser, parse_options_header
from starlette.types import Receive

from almoner.kit.errors import ContentTooLarge, IncorrectParams
from almoner.platform.files.uploads.problems import (
    ContentTypeError,
    FileIsMissing,
    FileTooLarge,
    MultipartBoundaryNotFound,
    TooManyFiles,
)
from almoner.platform.http.header_lines import find_compression_problem

_SHOWN: Final = 100
OVERHEAD: Final = 64 * 1024
"""The maximum size of a body beyond its file (settled 1)."""
_MAX_PARTS: Final = 20
"""The maximum number of parts: an empty part is eight bytes and takes 150 in memory."""


@dataclass(frozen=True, slots=True)
class UploadDeclaration:
    """The upload that an endpoint accepts: form field, size limit, media types.

    ``longest_side``: images are scaled down to this many pixels. ``pad_to_square``: with a transparent margin.
    ``stores_file``: the file is put into the storage, and the handler gets a ``StoredFile`` instead of a
    ``CheckedFile``.
    """

    form_field_name: str
    max_bytes: int
    media_types: tuple[str, ...]
    longest_side: int | None = None
    pad_to_square: bool = False
    stores_file: bool = False


@dataclass(frozen=True, slots=True)
class UploadedFile:
    """A received file and the text fields beside it. The file name is untrusted."""

    filename: str
    media_type: str
    size: int
    sha256: bytes
    content: BinaryIO
    form_fields: Mapping[str, str]

    def fingerprint(self) -> dict[str, object]:
        """What represents the upload in an idempotency fingerprint: hashes of its parts (settled 8)."""
        return {"file": self.sha256.hex(), "type": self.media_type, "fields": self.form_fields}


@dataclass(frozen=True, slots=True)
class ReceivedUpload:
    """A parsed multipart body, or its problem, which is reported later (settled 3).

    ``form_fields``: the text fields that came before a problem.
    """

    uploaded_file: UploadedFile | None
    problem: Exception | None = None
    form_fields: Mapping[str, str] = field(default_factory=dict)

    def get_uploaded_file(self) -> UploadedFile:
        """The uploaded file. Raises its ``upload/...`` problem."""
        if self.uploaded_file is None:
            raise self.problem or FileIsMissing()
        return self.uploaded_file

    def close(self) -> None:
        """Close the temporary file."""
        if self.uploaded_file is not None:
            self.uploaded_file.content.close()


@dataclass(slots=True)
class _Part:
    name: str = ""
    filename: str | None = None
    media_type: str = ""
    text: bytearray = field(default_factory=bytearray)


class _Collector:
    """Callbacks of the multipart parser: the file is written to disk, texts are kept in memory."""

    def __init__(self, declared: UploadDeclaration) -> None:
        self.declared = declared
        self.parts: list[_Part] = []
        self.size = 0
        self.seen = sha256()
        self.file: BinaryIO = tempfile.TemporaryFile()  # noqa: SIM115 (returned open)
        self.is_complete = False
        self._beside = 0
        self._header = b""
        self._value = b""

    def begin(self) -> None:
        if len(self.parts) == _MAX_PARTS:
            raise ContentTooLarge(f"the body may hold at most {_MAX_PARTS} parts")
        self.parts.append(_Part())

    def header_field(self, data: bytes, start: int, end: int) -> None:
        self._header += data[start:end]
        self._count(end - start)

    def header_value(self, data: bytes, start: int, end: int) -> None:
        self._value += data[start:end]
        self._count(end - start)

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

    def headed(self) -> None:
        """Check a part's headers, so that unaccepted parts are refused before their content."""
        part = self.parts[-1]
        if part.filename is None:
            if any(other.filename is None and other.name == part.name for other in self.parts[:-1]):
                raise IncorrectParams(f"body.{part.name[:_SHOWN]} must be given once")
            return
        if sum(other.filename is not None for other in self.parts) > 1:
            raise TooManyFiles
        if part.name != self.declared.form_field_name:
            raise FileIsMissing(f"body.{self.declared.form_field_name} is required and must be a file")

    def data(self, data: bytes, start: int, end: int) -> None:
        part = self.parts[-1]
        if part.filename is None:
            self._count(end - start)
            part.text += data[start:end]
            return
        self.size += end - start
        if self.size > self.declared.max_bytes:
            raise FileTooLarge(f"body.{self.declared.form_field_name} must be at most {self.declared.max_bytes} bytes")
        piece = data[start:end]
        self.seen.update(piece)
        self.file.write(piece)

    def end(self) -> None:
        """The boundary that ends the body was received. Without it, the file may be cut off."""
        self.is_complete = True

    def uploaded(self) -> UploadedFile:
        """The uploaded file. Raises its problem."""
        declared = self.declared
        found = next((part for part in self.parts if part.filename is not None), None)
        if found is None:
            raise FileIsMissing(f"body.{declared.form_field_name} is required and must be a file")
        if not self.size:
            raise FileIsMissing(f"body.{declared.form_field_name} is an empty file")
        name = (found.filename or "")[:255]
        self.file.flush()
        return UploadedFile(name, found.media_type, self.size, self.seen.digest(), self.file, self.fields())

    def fields(self) -> dict[str, str]:
        """The text fields."""
        return {part.name: part.text.decode("utf-8", "replace") for part in self.parts if part.filename is None}

    def _count(self, size: int) -> None:
        self._beside += size
        if self._beside > OVERHEAD:
            raise ContentTooLarge(f"the body may hold at most {OVERHEAD} bytes beside its file")


async def receive_upload(
    receive: Receive, headers: Mapping[str, str], upload_declaration: UploadDeclaration
) -> ReceivedUpload:
    """Parse a multipart body, stopping at the first byte over the limit.

    Raises ContentTooLarge; ConnectionAbortedError if the client left.
    """
    limit = upload_declaration.max_bytes + OVERHEAD
    announced = headers.get("content-length", "")
    if announced.isascii() and announced.isdigit() and int(announced) > limit:
        raise ContentTooLarge(f"the body may hold at most {limit} bytes, this one announces {announced}")
    media_type, options = parse_options_header(headers.get("content-type", ""))
    if media_type != b"multipart/form-data":
        named = headers.get("content-type", "").split(";")[0][:100]
        return ReceivedUpload(None, ContentTypeError(f"header.Content-Type is '{named}'"))
    if (compressed := find_compression_problem(headers)) is not None:
        return ReceivedUpload(None, ContentTypeError(compressed))
    if not (boundary := options.get(b"boundary")):
        return ReceivedUpload(None, MultipartBoundaryNotFound())
    collector = _Collector(upload_declaration)
    uploaded: UploadedFile | None = None
    try:
        uploaded = await _read(receive, _parser(boundary, collector), collector, limit)
        return ReceivedUpload(uploaded)
    except MultipartParseError:
        return ReceivedUpload(None, FileIsMissing("body is not a well-formed multipart/form-data body"))
    except (IncorrectParams, TooManyFiles, FileIsMissing, FileTooLarge) as problem:
        return ReceivedUpload(None, problem, collector.fields())
    finally:
        if uploaded is None:
            collector.file.close()


async def _read(source: Receive, parser: MultipartParser, collector: _Collector, limit: int) -> UploadedFile:
    size, more = 0, True
    while more:
        message = await source()
        if message["type"] == "http.disconnect":
            raise ConnectionAbortedError("the client left before its request was complete")
        chunk = message.get("body", b"")
        size += len(chunk)
        if chunk:
            parser.write(chunk)
        if size > limit:
            raise ContentTooLarge(f"the body may hold at most {limit} bytes")
        more = message.get("more_body", False)
    parser.finalize()
    if not collector.is_complete:
        raise MultipartParseError("the body has no end")
    return collector.uploaded()


def _parser(boundary: bytes, collector: _Collector) -> MultipartParser:
    return MultipartParser(
        boundary,
        {
            "on_part_begin": collector.begin,
            "on_header_field": collector.header_field,
            "on_header_value": collector.header_value,
            "on_header_end": collector.header_end,
            "on_headers_finished": collector.headed,
            "on_part_data": collector.data,
            "on_end": collector.end,
        },
    )
