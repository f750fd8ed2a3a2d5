"""The remittance statement as a document: in every language, tagged, with sums that agree; nobody anonymous named."""

import io
from dataclasses import replace
from datetime import UTC, datetime
from uuid import UUID

import pytest
from pypdf import PdfReader

from almoner.giving.checkout.donations.domain import DisbursementBatch, Donor, SettledAmount, new_direct_donation
from almoner.giving.disbursing.disbursements import domain as disbursements_domain
from almoner.giving.disbursing.remittances import domain as remittances_domain
from almoner.giving.disbursing.remittances.documents import RemittanceRenderer
from almoner.giving.disbursing.remittances.domain import Remittance, RemittanceLine, RemittanceTotals
from almoner.kit.ids import RecordIdCodec
from almoner.kit.money import Money
from almoner.platform.crypto import Vault
from almoner.platform.deployment import Deployment
from almoner.platform.pages.translations import TranslationCatalogues
from tests.support.clock import TestClock
from tests.unit.test_receipt_documents import AT, LINKS, kinds, root, text

ID = UUID("01954a2b-0000-7000-8000-000000000001")
SUNNY = RemittanceLine(ID, AT, False, ("Amina", "El-Sayed"), "For the well", "Wells", 10_000, 250, 0)
SECRET = replace(SUNNY, anonymous=True, donor_first_and_last_name=None, message=None)
PARTLY = replace(SUNNY, donor_first_and_last_name=("Bo", "Okafor"), message=None, refunded_minor=1000)


def remittance(*lines: RemittanceLine, language: str = "en-GB", further: int = 0) -> Remittance:
    totals = RemittanceTotals().with_lines([*lines, *[SUNNY] * further])
    bucket = DisbursementBatch(UUID(int=1), UUID(int=2), "GBP")
    payout = replace(
        disbursements_domain.new_disbursement(ID, bucket, AT),
        money=Money(totals.paid_minor, "GBP"),
        status="PAID",
        sent_at=AT,
        paid_at=AT,
    )
    return Remittance(payout, "Bright Bank", "Relief Fund", language, lines, totals)


async def document(made: Remittance) -> bytes:
    return await RemittanceRenderer(
        Deployment("sandbox", TestClock(), RecordIdCodec(sandbox=True), LINKS, Vault(bytes(32)))
    ).render_pdf(made)


async def read(made: Remittance) -> PdfReader:
    return PdfReader(io.BytesIO(await document(made)))


@pytest.mark.parametrize("language", TranslationCatalogues().offered_languages)
async def test_h8_a_remittance_statement_in_any_language_is_tagged_with_a_table(language: str) -> None:
    made = await read(remittance(SUNNY, SECRET, PARTLY, language=language))
    catalogue = root(made)
    assert str(catalogue["/Lang"]).split("-")[0] == language.split("-")[0]
    assert "<pdfuaid:part>1<" in catalogue["/Metadata"].get_data().decode()  # type: ignore[attr-defined]
    heard = kinds(catalogue["/StructTreeRoot"]["/K"])  # type: ignore[index]
    assert (heard.count("/Table"), heard.count("/TH"), heard.count("/TR")) == (1, 5, 5)
    assert disbursements_domain.end_to_end_id_of(ID) in text(made)


async def test_a_remittance_statement_says_what_was_given_taken_off_and_paid() -> None:
    made = remittance(SUNNY, SECRET, PARTLY)
    shown = " ".join(text(await read(made)).split())
    for stated in (
        "Relief Fund",
        "Paid on 2 March 2026",
        "Amina El-Sayed",
        "For the well",
        "For: Wells",
        "Anonymous",
        "£100.00 £2.50 £10.00 £87.50",
        "Total (GBP) £300.00 £7.50 £10.00 £282.50",
    ):
        assert stated in shown, stated
    assert "first 2,000" not in shown
    assert await document(made) == await document(made)
    assert "first 2,000" in " ".join(text(await read(remittance(SUNNY, further=1))).split())


def test_who_gives_anonymously_is_in_no_line() -> None:
    donor = Donor("Sec", "Ret", "sec@example.org", True, True)
    given = new_direct_donation(
        ID, ID, ID, None, Money(1000, "GBP"), donor, {}, datetime(2026, 1, 1, tzinfo=UTC), shows_donor_in_api=True,
        gift_aid_id=None,
    )  # fmt: skip
    assert (
        remittances_domain.remittance_line_of(given).donor_first_and_last_name,
        remittances_domain.remittance_line_of(replace(given, anonymous=False)).donor_first_and_last_name,
    ) == (None, ("Sec", "Ret"))
    nobody = replace(given, first_name=None, last_name=None, anonymous=False)
    assert (
        remittances_domain.remittance_line_of(nobody).donor_first_and_last_name,
        remittances_domain.remittance_line_of(nobody).anonymous,
    ) == (None, False)


@pytest.mark.parametrize(("withdrawn", "back", "paid"), [(0, 0, 975), (300, 300, 675), (1000, 975, 0)])
def test_a_line_adds_up_whatever_went_back(withdrawn: int, back: int, paid: int) -> None:
    donor = Donor(None, None, None, False, False)
    given = new_direct_donation(
        ID, ID, ID, None, Money(1000, "GBP"), donor, {}, AT, shows_donor_in_api=True, gift_aid_id=None
    )
    reported = remittances_domain.remittance_line_of(
        replace(given, settlement=SettledAmount(AT, Money(975, "GBP")), withdrawn_minor=withdrawn)
    )
    assert (reported.donated_minor, reported.fee_minor, reported.refunded_minor, reported.paid_minor) == (
        1000,
        25,
        back,
        paid,
    )


@pytest.mark.parametrize(("country", "language"), [("DEU", "de"), ("GBR", "en-GB"), ("USA", "en"), ("KEN", "en")])
def test_a_nonprofit_is_told_in_the_language_of_its_country(country: str, language: str) -> None:
    assert remittances_domain.document_language_of(country) == language
