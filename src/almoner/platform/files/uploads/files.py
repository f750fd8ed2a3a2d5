"""What a received file is, once it has been checked and, where its route keeps it, stored."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import BinaryIO, Literal

MediaType = Literal["image/jpeg", "image/png", "application/pdf"]
Flag = Literal[
    "pdf_repaired", "pdf_active", "pdf_javascript", "pdf_launch", "pdf_embedded_files", "pdf_remote", "pdf_media"
]
"""What a PDF may do beside showing its pages. ``pdf_active`` stands with each of these: a person looks at it.

``pdf_repaired``: it was damaged as many are, and repaired as every reader does."""


@dataclass(frozen=True, slots=True)
class CheckedFile:
    """A file that is what it says: an image that was written anew, or a PDF as it came.

    ``content`` lies in a file without a name, which is gone when it is closed; ``fields`` are the text parts beside it.
    """

    media_type: MediaType
    size: int
    sha256: bytes
    content: BinaryIO
    flags: tuple[Flag, ...]
    fields: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class StoredFile:
    """A checked file that was put into the storage, sealed, under a random key; no row knows it yet.

    ``scanned``: nothing more has to look at it before anybody may have it. ``name``: as its sender has it, unchecked.
    """

    media_type: MediaType
    size: int
    sha256: bytes
    key: str
    scanned: bool
    flags: tuple[Flag, ...]
    fields: Mapping[str, str]
    name: str = ""
