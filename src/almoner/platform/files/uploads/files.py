"""A received file after its check, and after it was stored."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import BinaryIO, Literal

MediaType = Literal["image/jpeg", "image/png", "application/pdf"]
Flag = Literal[
    "pdf_repaired", "pdf_active", "pdf_javascript", "pdf_launch", "pdf_embedded_files", "pdf_remote", "pdf_media"
]
"""What a PDF can do besides showing its pages. ``pdf_active`` accompanies each of these: a reviewer must look at it.

``pdf_repaired``: it had common damage, repaired as every reader does.
"""


@dataclass(frozen=True, slots=True)
class CheckedFile:
    """A checked file: a re-encoded image, or a PDF as received or repaired.

    ``content`` is an unnamed temporary file, deleted when closed; ``form_fields`` are the text parts beside it.
    ``page_count``: the PDF's number of pages, if one was rendered.
    """

    media_type: MediaType
    size: int
    sha256: bytes
    content: BinaryIO
    flags: tuple[Flag, ...]
    form_fields: Mapping[str, str]
    page_count: int = 1


@dataclass(frozen=True, slots=True)
class StoredFile:
    """A checked file that was stored, encrypted, under a random key; no row refers to it yet.

    ``scanned``: it may be delivered without a further scan. ``name``: the sender's file name, unchecked.
    """

    media_type: MediaType
    size: int
    sha256: bytes
    key: str
    scanned: bool
    flags: tuple[Flag, ...]
    form_fields: Mapping[str, str]
    name: str = ""
