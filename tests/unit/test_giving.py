"""Decisions of giving, without a database: states, expiry, money that arrives, what the donor sees."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from almoner.giving.checkout.donations import domain as donations_domain
from almoner.giving.checkout.donations.domain import (
    DONATION,
    CannotAcceptDonations,
    CheckoutState,
    Donation,
    DonationDetails,
    WrongTargetCurrency,
    donation_details_of,
    new_hosted_donation,
    session_donation_of,
    unallocated_reason_of,
)
from almoner.giving.checkout.payments import service as payments
from almoner.giving.checkout.payments.domain import (
    LIVE_STATUSES,
    PAYMENT,
    SETTLED_STATUSES,
    Payment,
    ProviderPayment,
    ProviderStatus,
    UnallocatedReason,
    find_unrecognised_payment_reason,
    payment_mismatch_reason,
    plausible_success_time,
)
from almoner.giving.checkout.sessions.domain import SESSION, DonationSession, SessionAlreadyCompleted, SessionExpired
from almoner.giving.checkout.sessions.test_values import strip_test_value
from almoner.kit.ids import decode_uuid
from almoner.kit.money import MAX_MINOR, Money

NOW = datetime(2026, 3, 2, 9, 30, tzinfo=UTC)
DAY, HOUR, MOMENT = timedelta(hours=24), timedelta(hours=1), timedelta(milliseconds=1)
ID = UUID("0190f2c4-5a2e-7cc3-9a4b-1d2e3f405162")
REFERENCE = payments.payment_reference(ID)

SESSION_RECORD = DonationSession(ID, ID, ID, None, "open", None, None, None, {"a": "b"}, NOW, NOW + DAY)
GIFT = DonationDetails(Money(2500, "USD"), "Ada", "Byron", "ada@example.org", consented=True, anonymous=False)
DONATION_RECORD = new_hosted_donation(ID, SESSION_RECORD, GIFT, NOW)
PAYMENT_RECORD = Payment(
    ID, ID, "test", "tp_1", "https://pay.example/", "open", GIFT.money, "x", "en", 0, NOW, 5, "https://a/", "https://b/"
)
FOUND = ProviderPayment(
    "tp_1", "https://pay.example/", ProviderStatus.SUCCEEDED, GIFT.money, REFERENCE, 1, is_live_mode=False
)


@pytest.mark.parametrize(
    ("stated", "found"),
    [
        (None, None),
        (NOW, NOW),
        (NOW + HOUR, NOW + HOUR),
        (NOW + DAY, NOW + DAY),
        (NOW + DAY + MOMENT, None),
        (NOW - MOMENT, NOW),
        (NOW - timedelta(minutes=1), NOW),
        (NOW - timedelta(minutes=1) - MOMENT, None),
        (datetime.fromtimestamp(0, UTC), None),
    ],
)
def test_a_payment_succeeds_between_its_start_and_now(stated: datetime | None, found: datetime | None) -> None:
    assert plausible_success_time(PAYMENT_RECORD, stated, NOW + DAY) == found


def test_a_payment_of_a_clock_behind_ours_has_our_time() -> None:
    assert plausible_success_time(PAYMENT_RECORD, NOW - MOMENT, NOW - MOMENT) is None


def test_s1_the_lifecycles_are_those_of_the_specification() -> None:
    assert set(SESSION.transitions()) == {("open", "completed"), ("open", "expired"), ("expired", "completed")}
    assert set(DONATION.transitions()) == {
        ("ACTIVE", "REQUESTED_PAYMENT"),
        ("ACTIVE", "CANCELLED"),
        ("REQUESTED_PAYMENT", "RECEIVED_PAYMENT"),
        ("REQUESTED_PAYMENT", "CANCELLED"),
        ("RECEIVED_PAYMENT", "DISBURSED"),
        ("DISBURSED", "RECEIVED_PAYMENT"),
    }
    assert all(
        not PAYMENT.allows_transition(settled, anything)
        for settled in SETTLED_STATUSES
        for anything in PAYMENT.states()
    )
    assert all(
        PAYMENT.allows_transition(state, settled)
        for settled in SETTLED_STATUSES
        for state in PAYMENT.states() - set(SETTLED_STATUSES)
    )
    assert set(LIVE_STATUSES) == {"starting", "open"}


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
    refusal = {"expired": SessionExpired, "completed": SessionAlreadyCompleted}.get(status)
    if refusal is None:
        session.ensure_open(at)
    else:
        with pytest.raises(refusal):
            session.ensure_open(at)


def test_a_donation_takes_over_what_its_session_says() -> None:
    assert (DONATION_RECORD.status, DONATION_RECORD.type) == ("REQUESTED_PAYMENT", "hosted")
    assert DONATION_RECORD.metadata == {"a": "b"}
    assert donation_details_of(DONATION_RECORD) == GIFT
    assert new_hosted_donation(ID, replace(SESSION_RECORD, metadata=None), GIFT, NOW).metadata == {}


def judged(
    found: ProviderPayment = FOUND, donation: Donation = DONATION_RECORD, at: datetime = NOW
) -> UnallocatedReason | None:
    """Whether money pays the donation."""
    return unallocated_reason_of(SESSION_RECORD, donation, REFERENCE, found, at)


def test_m4_money_as_asked_for_pays() -> None:
    assert judged() is None


@pytest.mark.parametrize(
    ("at", "reason"),
    [
        (NOW + DAY + HOUR - MOMENT, None),
        (NOW + DAY + HOUR, UnallocatedReason.SESSION_OVER),
        (NOW + DAY * 30, UnallocatedReason.SESSION_OVER),
    ],
)
def test_s5_the_grace_is_60_minutes_to_the_millisecond(at: datetime, reason: UnallocatedReason | None) -> None:
    assert judged(at=at) is reason


def test_a_confirmed_transfer_is_waited_for_beyond_the_grace() -> None:
    confirmed = replace(DONATION_RECORD, transfer_confirmed_at=NOW)
    assert judged(donation=confirmed, at=NOW + DAY * 20) is None


@pytest.mark.parametrize("status", ["ACTIVE", "CANCELLED"])
def test_m6_money_for_a_donation_that_does_not_wait_for_it_is_held(status: str) -> None:
    assert judged(donation=replace(DONATION_RECORD, status=status)) is UnallocatedReason.DONATION_CANCELLED  # type: ignore[arg-type]


def test_m6_money_for_a_paid_donation_is_held() -> None:
    paid = replace(DONATION_RECORD, status="RECEIVED_PAYMENT", payment_id=ID)
    assert judged(donation=paid) is UnallocatedReason.PAID_TWICE
    assert judged(donation=replace(paid, status="DISBURSED")) is UnallocatedReason.PAID_TWICE


@given(st.integers(1, MAX_MINOR), st.integers(1, MAX_MINOR), st.sampled_from(["USD", "EUR", "JPY"]))
def test_m5_only_the_same_amount_of_the_same_currency_agrees(asked: int, found: int, currency: str) -> None:
    shown = replace(FOUND, money=Money(found, currency))
    reason = payment_mismatch_reason(Money(asked, "USD"), REFERENCE, shown)
    if currency != "USD":
        assert reason is UnallocatedReason.OTHER_CURRENCY
    else:
        sign = (found > asked) - (found < asked)
        assert reason is {0: None, -1: UnallocatedReason.SHORT, 1: UnallocatedReason.OVER}[sign]


@given(st.text(max_size=30))
def test_m5_another_reference_never_agrees(reference: str) -> None:
    reason = payment_mismatch_reason(GIFT.money, REFERENCE, replace(FOUND, reference=reference))
    assert (reason is None) is (reference == REFERENCE)


def test_m5_test_money_never_pays_for_real_and_real_money_never_for_a_test() -> None:
    assert find_unrecognised_payment_reason(FOUND, is_live_mode=True) is UnallocatedReason.OTHER_MODE
    assert (
        find_unrecognised_payment_reason(replace(FOUND, is_live_mode=True), is_live_mode=False)
        is UnallocatedReason.OTHER_MODE
    )
    assert find_unrecognised_payment_reason(replace(FOUND, is_live_mode=True), is_live_mode=True) is None
    assert (
        find_unrecognised_payment_reason(replace(FOUND, goes_to_our_account=False), is_live_mode=False)
        is UnallocatedReason.OTHER_ACCOUNT
    )


@pytest.mark.parametrize(
    ("status", "seen", "url"),
    [
        ("starting", CheckoutState.UNDER_WAY, True),
        ("open", CheckoutState.UNDER_WAY, True),
        ("failed", CheckoutState.DECLINED, False),
        ("cancelled", CheckoutState.NOT_STARTED, False),
        ("held", CheckoutState.HELD, False),
    ],
)
def test_the_donor_sees_where_the_payment_stands(status: str, seen: CheckoutState, url: bool) -> None:
    shown = session_donation_of(DONATION_RECORD, replace(PAYMENT_RECORD, status=status))
    assert (shown.state, shown.payment_url is not None) == (seen, url)
    paid = session_donation_of(replace(DONATION_RECORD, payment_id=ID), replace(PAYMENT_RECORD, status=status))
    assert (paid.state, paid.payment_url) == (CheckoutState.PAID, None)


def test_a_cancelled_donation_leads_nobody_to_a_payment() -> None:
    cancelled = replace(DONATION_RECORD, status="CANCELLED", cancelled_at=NOW)
    assert session_donation_of(cancelled, PAYMENT_RECORD) == donations_domain.SessionDonation(
        CheckoutState.NOT_STARTED, cancelled, None
    )


def test_without_donation_or_payment_nothing_has_started() -> None:
    assert session_donation_of(None, None).state is CheckoutState.NOT_STARTED
    assert session_donation_of(DONATION_RECORD, None).state is CheckoutState.NOT_STARTED


def test_currencies_that_an_organisation_receives() -> None:
    donations_domain.ensure_organisation_receives_currency("USD", ("EUR", "USD"))
    with pytest.raises(WrongTargetCurrency):
        donations_domain.ensure_organisation_receives_currency("JPY", ("EUR", "USD"))
    with pytest.raises(CannotAcceptDonations):
        donations_domain.ensure_organisation_receives_currency("USD", ())


@given(st.uuids())
def test_a_reference_names_the_attempt(payment: UUID) -> None:
    assert decode_uuid(payments.payment_reference(payment)) == payment


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
    assert strip_test_value(sent) == looked_up
