"""Why a payout waits, and what its nonprofit is told: decisions without a database."""

from dataclasses import replace
from datetime import UTC, datetime
from uuid import UUID

import pytest

from almoner.giving.accounting.reassignments import domain as reassignments_domain
from almoner.giving.checkout.donations.domain import DisbursementBatch, Donation, SettledAmount
from almoner.giving.disbursing.disbursements import domain as disbursements_domain
from almoner.giving.disbursing.disbursements import remittance_advice
from almoner.giving.disbursing.disbursements.domain import (
    DISBURSEMENT,
    DisbursementRules,
    DisbursementTotals,
    WaitingReason,
    waiting_reason_of,
)
from almoner.giving.disbursing.verifications.domain import EligibilityStatus
from almoner.kit.ids import RecordIdCodec
from almoner.kit.money import MAX_MINOR, Money
from almoner.kit.text import escape_spreadsheet_formula

NOW = datetime(2026, 3, 2, 9, 30, tzinfo=UTC)
ID = UUID("0190f2c4-5a2e-7cc3-9a4b-1d2e3f405162")
GIFT = Donation(
    id=ID,
    partner_id=ID,
    organisation_id=ID,
    user_id=None,
    type="hosted",
    session_id=ID,
    payment_id=ID,
    status="RECEIVED_PAYMENT",
    money=Money(2500, "USD"),
    first_name="Ada",
    last_name="Byron",
    email="ada@example.org",
    consented=True,
    anonymous=False,
    metadata={},
    created_at=NOW,
    cancelled_at=None,
    cover_minor=0,
    message="With love",
    settlement=SettledAmount(NOW, Money(2437, "USD")),
    disbursement_id=None,
    disbursed_at=None,
    reassigned_at=None,
    reassigned_from=None,
    donation_request_id=None,
    gift_aid_id=None,
    donor_shown=True,
)


@pytest.mark.parametrize(
    ("standing", "active", "minor", "expected"),
    [
        (EligibilityStatus.APPROVED, True, 100, None),
        (EligibilityStatus.APPROVED, True, 99, WaitingReason.BELOW_THRESHOLD),
        (EligibilityStatus.MISSING, True, 99, WaitingReason.VERIFICATION_MISSING),
        (EligibilityStatus.PENDING, True, 100, WaitingReason.VERIFICATION_PENDING),
        (EligibilityStatus.REJECTED, True, 100, WaitingReason.VERIFICATION_REJECTED),
        (EligibilityStatus.EXPIRED, True, 100, WaitingReason.VERIFICATION_EXPIRED),
        (EligibilityStatus.APPROVED, False, 100, WaitingReason.ORGANISATION_INACTIVE),
        (EligibilityStatus.MISSING, False, 0, WaitingReason.ORGANISATION_INACTIVE),
    ],
)
def test_why_a_bucket_waits(
    standing: EligibilityStatus, active: bool, minor: int, expected: WaitingReason | None
) -> None:
    money = Money(minor, "USD")
    assert (
        waiting_reason_of(standing, is_on_hold=False, is_organisation_active=active, money=money, minimum_minor=100)
        is expected
    )
    assert (
        waiting_reason_of(standing, is_on_hold=True, is_organisation_active=active, money=money, minimum_minor=100)
        is WaitingReason.ON_HOLD
    )


def test_every_reason_has_its_sentence() -> None:
    assert len({reason.description for reason in WaitingReason}) == len(WaitingReason)
    assert {standing.value for standing in EligibilityStatus} - {reason.value for reason in WaitingReason} == {
        "approved"
    }


@pytest.mark.parametrize(
    ("gifts", "currency", "minimum"),
    [(0, "USD", 1), (0, "JPY", 1), (1, "USD", 100), (10, "JPY", 1000), (5, "KWD", 5000)],
)
def test_the_least_payout_is_counted_in_least_gifts(gifts: int, currency: str, minimum: int) -> None:
    assert DisbursementRules(gifts).minimum_disbursement_minor(currency) == minimum


def test_s1_the_moves_of_a_payout() -> None:
    assert set(DISBURSEMENT.transitions()) == {
        ("PENDING", "SENT"),
        ("SENT", "PAID"),
        ("SENT", "RETURNED"),
        ("PAID", "RETURNED"),
    }


def test_a_new_bucket_is_empty_and_its_end_to_end_id_fits_the_banks_field() -> None:
    new = disbursements_domain.new_disbursement(ID, DisbursementBatch(ID, ID, "USD"), NOW)
    assert (new.status, new.money, new.donation_count) == ("PENDING", Money(0, "USD"), 0)
    assert (new.id, new.partner_id, new.organisation_id, new.created_at) == (ID, ID, ID, NOW)
    assert not new.propagating
    assert new.waiting_reason is WaitingReason.BELOW_THRESHOLD
    assert len(new.end_to_end_id) == 26
    assert RecordIdCodec(sandbox=False).encode("disbursement", ID).endswith(new.end_to_end_id)
    assert DisbursementTotals(1, 2, 3, "USD").with_disbursement(
        replace(new, money=Money(4, "USD"), donation_count=5)
    ) == DisbursementTotals(2, 7, 7, "USD")
    most = replace(new, money=Money(MAX_MINOR, "USD"))
    assert (
        DisbursementTotals(0, 0, 0, "USD").with_disbursement(most).with_disbursement(most).total_minor == 2 * MAX_MINOR
    ), "of many partners"


def test_the_advice_names_the_donor_unless_the_gift_is_anonymous() -> None:
    ids = RecordIdCodec(sandbox=True)
    row = dict(
        zip(remittance_advice.COLUMN_TITLES, remittance_advice.build_remittance_advice_row(ids, GIFT), strict=True)
    )
    assert row["donation"] == ids.encode("donation", ID)
    assert (row["donor"], row["message"]) == ("Ada Byron", "With love")
    assert (row["given"], row["fee"], row["sent back"]) == ("25.00", "0.63", "0.00")
    assert (row["paid out"], row["currency"]) == ("24.37", "USD")
    part = dict(
        zip(
            remittance_advice.COLUMN_TITLES,
            remittance_advice.build_remittance_advice_row(ids, replace(GIFT, withdrawn_minor=437)),
            strict=True,
        )
    )
    assert (part["fee"], part["sent back"], part["paid out"]) == ("0.63", "4.37", "20.00")
    hidden = remittance_advice.build_remittance_advice_row(ids, replace(GIFT, anonymous=True))
    assert "Ada" not in " ".join(hidden)
    assert "Byron" not in " ".join(hidden)
    yen = replace(GIFT, money=Money(500, "JPY"), settlement=None, message=None, last_name=None)
    assert remittance_advice.build_remittance_advice_row(ids, yen)[2:] == ["Ada", "", "", "500", "0", "0", "500", "JPY"]


@pytest.mark.parametrize(
    "cell", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "|cmd", "%0A", " =1", "\u00a0+1", "\uff1d1", "\uff0d1"]
)
def test_no_cell_of_the_advice_is_a_formula(cell: str) -> None:
    assert escape_spreadsheet_formula(cell) == f"'{cell}"
    assert escape_spreadsheet_formula(f"Ada {cell}") == f"Ada {cell}"


def test_what_is_owed_of_a_gift_is_what_was_settled_else_the_whole() -> None:
    assert reassignments_domain.amount_owed_to_nonprofit(GIFT) == Money(2437, "USD")
    assert reassignments_domain.amount_owed_to_nonprofit(replace(GIFT, settlement=None)) == Money(2500, "USD")
