"""Images from outside: every one is written anew, and what was made to break a parser is refused, never an error."""

import random
import struct
import zlib
from io import BytesIO

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from PIL import Image

from almoner.platform import images
from almoner.platform.uploads.problems import FiletypeNotSupported

ORIENTATION = 0x0112


def picture(kind: str = "JPEG", mode: str = "RGB", size: tuple[int, int] = (40, 30), turn: int = 6) -> bytes:
    exif = Image.Exif()
    exif[ORIENTATION] = turn
    exif[0x010E] = "taken at 1 Home Street"
    written = BytesIO()
    Image.new(mode, size).save(written, kind, exif=exif)
    return written.getvalue()


FILES = [picture(), picture(mode="L"), picture(mode="CMYK")]
FILES += [picture("PNG", mode) for mode in ("RGB", "RGBA", "L", "LA", "P", "1", "I;16")]


def chunk(kind: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))


def png(width: int, height: int, *more: bytes) -> bytes:
    head = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
    data = chunk(b"IDAT", zlib.compress(bytes(min(height, 4) * (width * 3 + 1))))
    return b"\x89PNG\r\n\x1a\n" + head + b"".join(more) + data + chunk(b"IEND", b"")


@pytest.mark.parametrize("file", FILES)
async def test_what_is_kept_was_made_here(file: bytes) -> None:
    made = await images.reencode(file + b"<script>")
    assert b"Home Street" not in made.content
    assert b"script" not in made.content
    assert Image.open(BytesIO(made.content)).size in {(30, 40), (40, 30)}


@pytest.mark.parametrize(("turn", "size"), [(1, (40, 30)), (3, (40, 30)), (6, (30, 40)), (8, (30, 40)), (99, (40, 30))])
async def test_pictures_are_upright(turn: int, size: tuple[int, int]) -> None:
    assert Image.open(BytesIO((await images.reencode(picture(turn=turn))).content)).size == size


async def test_damaged_exif_says_nothing() -> None:
    file = picture().replace(b"Exif\x00\x00", b"Exif\x00\x00what")
    assert Image.open(BytesIO((await images.reencode(file)).content)).size == (40, 30)


@pytest.mark.parametrize(
    "file",
    [
        png(8000, 8000),
        png(100_000, 100_000),
        png(4, 4, chunk(b"zTXt", b"a\x00\x00" + zlib.compress(bytes(80_000_000)))),
        picture()[:200],
        b"GIF89a",
        b"<svg xmlns='http://www.w3.org/2000/svg'/>",
        b"%!PS-Adobe-3.0",
        b"",
    ],
)
async def test_bombs_and_other_files_are_refused(file: bytes) -> None:
    with pytest.raises(FiletypeNotSupported):
        await images.reencode(file)


@settings(max_examples=300, deadline=None)
@given(which=st.sampled_from(range(len(FILES))), seed=st.integers(0, 2**32))
@example(which=0, seed=0)
def test_no_file_is_an_error(which: int, seed: int) -> None:
    chance, file = random.Random(seed), bytearray(FILES[which])
    for _ in range(chance.choice((1, 2, 4, 12))):
        file[chance.randrange(min(len(file), 250))] = chance.choice((0, 1, 2, 127, 128, 255))
    try:
        made = images._reencode(bytes(file), 100)
    except FiletypeNotSupported:
        return
    assert made.media_type in {"image/jpeg", "image/png"}
