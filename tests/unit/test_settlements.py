"""Reports of providers: how they are read, and when a line goes with what we know (M7, M8)."""

from dataclasses import replace
from datetime import UTC, datetime
from uuid import UUID

import pytest

from almoner.giving.accounting.disputes.domain import Dispute
from almoner.giving.accounting.refunds.domain import Refund
from almoner.giving.accounting.settlements import csv_reports
from almoner.giving.accounting.settlements.domain import (
    MismatchReason,
    PaymentMatch,
    SettlementLine,
    SettlementLineKind,
    SettlementReportError,
    match_dispute,
    match_refund,
    mismatch_reason,
)
from almoner.giving.accounting.suspense.domain import UnallocatedPayment
from almoner.giving.checkout.payments.domain import DisputeStatus, Payment, UnallocatedReason
from almoner.kit.money import Money
from tests.unit.test_payouts import GIFT, ID

NOW = datetime(2026, 3, 2, 9, 30, tzinfo=UTC)
HEAD = "reference,settled_on,currency,kind,payment,gross,fee,net"
GOOD = "po_1,2026-03-02,USD,payment,tp_1,25.00,0.63,24.37"
USD = "USD"
LINE = SettlementLine(SettlementLineKind.PAYMENT, "tp_1", Money(2500, USD), Money(63, USD))
REFUND = SettlementLine(SettlementLineKind.REFUND, "tp_1", Money(2500, USD), Money(10, USD))
PAYMENT = Payment(
    id=ID,
    donation_id=ID,
    provider="test",
    provider_payment_id="tp_1",
    payment_page_url=None,
    status="succeeded",
    money=Money(2500, USD),
    description="A gift",
    language="en",
    pages_url="http://localhost",
    api_url="http://localhost",
    card_attempt_count=1,
    created_at=NOW,
    max_card_attempts=5,
)
HELD = UnallocatedPayment(
    id=UUID(int=2),
    provider="test",
    provider_payment_id="tp_1",
    payment_id=ID,
    donation_id=ID,
    reason=UnallocatedReason.PAID_TWICE,
    money=Money(2500, USD),
    reference="ref",
    status="held",
    received_at=NOW,
    auto_decide_at=NOW,
    decided_by=None,
    note=None,
    provider_refund=None,
)
KNOWN = PaymentMatch(PAYMENT, replace(GIFT, settlement=None), None, already_booked=False)


def file(*rows: str, head: str = HEAD) -> bytes:
    return "\n".join([head, *rows]).encode()


def refusal(content: bytes) -> list[str]:
    with pytest.raises(SettlementReportError) as refused:
        csv_reports.parse_report("test", content)
    return str(refused.value).splitlines()


def test_a_report_is_read_by_the_names_of_its_columns() -> None:
    head = "net,fee,gross,extra,payment,kind,currency,settled_on,reference"
    content = file(
        "24.37,0.63,25.00,x,tp_1,payment,USD,2026-03-02,po_1",
        "-25.10,0.1,-25,,tp_1,refund,USD,2026-03-02,po_1",
        head=head,
    )
    report = csv_reports.parse_report("test", b"\xef\xbb\xbf" + content)
    assert (report.provider, report.reference, report.currency) == ("test", "po_1", USD)
    assert report.settled_on.isoformat() == "2026-03-02"
    assert report.lines == (LINE, REFUND)
    assert (REFUND.signed_gross_minor, REFUND.signed_net_minor) == (-2500, -2510)
    assert len(report.sha256) == 32


@pytest.mark.parametrize(
    ("row", "told"),
    [
        ("po_1,2026-03-02,USD,payment,tp_1,25.00,0.63,24.38", "net must be gross minus fee"),
        ("po_1,2026-03-02,USD,payment,tp_1,25.001,0,25.001", "gross must be an amount of USD such as 12.34"),
        ("po_1,2026-03-02,JPY,payment,tp_1,25.5,0,25.5", "gross must be an amount of JPY such as 1234"),
        ("po_1,2026-03-02,USD,payment,tp_1,1e3,0,1000", "gross must be an amount"),
        ("po_1,2026-03-02,USD,payment,tp_1,\u0661,0,1", "gross must be an amount"),
        ("po_1,2026-03-02,USD,payment,tp_1,NaN,0,NaN", "gross must be an amount"),
        ("po_1,2026-03-02,USD,payment,tp_1,99999999999999999,0,99999999999999999", "gross must be an amount"),
        ("po_1,2026-03-02,USD,payment,tp_1,90071992547409.92,0,90071992547409.92", "gross must be an amount"),
        ("po_1,2026-03-02,USD,payment,tp_1,0,0,0", "gross of a payment must be above zero"),
        ("po_1,2026-03-02,USD,payment,tp_1,1,2,-1", "gross of a payment must be above zero and not below its fee"),
        ("po_1,2026-03-02,USD,payment,tp_1,1,-1,2", "fee must not be below zero"),
        ("po_1,2026-03-02,USD,refund,tp_1,1,0,1", "gross of a refund must be below zero"),
        ("po_1,2026-03-02,XXX,payment,tp_1,1,0,1", "currency must be an ISO 4217 code"),
        ("po_1,2026-03-02,USD,chargeback,tp_1,1,0,1", "kind must be payment or refund or dispute or dispute_won"),
        ("po_1,2026-02-30,USD,payment,tp_1,1,0,1", "settled_on must be a day"),
        ("po_1,20260302,USD,payment,tp_1,1,0,1", "settled_on must be a day"),
        (",2026-03-02,USD,payment,tp_1,1,0,1", "reference must have 1 to 100 characters"),
        ("po_1,2026-03-02,USD,payment,,1,0,1", "payment must have 1 to 255 characters"),
        ("po_1,2026-03-02,USD,payment", "payment must have 1 to 255 characters"),
        ("po_1,2026-03-02,USD,payment,tp\x00_1,1,0,1", "payment must not have control characters"),
        ("po_1,2026-03-02,USD,payment,tp\x1b[31m,1,0,1", "payment must not have control characters"),
        ("po\u202e_1,2026-03-02,USD,payment,tp_1,1,0,1", "reference must not have control characters"),
    ],
)
def test_m8_a_line_that_makes_no_sense_is_named(row: str, told: str) -> None:
    problems = refusal(file(GOOD, row))
    assert any(problem.startswith(f"line 3: {told}") for problem in problems), problems


@pytest.mark.parametrize(
    ("row", "told"),
    [
        (f"{GOOD},re_1", "refund must be empty for a payment"),
        (f"po_1,2026-03-02,USD,refund,tp_1,-25.00,0,-25.00,{'r' * 256}", "refund must have at most 255 characters"),
        ("po_1,2026-03-02,USD,refund,tp_1,-25.00,0,-25.00,re\x1b_1", "refund must not have control characters"),
    ],
)
def test_m8_a_refund_is_named_only_where_one_can_be(row: str, told: str) -> None:
    content = file("po_1,2026-03-02,USD,refund,tp_1,-25.00,0,-25.00,re_1", row, head=f"{HEAD},refund")
    assert refusal(content) == ["the file was not imported:", f"line 3: {told}"]


def test_every_bad_line_is_named_at_once() -> None:
    problems = refusal(
        file(
            GOOD,
            GOOD,
            "po_2,2026-03-02,USD,payment,tp_2,1,0,1",
            "po_1,2026-03-02,USD,payment,tp_3,1,0,2",
        )
    )
    assert problems[0] == "the file was not imported:"
    assert sorted(problem.split(":")[0] for problem in problems[1:]) == ["line 3", "line 4", "line 5"]
    many = refusal(file(*["bad"] * 500))
    assert len(many) < 250
    assert many[-1].startswith("and ")


@pytest.mark.parametrize("content", [b"", b"\xff\xfe", file(head="reference,kind"), file(), b'"open,'])
def test_what_is_no_report_is_refused(content: bytes) -> None:
    assert refusal(content)


@pytest.mark.parametrize(
    ("line", "known", "expected"),
    [
        (LINE, KNOWN, None),
        (LINE, PaymentMatch(None, None, None, already_booked=False), MismatchReason.UNKNOWN_PAYMENT),
        (REFUND, PaymentMatch(None, None, None, already_booked=False), MismatchReason.UNKNOWN_PAYMENT),
        (LINE, replace(KNOWN, donation=replace(GIFT, payment_id=None, settlement=None)), MismatchReason.NOT_PAID),
        (LINE, replace(KNOWN, donation=replace(GIFT, payment_id=UUID(int=9))), MismatchReason.NOT_PAID),
        (LINE, replace(KNOWN, donation=GIFT), MismatchReason.SETTLED_BEFORE),
        (LINE, replace(KNOWN, already_booked=True), MismatchReason.SETTLED_BEFORE),
        (replace(LINE, gross=Money(2501, USD)), KNOWN, MismatchReason.OTHER_AMOUNT),
        (replace(LINE, gross=Money(2500, "EUR"), fee=Money(0, "EUR")), KNOWN, MismatchReason.OTHER_CURRENCY),
        (REFUND, KNOWN, MismatchReason.NOT_REFUNDED),
        (LINE, replace(KNOWN, unallocated_payment=HELD), None),
        (LINE, PaymentMatch(None, None, HELD, already_booked=False), None),
        (LINE, PaymentMatch(None, None, HELD, already_booked=True), MismatchReason.SETTLED_BEFORE),
        (
            LINE,
            PaymentMatch(None, None, replace(HELD, money=Money(1, USD)), already_booked=False),
            MismatchReason.OTHER_AMOUNT,
        ),
        (
            LINE,
            PaymentMatch(None, None, replace(HELD, status="written_off"), already_booked=False),
            MismatchReason.DISMISSED,
        ),
        (
            LINE,
            PaymentMatch(None, None, replace(HELD, reason=UnallocatedReason.OTHER_MODE), already_booked=False),
            MismatchReason.DISMISSED,
        ),
        (REFUND, PaymentMatch(None, None, HELD, already_booked=False), MismatchReason.NOT_REFUNDED),
        (REFUND, PaymentMatch(None, None, replace(HELD, status="refunded"), already_booked=False), None),
        (
            REFUND,
            PaymentMatch(None, None, replace(HELD, status="refunded"), already_booked=True),
            MismatchReason.SETTLED_BEFORE,
        ),
    ],
)
def test_m7_a_line_is_booked_or_its_reason_is_told(
    line: SettlementLine, known: PaymentMatch, expected: MismatchReason | None
) -> None:
    assert mismatch_reason(line, known) is expected


def sent(number: int, minor: int, currency: str = USD) -> Refund:
    money = Money(minor, currency)
    return Refund(
        id=UUID(int=number),
        donation_id=ID,
        payment_id=ID,
        provider="test",
        money=money,
        nonprofit_share=money,
        status="sent",
        started_at=NOW,
        started_by=None,
        note=None,
        provider_refund=f"re_{number}",
    )


def back(minor: int, named: str = "", currency: str = USD) -> SettlementLine:
    return SettlementLine(SettlementLineKind.REFUND, "tp_1", Money(minor, currency), Money(0, currency), named)


@pytest.mark.parametrize(
    ("line", "drawn", "expected"),
    [
        (back(500), (), 1),
        (back(500), (1,), 3),
        (back(700), (1,), 2),
        (back(500, "re_3"), (), 3),
        (back(500, "re_9"), (), MismatchReason.NOT_REFUNDED),
        (back(500, "re_2"), (), MismatchReason.OTHER_AMOUNT),
        (back(501), (), MismatchReason.OTHER_AMOUNT),
        (back(500, currency="EUR"), (), MismatchReason.OTHER_CURRENCY),
        (back(500), (1, 2, 3), MismatchReason.SETTLED_BEFORE),
        (back(500, "re_1"), (1,), MismatchReason.SETTLED_BEFORE),
        (back(500), (1, 3), MismatchReason.OTHER_AMOUNT),
    ],
)
def test_m7_a_line_draws_the_refund_that_it_names_or_the_oldest_of_its_amount(
    line: SettlementLine, drawn: tuple[int, ...], expected: int | MismatchReason
) -> None:
    refunds = (sent(1, 500), sent(2, 700), sent(3, 500))
    known = replace(KNOWN, refunds=refunds, debited_refund_ids=frozenset(UUID(int=number) for number in drawn))
    found = match_refund(line, known)
    assert (found if isinstance(found, MismatchReason) else found.id.int) == expected
    assert mismatch_reason(line, known) == (found if isinstance(found, MismatchReason) else None)


def disputed(number: int, minor: int, status: DisputeStatus = DisputeStatus.WON) -> Dispute:
    return Dispute(
        id=UUID(int=number),
        provider="test",
        provider_payment_id="tp_1",
        provider_dispute_id=f"dp_{number}",
        donation_id=ID,
        unallocated_payment_id=None,
        money=Money(minor, USD),
        status=status,
        reason="fraudulent",
        opened_at=NOW,
        received_at=NOW,
        decided_at=None,
        decided_by=None,
        note=None,
    )


@pytest.mark.parametrize(
    ("kind", "line", "told", "expected"),
    [
        (SettlementLineKind.DISPUTE, back(500), (), 1),
        (SettlementLineKind.DISPUTE, back(500), (1,), 3),
        (SettlementLineKind.DISPUTE, back(700), (1,), 2),
        (SettlementLineKind.DISPUTE, back(500, "dp_3"), (), 3),
        (SettlementLineKind.DISPUTE, back(500, "dp_9"), (), MismatchReason.NOT_DISPUTED),
        (SettlementLineKind.DISPUTE, back(501), (), MismatchReason.OTHER_AMOUNT),
        (SettlementLineKind.DISPUTE, back(500, currency="EUR"), (), MismatchReason.OTHER_CURRENCY),
        (SettlementLineKind.DISPUTE, back(500), (1, 2, 3), MismatchReason.SETTLED_BEFORE),
        (SettlementLineKind.DISPUTE_WON, back(500), (), 3),
        (SettlementLineKind.DISPUTE_WON, back(500, "dp_1"), (), MismatchReason.NOT_WON),
        (SettlementLineKind.DISPUTE_WON, back(500), (2, 3), MismatchReason.SETTLED_BEFORE),
    ],
)
def test_m7_a_line_is_of_the_dispute_that_it_names_or_the_oldest_of_its_amount(
    kind: SettlementLineKind, line: SettlementLine, told: tuple[int, ...], expected: int | MismatchReason
) -> None:
    disputes = (disputed(1, 500, DisputeStatus.OPEN), disputed(2, 700), disputed(3, 500))
    known = replace(KNOWN, disputes=disputes, booked_dispute_ids=frozenset(UUID(int=number) for number in told))
    found = match_dispute(replace(line, kind=kind), known)
    assert (found if isinstance(found, MismatchReason) else found.id.int) == expected
    assert mismatch_reason(replace(line, kind=kind), known) == (found if isinstance(found, MismatchReason) else None)


def test_m7_a_disputed_payment_that_nobody_knows_is_unknown() -> None:
    line = replace(LINE, kind=SettlementLineKind.DISPUTE)
    assert mismatch_reason(line, replace(KNOWN, payment=None)) is MismatchReason.UNKNOWN_PAYMENT
    assert mismatch_reason(line, KNOWN) is MismatchReason.NOT_DISPUTED
    assert mismatch_reason(line, PaymentMatch(None, None, HELD, already_booked=False)) is MismatchReason.NOT_DISPUTED
    assert mismatch_reason(replace(line, kind=SettlementLineKind.DISPUTE_WON), replace(KNOWN, payment=None)) is (
        MismatchReason.UNKNOWN_PAYMENT
    )


def test_every_reason_has_its_sentence() -> None:
    assert len({reason.explanation for reason in MismatchReason}) == len(MismatchReason)
