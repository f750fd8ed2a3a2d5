"""Check PDFs completely in the confined child process; they are accepted, repaired or refused.

Minor damage that every reader repairs alike, such as a wrong table, is repaired, and the repaired file is stored:
everybody sees what was checked. Damage that readers may repair in different ways is refused.
"""

import re
import zlib
from collections.abc import Iterator
from io import BytesIO
from typing import Any, Final
from zipfile import is_zipfile

import pikepdf

from almoner.platform.files.uploads.verdicts import MOST_KEPT_BYTES, OTHER_FILES, FileRefused

_MOST_PAGES: Final = 200
_MOST_UNPACKED: Final = 50 * 1024 * 1024
_MOST_OBJECTS: Final = 200_000

_BEGINNING: Final = re.compile(rb"%PDF-[12]\.\d[\s%]")
_END: Final = b"%%EOF"
_DAMAGED: Final = "is no undamaged PDF (printing it into a new one helps)"
_BLANKS: Final = b"\x00\t\r\n "
_REPAIRABLE: Final = re.compile(
    r"file is damaged|repairing|reconstruct|recover|can't find startxref|xref not found|expected endobj|expected n |"
    r"treating as|missing endstream|stream keyword|expected endstream|trailing|can't find PDF header|reported number|"
    r"extraneous whitespace|startxref was more than|lacks /Length key|/Type key should be|MediaBox is undefined|"
    r"Resources is missing or invalid",
    re.IGNORECASE,
)
"""Warnings about damage that changes no content: a table, lengths, ends."""
_HARMLESS: Final = "missing or invalid; repairing"  # such as a page without resources: it can only be read one way
_STEP: Final = 1024 * 1024
_WRONG_CHECKSUM: Final = "incorrect data check"
_ACTIONS: Final = {
    "/JavaScript": "pdf_javascript",
    "/Launch": "pdf_launch",
    "/GoToE": "pdf_embedded_files",
    "/GoToR": "pdf_remote",
    "/SubmitForm": "pdf_remote",
    "/ImportData": "pdf_remote",
    "/Rendition": "pdf_media",
    "/Movie": "pdf_media",
    "/Sound": "pdf_media",
    "/RichMediaExecute": "pdf_media",
}
"""The flag of an action (its /S), other than links to a page or URL."""
_KEYS: Final = {
    "/JS": "pdf_javascript",
    "/JavaScript": "pdf_javascript",
    "/XFA": "pdf_javascript",
    "/Launch": "pdf_launch",
    "/EmbeddedFiles": "pdf_embedded_files",
    "/EF": "pdf_embedded_files",
    "/RichMedia": "pdf_media",
    "/RichMediaContent": "pdf_media",
}
_TYPES: Final = {
    "/EmbeddedFile": "pdf_embedded_files",
    "/RichMedia": "pdf_media",
    "/Movie": "pdf_media",
    "/Sound": "pdf_media",
    "/Screen": "pdf_media",
    "/3D": "pdf_media",
}
_INFLATED: Final = ("/FlateDecode", "/Fl")
_DECODED: Final = ("/LZWDecode", "/LZW", "/RunLengthDecode", "/RL", "/ASCII85Decode", "/A85", "/ASCIIHexDecode", "/AHx")
_TEXTS: Final = ("/ASCII85Decode", "/A85", "/ASCIIHexDecode", "/AHx")
"""Bytes written as letters, as some libraries write images: decoded, they are smaller."""
_PICTURES: Final = ("/DCTDecode", "/DCT", "/JPXDecode", "/CCITTFaxDecode", "/CCF", "/JBIG2Decode")


def inspect_pdf(content: bytes) -> tuple[list[str], bytes | None]:
    """Flags for active content in the PDF, and the repaired file if it had to be repaired.

    Raises FileRefused, or whatever the parser raises.
    """
    if len(content) > MOST_KEPT_BYTES:
        raise FileRefused(f"is a PDF of more than {MOST_KEPT_BYTES:,} bytes", "large")
    _, end, tail = content.rpartition(_END)
    if end and (OTHER_FILES.match(tail.strip(_BLANKS)) or is_zipfile(BytesIO(tail))):
        raise FileRefused("is a PDF with another file behind it")
    if is_zipfile(BytesIO(content)):
        raise FileRefused("is an archive as well as a PDF")
    whole = _BEGINNING.match(content) is not None and end and not tail.strip(_BLANKS)
    try:
        if whole and (flags := _read_undamaged(content)) is not None:
            return flags, None
        return _repair(content)
    except pikepdf.PasswordError:
        raise FileRefused("needs a password to be opened", "encrypted") from None
    except (pikepdf.PdfError, pikepdf.DataDecodingError) as error:
        raise FileRefused(_DAMAGED) from error


def _read_undamaged(content: bytes) -> list[str] | None:
    """The flags; None if the file's cross-reference table is damaged and must be repaired."""
    try:
        with pikepdf.open(BytesIO(content), attempt_recovery=False, suppress_warnings=True) as opened:
            flags = _walk(opened)
            return None if any(not str(warning).endswith(_HARMLESS) for warning in opened.get_warnings()) else flags
    except pikepdf.PasswordError:
        raise
    except (pikepdf.PdfError, pikepdf.DataDecodingError):
        return None


def _repair(content: bytes) -> tuple[list[str], bytes]:
    """Rewrite a damaged file from the objects that every reader finds, so that it has only one reading."""
    start = content.find(b"%PDF-")
    if not _BEGINNING.match(content, start) or not re.search(rb"\btrailer\b|/Type\s*/XRef\b", content):
        raise FileRefused(_DAMAGED)
    with _open_damaged(content[start:]) as opened:
        flags = _walk(opened)
        if any(not _REPAIRABLE.search(str(warning)) for warning in opened.get_warnings()):
            raise FileRefused(_DAMAGED)
        written = BytesIO()
        opened.save(written, encryption=False, fix_metadata_version=False)  # does not parse the XML of the metadata
    if written.tell() > MOST_KEPT_BYTES:
        raise FileRefused("is larger than it may be once it is repaired", "large")
    with pikepdf.open(BytesIO(written.getvalue()), attempt_recovery=False, suppress_warnings=True) as repaired:
        flags = _walk(repaired)
    return ["pdf_repaired", *flags], written.getvalue()


def _open_damaged(content: bytes) -> pikepdf.Pdf:
    """Open a damaged file; if its table names the wrong objects, from the objects alone, as readers do."""
    try:
        return pikepdf.open(BytesIO(content), attempt_recovery=True, suppress_warnings=True)
    except pikepdf.PasswordError:
        raise
    except pikepdf.PdfError:
        untabled = content.replace(b"startxref", b"startxxxx")
        return pikepdf.open(BytesIO(untabled), attempt_recovery=True, suppress_warnings=True)


def _walk(opened: pikepdf.Pdf) -> list[str]:
    if not 1 <= len(opened.pages) <= _MOST_PAGES:
        raise FileRefused(f"has no page, or more than {_MOST_PAGES}", "pages")
    flags: set[str] = set()
    left = _MOST_UNPACKED
    objects = opened.objects
    if len(objects) > _MOST_OBJECTS:
        raise FileRefused(f"has more than {_MOST_OBJECTS} objects", "complex")
    for found in (opened.trailer, *objects):
        if isinstance(found, pikepdf.Stream):
            left -= _unpacked_size(found, left)
        for entries in _iter_dictionaries(found):
            flags |= _flags_of(entries)
    return ["pdf_active", *sorted(flags)] if flags else []


def _iter_dictionaries(found: Any) -> Iterator[dict[str, Any]]:
    """All dictionaries of one object, including nested ones."""
    waiting = [found]
    while waiting:
        value = waiting.pop()
        if isinstance(value, pikepdf.Stream):
            value = value.stream_dict
        if isinstance(value, pikepdf.Dictionary):
            entries = dict(value.items())
            yield entries
            waiting += [inner for inner in entries.values() if _is_inline(inner)]
        elif isinstance(value, pikepdf.Array):
            waiting += [inner for inner in value if _is_inline(inner)]


def _is_inline(value: Any) -> bool:
    return isinstance(value, pikepdf.Dictionary | pikepdf.Array) and not value.is_indirect


def _flags_of(entries: dict[str, Any]) -> set[str]:
    """The flags of one dictionary."""
    reported = {_KEYS[key] for key in entries if key in _KEYS}
    reported |= {_ACTIONS[name] for name in (_name(entries.get("/S")),) if name in _ACTIONS}
    return reported | {_TYPES[name] for key in ("/Type", "/Subtype") if (name := _name(entries.get(key))) in _TYPES}


def _name(value: Any) -> str:
    return str(value) if isinstance(value, pikepdf.Name) else ""


def _unpacked_size(stream: pikepdf.Stream, max_count: int) -> int:
    """The unpacked size of the stream, images excluded. Raises FileRefused above ``max_count``."""
    data, size = stream.read_raw_bytes(), 0
    for place, name in enumerate(_packing_filters(stream)):
        if name in _INFLATED:
            data = _inflate(data, max_count - size)
        elif name in _DECODED:
            if place:
                raise FileRefused("packs a stream in more ways than one")
            data = stream.read_bytes(pikepdf.StreamDecodeLevel.generalized)  # limited by the memory limit
        else:
            raise FileRefused(f"packs a stream in an unknown way ({name[:40]})")
        size += len(data)
        if size > max_count:
            raise FileRefused(f"is larger than {_MOST_UNPACKED} bytes once it is unpacked", "complex")
        if name in _DECODED:
            break  # everything after it was undone with it
    return size


def _packing_filters(stream: pikepdf.Stream) -> list[str]:
    """The names of the filters that unpack the stream, up to an image, which may be written in letters."""
    given: Any = stream.stream_dict.get("/Filter", [])
    names = [_name(one) for one in (given if isinstance(given, pikepdf.Array) else [given])] if given else []
    names = [name for place, name in enumerate(names) if name != "/Crypt" or not _is_identity(stream, place)]
    image = next((place for place, name in enumerate(names) if name in _PICTURES), len(names))
    return [] if names[1:] and image == 1 and names[0] in _TEXTS else names[:image]


def _is_identity(stream: pikepdf.Stream, place: int) -> bool:
    """Whether the decrypting filter at this place changes nothing, as for readable metadata of encrypted files."""
    given: Any = stream.stream_dict.get("/DecodeParms")
    if isinstance(given, pikepdf.Array):
        given = given[place] if place < len(given) else None
    return isinstance(given, pikepdf.Dictionary) and _name(given.get("/Name")) == "/Identity"


def _inflate(data: bytes, max_count: int) -> bytes:
    """Unpack data, stopping one step above ``max_count``. Raises FileRefused."""
    result, unpack = bytearray(), zlib.decompressobj()
    try:
        while data and not unpack.eof and len(result) <= max_count:
            result += unpack.decompress(data, _STEP)
            data = unpack.unconsumed_tail
    except zlib.error as error:
        if _WRONG_CHECKSUM not in str(error):  # readers of PDFs do not look at it
            raise FileRefused(_DAMAGED) from None
    return bytes(result)
