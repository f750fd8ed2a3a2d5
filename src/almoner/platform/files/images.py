"""Public images, re-encoded by us without metadata or trailing data."""

import tempfile
from dataclasses import dataclass
from typing import Final

from almoner.platform.files.uploads.checking import UploadChecker
from almoner.platform.files.uploads.files import CheckedFile

LONGEST_SIDE: Final = 1024
MEDIA_TYPES: Final = ("image/jpeg", "image/png", "image/heic")
"""The accepted media types; the result is always a JPEG or a PNG."""


@dataclass(frozen=True, slots=True)
class Image:
    """A re-encoded image."""

    content: bytes
    media_type: str


def read_checked_image(checked_file: CheckedFile) -> Image:
    """Return the image of a checked upload."""
    return Image(checked_file.content.read(), checked_file.media_type)


async def reencode_image(content: bytes, *, longest_side: int = LONGEST_SIDE) -> Image:
    """Decode an image in a child process and re-encode it, rotated and scaled down. Raises FiletypeNotSupported."""
    checker = UploadChecker()
    try:
        with tempfile.TemporaryFile() as file:
            file.write(content)
            checked = await checker.check(file, MEDIA_TYPES, field_name="image", longest_side=longest_side)
            with checked.content:
                return read_checked_image(checked)
    finally:
        checker.close()
