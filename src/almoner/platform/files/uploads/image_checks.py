"""Images, read in full and written anew: what is kept was made by us, without metadata. Runs in the confined child.

A file must be exactly one image: what has a tail, such as an archive behind the picture, is refused and not repaired.
A JPEG may be followed by the further pictures of the same camera that it announces (CIPA DC-007: depth, brightness), of
which none is kept.
"""

import re
from io import BytesIO
from typing import BinaryIO, Final

from PIL import Image, MpoImagePlugin

from almoner.platform.files.uploads.verdicts import FileRefused

MOST_PIXELS: Final = 40_000_000
JPEG: Final = "image/jpeg"
PNG: Final = "image/png"

_FORMATS: Final = ("JPEG", "PNG")
_NOT_ONE_IMAGE: Final = "is not exactly one JPEG or PNG: something follows it, or its end is missing"
_ORIENTATION: Final = 0x0112  # the tag of EXIF, and what makes each of its values upright
_UPRIGHT: Final = {
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_270,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_90,
}
_SIGNATURE: Final = 8
_MARKER: Final = re.compile(rb"\xff[^\x00\xd0-\xd7\xff]")  # what ends the compressed data of a scan
_KEPT: Final = ("1", "L", "LA", "P", "RGB", "RGBA")

Image.MAX_IMAGE_PIXELS = None  # its guard warns; ours refuses, below
MpoImagePlugin.MpoImageFile  # noqa: B018 - imported while files can still be opened


def rewrite_image(
    content: bytes, found: str, target: BinaryIO, longest_side: int | None, *, square: bool = False
) -> str:
    """Write the image anew; its media type then.

    With ``longest_side`` it is made to be shown: scaled down to so many pixels, and a JPEG unless it is transparent.
    ``square``: what is none is put into the middle of one that is transparent, a PNG.
    Raises Refused; a parser may raise anything at what was made to break it.
    """
    if found == JPEG:
        _ensure_one_jpeg(content)
    else:
        _ensure_one_png(content)
    with Image.open(BytesIO(content), formats=_FORMATS) as opened:
        if opened.width * opened.height > MOST_PIXELS:
            raise FileRefused(f"has more than {MOST_PIXELS} pixels")
        opened.verify()  # checksums, where the format has some
    opened = Image.open(BytesIO(content), formats=_FORMATS)
    if found == PNG:
        opened.load()  # here, where nobody forgives: its EXIF may come last, so asking for it loads too
    turn = _upright_transpose(opened)
    if longest_side is not None:
        opened.thumbnail((longest_side, longest_side))
    opened.load()
    picture: Image.Image = opened if turn is None else opened.transpose(turn)
    transparent = picture.mode in ("RGBA", "LA", "PA") or "transparency" in picture.info
    if square and picture.width != picture.height:
        upright = _strip_pixels(picture, "RGBA" if transparent else picture.mode).convert("RGBA")
        _pad_to_square(upright).save(target, "PNG", optimize=True)
        return PNG
    if found == JPEG or (longest_side is not None and not transparent and picture.mode != "P"):
        _strip_pixels(picture, "L" if picture.mode in ("1", "L") else "RGB").save(target, "JPEG", quality=85)
        return JPEG
    _strip_pixels(picture, "RGBA" if transparent else picture.mode).save(target, "PNG", compress_level=3)
    return PNG


def _pad_to_square(picture: Image.Image) -> Image.Image:
    """The picture in the middle of a square as large as its longer side, with nothing around it."""
    side = max(picture.size)
    whole = Image.new("RGBA", (side, side))
    whole.paste(picture, ((side - picture.width) // 2, (side - picture.height) // 2))
    return whole


def _strip_pixels(picture: Image.Image, mode: str) -> Image.Image:
    """The pixels in this mode, and nothing that came with them."""
    if mode.startswith("I"):  # 16 bits a pixel: the upper half of them
        picture, mode = picture.convert("I").point(lambda value: value * (1 / 256)), "L"
    wanted = mode if mode in _KEPT else "RGB"
    plain = picture if picture.mode == wanted else picture.convert(wanted)
    plain.info = {}
    return plain


def _upright_transpose(opened: Image.Image) -> Image.Transpose | None:
    """What makes the picture upright. Damaged EXIF says nothing, and the picture is shown as it is."""
    try:
        stated = opened.getexif().get(_ORIENTATION)
    except Exception:  # noqa: BLE001 (as above)
        return None
    return _UPRIGHT.get(stated) if isinstance(stated, int) else None


def _ensure_one_jpeg(content: bytes) -> None:
    """Raises Refused unless the file ends with its picture, or with the further ones that it announces."""
    try:
        end, announces_more = _end_of_jpeg(content, 0)
        while rest := content[end:].lstrip(b"\x00"):
            if not announces_more or not rest.startswith(b"\xff\xd8\xff"):
                raise FileRefused(_NOT_ONE_IMAGE)
            end, _ = _end_of_jpeg(content, len(content) - len(rest))
    except IndexError:
        raise FileRefused(_NOT_ONE_IMAGE) from None


def _end_of_jpeg(content: bytes, start: int) -> tuple[int, bool]:
    """Where the picture ends, and whether it announces others. Raises IndexError, Refused."""
    place, announces_more = start + 2, False
    while True:
        if content[place] != 0xFF:
            raise FileRefused(_NOT_ONE_IMAGE)
        while content[place] == 0xFF:
            place += 1
        marker = content[place]
        place += 1
        if marker == 0xD9:
            return place, announces_more
        length = content[place] << 8 | content[place + 1]
        if marker in range(0xD0, 0xD9) or marker < 0xC0 or length < 2:
            raise FileRefused(_NOT_ONE_IMAGE)
        announces_more |= marker == 0xE2 and content[place + 2 : place + 6] == b"MPF\x00"
        place += length
        if marker == 0xDA:
            if (scan := _MARKER.search(content, place)) is None:
                raise FileRefused(_NOT_ONE_IMAGE)
            place = scan.start()


def _ensure_one_png(content: bytes) -> None:
    """Raises Refused unless the file ends with the only picture in it."""
    place, kind = _SIGNATURE, b""
    heads = 0
    while place < len(content):
        length, kind = int.from_bytes(content[place : place + 4]), content[place + 4 : place + 8]
        if kind == b"acTL":
            raise FileRefused("is an animation")
        heads += kind == b"IHDR"
        place += length + 12
        if kind == b"IEND":
            break
    if kind != b"IEND" or place != len(content) or heads != 1:
        raise FileRefused(_NOT_ONE_IMAGE)
