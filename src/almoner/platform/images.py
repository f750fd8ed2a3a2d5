"""Images from outside are parsed and written anew: what we serve was made by us, without metadata or trailing data."""

import asyncio
import warnings
from dataclasses import dataclass
from io import BytesIO
from typing import Final

from PIL import Image as Pillow
from PIL import ImageOps

from almoner.platform.http.uploads import FiletypeNotSupported

_MOST_PIXELS: Final = 40_000_000
_LONGEST_SIDE: Final = 1024
_FORMATS: Final = ("JPEG", "PNG")


@dataclass(frozen=True, slots=True)
class Image:
    """An image made by us: at most 1024 pixels on its longer side."""

    content: bytes
    media_type: str


async def reencode(content: bytes) -> Image:
    """Parse in full, turn upright, scale down, write anew. Raises FiletypeNotSupported."""
    return await asyncio.to_thread(_reencode, content)


def _reencode(content: bytes) -> Image:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", Pillow.DecompressionBombWarning)
            opened = Pillow.open(BytesIO(content), formats=_FORMATS)
            if opened.width * opened.height > _MOST_PIXELS:
                raise FiletypeNotSupported(f"body.image has more than {_MOST_PIXELS} pixels")
            picture = ImageOps.exif_transpose(opened)
            picture.thumbnail((_LONGEST_SIDE, _LONGEST_SIDE))
    except (OSError, ValueError, SyntaxError, Pillow.DecompressionBombError, Pillow.DecompressionBombWarning) as error:
        raise FiletypeNotSupported("body.image cannot be read as an image") from error
    written = BytesIO()
    if picture.mode in ("RGBA", "LA", "P", "PA"):
        picture.convert("RGBA").save(written, "PNG", optimize=True)
        return Image(written.getvalue(), "image/png")
    picture.convert("RGB").save(written, "JPEG", quality=85)
    return Image(written.getvalue(), "image/jpeg")
