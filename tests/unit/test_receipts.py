"""How far a gift is, and what it waits for, in the donor's words (spec 4.8; settled 5)."""

from dataclasses import replace
from datetime import timedelta
from uuid import UUID

import pytest

from almoner.giving.checkout.donations.domain import Donation, SettledAmount
from almoner.giving.receipts import domain as receipts_domain
from almoner.giving.receipts.domain import DonationStage
from almoner.kit.money import Money
from almoner.platform.pages.translations import TranslationCatalogues
from tests.unit.test_receipt_documents import AT, RECEIPT

GIFT = Donation(
    id=RECEIPT.donation_id,
    partner_id=RECEIPT.partner_id,
    organisation_id=UUID(int=3),
    user_id=None,
    type="hosted",
    session_id=UUID(int=4),
    payment_id=RECEIPT.payment_id,
    status="RECEIVED_PAYMENT",
    money=RECEIPT.money,
    first_name="Amina",
    last_name="El-Sayed",
    email="amina@example.org",
    consented=False,
    anonymous=False,
    metadata={},
    created_at=AT,
    cancelled_at=None,
    cover_minor=100,
    message=None,
    settlement=None,
    disbursement_id=None,
    disbursed_at=None,
    reassigned_at=None,
    reassigned_from=None,
    donation_request_id=None,
    gift_aid_id=None,
    donor_shown=True,
)
SETTLED = replace(GIFT, settlement=SettledAmount(AT + timedelta(days=2), Money(2400, "GBP")))
SENT = replace(SETTLED, status="DISBURSED", disbursed_at=AT + timedelta(days=9))


@pytest.mark.parametrize(
    ("donation", "days", "current"),
    [
        (GIFT, [0, None, None], DonationStage.SETTLED),
        (SETTLED, [0, 2, None], DonationStage.SENT),
        (SENT, [0, 2, 9], None),
    ],
)
def test_a_gift_is_received_settled_and_sent(
    donation: Donation, days: list[int | None], current: DonationStage | None
) -> None:
    steps = receipts_domain.progress_of_donation(RECEIPT, donation)
    assert [step.stage for step in steps] == list(DonationStage)
    assert [step.at and (step.at - AT).days for step in steps] == days
    assert [step.stage for step in steps if step.current] == ([current] if current else [])


def test_a_returned_payout_is_to_be_sent_again() -> None:
    returned = replace(SENT, status="RECEIVED_PAYMENT")
    assert [step.current for step in receipts_domain.progress_of_donation(RECEIPT, returned)] == [False, False, True]


@pytest.mark.parametrize(
    ("donation", "reason", "key"),
    [
        (GIFT, None, "gift.next.settled"),
        (GIFT, "below_threshold", "gift.next.settled"),
        (SETTLED, None, "gift.next.sent"),
        (SETTLED, "something_new", "gift.next.sent"),
        (SETTLED, "below_threshold", "gift.wait.threshold"),
        (SETTLED, "verification_pending", "gift.wait.verification"),
        (SETTLED, "on_hold", "gift.wait.held"),
        (SENT, None, None),
    ],
)
def test_the_donor_is_told_what_is_waited_for(donation: Donation, reason: str | None, key: str | None) -> None:
    assert receipts_domain.waiting_message_key(receipts_domain.progress_of_donation(RECEIPT, donation), reason) == key
    if key is not None:
        assert TranslationCatalogues().language("de").text(key, organisation="Hilfsfonds")


@pytest.mark.parametrize(
    ("number", "prefix", "shown"), [(1, "", "000001"), (42, "ACME", "ACME-000042"), (1_234_567, "A-26", "A-26-1234567")]
)
def test_numbers_are_shown_with_their_prefix(number: int, prefix: str, shown: str) -> None:
    receipt = replace(RECEIPT, number=number, prefix=prefix)
    assert (receipt.display_number, receipt.file_name) == (shown, f"receipt-{shown}.pdf")
