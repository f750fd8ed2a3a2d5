"""The results that the checking child process reports."""

import re
from typing import Final, Literal

RefusalCause = Literal["type", "damaged", "encrypted", "pixels", "pages", "large", "complex", "animation"]


MOST_KEPT_BYTES: Final = 5 * 1024 * 1024
OTHER_FILES: Final = re.compile(
    rb"PK[\x03\x05\x07]|\xff\xd8\xff|\x89PNG|%PDF-|%!PS|GIF8|MZ|\x7fELF|Rar!|7z\xbc\xaf|#!|<|/\*|\x1f\x8b|\xd0\xcf\x11\xe0"
)
"""Signatures of other file types, which no camera or PDF writer appends to its own files."""


class FileRefused(Exception):
    """The file is refused. The text completes "body.file ..."; ``cause``: what the sender can do."""

    def __init__(self, text: str, cause: RefusalCause = "damaged") -> None:
        super().__init__(text)
        self.cause: RefusalCause = cause
