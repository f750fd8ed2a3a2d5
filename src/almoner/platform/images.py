"""Images from outside are parsed and written anew: what we serve was made by us, without metadata or trailing data."""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from io import BytesIO
from typing import Final

from PIL import Image as Pillow

from almoner.platform.uploads.problems import FiletypeNotSupported

_MOST_PIXELS: Final = 40_000_000
LONGEST_SIDE: Final = 1024
_FORMATS: Final = ("JPEG", "PNG")
_ORIENTATION: Final = 0x0112  # the tag of EXIF, and what makes each of its values upright
_UPRIGHT: Final = {
    2: Pillow.Transpose.FLIP_LEFT_RIGHT,
    3: Pillow.Transpose.ROTATE_180,
    4: Pillow.Transpose.FLIP_TOP_BOTTOM,
    5: Pillow.Transpose.TRANSPOSE,
    6: Pillow.Transpose.ROTATE_270,
    7: Pillow.Transpose.TRANSVERSE,
    8: Pillow.Transpose.ROTATE_90,
}
# An image of the most pixels takes 160 MB while it is written anew: two at once in a process, the others wait.
_THREADS: Final = ThreadPoolExecutor(2, thread_name_prefix="images")

Pillow.MAX_IMAGE_PIXELS = None  # its guard warns through a filter that all threads share; ours refuses, below


@dataclass(frozen=True, slots=True)
class Image:
    """An image made by us."""

    content: bytes
    media_type: str


async def reencode(content: bytes, *, longest_side: int = LONGEST_SIDE) -> Image:
    """Parse in full, turn upright, scale down to so many pixels, write anew. Raises FiletypeNotSupported."""
    return await asyncio.get_running_loop().run_in_executor(_THREADS, _reencode, content, longest_side)


def _reencode(content: bytes, longest_side: int) -> Image:
    try:
        return _written_anew(content, longest_side)
    except FiletypeNotSupported:
        raise
    except Exception as error:  # a parser may raise anything at what was made to break it
        raise FiletypeNotSupported("body.image must be a JPEG or PNG that can be read in full") from error


def _written_anew(content: bytes, longest_side: int) -> Image:
    opened = Pillow.open(BytesIO(content), formats=_FORMATS)
    if opened.width * opened.height > _MOST_PIXELS:
        raise FiletypeNotSupported(f"body.image has more than {_MOST_PIXELS} pixels")
    turn = _turn(opened)
    opened.thumbnail((longest_side, longest_side))
    picture = opened if turn is None else opened.transpose(turn)
    written = BytesIO()
    if picture.mode in ("RGBA", "LA", "P", "PA") or "transparency" in picture.info:
        picture.convert("RGBA").save(written, "PNG", optimize=True)
        return Image(written.getvalue(), "image/png")
    picture.convert("RGB").save(written, "JPEG", quality=85)
    return Image(written.getvalue(), "image/jpeg")


def _turn(opened: Pillow.Image) -> Pillow.Transpose | None:
    """What makes the picture upright. Damaged EXIF says nothing, and the picture is shown as it is."""
    try:
        said = opened.getexif().get(_ORIENTATION)
    except Exception:  # noqa: BLE001 (as above)
        return None
    return _UPRIGHT.get(said) if isinstance(said, int) else None
