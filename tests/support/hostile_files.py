"""Over 200 hostile files, each with its allowed outcomes (U2)."""

import struct
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from io import BytesIO
from typing import Literal

from PIL import Image

from tests.support import hostile_pdfs
from tests.support.hostile_pdfs import SCRIPT

JPEG, PNG, PDF = "image/jpeg", "image/png", "application/pdf"
Fate = Literal["refused", "flagged", "made harmless"]
"""``flagged``: accepted for review. ``made harmless``: refused, or rewritten without the harmful part."""


@dataclass(frozen=True, slots=True)
class HostileFile:
    """One file, the type it claims, and its outcome."""

    name: str
    declared: str
    content: bytes
    fate: Fate = "refused"


def archive() -> bytes:
    """A ZIP file."""
    made = BytesIO()
    with zipfile.ZipFile(made, "w") as file:
        file.writestr("index.html", SCRIPT)
    return made.getvalue()


def picture(kind: str = "JPEG", mode: str = "RGB", size: tuple[int, int] = (60, 40), **given: object) -> bytes:
    """An image with visible content."""
    made = BytesIO()
    Image.linear_gradient("L").resize(size).convert(mode).save(made, kind, **given)
    return made.getvalue()


HONEST = {JPEG: picture(), PNG: picture("PNG"), PDF: hostile_pdfs.plain(2)}
"""A valid file of each type."""

PAYLOADS = {
    "a zip": archive(),
    "a page": b"<html>" + SCRIPT,
    "a script": b"/**/=1;alert(1)//",
    "php": b"<?php system($_GET['c']); ?>",
    "a shell script": b"#!/bin/sh\nid\n",
    "a program of Windows": b"MZ\x90\x00" + bytes(60),
    "a program of Linux": b"\x7fELF\x02\x01\x01" + bytes(60),
    "a rar": b"Rar!\x1a\x07\x01\x00" + bytes(30),
    "a 7z": b"7z\xbc\xaf\x27\x1c" + bytes(30),
    "a gif": b"GIF89a/*\x00\x00*/=1;alert(1);",
    "drawing commands": b"%!PS-Adobe-3.0\n(/etc/passwd) (r) file\n",
    "one letter": b"x",
}

OTHERS = {
    "nothing but zeroes": bytes(100),
    "an svg": b"<svg xmlns='http://www.w3.org/2000/svg'>" + SCRIPT + b"</svg>",
    "an svg in xml": b"<?xml version='1.0'?><!DOCTYPE svg [<!ENTITY a 'b'>]><svg/>",
    "a webp": picture("WEBP"),
    "a bmp": picture("BMP"),
    "a tiff": picture("TIFF"),
    "an icon": picture("ICO"),
    "a gif that is one": picture("GIF", "P"),
    "a ppm": picture("PPM"),
    "a jpeg 2000": b"\x00\x00\x00\x0cjP  \r\n\x87\n" + bytes(40),
    "a heic": b"\x00\x00\x00\x18ftypheic" + bytes(40),
    "a psd": b"8BPS\x00\x01" + bytes(40),
    "a film": b"\x00\x00\x00\x18ftypmp42" + bytes(40),
    "flash": b"CWS\x0a" + bytes(40),
    "wasm": b"\x00asm\x01\x00\x00\x00",
    "a gzip": b"\x1f\x8b\x08" + bytes(40),
    "an encapsulated drawing": b"\xc5\xd0\xd3\xc6" + bytes(40),
    "a word document": b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(500),
    "rich text": b"{\\rtf1 }",
    "a shortcut": b"L\x00\x00\x00\x01\x14\x02\x00" + bytes(40),
    "half a jpeg's signature": b"\xff\xd8",
    "half a png's signature": b"\x89PNG\r\n",
    "half a pdf's signature": b"%PD",
}


def chunk(kind: bytes, content: bytes) -> bytes:
    """A PNG chunk."""
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))


def png(width: int, height: int, *more: bytes, data: bytes | None = None, depth: int = 8, colour: int = 2) -> bytes:
    """A PNG written by hand."""
    head = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, 0))
    rows = zlib.compress(bytes(min(height, 4) * (min(width, 8000) * 3 + 1))) if data is None else data
    return b"\x89PNG\r\n\x1a\n" + head + b"".join(more) + chunk(b"IDAT", rows) + chunk(b"IEND", b"")


def segment(marker: int, content: bytes) -> bytes:
    """A JPEG segment."""
    return b"\xff" + bytes([marker]) + struct.pack(">H", len(content) + 2) + content


def with_segments(*segments: bytes) -> bytes:
    """The valid JPEG with further segments after its first two bytes."""
    return HONEST[JPEG][:2] + b"".join(segments) + HONEST[JPEG][2:]


def corpus() -> Iterator[HostileFile]:
    """All hostile files."""
    yield from _of_two_kinds()
    yield from _of_other_kinds()
    yield from _cut_off()
    yield from _broken_pngs()
    yield from _broken_jpegs()
    yield from _with_something_inside()
    for name, content in hostile_pdfs.active():
        yield HostileFile(f"a PDF: {name}", PDF, content, "flagged")
    for name, content in hostile_pdfs.repairable():
        yield HostileFile(f"a PDF: {name}", PDF, content, "made harmless")
    for name, content in hostile_pdfs.broken():
        yield HostileFile(f"a PDF: {name}", PDF, content)


def _of_two_kinds() -> Iterator[HostileFile]:
    for declared, honest in HONEST.items():
        for name, payload in PAYLOADS.items():
            harmless: Fate = "made harmless" if name == "one letter" else "refused"  # not a file: the tail is dropped
            yield HostileFile(f"{declared} followed by {name}", declared, honest + payload, harmless)
            yield HostileFile(f"{declared} behind {name}", declared, payload + honest)
        for other, content in HONEST.items():
            if other != declared:
                yield HostileFile(f"{declared} followed by {other}", declared, honest + content)


def _of_other_kinds() -> Iterator[HostileFile]:
    for position, (name, content) in enumerate({**OTHERS, **PAYLOADS}.items()):
        declared = (JPEG, PNG, PDF)[position % 3]
        yield HostileFile(f"{name} that claims to be {declared}", declared, content)


def _cut_off() -> Iterator[HostileFile]:
    for declared, honest in HONEST.items():
        for part in range(1, 16):
            yield HostileFile(f"{declared}, {part} of 16 parts", declared, honest[: len(honest) * part // 16])
        harmless: Fate = "made harmless" if declared == PDF else "refused"  # nothing of it is lost
        yield HostileFile(f"{declared} without its last bytes", declared, honest.rstrip()[:-2], harmless)


def _broken_pngs() -> Iterator[HostileFile]:
    bomb = hostile_pdfs.zeroes(80 << 20)
    body = HONEST[PNG][8:]
    for name, content in (
        ("8,000 by 8,000 pixels", png(8000, 8000)),
        ("100,000 by 100,000 pixels", png(100_000, 100_000)),
        ("wide as it can be", png(2**31 - 1, 1)),
        ("no width", png(0, 10)),
        ("no height", png(10, 0)),
        ("a colour that is none", png(10, 10, colour=9)),
        ("a depth that is none", png(10, 10, depth=7)),
        ("too little data", png(100, 100, data=zlib.compress(b"x"))),
        ("data that is none", png(10, 10, data=b"\x00" * 50)),
        ("no data", b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", bytes(13)) + chunk(b"IEND", b"")),
        ("an animation", png(4, 4, chunk(b"acTL", struct.pack(">II", 2, 0)))),
        ("no end", HONEST[PNG][:-12]),
        ("twice", HONEST[PNG] + HONEST[PNG]),
        ("two heads", b"\x89PNG\r\n\x1a\n" + body[:25] + body),
        ("a wrong checksum", HONEST[PNG].replace(HONEST[PNG][29:33], b"\x00\x00\x00\x00")),
        ("a chunk longer than the file", HONEST[PNG].replace(b"\x00\x00\x00\x00IEND", b"\xff\xff\xff\xffIEND")),
        ("the end first", b"\x89PNG\r\n\x1a\n" + chunk(b"IEND", b"") + body),
    ):
        yield HostileFile(f"a PNG: {name}", PNG, content)
    for name, content in (
        ("two ends", HONEST[PNG] + chunk(b"IEND", b"")),
        ("a text of 80 MB", png(4, 4, chunk(b"zTXt", b"a\x00\x00" + bomb))),
        ("an international text of 80 MB", png(4, 4, chunk(b"iTXt", b"a\x00\x01\x00\x00\x00" + bomb))),
    ):
        yield HostileFile(f"a PNG: {name}", PNG, content, "made harmless")
    sizes = png(6400, 6200, data=hostile_pdfs.zeroes(120 << 20))
    yield HostileFile("a PNG: as large as may be, of 40 kB", PNG, sizes, "made harmless")
    profile = chunk(b"iCCP", b"a\x00\x00" + bomb)
    yield HostileFile("a PNG: a colour profile of 80 MB", PNG, png(4, 4, profile), "made harmless")


def _broken_jpegs() -> Iterator[HostileFile]:
    honest = HONEST[JPEG]
    frame = honest.index(b"\xff\xc0")
    huge = honest[: frame + 5] + struct.pack(">HH", 65_500, 65_500) + honest[frame + 9 :]
    none = honest[: frame + 5] + struct.pack(">HH", 0, 0) + honest[frame + 9 :]
    for name, content in (
        ("65,500 by 65,500 pixels", huge),
        ("no pixels", none),
        ("no frame", honest[:frame] + honest[honest.index(b"\xff\xc4") :]),
        ("no tables", honest.replace(b"\xff\xdb", b"\xff\xef").replace(b"\xff\xc4", b"\xff\xef")),
        ("twice", honest + honest),
        ("begins twice", b"\xff\xd8" + honest),
        ("a segment without length", with_segments(b"\xff\xe1\x00\x00")),
        ("a segment longer than the file", with_segments(b"\xff\xe1\xff\xff")),
        ("a restart where there is none", with_segments(b"\xff\xd0\x00\x02")),
        ("no end", honest[:-2]),
        ("only a beginning and an end", b"\xff\xd8\xff\xd9"),
        ("fill bytes without end", b"\xff\xd8" + b"\xff" * 100_000),
        ("announces pictures and has a page", with_segments(segment(0xE2, b"MPF\x00" + bytes(60))) + SCRIPT),
        ("announces pictures and has a zip", with_segments(segment(0xE2, b"MPF\x00" + bytes(60))) + archive()),
        ("an end and a zip in zeroes", honest + bytes(500) + archive()),
    ):
        yield HostileFile(f"a JPEG: {name}", JPEG, content)
    scans = picture("JPEG", size=(5000, 5000), progressive=True)
    last = scans.rindex(b"\xff\xda")
    slow = scans[:last] + scans[last:-2] * 150 + scans[-2:]  # more only take longer, until the child is killed
    yield HostileFile("a JPEG: hundreds of scans", JPEG, slow, "made harmless")


def _with_something_inside() -> Iterator[HostileFile]:
    """Images with unwanted data in their metadata, which must be removed."""
    loop = (
        b"Exif\x00\x00II*\x00\x08\x00\x00\x00\x01\x00\x69\x87\x04\x00\x01\x00\x00\x00\x08\x00\x00\x00\x08\x00\x00\x00"
    )
    many = b"Exif\x00\x00II*\x00\x08\x00\x00\x00\xff\xff" + b"\x0e\x01\x02\x00\xff\xff\xff\x7f\x08\x00\x00\x00" * 5000
    for name, content in (
        ("a page in a comment", with_segments(segment(0xFE, b"<html>" + SCRIPT))),
        ("a zip in a comment", with_segments(segment(0xFE, archive()))),
        ("php in EXIF", with_segments(segment(0xE1, b"Exif\x00\x00" + SCRIPT))),
        ("a page in XMP", with_segments(segment(0xE1, b"http://ns.adobe.com/xap/1.0/\x00" + SCRIPT))),
        ("EXIF that leads to itself", with_segments(segment(0xE1, loop + SCRIPT))),
        ("EXIF of 65,535 entries", with_segments(segment(0xE1, many + SCRIPT))),
        ("4 MB of EXIF", with_segments(*[segment(0xE1, b"Exif\x00\x00" + SCRIPT * 1900)] * 63)),
        ("a profile that is none", with_segments(segment(0xE2, b"ICC_PROFILE\x00\x01\x01" + SCRIPT))),
        ("a drawing program's block", with_segments(segment(0xED, b"Photoshop 3.0\x008BIM" + SCRIPT))),
        ("a script in its head", with_segments(segment(0xE0, b"JFIF\x00*/=alert(1)/*" + SCRIPT))),
    ):
        yield HostileFile(f"a JPEG with {name}", JPEG, content, "made harmless")
    for name, more in (
        ("a page in a text", chunk(b"tEXt", b"Comment\x00<html>" + SCRIPT)),
        ("a page in a packed text", chunk(b"zTXt", b"Comment\x00\x00" + zlib.compress(SCRIPT))),
        ("a zip in a chunk of its own", chunk(b"ziPp", archive())),
        ("EXIF", chunk(b"eXIf", b"II*\x00" + SCRIPT)),
        ("a profile", chunk(b"iCCP", b"a\x00\x00" + zlib.compress(SCRIPT))),
        ("ten thousand texts", chunk(b"tEXt", b"a\x00" + SCRIPT) * 10_000),
    ):
        yield HostileFile(f"a PNG with {name}", PNG, png(10, 4, more), "made harmless")
    noisy = zlib.compress(b"".join(b"\x00" + (SCRIPT * 3)[:30] for _ in range(4)))
    yield HostileFile("a PNG whose pixels are a script, unpacked", PNG, png(10, 4, data=noisy), "made harmless")
