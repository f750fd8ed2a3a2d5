"""The receipt as a document: tagged, archival, the same bytes each time, in every language and for every name."""

import html
import io
import random
import re
import unicodedata
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any
from uuid import UUID

import pytest
from pypdf import PdfReader
from pypdf.generic import DictionaryObject

from almoner.giving.checkout.donations.domain import RefundedAmount
from almoner.giving.checkout.sessions.domain import Benefits
from almoner.giving.receipts.documents import ReceiptRenderer
from almoner.giving.receipts.domain import DonationReassignment, Donee, Receipt
from almoner.giving.receipts.jobs import RECEIPT as RECEIPT_EMAIL
from almoner.kit.ids import RecordIdCodec
from almoner.kit.money import Money
from almoner.kit.public_links import PublicLinks
from almoner.platform.crypto import Vault
from almoner.platform.deployment import BaseUrls, Deployment, Environment
from almoner.platform.outbound.mail_rendering import MailRenderer
from almoner.platform.pages import pdf
from almoner.platform.pages.translations import TranslationCatalogues
from tests.support import emails
from tests.support.clock import TestClock
from tests.support.figures import Figures
from tests.support.pdf_links import count_web_links

AT = datetime(2026, 3, 2, 9, 30, tzinfo=UTC)
LINKS = BaseUrls("https://give.example.org", "https://give.example.org")
RECEIPT = Receipt(
    donation_id=UUID("01954a2b-0000-7000-8000-000000000001"),
    partner_id=UUID(int=1),
    number=42,
    prefix="ACME",
    issuer="Bright Bank",
    language="en-GB",
    organisation="Relief Fund",
    register="Internal Revenue Service (IRS)",
    register_number="12-3456789",
    first_name="Amina",
    last_name="El-Sayed",
    anonymous=False,
    payment_id=UUID(int=2),
    money=Money(2600, "GBP"),
    cover_minor=100,
    received_at=AT,
    issued_at=AT,
)


DONEE = Donee(
    UUID(int=3), UUID(int=1), "Bright Bank Foundation", "987654321", "1 Main Street, Casper, WY 82601", "a", "n", AT,
    "b", "n", AT,
)  # fmt: skip


@cache
def renderer(environment: Environment = "sandbox") -> MailRenderer:
    deployment = Deployment(environment, TestClock(), RecordIdCodec(sandbox=True), LINKS, Vault(bytes(32)))
    return MailRenderer(deployment, RECEIPT_EMAIL.template.parent)


@cache
def papers(environment: Environment = "sandbox") -> ReceiptRenderer:
    return ReceiptRenderer(renderer(environment))


async def read(receipt: Receipt, environment: Environment = "sandbox") -> PdfReader:
    return PdfReader(io.BytesIO(await papers(environment).render_pdf(receipt)))


def text(document: PdfReader) -> str:
    """What stands on the pages, without the invisible marks of direction."""
    return re.sub("[\u2066-\u2069\u200e\u200f\u200b]", "", "\n".join(page.extract_text() for page in document.pages))


def without_marks(text: str) -> str:
    """Without marks of direction and what keeps an address from becoming a link."""
    return html.unescape(re.sub("[\u2066-\u2069\u200e\u200f\u2060]|</?bdi>", "", text))


def root(document: PdfReader) -> DictionaryObject:
    found = document.trailer["/Root"]
    assert isinstance(found, DictionaryObject)
    return found


def fonts(document: PdfReader) -> dict[str, Any]:
    """The descriptor of every font, by its name."""
    found = {}
    for page in document.pages:
        for font in page["/Resources"]["/Font"].values():  # type: ignore[index]
            [inner] = font.get_object()["/DescendantFonts"]
            descriptor = inner.get_object()["/FontDescriptor"].get_object()
            found[descriptor["/FontName"].partition("+")[2]] = descriptor
    return found


@pytest.mark.parametrize("language", TranslationCatalogues().offered_languages)
async def test_h8_a_receipt_in_any_language_is_tagged_archival_and_brings_its_fonts(language: str) -> None:
    document = await read(replace(RECEIPT, language=language, anonymous=True))
    catalogue = root(document)
    assert catalogue["/MarkInfo"]["/Marked"].value  # type: ignore[index]
    assert str(catalogue["/Lang"]).split("-")[0] == language.split("-")[0]
    assert catalogue["/StructTreeRoot"]["/K"]  # type: ignore[index]
    assert catalogue["/ViewerPreferences"]["/DisplayDocTitle"].value  # type: ignore[index]
    metadata = catalogue["/Metadata"].get_data().decode()  # type: ignore[attr-defined]
    stated = {
        name: value for name, value in re.findall(r"<(pdf(?:a|ua)id:\w+)>(\w+)<", metadata) if not name.endswith("rev")
    }
    assert stated == {"pdfaid:part": "3", "pdfaid:conformance": "A", "pdfuaid:part": "1"}
    assert all("/FontFile2" in about or "/FontFile3" in about for about in fonts(document).values())
    assert all(re.match("NotoSans|LibertinusSerif", name) for name in fonts(document))
    assert "ACME-000042" in text(document)


def kinds(element: Any) -> list[str]:
    """The kinds of the structure's elements, in reading order."""
    if isinstance(element, list):
        return [kind for one in element for kind in kinds(one)]
    element = element.get_object() if hasattr(element, "get_object") else element
    if not isinstance(element, DictionaryObject) or "/S" not in element:
        return []
    return [str(element["/S"]), *kinds(element.get("/K", []))]


async def test_h8_screen_readers_hear_headings_pairs_and_the_link() -> None:
    document = await read(RECEIPT)
    heard = kinds(root(document)["/StructTreeRoot"]["/K"])  # type: ignore[index]
    assert (heard.count("/H1"), heard.count("/H2"), heard.count("/Link")) == (1, 1, 1)
    assert heard.count("/L") == 1
    assert heard.count("/LI") == heard.count("/Lbl") == heard.count("/LBody") == 10


async def test_a_receipt_has_all_facts_and_the_private_link() -> None:
    document = await read(RECEIPT)
    shown = text(document)
    for fact in (
        "£26.00", "£25.00", "£1.00", "Bright Bank", "ACME-000042", "Amina El-Sayed", "Relief Fund",
        "Internal Revenue Service (IRS)", "12-3456789", "2 March 2026", "No real money moved",
    ):  # fmt: skip
        assert fact in shown
    assert RecordIdCodec(sandbox=True).encode("donation", RECEIPT.donation_id) in shown
    [link] = [note.get_object()["/A"]["/URI"] for note in document.pages[0]["/Annots"]]  # type: ignore[attr-defined]
    assert link == papers().donation_status_url(RECEIPT)
    assert document.metadata is not None
    assert (document.metadata.title, document.metadata.author) == ("Receipt ACME-000042", "Bright Bank")


async def test_a_receipt_without_cover_names_one_amount_and_production_says_nothing_of_tests() -> None:
    shown = text(await read(replace(RECEIPT, cover_minor=0), "production"))
    assert "£26.00" in shown
    assert "Payment fee covered" not in shown
    assert "No real money" not in shown


@pytest.mark.parametrize("language", TranslationCatalogues().offered_languages)
async def test_a_receipt_of_a_gift_that_went_back_is_corrected_or_void(language: str) -> None:
    words = TranslationCatalogues().language(language)
    receipt = replace(RECEIPT, language=language)
    part = replace(receipt, refunded=RefundedAmount(AT + timedelta(days=9), Money(600, "GBP")))
    whole = replace(receipt, refunded=RefundedAmount(AT + timedelta(days=9), Money(2600, "GBP")))
    assert (receipt.unrefunded_minor, part.unrefunded_minor, whole.unrefunded_minor) == (2600, 2000, 0)
    assert await papers().render_pdf(part) == await papers().render_pdf(part) != await papers().render_pdf(receipt)
    shown, void = text(await read(part)), text(await read(whole))
    if language in ("ar", "he", "ja"):
        return  # what the reader of documents makes of their words is no text
    for key in ("receipt.refunded", "receipt.kept"):
        assert words.text(key) in shown
    assert set(words.text("receipt.void").split()) <= set(void.split())
    assert not set(words.text("receipt.confirmation", organisation=receipt.organisation).split()) <= set(void.split())
    if language == "en":
        assert "£6.00" in shown
        assert "£20.00" in shown
        assert "March 11, 2026" in shown


@pytest.mark.parametrize("language", ["en", "ar", "ja"])
async def test_the_same_receipt_is_the_same_bytes(language: str) -> None:
    receipt = replace(RECEIPT, language=language)
    first = await papers().render_pdf(receipt)
    await papers().render_pdf(replace(receipt, first_name="Somebody else"))
    assert await papers().render_pdf(receipt) == first
    email = papers().compose_email(receipt, "amina@example.org")
    assert email.create_attachment is not None
    attached = await email.create_attachment()
    assert (attached.name, attached.content) == ("receipt-ACME-000042.pdf", first)


@pytest.mark.parametrize("language", ["en", "ar", "ja"])
async def test_whose_service_it_is_stands_on_the_paper_with_its_notices(language: str) -> None:
    public = PublicLinks("Bright Bank", privacy="https://b.example/privacy", terms="https://b.example/terms",
                         contact="help@b.example")  # fmt: skip
    deployment = replace(renderer().deployment, public_links=public)
    made = await ReceiptRenderer(MailRenderer(deployment, RECEIPT_EMAIL.template.parent)).render_pdf(
        replace(RECEIPT, language=language)
    )
    document = PdfReader(io.BytesIO(made))
    assert "help@b.example" in text(document)
    found = [note.get_object() for page in document.pages for note in page.get("/Annots", [])]
    targets = {note["/A"]["/URI"] for note in found if "/A" in note}
    assert {"https://b.example/privacy", "https://b.example/terms"} <= targets


async def test_h9_a_name_stands_in_the_order_of_the_language() -> None:
    receipt = replace(RECEIPT, language="ja", first_name="花子", last_name="山田")
    mail = emails.rendered(renderer().deployment, RECEIPT_EMAIL, papers().compose_email(receipt, "hanako@example.org"))
    for shown in (text(await read(receipt)), mail.text, mail.html):
        assert "山田 花子" in shown
        assert "山田様" in re.sub("</?bdi>", "", shown)
    assert "Thank you, Amina." in text(await read(RECEIPT))


@pytest.mark.parametrize("language", TranslationCatalogues().offered_languages)
@pytest.mark.parametrize("donee", [None, DONEE])
@pytest.mark.parametrize("benefits", [None, Benefits("Dinner for two", 4000)])
async def test_a_receipt_says_what_it_is_for_taxes(
    language: str, donee: Donee | None, benefits: Benefits | None
) -> None:
    receipt = replace(RECEIPT, language=language, donee=donee, benefits=benefits)
    words = TranslationCatalogues().language(language)
    confirmation = words.text("receipt.confirmation", organisation=receipt.organisation)
    acknowledgement, deductible = words.text("receipt.acknowledgement"), words.text("receipt.deductible")
    expected = {confirmation: donee is None, acknowledgement: bool(donee and not benefits)}
    expected |= {deductible: bool(donee and benefits), "12-3456789": True}  # as the nonprofit's own number
    expected |= {"98-7654321": bool(donee), "1 Main": bool(donee), "Dinner for": bool(benefits)}
    mail = emails.rendered(renderer().deployment, RECEIPT_EMAIL, papers().compose_email(receipt, "amina@example.org"))
    shown = [without_marks(mail.text), without_marks(mail.html), text(await read(receipt))]
    for stated, present in expected.items():
        for place in shown[: 2 if language in ("ar", "he", "ja") else 3]:
            assert (set(stated.split()) <= set(place.split()) if place is shown[2] else stated in place) == present


async def test_a_receipt_is_of_the_day_on_which_the_money_came() -> None:
    shown = text(await read(replace(RECEIPT, received_at=AT + timedelta(days=3))))
    assert "5 March 2026" in shown
    assert "2 March 2026" not in shown


@pytest.mark.parametrize("language", ["en", "ar", "he"])
async def test_the_label_keeps_away_from_the_amount(language: str) -> None:
    """The feet of both lines, in points: the figure's height, what letters have below the line, and air."""
    document = await read(replace(RECEIPT, language=language))
    feet: set[tuple[float, float]] = set()
    document.pages[0].extract_text(visitor_text=lambda _text, cm, _tm, _font, size: feet.add((size, round(cm[5], 1))))
    [figure] = {y for size, y in feet if size == 34}
    label = min(y for size, y in feet if size == 10.5 and y > figure)
    assert label - figure >= 32, label - figure


@pytest.mark.parametrize("typed", ["http://evil.example/login click here", "www.evil.example", "ada@evil.example"])
async def test_h11_nothing_that_was_typed_becomes_a_link_in_the_document(typed: str) -> None:
    donee, passed_on = replace(DONEE, legal_name=typed, address=typed), DonationReassignment(typed, AT)
    named = replace(RECEIPT, first_name=typed, last_name=typed, issuer=typed, organisation=typed)
    for receipt in (
        named,
        replace(named, donee=donee, benefits=Benefits(typed, 100)),
        replace(named, passed_on=passed_on),
    ):
        made = await papers().render_pdf(receipt)
        assert count_web_links(made) == 0
        assert typed in without_marks(text(PdfReader(io.BytesIO(made))))


async def test_our_own_contact_stays_a_link_in_the_document() -> None:
    public = PublicLinks("Bright Bank", contact="help@b.example")
    deployment = replace(renderer().deployment, public_links=public)
    assert (
        count_web_links(
            await ReceiptRenderer(MailRenderer(deployment, RECEIPT_EMAIL.template.parent)).render_pdf(RECEIPT)
        )
        == 1
    )


NAMES = {
    "Latin": "Åsa Łukasz Nguyễn-Çelik",
    "Cyrillic": "Ґалина Ёжикова",
    "Greek": "Ελένη Παπαδοπούλου",
    "Japanese": "髙橋 﨑子 ヴィクトル",
    "Markup": '#panic("x") *b* $x$ <b> \\ @y "q"',
}


@pytest.mark.parametrize("name", NAMES.values(), ids=NAMES)
async def test_names_stand_as_they_were_written(name: str) -> None:
    assert name in text(await read(replace(RECEIPT, first_name=name, last_name="")))


@pytest.mark.parametrize("name", ["أمينة السيد", "נועה כהן"], ids=["Arabic", "Hebrew"])
async def test_names_from_right_to_left_have_every_letter(name: str) -> None:
    shown = text(await read(replace(RECEIPT, language="ar", first_name=name, last_name="")))
    assert set(name) - set(shown) == set()


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("张伟", "张伟"),
        ("김민준", "김민준"),
        ("ราม", "ราม"),
        ("\U0002b74e", "[U+2B74E]"),
        ("Zoe\u0308", "Zoë"),
        ("A\nB\tC\x00", "A B C"),
        ("葛\U000e0100城", "葛城"),
        ("Zo\u00eb \U0001f600", "Zo\u00eb [U+1F600]"),
        ("\U0001d4d0\U0001d4ed\U0001d4ea \u2163", "Ada IV"),
        ("\ufe8e\ufea3\ufee4\ufeaa", "\u0627\u062d\u0645\u062f"),
    ],
)
def test_what_no_font_shows_is_written_by_its_number(name: str, shown: str) -> None:
    assert pdf.replace_unprintable_characters(name).strip() == shown


@pytest.mark.parametrize(("language", "reported"), [("en", "Unicode numbers"), ("ja", "Unicode番号")])
async def test_a_receipt_says_that_it_shows_characters_by_their_numbers(language: str, reported: str) -> None:
    shown = text(await read(replace(RECEIPT, language=language, first_name="Zo\u00eb \U0001f600")))
    assert "[U+1F600]" in shown
    assert reported in shown
    assert reported not in text(await read(replace(RECEIPT, language=language)))


SCRIPTS = {
    "Simplified": ("张伟", "NotoSansCJKsc"),
    "Traditional": ("黃韋呈 妤婕", "NotoSansCJKtc"),
    "Hong Kong": ("邨㗎 啲𠝹", "NotoSansCJKtc"),
    "Japanese names": ("𠮷野家", "NotoSansCJKjp"),
    "Hangul": ("김민준", "NotoSansCJKkr"),
    "Old Hangul": ("ᄒᆞᆫ글", "NotoSansCJKkr"),
    "Thai": ("สมชาย ใจดี", "NotoSansThai"),
    "Georgian": ("გიორგი ბერიძე", "NotoSansGeorgian"),
    "Armenian": ("Արմեն Պետրոսյան", "NotoSansArmenian"),
    "Devanagari": ("प्रिया शर्मा", "NotoSansDevanagari"),
    "Tamil": ("சுந்தர்", "NotoSansTamil"),
    "Bengali": ("রবীন্দ্রনাথ", "NotoSansBengali"),
    "Ethiopic": ("አበበ ቢቂላ", "NotoSansEthiopic"),
    "Khmer": ("ហ៊ុន", "NotoSansKhmer"),
    "Myanmar": ("အောင်ဆန်း", "NotoSansMyanmar"),
    "Tibetan": ("བསྟན་འཛིན", "NotoSerifTibetan"),
}
REORDERED = {"Devanagari", "Tamil", "Bengali", "Khmer", "Myanmar", "Tibetan"}
"""Scripts whose signs stand in another order than they are spoken in: what a reader extracts has all of them."""


@pytest.mark.parametrize(("script", "name", "font"), [(script, *given) for script, given in SCRIPTS.items()])
async def test_names_of_other_scripts_stand_as_they_were_written(script: str, name: str, font: str) -> None:
    document = await read(replace(RECEIPT, first_name=name, last_name="", organisation=name))
    assert any(used.startswith(font) for used in fonts(document)), fonts(document).keys()
    shown = text(document)
    assert "[U+" not in shown
    if script not in REORDERED:
        assert name in shown


def test_the_fonts_are_smaller_than_25_megabytes_together() -> None:
    folders = (pdf.FONTS, pdf.FONTS.with_name("script_fonts"))
    assert sum(file.stat().st_size for folder in folders for file in folder.rglob("*") if file.is_file()) < 25_000_000


def test_every_standard_character_has_a_font() -> None:
    for codec in ("gb2312", "gbk", "cp950", "big5hkscs", "cp949", "shift_jis", "euc_jis_2004"):
        for code in (*range(0x3400, 0xD7A4), *range(0x20000, 0x30000)):
            try:
                chr(code).encode(codec)
            except UnicodeEncodeError:
                continue
            character = unicodedata.normalize("NFC", chr(code))
            assert pdf.replace_unprintable_characters(character) == character, (codec, hex(code))


async def test_every_character_that_we_say_is_shown_has_a_glyph() -> None:
    """Both standards forbid a character without one, and typst refuses it."""
    covered = [chr(code) for code in sorted(pdf._font_characters()) if not chr(code).isspace()]
    assert len(covered) > 9000
    for begin in range(0, len(covered), 2000):
        name = " ".join(covered[begin : begin + 2000])
        assert (await papers().render_pdf(replace(RECEIPT, organisation=name))).startswith(b"%PDF-1.7")


@pytest.mark.soak
@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.long) for seed in (1, 2))])
async def test_no_name_stops_a_receipt(seed: int, figures: Figures) -> None:
    """Marks on letters of other scripts, which no font has together, lose their marks."""
    chance = random.Random(seed)
    covered = sorted(pdf._font_characters())
    marks = [code for code in covered if unicodedata.category(chr(code)) in ("Mn", "Cf")]
    for language in ("en", "ar", "ja", "he") * figures.count(2, 10):
        name = "".join(chr(chance.choice(marks if chance.random() < 0.4 else covered)) for _ in range(30))
        assert await papers().render_pdf(replace(RECEIPT, language=language, first_name=name, organisation=name))
    unshown = replace(RECEIPT, language="ja", organisation="\u06d7\u300e\u0330救援")
    assert "\u300e[U+0330]救援" in text(await read(unshown))


async def test_long_names_go_over_several_lines_and_pages() -> None:
    document = await read(replace(RECEIPT, organisation="Wohltätigkeits" * 18, issuer="W" * 255, anonymous=True))
    assert len(document.pages) <= 2
    assert "Status of your donation" in text(document)


async def test_a_value_keeps_its_own_direction() -> None:
    assert pdf.text_and_direction_facts("12-3456789", document_is_rtl=True) == {"text": "12-3456789", "rtl": False}
    assert pdf.text_and_direction_facts("(أمينة) A", document_is_rtl=False) == {"text": "(أمينة) A", "rtl": True}
    assert pdf.text_and_direction_facts("–", document_is_rtl=True) == {"text": "–", "rtl": True}
