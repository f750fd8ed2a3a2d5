"""What the child that reads files says of one."""

import re
from typing import Final, Literal

Cause = Literal["type", "damaged", "encrypted", "pixels", "pages", "large", "animation"]


MOST_KEPT_BYTES: Final = 5 * 1024 * 1024
OTHER_FILES: Final = re.compile(
    rb"PK[\x03\x05\x07]|\xff\xd8\xff|\x89PNG|%PDF-|%!PS|GIF8|MZ|\x7fELF|Rar!|7z\xbc\xaf|#!|<|/\*|\x1f\x8b|\xd0\xcf\x11\xe0"
)
"""How a file begins that no camera and no program for PDFs writes behind its own."""


class FileRefused(Exception):
    """The file is not accepted. The text completes "body.file ..."; ``cause``: what whoever sent it can do about."""

    def __init__(self, text: str, cause: Cause = "damaged") -> None:
        super().__init__(text)
        self.cause: Cause = cause
