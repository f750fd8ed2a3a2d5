"""Decisions of giving, without a database: states, expiry, money that arrives, what the donor sees."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from almoner.giving.checkout.donations import domain
from almoner.giving.checkout.donations.domain import (
    DONATION,
    CannotAcceptDonations,
    Donation,
    Gift,
    Standing,
    WrongTargetCurrency,
    gift_of,
    judge,
    promised,
    standing,
)
from almoner.giving.checkout.payments import service as payments
from almoner.giving.checkout.payments.domain import (
    LIVE,
    PAYMENT,
    SETTLED,
    HoldReason,
    Payment,
    ProviderPayment,
    ProviderStatus,
    difference,
    foreign,
)
from almoner.giving.checkout.sessions.domain import SESSION, DonationSession, SessionCompleted, SessionExpired
from almoner.giving.checkout.sessions.triggers import without_suffix
from almoner.kit.ids import decode
from almoner.kit.money import MAX_MINOR, Money

NOW = datetime(2026, 3, 2, 9, 30, tzinfo=UTC)
DAY, HOUR, MOMENT = timedelta(hours=24), timedelta(hours=1), timedelta(milliseconds=1)
ID = UUID("0190f2c4-5a2e-7cc3-9a4b-1d2e3f405162")
REFERENCE = payments.reference(ID)

SESSION_RECORD = DonationSession(ID, ID, ID, None, "open", None, None, None, {"a": "b"}, NOW, NOW + DAY)
GIFT = Gift(Money(2500, "USD"), "Ada", "Byron", "ada@example.org", consented=True, anonymous=False)
DONATION_RECORD = promised(ID, SESSION_RECORD, GIFT, NOW)
PAYMENT_RECORD = Payment(
    ID, ID, "test", "tp_1", "https://pay.example/", "open", GIFT.money, "x", "en", 0, NOW, 5, "https://a/", "https://b/"
)
FOUND = ProviderPayment("tp_1", "https://pay.example/", ProviderStatus.SUCCEEDED, GIFT.money, REFERENCE, 1, live=False)


def test_s1_the_lifecycles_are_those_of_the_specification() -> None:
    assert set(SESSION.arrows()) == {("open", "completed"), ("open", "expired"), ("expired", "completed")}
    assert set(DONATION.arrows()) == {
        ("ACTIVE", "REQUESTED_PAYMENT"),
        ("ACTIVE", "CANCELLED"),
        ("REQUESTED_PAYMENT", "RECEIVED_PAYMENT"),
        ("REQUESTED_PAYMENT", "CANCELLED"),
        ("RECEIVED_PAYMENT", "DISBURSED"),
        ("DISBURSED", "RECEIVED_PAYMENT"),
    }
    assert all(not PAYMENT.allows(settled, anything) for settled in SETTLED for anything in PAYMENT.states())
    assert all(PAYMENT.allows(state, settled) for settled in SETTLED for state in PAYMENT.states() - set(SETTLED))
    assert set(LIVE) == {"starting", "open"}


@pytest.mark.parametrize(
    ("stored", "at", "status"),
    [
        ("open", NOW, "open"),
        ("open", NOW + DAY - MOMENT, "open"),
        ("open", NOW + DAY, "expired"),
        ("open", NOW + DAY + MOMENT, "expired"),
        ("completed", NOW + DAY * 9, "completed"),
        ("expired", NOW, "expired"),
    ],
)
def test_s3_the_status_is_true_at_the_moment_of_reading(stored: str, at: datetime, status: str) -> None:
    session = replace(SESSION_RECORD, stored_status=stored)  # type: ignore[arg-type]
    assert session.status_at(at) == status
    refusal = {"expired": SessionExpired, "completed": SessionCompleted}.get(status)
    if refusal is None:
        session.ensure_open(at)
    else:
        with pytest.raises(refusal):
            session.ensure_open(at)


def test_a_donation_takes_over_what_its_session_says() -> None:
    assert (DONATION_RECORD.status, DONATION_RECORD.type) == ("REQUESTED_PAYMENT", "hosted")
    assert DONATION_RECORD.metadata == {"a": "b"}
    assert gift_of(DONATION_RECORD) == GIFT
    assert promised(ID, replace(SESSION_RECORD, metadata=None), GIFT, NOW).metadata == {}


def judged(
    found: ProviderPayment = FOUND, donation: Donation = DONATION_RECORD, at: datetime = NOW
) -> HoldReason | None:
    """Whether money pays the donation."""
    return judge(SESSION_RECORD, donation, REFERENCE, found, at)


def test_m4_money_as_asked_for_pays() -> None:
    assert judged() is None


@pytest.mark.parametrize(
    ("at", "reason"),
    [
        (NOW + DAY + HOUR - MOMENT, None),
        (NOW + DAY + HOUR, HoldReason.SESSION_OVER),
        (NOW + DAY * 30, HoldReason.SESSION_OVER),
    ],
)
def test_s5_the_grace_is_60_minutes_to_the_millisecond(at: datetime, reason: HoldReason | None) -> None:
    assert judged(at=at) is reason


def test_a_confirmed_transfer_is_waited_for_beyond_the_grace() -> None:
    confirmed = replace(DONATION_RECORD, confirmed_at=NOW)
    assert judged(donation=confirmed, at=NOW + DAY * 20) is None


@pytest.mark.parametrize("status", ["ACTIVE", "CANCELLED"])
def test_m6_money_for_a_donation_that_does_not_wait_for_it_is_held(status: str) -> None:
    assert judged(donation=replace(DONATION_RECORD, status=status)) is HoldReason.DONATION_CANCELLED  # type: ignore[arg-type]


def test_m6_money_for_a_paid_donation_is_held() -> None:
    paid = replace(DONATION_RECORD, status="RECEIVED_PAYMENT", payment_id=ID)
    assert judged(donation=paid) is HoldReason.PAID_TWICE
    assert judged(donation=replace(paid, status="DISBURSED")) is HoldReason.PAID_TWICE


@given(st.integers(1, MAX_MINOR), st.integers(1, MAX_MINOR), st.sampled_from(["USD", "EUR", "JPY"]))
def test_m5_only_the_same_amount_of_the_same_currency_agrees(asked: int, found: int, currency: str) -> None:
    shown = replace(FOUND, money=Money(found, currency))
    reason = difference(Money(asked, "USD"), REFERENCE, shown)
    if currency != "USD":
        assert reason is HoldReason.OTHER_CURRENCY
    else:
        sign = (found > asked) - (found < asked)
        assert reason is {0: None, -1: HoldReason.SHORT, 1: HoldReason.OVER}[sign]


@given(st.text(max_size=30))
def test_m5_another_reference_never_agrees(reference: str) -> None:
    reason = difference(GIFT.money, REFERENCE, replace(FOUND, reference=reference))
    assert (reason is None) is (reference == REFERENCE)


def test_m5_test_money_never_pays_for_real_and_real_money_never_for_a_test() -> None:
    assert foreign(FOUND, live=True) is HoldReason.OTHER_MODE
    assert foreign(replace(FOUND, live=True), live=False) is HoldReason.OTHER_MODE
    assert foreign(replace(FOUND, live=True), live=True) is None
    assert foreign(replace(FOUND, ours=False), live=False) is HoldReason.OTHER_ACCOUNT


@pytest.mark.parametrize(
    ("status", "seen", "url"),
    [
        ("starting", Standing.UNDER_WAY, True),
        ("open", Standing.UNDER_WAY, True),
        ("failed", Standing.DECLINED, False),
        ("cancelled", Standing.NOT_STARTED, False),
        ("held", Standing.HELD, False),
    ],
)
def test_the_donor_sees_where_the_payment_stands(status: str, seen: Standing, url: bool) -> None:
    shown = standing(DONATION_RECORD, replace(PAYMENT_RECORD, status=status))
    assert (shown.standing, shown.url is not None) == (seen, url)
    paid = standing(replace(DONATION_RECORD, payment_id=ID), replace(PAYMENT_RECORD, status=status))
    assert (paid.standing, paid.url) == (Standing.PAID, None)


def test_a_cancelled_donation_leads_nobody_to_a_payment() -> None:
    cancelled = replace(DONATION_RECORD, status="CANCELLED", cancelled_at=NOW)
    assert standing(cancelled, PAYMENT_RECORD) == domain.SessionDonation(Standing.NOT_STARTED, cancelled, None)


def test_without_donation_or_payment_nothing_has_started() -> None:
    assert standing(None, None).standing is Standing.NOT_STARTED
    assert standing(DONATION_RECORD, None).standing is Standing.NOT_STARTED


def test_currencies_that_an_organisation_receives() -> None:
    domain.ensure_receivable("USD", ("EUR", "USD"))
    with pytest.raises(WrongTargetCurrency):
        domain.ensure_receivable("JPY", ("EUR", "USD"))
    with pytest.raises(CannotAcceptDonations):
        domain.ensure_receivable("USD", ())


@given(st.uuids())
def test_a_reference_names_the_attempt(payment: UUID) -> None:
    assert decode(payments.reference(payment)) == payment


@pytest.mark.parametrize(
    ("sent", "looked_up"),
    [
        ("x-monetaryDonation:approve", "x"),
        ("x-monetaryDonation:reject", "x"),
        ("x-monetaryDonation:approve-monetaryDonation:reject", "x-monetaryDonation:approve"),
        ("x-monetaryDonation:", "x-monetaryDonation:"),
        ("x-complianceStatus:pass", "x-complianceStatus:pass"),
        ("x-monetaryDonation:approve\n", "x-monetaryDonation:approve\n"),
        ("x", "x"),
    ],
)
def test_a_triggers_suffix_is_cut_off(sent: str, looked_up: str) -> None:
    assert without_suffix(sent) == looked_up
