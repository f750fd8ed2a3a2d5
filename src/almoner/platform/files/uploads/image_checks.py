"""Decode and re-encode images without metadata, in the confined child process.

Phone pictures are accepted: large ones are decoded at a reduced size, HEIC becomes JPEG, and data after the picture,
such as a video, is dropped. If that data is a file of another kind, such as an archive, the image is refused: no camera
writes it.
"""

import re
from io import BytesIO
from typing import BinaryIO, Final
from zipfile import is_zipfile

import pi_heif
from PIL import Image, MpoImagePlugin

from almoner.platform.files.uploads.verdicts import MOST_KEPT_BYTES, OTHER_FILES, FileRefused

_MOST_JPEG_PIXELS: Final = 100_000_000
"""A JPEG can be decoded at half its size, so that it fits the child's memory."""
_MOST_PIXELS: Final = 50_000_000
JPEG: Final = "image/jpeg"
PNG: Final = "image/png"
HEIC: Final = "image/heic"
HEIC_BRANDS: Final = (b"heic", b"heix", b"heim", b"heis", b"mif1")

_FORMATS: Final = ("JPEG", "PNG")
_MOST_HELD_PIXELS: Final = 26_000_000
_DAMAGED: Final = "is not one whole JPEG or PNG: it is damaged, or its end is missing"
_TWO_FILES: Final = "is a picture with another file behind it"
_ORIENTATION: Final = 0x0112  # the EXIF tag, and the transposition for each of its values
_UPRIGHT: Final = {
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_270,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_90,
}
_CLOCKWISE: Final = {1: Image.Transpose.ROTATE_270, 2: Image.Transpose.ROTATE_180, 3: Image.Transpose.ROTATE_90}
_XMP: Final = b"http://ns.adobe.com/xap/1.0/\x00"
_SIGNATURE: Final = 8
_SHOWN_CHUNKS: Final = (b"tRNS", b"eXIf")
"""Chunks of a PNG that change how it is shown, besides those that every reader must know (a capital first letter)."""
_MARKER: Final = re.compile(rb"\xff[^\x00\xd0-\xd7\xff]")  # ends the compressed data of a scan
_KEPT: Final = ("1", "L", "LA", "P", "RGB", "RGBA")

pi_heif.options.DECODE_THREADS = 1
Image.MAX_IMAGE_PIXELS = None  # Pillow's own limit only warns; ours, below, refuses
MpoImagePlugin.MpoImageFile  # noqa: B018 - imported while files can still be opened


def reencode_image(
    content: bytes,
    media_type: str,
    target: BinaryIO,
    longest_side: int | None,
    *,
    pad_to_square: bool = False,
    quarter_turns: int = 0,
) -> str:
    """Re-encode the image into ``target``; returns its new media type.

    With ``longest_side`` it is for display: scaled down to so many pixels, and a JPEG unless it is transparent.
    ``pad_to_square``: with a transparent margin, as a PNG. ``quarter_turns``: clockwise turns by 90 degrees. Raises
    FileRefused; for malicious files a parser may raise anything.
    """
    if media_type == HEIC:
        opened, turn = _open_heic(content), None  # already upright
    else:
        opened, turn = _open_upright(content, media_type, longest_side)
    if longest_side is not None:
        opened.thumbnail((longest_side, longest_side))
    opened.load()
    if opened.width * opened.height > _MOST_HELD_PIXELS and opened.mode not in ("1", "P"):
        opened = opened.reduce(2)
    picture: Image.Image = opened if turn is None else opened.transpose(turn)
    del opened
    if quarter_turns:
        picture = picture.transpose(_CLOCKWISE[quarter_turns])
    transparent = picture.mode in ("RGBA", "LA", "PA") or "transparency" in picture.info
    if pad_to_square and picture.width != picture.height:
        upright = _strip_pixels(picture, "RGBA" if transparent else picture.mode).convert("RGBA")
        _pad_to_square(upright).save(target, "PNG", optimize=True)
        return PNG
    if media_type != PNG or (longest_side is not None and not transparent and picture.mode != "P"):
        return save_jpeg(picture, target)
    plain = _strip_pixels(picture, "RGBA" if transparent else picture.mode)
    while True:
        written = BytesIO()
        plain.save(written, "PNG", compress_level=3)
        if written.tell() <= MOST_KEPT_BYTES:
            target.write(written.getbuffer())
            return PNG
        if not transparent:
            return save_jpeg(picture, target)
        plain = _smaller(plain.convert("RGBA"), written.tell())


def _open_upright(content: bytes, found: str, longest_side: int | None) -> tuple[Image.Image, Image.Transpose | None]:
    """Open a JPEG or PNG; returns it with the transposition that makes it upright."""
    content = _without_tail(content, found)
    most = _MOST_JPEG_PIXELS if found == JPEG else _MOST_PIXELS
    with Image.open(BytesIO(content), formats=_FORMATS) as opened:
        _ensure_size(opened.size, most)
        opened.verify()  # checksums, if the format has them
    picture: Image.Image = Image.open(BytesIO(content), formats=_FORMATS)
    if found == PNG:
        picture.load()  # here, where errors are raised: EXIF may be last, so reading it loads the image, too
    turn = _upright_transpose(picture)
    if found == JPEG and longest_side is None:
        held = _MOST_HELD_PIXELS // (4 if "progressive" in picture.info else 1)  # held twice, and more
        parts = next(part for part in (1, 2, 4, 8) if picture.width * picture.height <= held * part**2)
        picture.draft(None, (picture.width // parts, picture.height // parts))
    return picture, turn


def _open_heic(content: bytes) -> Image.Image:
    opened = pi_heif.open_heif(BytesIO(content), convert_hdr_to_8bit=True)
    _ensure_size(opened.size, _MOST_PIXELS)
    picture: Image.Image = opened.to_pillow()
    return picture


def _ensure_size(size: tuple[int, int], max_count: int) -> None:
    if size[0] * size[1] > max_count:
        raise FileRefused(f"has more than {max_count:,} pixels", "pixels")


def save_jpeg(image: Image.Image, target: BinaryIO) -> str:
    """Write a JPEG, scaled down to the largest image that is stored; returns its media type."""
    plain = _strip_pixels(image, "L" if image.mode in ("1", "L") else "RGB")
    while True:
        written = BytesIO()
        plain.save(written, "JPEG", quality=85)
        if written.tell() <= MOST_KEPT_BYTES:
            target.write(written.getbuffer())
            return JPEG
        plain = _smaller(plain, written.tell())


def _smaller(picture: Image.Image, size: int) -> Image.Image:
    """Scale down until the file is expected to fit the size limit."""
    part = (0.9 * MOST_KEPT_BYTES / size) ** 0.5
    return picture.resize((max(1, int(picture.width * part)), max(1, int(picture.height * part))), reducing_gap=2.0)


def _pad_to_square(picture: Image.Image) -> Image.Image:
    """The image centred in a square of its longer side, with a transparent margin."""
    side = max(picture.size)
    whole = Image.new("RGBA", (side, side))
    whole.paste(picture, ((side - picture.width) // 2, (side - picture.height) // 2))
    return whole


def _strip_pixels(picture: Image.Image, mode: str) -> Image.Image:
    """The pixels in this mode, without any metadata."""
    if mode.startswith("I"):  # 16 bits per pixel: keep the upper half
        picture, mode = picture.convert("I").point(lambda value: value * (1 / 256)), "L"
    wanted = mode if mode in _KEPT else "RGB"
    plain = picture if picture.mode == wanted else picture.convert(wanted)
    plain.info = {}
    return plain


def _upright_transpose(opened: Image.Image) -> Image.Transpose | None:
    """The transposition that makes the image upright; None if there is none or the EXIF is damaged."""
    try:
        stated = opened.getexif().get(_ORIENTATION)
    except Exception:  # noqa: BLE001 (as above)
        return None
    return _UPRIGHT.get(stated) if isinstance(stated, int) else None


def _without_tail(content: bytes, found: str) -> bytes:
    """The first image of the file. Raises FileRefused if another file follows, or the image has no end."""
    try:
        if found == JPEG:
            end, announces_more = _end_of_jpeg(content, 0)
            picture = content[:end]
        else:
            announces_more = False
            end, picture = _png_without_details(content)
        while rest := content[end:].lstrip(b"\x00"):
            if not announces_more or not rest.startswith(b"\xff\xd8\xff"):
                break
            end, _ = _end_of_jpeg(content, len(content) - len(rest))
    except IndexError:
        raise FileRefused(_DAMAGED, "damaged") from None
    tail = rest.strip(b"\x00\t\r\n ")
    if OTHER_FILES.match(tail) or is_zipfile(BytesIO(tail)):
        raise FileRefused(_TWO_FILES, "damaged")
    return picture


def _end_of_jpeg(content: bytes, start: int) -> tuple[int, bool]:
    """The end of the image, and whether it announces others. Raises IndexError, FileRefused."""
    place, announces_more = start + 2, False
    while True:
        if content[place] != 0xFF:
            raise FileRefused(_DAMAGED, "damaged")
        while content[place] == 0xFF:
            place += 1
        marker = content[place]
        place += 1
        if marker == 0xD9:
            return place, announces_more
        length = content[place] << 8 | content[place + 1]
        if marker in range(0xD0, 0xD9) or marker < 0xC0 or length < 2:
            raise FileRefused(_DAMAGED, "damaged")
        segment = content[place + 2 : place + length]
        announces_more |= marker == 0xE2 and segment.startswith(b"MPF\x00")
        announces_more |= marker == 0xE1 and segment.startswith(_XMP) and b"Container:Directory" in segment
        place += length
        if marker == 0xDA:
            if (scan := _MARKER.search(content, place)) is None:
                raise FileRefused(_DAMAGED, "damaged")
            place = scan.start()


def _png_without_details(content: bytes) -> tuple[int, bytes]:
    """The end of the image, and the image without what does not show, which is often damaged. Raises FileRefused."""
    place, kind = _SIGNATURE, b""
    heads, kept = 0, [content[:_SIGNATURE]]
    while place < len(content):
        start = place
        length, kind = int.from_bytes(content[place : place + 4]), content[place + 4 : place + 8]
        if kind == b"acTL":
            raise FileRefused("is an animation", "animation")
        heads += kind == b"IHDR"
        place += length + 12
        if kind[:1].isupper() or kind in _SHOWN_CHUNKS:
            kept.append(content[start:place])
        if kind == b"IEND":
            break
    if kind != b"IEND" or place > len(content) or heads != 1:
        raise FileRefused(_DAMAGED, "damaged")
    return place, b"".join(kept)
