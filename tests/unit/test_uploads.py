"""Received files are read in a child of a process of their own, which can do nothing else (U2, U3, U8)."""

import asyncio
import errno
import os
import signal
import socket
import subprocess
import sys
import tempfile
import zlib
from base64 import a85encode, b64decode
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from io import BytesIO
from pathlib import Path
from typing import BinaryIO, Final, Literal

import pikepdf
import psutil
import pytest
from PIL import Image

import almoner
from almoner.platform.files.uploads import checking
from almoner.platform.files.uploads.checking import UploadChecker
from almoner.platform.files.uploads.problems import FiletypeNotSupported
from tests.support import hostile_files, hostile_pdfs
from tests.support.eventually import eventually
from tests.support.hostile_files import HONEST, JPEG, PDF, PNG, HostileFile

MEGABYTE = 1024 * 1024
GPS = 0x8825
HEIC_PHOTO = b64decode(
    "AAAAHGZ0eXBoZWljAAAAAG1pZjFoZWljbWlhZgAAAb5tZXRhAAAAAAAAACFoZGxyAAAAAAAAAABwaWN0AAAAAAAAAAAAAAAAAAAA"
    "ADRpbG9jAAAAAERAAAIAAQAAAAAB4gABAAAAAAAAADoAAgAAAAACHAABAAAAAAAAAEgAAAA4aWluZgAAAAAAAgAAABVpbmZlAgAA"
    "AAABAABodmMxAAAAABVpbmZlAgAAAQACAABFeGlmAAAAAA5waXRtAAAAAAABAAAA/WlwcnAAAADdaXBjbwAAAHZodmNDAQNwAAAA"
    "kAAAAAAAHvAA/P34+AAADwNgAAEAGEABDAH//wNwAAADAJAAAAMAAAMAHroCQGEAAQAqQgEBA3AAAAMAkAAAAwAAAwAeoCCBBZbq"
    "5Ka5uAhoMCAAAAMDIAAAAwAhYgABAAZEAcFzwIkAAAATY29scm5jbHgAAQANAAaAAAAAFGlzcGUAAAAAAAAAQAAAAEAAAAAoY2xh"
    "cAAAAEAAAAABAAAAMAAAAAEAAAAAAAAAAv////AAAAACAAAAEHBpeGkAAAAAAwgICAAAABhpcG1hAAAAAAAAAAEAAQWBAgMFhAAA"
    "ABppcmVmAAAAAAAAAA5jZHNjAAIAAQABAAAAim1kYXQAAAA2KAGvWOb3bxyQiQ2wD+3/cI3xHRfVgZFHZPbdF0617nLBhID0hTpP"
    "62rvZbml6Hi315JitPAYAAAABkV4aWYAAE1NACoAAAAIAAIBDgACAAAAFwAAACYBEgADAAAAAQAGAAAAAAAAdGFrZW4gYXQgMSBI"
    "b21lIFN0cmVldAAA"
)
HOME = str(Path(almoner.__file__).parents[1])


@pytest.fixture(scope="module")
async def checker() -> AsyncIterator[UploadChecker]:
    checker = UploadChecker()
    yield checker
    checker.close()


@cache
def corpus() -> list[HostileFile]:
    """It takes seconds to make."""
    return list(hostile_files.corpus())


@contextmanager
def received(content: bytes) -> Iterator[BinaryIO]:
    with tempfile.TemporaryFile() as file:
        file.write(content)
        yield file


async def checked(checker: UploadChecker, content: bytes, declared: str) -> tuple[str, bytes, tuple[str, ...]]:
    with received(content) as file:
        result = await checker.check(file, [declared] if declared else None)
        with result.content:
            stored = result.content.read()
        assert len(stored) == result.size
        return result.media_type, stored, result.flags


async def fate(checker: UploadChecker, file: HostileFile) -> str:
    """What became of it."""
    try:
        media_type, stored, flags = await checked(checker, file.content, file.declared)
    except FiletypeNotSupported:
        return "refused"
    if media_type == PDF and "pdf_repaired" in flags:
        assert (await checked(checker, stored, PDF))[2] == flags[1:], "what is kept needs no repair"
        return "made harmless" if len(flags) == 1 else "flagged"
    if media_type == PDF:
        assert stored == file.content
        return "flagged" if "pdf_active" in flags and len(flags) > 1 else "accepted"
    assert hostile_pdfs.SCRIPT not in stored
    assert b"PK\x03\x04" not in stored
    return "made harmless"


async def test_u2_u8_no_hostile_file_is_accepted_and_the_server_does_not_grow(checker: UploadChecker) -> None:
    for declared, content in HONEST.items():
        assert (await checked(checker, content, declared))[0] == declared
    files = corpus()
    assert len(files) >= 200
    assert len({file.name for file in files}) == len(files)
    process, unexpected, most = psutil.Process(), [], 0
    for file in files:
        before = process.memory_info().rss
        became = await fate(checker, file)
        most = max(most, process.memory_info().rss - before - 2 * len(file.content))  # the test holds it twice itself
        if became != file.fate and not (file.fate == "made harmless" and became == "refused"):
            unexpected.append(f"{file.name}: {became}, not {file.fate}")
    assert unexpected == []
    assert most < 8 * MEGABYTE


async def test_u3_an_image_is_written_anew_without_its_metadata(checker: UploadChecker) -> None:
    exif = Image.Exif()
    exif[0x0112], exif[0x010E] = 6, "taken at 1 Home Street"
    exif.get_ifd(GPS)[2] = (51.0, 30.0, 0.0)
    for declared, kind in ((JPEG, "JPEG"), (PNG, "PNG")):
        content = hostile_files.picture(kind, exif=exif.tobytes(), dpi=(300, 300))
        media_type, stored, flags = await checked(checker, content, declared)
        assert (media_type, flags) == (declared, ())
        assert b"Home Street" not in stored
        with Image.open(BytesIO(stored)) as made:
            assert made.size == (40, 60)  # upright
            assert dict(made.getexif()) == {}
            assert not {"exif", "icc_profile", "comment", "xmp"} & made.info.keys()


@pytest.mark.parametrize("mode", ["1", "L", "LA", "P", "RGB", "RGBA", "I;16"])
async def test_every_kind_of_png_is_read(checker: UploadChecker, mode: str) -> None:
    written = BytesIO()
    Image.new(mode, (40, 30)).save(written, "PNG")
    assert (await checked(checker, written.getvalue(), PNG))[0] == PNG


DETAILS: Final = {
    "a wrong checksum": hostile_files.chunk(b"tEXt", b"a\0b")[:-1] + b"?",
    "a broken profile": hostile_files.chunk(b"iCCP", b"x\0\0zzzz"),
    "a colour space stated twice": hostile_files.chunk(b"sRGB", b"\0") * 2,
}


@pytest.mark.parametrize("damaged", DETAILS)
async def test_u2_damage_to_what_a_png_does_not_show_harms_nothing(checker: UploadChecker, damaged: str) -> None:
    assert (await checked(checker, hostile_files.png(40, 40, DETAILS[damaged]), PNG))[0] == PNG


async def test_u1_a_wrong_checksum_of_a_stream_in_a_pdf_is_ignored(checker: UploadChecker) -> None:
    packed = zlib.compress(b"0 0 m 9 9 l S")[:-4] + b"abcd"
    content = hostile_pdfs.pdf(hostile_pdfs.stream(packed, b"/Filter /FlateDecode"))
    assert await checked(checker, content, PDF) == (PDF, content, ())


@pytest.mark.parametrize("mode", ["L", "RGB", "CMYK"])
async def test_every_kind_of_jpeg_is_read(checker: UploadChecker, mode: str) -> None:
    assert (await checked(checker, hostile_files.picture(mode=mode), JPEG))[0] == JPEG


async def test_a_camera_may_put_more_pictures_behind_the_first_which_are_dropped(checker: UploadChecker) -> None:
    first, second = hostile_files.picture(), hostile_files.picture(size=(20, 10))
    written = BytesIO()
    with Image.open(BytesIO(first)) as picture, Image.open(BytesIO(second)) as further:
        picture.save(written, "MPO", save_all=True, append_images=[further])
    _, stored, _ = await checked(checker, written.getvalue(), JPEG)
    with Image.open(BytesIO(stored)) as made:
        assert (made.format, made.size, getattr(made, "n_frames", 1)) == ("JPEG", (60, 40), 1)


@pytest.mark.parametrize(
    "content",
    [
        hostile_pdfs.plain(200),
        hostile_pdfs.pdf(page=hostile_pdfs.PAGE.replace(b"/Resources << >> ", b"")),
        hostile_pdfs.pdf(catalogue=b"/OpenAction [3 0 R /Fit]"),
        hostile_pdfs.pdf(b"<< /Type /Annot /Subtype /Link /A << /S /URI /URI (https://example.org) >> >>"),
        hostile_pdfs.pdf(hostile_pdfs.packed(b"0 0 m" * 1000)),
        hostile_pdfs.pdf(hostile_pdfs.stream(b"00>", b"/Filter /ASCIIHexDecode")),
        hostile_pdfs.with_image(
            b"/ASCII85Decode", b"/DCTDecode", content=a85encode(HONEST[JPEG]) + b"~>"
        ),  # as ReportLab writes it
        hostile_pdfs.with_image(b"/ASCIIHexDecode", b"/DCTDecode", content=HONEST[JPEG].hex().encode() + b">"),
        hostile_pdfs.with_readable_metadata(),
        hostile_pdfs.pdf().replace(b"\n%\xe2", b"\r\n%\xe2"[1:]) + b"\r\n",
    ],
)
async def test_an_ordinary_pdf_is_kept_as_it_came(checker: UploadChecker, content: bytes) -> None:
    assert await checked(checker, content, PDF) == (PDF, content, ())


@pytest.mark.parametrize(("name", "content"), list(hostile_pdfs.repairable()))
async def test_u1_small_damage_is_repaired_and_said(checker: UploadChecker, name: str, content: bytes) -> None:
    media_type, stored, flags = await checked(checker, content, PDF)
    assert (media_type, flags) == (PDF, ("pdf_repaired",)), name
    with pikepdf.open(BytesIO(stored), attempt_recovery=False) as opened:
        assert len(opened.pages) == 1


@pytest.mark.parametrize("strength", [2, 3, 4, 6])
async def test_u1_a_pdf_with_a_password_of_its_owner_alone_is_taken(
    checker: UploadChecker, strength: Literal[2, 3, 4, 6]
) -> None:
    content = hostile_pdfs.encrypted(
        pikepdf.Encryption(owner="o", user="", R=strength, aes=strength > 3, metadata=strength > 3)
    )
    assert await checked(checker, content, PDF) == (PDF, content, ())


@pytest.mark.parametrize("tail", [b"\n", b"\r\n\0", b"x", b"SEFT\x01\0\0\0", b"\0\0\0\x18ftypmp42" + bytes(400)])
async def test_u3_what_a_camera_leaves_behind_its_picture_is_dropped(checker: UploadChecker, tail: bytes) -> None:
    for kind in (JPEG, PNG):
        media_type, stored, _ = await checked(checker, HONEST[kind] + tail, kind)
        assert media_type == kind
        assert not stored.endswith(tail)


@pytest.mark.parametrize(
    ("marker", "announced"), [(0xE2, b"MPF\0"), (0xE1, b"http://ns.adobe.com/xap/1.0/\0<Container:Directory/>")]
)
async def test_u3_further_pictures_that_the_first_announces_are_dropped(
    checker: UploadChecker, marker: int, announced: bytes
) -> None:
    """Such as the depth of a portrait, or its brighter copy."""
    content = hostile_files.with_segments(hostile_files.segment(marker, announced)) + HONEST[JPEG]
    media_type, stored, _ = await checked(checker, content, JPEG)
    assert (media_type, stored.count(b"\xff\xd8\xff")) == (JPEG, 1)


def snapshot(width: int, height: int, kind: str = "JPEG", **given: object) -> bytes:
    """A picture with the noise of a real one."""
    bands = [Image.effect_noise((512, 512), 60) for _ in range(3)]
    noise = Image.merge("RGB", bands)
    picture = Image.new("RGB", (width, height))
    for left in range(0, width, 512):
        for top in range(0, height, 512):
            picture.paste((noise if (left + top) % 1024 else noise.rotate(90)), (left, top))
    made = BytesIO()
    picture.save(made, kind, **given)
    return made.getvalue()


@pytest.mark.parametrize("progressive", [False, True])
async def test_u2_a_photo_of_48_megapixels_is_taken_and_made_smaller(
    checker: UploadChecker, *, progressive: bool
) -> None:
    content = snapshot(8064, 6048, quality=60, progressive=progressive)
    assert len(content) > 5 * MEGABYTE
    media_type, stored, _ = await checked(checker, content, JPEG)
    assert media_type == JPEG
    assert len(stored) <= 5 * MEGABYTE
    with Image.open(BytesIO(stored)) as made:
        assert abs(made.width / made.height - 4 / 3) < 0.01
        assert made.width >= 2000


async def test_u2_a_png_that_is_too_large_to_keep_becomes_a_jpeg(checker: UploadChecker) -> None:
    media_type, stored, _ = await checked(checker, snapshot(4000, 3000, "PNG", compress_level=1), PNG)
    assert media_type == JPEG
    assert len(stored) <= 5 * MEGABYTE


async def test_u2_a_heic_becomes_a_jpeg_without_its_metadata(checker: UploadChecker) -> None:
    media_type, stored, _ = await checked(checker, HEIC_PHOTO, "image/heic")
    assert media_type == JPEG
    assert b"Home Street" not in stored
    with Image.open(BytesIO(stored)) as made:
        assert made.size == (64, 48)  # as its container says, whatever its EXIF does


@pytest.mark.parametrize(
    ("content", "kinds", "cause"),
    [
        (b"GIF89a" + bytes(60), None, "type"),
        (HONEST[PDF], [JPEG, PNG], "type"),
        (HONEST[JPEG][:-2], None, "damaged"),
        (hostile_files.png(8000, 8000), None, "pixels"),
        (hostile_pdfs.encrypted(pikepdf.Encryption(owner="o", user="u", R=6)), None, "encrypted"),
        (hostile_files.png(4, 4, hostile_files.chunk(b"acTL", bytes(8))), None, "animation"),
        (hostile_pdfs.plain(201), None, "pages"),
        pytest.param(hostile_pdfs.pdf(hostile_pdfs.stream(bytes(6 * MEGABYTE))), None, "large", id="a large PDF"),
        pytest.param(hostile_pdfs.pdf(*[hostile_pdfs.packed(bytes(MEGABYTE))] * 60), None, "complex", id="complex"),
    ],
)
async def test_u2_a_refused_file_is_refused_for_its_true_reason(
    checker: UploadChecker, content: bytes, kinds: list[str] | None, cause: str
) -> None:
    with received(content) as file, pytest.raises(FiletypeNotSupported) as refused:
        await checker.check(file, kinds)
    assert refused.value.cause == cause


async def rendered(
    checker: UploadChecker, content: bytes, side: int, page: int = 1, quarter_turns: int = 0
) -> Image.Image:
    with received(content) as file:
        result = await checker.check(file, None, longest_side=side, pdf_page=page, quarter_turns=quarter_turns)
    with result.content:
        assert result.media_type == JPEG
        return Image.open(BytesIO(result.content.read())).copy()


def drawn_pdf(**given: bytes) -> bytes:
    """A page of 200 by 100 points: words at its left, a filled field at its right."""
    font = b"/Font << /F << /Type /Font /Subtype /Type1 /BaseFont /Unknown >> >>"
    page = (
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 200 100] /Contents 4 0 R /Annots [5 0 R] /Resources << %s >> >>"
    )
    words = hostile_pdfs.stream(b"BT /F 20 Tf 5 50 Td (Words) Tj ET")
    field = b"<< /Type /Annot /Subtype /Widget /FT /Tx /T (a) /V (x) /Rect [110 0 200 100] /AP << /N 6 0 R >> >>"
    form = b"/Type /XObject /Subtype /Form /BBox [0 0 90 100]"
    typed = hostile_pdfs.stream(b"0 0 0 rg 0 0 90 100 re f", form)
    fields = b"/AcroForm << /Fields [5 0 R] >>"
    return hostile_pdfs.pdf(words, field, typed, catalogue=fields, page=page % font, **given)


def is_dark(image: Image.Image, box: tuple[int, int, int, int]) -> bool:
    return image.crop(box).convert("L").getextrema()[0] < 60  # type: ignore[operator]


async def test_a_page_of_a_pdf_is_drawn_with_its_words_and_fields(checker: UploadChecker) -> None:
    image = await rendered(checker, drawn_pdf(), 400)
    assert image.size == (400, 200)
    assert is_dark(image, (0, 0, 200, 200)), "words in a font that the file has not"
    assert is_dark(image, (240, 0, 400, 200)), "what was typed into its form"
    assert not is_dark(image, (0, 140, 200, 200))
    turned = await rendered(checker, drawn_pdf(), 400, quarter_turns=1)
    assert turned.size == (200, 400)
    assert is_dark(turned, (0, 240, 200, 400)), "the right side is below"
    assert (await rendered(checker, hostile_files.picture(size=(60, 40)), 30, quarter_turns=3)).size == (20, 30)


async def test_the_size_of_a_drawn_page_is_bounded(checker: UploadChecker) -> None:
    huge = hostile_pdfs.pdf(page=hostile_pdfs.PAGE.replace(b"0 0 100 100", b"0 0 999999 999999"))
    assert (await rendered(checker, huge, 100_000)).size == (3600, 3600)
    flat = hostile_pdfs.pdf(page=hostile_pdfs.PAGE.replace(b"0 0 100 100", b"0 0 14400 1"))
    assert (await rendered(checker, flat, 100)).size == (100, 1)


@pytest.mark.parametrize(("content", "page"), [(HONEST[PDF], 3), (HONEST[PDF], 0), (b"%PDF-1.7\n", 1)])
async def test_a_page_that_is_none_is_refused(checker: UploadChecker, content: bytes, page: int) -> None:
    with pytest.raises(FiletypeNotSupported):
        await rendered(checker, content, 100, page)


async def test_no_hostile_pdf_costs_more_than_its_own_page(checker: UploadChecker) -> None:
    for file in corpus():
        if file.content.startswith(b"%PDF-"):
            with suppress(FiletypeNotSupported):
                assert max((await rendered(checker, file.content, 200)).size) <= 200
    assert (await rendered(checker, HONEST[PDF], 50)).height == 50


_CONFINED = """
import os, signal, socket
from almoner.platform.files.uploads.confinement import confine_process
import encodings.idna
confine_process()
try:
    {act}
except OSError as error:
    os._exit(error.errno or 255)
except MemoryError:
    os._exit(254)
os._exit(0)
"""


def confined(act: str) -> int:
    """How a confined process ends that does this: the number of its error, 0 when nothing stopped it."""
    return subprocess.run([sys.executable, "-c", _CONFINED.format(act=act)], env={"PYTHONPATH": HOME}).returncode


@pytest.mark.skipif(sys.platform != "linux", reason="system calls are confined on Linux alone")
@pytest.mark.parametrize(
    "act",
    [
        "os.open('/etc/passwd', os.O_RDONLY)",
        "os.open('/tmp/almoner-escape', os.O_CREAT | os.O_WRONLY)",
        "socket.socket(socket.AF_INET)",
        "socket.socket(socket.AF_UNIX)",
        "socket.socketpair()",
        "os.fork()",
        "os.execv('/bin/sh', ['sh'])",
        "os.kill(os.getppid(), signal.SIGTERM)",
        "os.listdir('/')",
        "os.unlink('/tmp/almoner-escape')",
        "os.mkdir('/tmp/almoner-escape')",
    ],
)
def test_u8_a_confined_process_opens_nothing_and_starts_nothing(act: str) -> None:
    assert confined(act) == errno.EPERM


def test_u8_a_confined_process_has_half_a_gigabyte() -> None:
    assert confined("bytearray(512 * 1024 * 1024)") == 254
    assert confined("bytearray(100 * 1024 * 1024)") == 0


@pytest.mark.skipif(sys.platform != "linux", reason="limits of another process are read and set on Linux alone")
def test_u8_a_confined_process_has_ten_seconds() -> None:
    """Its ten seconds are read from outside, and made one, at which it is ended as it would be at ten."""
    started = _CONFINED.format(act="os.write(1, b'+'); any(False for _ in iter(int, 1))")
    with subprocess.Popen([sys.executable, "-c", started], env={"PYTHONPATH": HOME}, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.read(1) == b"+"
        child = psutil.Process(process.pid)
        assert child.rlimit(psutil.RLIMIT_CPU) == (10, 10)
        child.rlimit(psutil.RLIMIT_CPU, (1, 1))
        assert process.wait() == -signal.SIGKILL


def living(fork_server: psutil.Process) -> list[psutil.Process]:
    """The children that it has now; one may end while it is looked at."""

    def lives(child: psutil.Process) -> bool:
        with suppress(psutil.NoSuchProcess):
            return bool(child.status() != psutil.STATUS_ZOMBIE)
        return False

    return [child for child in fork_server.children() if lives(child)]


async def test_u8_a_child_that_is_killed_costs_its_file_only(checker: UploadChecker) -> None:
    scans = next(file for file in corpus() if file.name == "a JPEG: hundreds of scans").content
    slow = scans[:-2] + scans[scans.rindex(b"\xff\xda") : -2] * 1500 + scans[-2:]  # takes seconds
    await checked(checker, HONEST[PDF], PDF)
    started = checker._fork_server._process
    assert started is not None
    fork_server = psutil.Process(started.pid)
    await eventually(lambda: not living(fork_server))  # the child of the honest file is gone

    async def kill() -> None:
        for child in await eventually(lambda: living(fork_server)):
            child.kill()

    async with asyncio.TaskGroup() as group:
        group.create_task(kill())
        with pytest.raises(FiletypeNotSupported) as refused:
            await checked(checker, slow, JPEG)
    assert refused.value.reasons == ("body.file cannot be read within the limits of time and memory",)
    assert (await checked(checker, HONEST[PDF], PDF))[0] == PDF
    assert fork_server.is_running()


async def test_u8_a_child_that_is_killed_as_it_starts_costs_its_file_and_no_time() -> None:
    """The test is the fork server: it closes what the child was given, as the system does for one that is killed."""
    server = checking._ForkServer()
    server._control, control = socket.socketpair()
    with tempfile.TemporaryFile() as source, tempfile.TemporaryFile() as target, control:
        asked = asyncio.create_task(asyncio.to_thread(server.ask, source, target, {}))
        _, files, _, _ = await asyncio.to_thread(socket.recv_fds, control, 4096, 3)
        for file in files:
            os.close(file)
        async with asyncio.timeout(10):
            assert await asked is None
        assert server._control is not None, "the fork server and its other children go on"
    server.close()


async def test_the_fork_server_is_started_again_and_ends_with_its_checker() -> None:
    reported: list[str] = []
    checker = UploadChecker(lambda outcome, seconds: reported.append(outcome))
    before = set(psutil.Process().children())
    await checked(checker, HONEST[PDF], PDF)
    (fork_server,) = set(psutil.Process().children()) - before
    assert fork_server.environ() == {}
    fork_server.kill()
    await checked(checker, HONEST[PNG], PNG)
    (again,) = set(psutil.Process().children()) - before
    assert again.pid != fork_server.pid
    checker.close()
    checker.close()
    assert not set(psutil.Process().children()) - before
    assert reported == ["accepted", "accepted"]


async def test_files_wait_for_their_turn(checker: UploadChecker) -> None:
    results = await asyncio.gather(*(checked(checker, HONEST[kind], kind) for kind in [JPEG, PNG, PDF] * 4))
    assert len(results) == 12
