"""The remittance statement as a document: what donors and partners typed is data, and keeps its direction."""

from dataclasses import replace
from uuid import UUID

import pytest

from almoner.giving.disbursing.disbursements.domain import Disbursement
from almoner.giving.disbursing.remittances.documents import RemittanceRenderer
from almoner.giving.disbursing.remittances.domain import Remittance, RemittanceLine, RemittanceTotals
from almoner.kit.ids import RecordIdCodec
from almoner.kit.money import Money
from almoner.platform.crypto import Vault
from almoner.platform.deployment import Deployment
from tests.support.clock import TestClock
from tests.support.pdf_links import count_web_links
from tests.unit.test_receipt_documents import AT, LINKS

DISBURSEMENT = Disbursement(
    UUID(int=1), UUID(int=2), UUID(int=3), Money(2500, "USD"), 1, "PAID", None, "E", AT, AT, AT, AT, None, None,
    propagating=False,
)  # fmt: skip
LINE = RemittanceLine(
    UUID(int=4), AT, anonymous=False, donor_first_and_last_name=("Amina", "K"), message=None,
    designation="Dam (2026)", donated_minor=2500, fee_minor=0, refunded_minor=0,
)  # fmt: skip
REMITTANCE = Remittance(DISBURSEMENT, "Bright Bank", "Relief Fund", "en", [LINE], RemittanceTotals().with_lines([LINE]))


def renderer() -> RemittanceRenderer:
    return RemittanceRenderer(Deployment("sandbox", TestClock(), RecordIdCodec(sandbox=True), LINKS, Vault(bytes(32))))


@pytest.mark.parametrize("language", ["ar", "he"])
def test_what_a_donation_is_for_keeps_its_direction(language: str) -> None:
    facts = renderer()._facts(replace(REMITTANCE, language=language), renderer()._catalogues.language(language))
    lines = facts["gifts"]
    assert isinstance(lines, list)
    assert ["\u2068Dam (2026)\u2069" in one["designation"]["text"] for one in lines] == [True]


async def test_h11_nothing_that_was_typed_becomes_a_link() -> None:
    typed = "http://evil.example/login click here"
    line = replace(LINE, donor_first_and_last_name=(typed, typed), message=f"See\n{typed}", designation=typed)
    made = await renderer().render_pdf(replace(REMITTANCE, issuer=typed, organisation=typed, lines=[line]))
    assert count_web_links(made) == 0
