"""Images that are shown: every one is written anew, and what was made to break a parser is refused, never an error."""

import random
from io import BytesIO

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from PIL import Image

from almoner.platform.files import images
from almoner.platform.files.uploads import image_checks
from almoner.platform.files.uploads.problems import FiletypeNotSupported

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


def shown(file: bytes, longest_side: int = images.LONGEST_SIDE) -> tuple[str, Image.Image]:
    """The image as it is shown."""
    written = BytesIO()
    media_type = image_checks.reencode_image(
        file, image_checks.JPEG if file[0] == 0xFF else image_checks.PNG, written, longest_side
    )
    assert b"Home Street" not in written.getvalue()
    return media_type, Image.open(BytesIO(written.getvalue()))


@pytest.mark.parametrize("file", FILES)
def test_what_is_kept_was_made_here(file: bytes) -> None:
    media_type, made = shown(file)
    assert media_type == f"image/{(made.format or '').lower()}"
    assert made.size in {(30, 40), (40, 30)}


@pytest.mark.parametrize(("turn", "size"), [(1, (40, 30)), (3, (40, 30)), (6, (30, 40)), (8, (30, 40)), (99, (40, 30))])
def test_pictures_are_upright(turn: int, size: tuple[int, int]) -> None:
    assert shown(picture(turn=turn))[1].size == size


def test_damaged_exif_says_nothing() -> None:
    assert shown(picture().replace(b"Exif\x00\x00MM", b"Exif\x00\x00??"))[1].size == (40, 30)


def test_an_image_to_show_is_small_and_a_jpeg_unless_it_is_transparent() -> None:
    for file, kind in ((picture("PNG", size=(3000, 1500)), "JPEG"), (picture("PNG", "RGBA", (3000, 1500)), "PNG")):
        made = shown(file)[1]
        assert (max(made.size), made.format) == (images.LONGEST_SIDE, kind)


@pytest.mark.parametrize("file", FILES)
def test_a_square_is_made_of_what_is_none(file: bytes) -> None:
    written = BytesIO()
    assert image_checks.reencode_image(
        file, image_checks.JPEG if file[0] == 0xFF else image_checks.PNG, written, 20, pad_to_square=True
    )
    made = Image.open(written)
    assert (made.size, made.mode, made.format) == ((20, 20), "RGBA", "PNG")
    assert made.getpixel((0, 10)) == (0, 0, 0, 0) or made.getpixel((10, 0)) == (0, 0, 0, 0)
    again = BytesIO()
    assert (
        image_checks.reencode_image(picture(size=(8, 8)), image_checks.JPEG, again, 20, pad_to_square=True)
        == image_checks.JPEG
    )


async def test_a_command_gives_a_file_of_any_of_the_two_kinds() -> None:
    for file in (picture(), picture("PNG", "RGBA")):
        made = await images.reencode_image(file, longest_side=20)
        assert max(Image.open(BytesIO(made.content)).size) == 20
    for other in (b"%PDF-1.7", b"GIF89a", b"", picture() + b"PK\x03\x04"):
        with pytest.raises(FiletypeNotSupported):
            await images.reencode_image(other)


@settings(max_examples=300, deadline=None)
@given(which=st.sampled_from(range(len(FILES))), seed=st.integers(0, 2**32))
@example(which=0, seed=0)
def test_no_file_is_an_error(which: int, seed: int) -> None:
    chance, file = random.Random(seed), bytearray(FILES[which])
    for _ in range(chance.choice((1, 2, 4, 12))):
        file[chance.randrange(min(len(file), 250))] = chance.choice((0, 1, 2, 127, 128, 255))
    try:
        media_type, made = shown(bytes(file), 100)
    except Exception:  # noqa: BLE001 (a parser may raise anything: the child says that the file is refused)
        return
    made.load()
    assert media_type in images.MEDIA_TYPES
