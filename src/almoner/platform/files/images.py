"""Images that are shown to the public: what we serve was made by us, without metadata or trailing data."""

import tempfile
from dataclasses import dataclass
from typing import Final

from almoner.platform.files.uploads.checking import Checker
from almoner.platform.files.uploads.files import CheckedFile
from almoner.platform.files.uploads.problems import FiletypeNotSupported

LONGEST_SIDE: Final = 1024
MEDIA_TYPES: Final = ("image/jpeg", "image/png")


@dataclass(frozen=True, slots=True)
class Image:
    """An image made by us."""

    content: bytes
    media_type: str


def image_of_upload(checked: CheckedFile) -> Image:
    """The image of an upload that was declared with a longest side."""
    return Image(checked.content.read(), checked.media_type)


async def reencode_image(content: bytes, *, longest_side: int = LONGEST_SIDE) -> Image:
    """An image of a command: parsed in full in a child, turned upright, scaled down to so many pixels, written anew.

    Raises FiletypeNotSupported.
    """
    checker = Checker()
    try:
        with tempfile.TemporaryFile() as file:
            file.write(content)
            checked = await checker.check(file, None, field="image", longest_side=longest_side)
            with checked.content:
                if checked.media_type not in MEDIA_TYPES:
                    raise FiletypeNotSupported("body.image must be a JPEG or a PNG")
                return image_of_upload(checked)
    finally:
        checker.close()
