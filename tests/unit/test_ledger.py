"""Every movement of money is two sides of one amount, and any order of them keeps the books even (M1, M3)."""

from collections import Counter
from collections.abc import Callable
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from almoner.giving.accounting.ledger import domain as ledger_domain
from almoner.giving.accounting.ledger.domain import AccountKind, LedgerAccount, LedgerTransfer, TransferKind
from almoner.kit.money import MAX_MINOR, Money

OWNER, CAUSE, OTHER = UUID(int=1), UUID(int=2), UUID(int=3)
GIFT, FEE = Money(2500, "USD"), Money(75, "USD")
CLEARING, BANK = ledger_domain.clearing_account("test", "USD"), ledger_domain.bank_account("USD")
FEES, SUSPENSE, REFUNDS = (
    ledger_domain.fees_account("test", "USD"),
    ledger_domain.suspense_account("test", "USD"),
    ledger_domain.refunds_account("test", "USD"),
)
OWED, TRANSIT, OWED_TO_OTHER = (
    ledger_domain.nonprofit_liability_account(CAUSE, "USD"),
    ledger_domain.disbursement_in_transit_account(CAUSE, "USD"),
    ledger_domain.nonprofit_liability_account(OTHER, "USD"),
)


def _refunds_of_gifts() -> list[tuple[list[LedgerTransfer], list[tuple[str, str, str, int]]]]:
    clearing, fees, bank = "provider_clearing:USD:test", "fees:USD:test", "bank:USD"
    owed, back, by_bank = f"donation_liability:USD:{CAUSE}", "refunds:USD:test", "refunds:USD:partner_transfers"
    none, net = Money(0, "USD"), GIFT - FEE
    return [
        (
            ledger_domain.build_donation_refund_started_transfers(OWNER, "test", CAUSE, GIFT, GIFT),
            [("donation_refund_started", owed, back, 2500)],
        ),
        (
            ledger_domain.build_donation_refund_started_transfers(OWNER, "test", CAUSE, GIFT, net),
            [("donation_refund_started", owed, back, 2425), ("donation_refund_fee_covered", fees, back, 75)],
        ),
        (
            ledger_domain.build_donation_refund_started_transfers(OWNER, "test", CAUSE, GIFT, none),
            [("donation_refund_fee_covered", fees, back, 2500)],
        ),
        (
            ledger_domain.build_donation_refund_sent_transfers(OWNER, "test", GIFT),
            [("donation_refund_sent", back, clearing, 2500)],
        ),
        (
            ledger_domain.build_donation_refund_sent_transfers(OWNER, ledger_domain.PARTNER_TRANSFERS, GIFT),
            [("donation_refund_sent", by_bank, bank, 2500)],
        ),
        (
            ledger_domain.build_donation_refund_reversed_transfers(OWNER, "test", CAUSE, GIFT, net),
            [("donation_refund_reversed", back, owed, 2425), ("donation_refund_fee_restored", back, fees, 75)],
        ),
        (
            ledger_domain.build_payment_settlement_transfers(
                OWNER, "test", GIFT, FEE, CAUSE, nonprofit_fee=Money(50, "USD")
            ),
            [
                ("settled", bank, clearing, 2425),
                ("provider_fee", fees, clearing, 75),
                ("fee_charged", owed, fees, 50),
            ],
        ),
    ]


def _disputes() -> list[tuple[list[LedgerTransfer], list[tuple[str, str, str, int]]]]:
    clearing, fees, bank = "provider_clearing:USD:test", "fees:USD:test", "bank:USD"
    debited, owed, none = "disputed:USD:test", f"donation_liability:USD:{CAUSE}", Money(0, "USD")
    fee = ("provider_fee", fees, clearing, 75)
    return [
        (
            ledger_domain.build_dispute_debited_transfers(OWNER, "test", GIFT),
            [("dispute_debited", debited, clearing, 2500)],
        ),
        (
            ledger_domain.build_dispute_returned_transfers(OWNER, "test", GIFT),
            [("dispute_returned", clearing, debited, 2500)],
        ),
        (
            ledger_domain.build_dispute_lost_transfers(OWNER, "test", CAUSE, GIFT - FEE, FEE),
            [("dispute_lost", owed, debited, 2425), ("dispute_absorbed", fees, debited, 75)],
        ),
        (
            ledger_domain.build_dispute_lost_transfers(OWNER, "test", CAUSE, GIFT, none),
            [("dispute_lost", owed, debited, 2500)],
        ),
        (
            ledger_domain.build_dispute_lost_transfers(OWNER, "test", CAUSE, none, GIFT),
            [("dispute_absorbed", fees, debited, 2500)],
        ),
        (
            ledger_domain.build_dispute_lost_transfers(OWNER, "test", None, none, GIFT),
            [("dispute_absorbed", fees, debited, 2500)],
        ),
        (
            ledger_domain.build_dispute_recovered_transfers(OWNER, "test", CAUSE, GIFT),
            [("dispute_recovered", owed, fees, 2500)],
        ),
        (
            ledger_domain.build_dispute_settlement_transfers(OWNER, "test", GIFT, FEE),
            [("dispute_settled", clearing, bank, 2575), fee],
        ),
        (
            ledger_domain.build_dispute_settlement_transfers(OWNER, "test", GIFT, none),
            [("dispute_settled", clearing, bank, 2500)],
        ),
        (
            ledger_domain.build_dispute_won_settlement_transfers(OWNER, "test", GIFT, FEE),
            [("dispute_won_settled", bank, clearing, 2425), fee],
        ),
    ]


def test_m3_movements_stand_in_the_books_under_these_names() -> None:
    clearing, fees, bank = "provider_clearing:USD:test", "fees:USD:test", "bank:USD"
    suspense, refunds = "suspense:USD:test", "refunds:USD:test"
    owed, transit = f"donation_liability:USD:{CAUSE}", f"disbursement_in_transit:USD:{CAUSE}"
    other = f"donation_liability:USD:{OTHER}"
    asked, partners = "request_clearing:USD", "suspense:USD:partner_transfers"
    fee = ("provider_fee", fees, clearing, 75)
    kinds: set[TransferKind] = set()
    sides: set[AccountKind] = set()
    for made, reported in (
        (
            ledger_domain.build_payment_transfers(OWNER, "test", CAUSE, GIFT),
            [("payment_received", clearing, owed, 2500)],
        ),
        (
            ledger_domain.build_unallocated_payment_transfers(OWNER, "test", GIFT),
            [("payment_unallocated", clearing, suspense, 2500)],
        ),
        (
            ledger_domain.build_payment_settlement_transfers(OWNER, "test", GIFT, FEE, CAUSE),
            [("settled", bank, clearing, 2425), fee, ("fee_charged", owed, fees, 75)],
        ),
        (
            ledger_domain.build_payment_settlement_transfers(OWNER, "test", GIFT, FEE, None),
            [("settled", bank, clearing, 2425), fee],
        ),
        (
            ledger_domain.build_refund_settlement_transfers(OWNER, "test", GIFT, FEE),
            [("refund_settled", clearing, bank, 2575), fee],
        ),
        (
            ledger_domain.build_disbursement_sent_transfers(OWNER, CAUSE, GIFT),
            [("disbursement_sent", owed, transit, 2500)],
        ),
        (
            ledger_domain.build_disbursement_paid_transfers(OWNER, CAUSE, GIFT),
            [("disbursement_paid", transit, bank, 2500)],
        ),
        (
            ledger_domain.build_disbursement_returned_transfers(OWNER, CAUSE, GIFT, was_paid=True),
            [("disbursement_returned", bank, transit, 2500), ("disbursement_reversed", transit, owed, 2500)],
        ),
        (
            ledger_domain.build_disbursement_returned_transfers(OWNER, CAUSE, GIFT, was_paid=False),
            [("disbursement_reversed", transit, owed, 2500)],
        ),
        (ledger_domain.build_reassignment_transfers(OWNER, CAUSE, OTHER, GIFT), [("reassigned", owed, other, 2500)]),
        (
            ledger_domain.build_unallocated_payment_refund_started_transfers(OWNER, "test", GIFT),
            [("unallocated_refund_started", suspense, refunds, 2500)],
        ),
        (
            ledger_domain.build_unallocated_payment_refund_sent_transfers(OWNER, "test", GIFT),
            [("unallocated_refund_sent", refunds, clearing, 2500)],
        ),
        (
            ledger_domain.build_unallocated_payment_write_off_transfers(OWNER, "test", GIFT),
            [("unallocated_written_off", suspense, clearing, 2500)],
        ),
        (
            ledger_domain.build_unallocated_payment_applied_transfers(OWNER, "test", GIFT),
            [("unallocated_applied", suspense, clearing, 2500)],
        ),
        (
            ledger_domain.build_donation_request_payment_transfers(OWNER, GIFT, FEE),
            [("request_paid", bank, asked, 2500), ("request_overpaid", bank, partners, 75)],
        ),
        (
            ledger_domain.build_donation_request_payment_transfers(OWNER, GIFT, Money(0, "USD")),
            [("request_paid", bank, asked, 2500)],
        ),
        (
            ledger_domain.build_donation_request_payment_transfers(OWNER, Money(0, "EUR"), FEE),
            [("request_overpaid", bank, partners, 75)],
        ),
        (
            ledger_domain.build_donation_request_allocation_transfers(OWNER, CAUSE, GIFT),
            [("request_allocated", asked, owed, 2500)],
        ),
        (
            ledger_domain.build_overpayment_returned_transfers(OWNER, FEE),
            [("overpayment_returned", partners, bank, 75)],
        ),
        (ledger_domain.build_overpayment_applied_transfers(OWNER, FEE), [("overpayment_applied", partners, asked, 75)]),
        *_refunds_of_gifts(),
        *_disputes(),
    ):
        assert [(one.kind.value, one.debit.key, one.credit.key, one.amount_minor) for one in made] == reported
        assert {one.source_record_id for one in made} == {OWNER}
        kinds |= {one.kind for one in made}
        sides |= {side.kind for one in made for side in (one.debit, one.credit)}
    assert kinds == set(TransferKind)
    assert sides == set(AccountKind)


def test_m3_every_kind_is_in_the_table_that_explains_them() -> None:
    assert [line.split()[0] for line in (ledger_domain.__doc__ or "").splitlines() if line.startswith("    ")] == [
        *(kind.value for kind in TransferKind)
    ]


@pytest.mark.parametrize(
    ("debit", "credit", "minor"),
    [
        (CLEARING, OWED, 0),
        (CLEARING, OWED, -1),
        (CLEARING, OWED, 1.5),
        (CLEARING, OWED, 2.0),
        (CLEARING, OWED, True),
        (CLEARING, CLEARING, 1),
        (CLEARING, ledger_domain.nonprofit_liability_account(CAUSE, "EUR"), 1),
    ],
)
def test_m1_what_is_not_balanced_cannot_be_said(debit: LedgerAccount, credit: LedgerAccount, minor: int) -> None:
    with pytest.raises(ValueError, match="does not move money"):
        LedgerTransfer(TransferKind.PAYMENT_RECEIVED, OWNER, debit, credit, minor)


def test_accounts_of_different_owners_have_different_names() -> None:
    accounts = [
        CLEARING,
        BANK,
        FEES,
        SUSPENSE,
        REFUNDS,
        OWED,
        TRANSIT,
        OWED_TO_OTHER,
        ledger_domain.bank_account("EUR"),
    ]
    assert len({account.key for account in accounts}) == len(accounts)
    assert ledger_domain.clearing_account("other", "USD").key != CLEARING.key


Move = Callable[[int, str, int], list[LedgerTransfer]]
ANY_MOVES: list[Move] = [
    lambda n, currency, minor: ledger_domain.build_payment_transfers(
        UUID(int=n), "test", CAUSE, Money(minor, currency)
    ),
    lambda n, currency, minor: ledger_domain.build_unallocated_payment_transfers(
        UUID(int=n), "test", Money(minor, currency)
    ),
    lambda n, currency, minor: ledger_domain.build_payment_settlement_transfers(
        UUID(int=n), "test", Money(minor, currency), Money(minor // 30, currency), CAUSE if n % 2 else None
    ),
    lambda n, currency, minor: ledger_domain.build_refund_settlement_transfers(
        UUID(int=n), "test", Money(minor // 2 + 1, currency), Money(minor // 30, currency)
    ),
    lambda n, currency, minor: ledger_domain.build_disbursement_sent_transfers(
        UUID(int=n), CAUSE, Money(minor, currency)
    ),
    lambda n, currency, minor: ledger_domain.build_disbursement_paid_transfers(
        UUID(int=n), CAUSE, Money(minor, currency)
    ),
    lambda n, currency, minor: ledger_domain.build_disbursement_returned_transfers(
        UUID(int=n), CAUSE, Money(minor, currency), was_paid=n % 2 == 0
    ),
    lambda n, currency, minor: ledger_domain.build_reassignment_transfers(
        UUID(int=n), CAUSE, OTHER, Money(minor, currency)
    ),
    lambda n, currency, minor: ledger_domain.build_unallocated_payment_refund_started_transfers(
        UUID(int=n), "test", Money(minor, currency)
    ),
    lambda n, currency, minor: ledger_domain.build_unallocated_payment_refund_sent_transfers(
        UUID(int=n), "test", Money(minor, currency)
    ),
    lambda n, currency, minor: ledger_domain.build_unallocated_payment_write_off_transfers(
        UUID(int=n), "test", Money(minor, currency)
    ),
    lambda n, currency, minor: ledger_domain.build_unallocated_payment_applied_transfers(
        UUID(int=n), "test", Money(minor, currency)
    ),
    lambda n, currency, minor: ledger_domain.build_dispute_debited_transfers(
        UUID(int=n), "test", Money(minor, currency)
    ),
    lambda n, currency, minor: ledger_domain.build_dispute_lost_transfers(
        UUID(int=n), "test", CAUSE, Money(minor - minor // 30, currency), Money(minor // 30, currency)
    ),
    lambda n, currency, minor: ledger_domain.build_dispute_settlement_transfers(
        UUID(int=n), "test", Money(minor // 2 + 1, currency), Money(minor // 30, currency)
    ),
]


@given(
    st.lists(
        st.tuples(
            st.sampled_from(ANY_MOVES), st.sampled_from(["USD", "EUR", "JPY", "KWD"]), st.integers(1, MAX_MINOR - 1)
        )
    )
)
def test_m1_any_movements_keep_debits_equal_to_credits_in_every_currency(moves: list[tuple[Move, str, int]]) -> None:
    debited: Counter[str] = Counter()
    credited: Counter[str] = Counter()
    for number, (move, currency, minor) in enumerate(moves):
        for transfer in move(number, currency, minor):
            assert transfer.debit.currency == transfer.credit.currency == currency
            debited[transfer.debit.currency] += transfer.amount_minor
            credited[transfer.credit.currency] += transfer.amount_minor
    assert debited == credited


@given(st.integers(1, MAX_MINOR), st.integers(0, MAX_MINOR))
def test_m3_a_gift_that_was_paid_out_leaves_clearing_transit_and_liability_empty(gross: int, share: int) -> None:
    fee = share % gross
    net = Money(gross - fee, "USD")
    flow = [
        *ledger_domain.build_payment_transfers(OWNER, "test", CAUSE, Money(gross, "USD")),
        *ledger_domain.build_payment_settlement_transfers(OWNER, "test", Money(gross, "USD"), Money(fee, "USD"), CAUSE),
        *ledger_domain.build_disbursement_sent_transfers(OWNER, CAUSE, net),
        *ledger_domain.build_disbursement_returned_transfers(OWNER, CAUSE, net, was_paid=False),
        *ledger_domain.build_disbursement_sent_transfers(OWNER, CAUSE, net),
        *ledger_domain.build_disbursement_paid_transfers(OWNER, CAUSE, net),
    ]
    assert set(_left(flow).values()) == {0}


@given(st.integers(2, MAX_MINOR), st.integers(0, MAX_MINOR), st.booleans(), st.booleans())
def test_m3_a_disputed_gift_leaves_nothing_but_our_loss(gross: int, share: int, won: bool, paid_out: bool) -> None:
    """Whoever wins, whenever it was paid out: what is drawn and never came back is the gift's, or ours."""
    fee = share % gross
    whole, net, none = Money(gross, "USD"), Money(gross - fee, "USD"), Money(0, "USD")
    flow = [
        *ledger_domain.build_payment_transfers(OWNER, "test", CAUSE, whole),
        *ledger_domain.build_payment_settlement_transfers(OWNER, "test", whole, Money(fee, "USD"), CAUSE),
    ]
    payout = [
        *ledger_domain.build_disbursement_sent_transfers(OWNER, CAUSE, net),
        *ledger_domain.build_disbursement_paid_transfers(OWNER, CAUSE, net),
    ]
    flow += payout if paid_out else []
    flow += [
        *ledger_domain.build_dispute_debited_transfers(OWNER, "test", whole),
        *ledger_domain.build_dispute_settlement_transfers(OWNER, "test", whole, none),
    ]
    if won:
        flow += ledger_domain.build_dispute_returned_transfers(OWNER, "test", whole)
        flow += ledger_domain.build_dispute_won_settlement_transfers(OWNER, "test", whole, none)
        flow += [] if paid_out else payout
    elif paid_out:
        flow += ledger_domain.build_dispute_lost_transfers(OWNER, "test", CAUSE, none, whole)
    else:
        flow += ledger_domain.build_dispute_lost_transfers(OWNER, "test", CAUSE, net, Money(fee, "USD"))
    left = _left(flow)
    loss = 0 if won else gross if paid_out else fee
    # What we lost is what our bank account lacks.
    assert (left.pop(FEES.key, 0), left.pop(BANK.key, 0)) == (loss, -loss)
    assert set(left.values()) == {0}


@given(st.integers(1, MAX_MINOR))
def test_m3_held_money_that_went_back_or_was_dismissed_leaves_nothing(minor: int) -> None:
    money = Money(minor, "USD")
    held = ledger_domain.build_unallocated_payment_transfers(OWNER, "test", money)
    refunded = [
        *held,
        *ledger_domain.build_unallocated_payment_refund_started_transfers(OWNER, "test", money),
        *ledger_domain.build_unallocated_payment_refund_sent_transfers(OWNER, "test", money),
    ]
    assert set(_left(refunded).values()) == {0}
    assert set(
        _left([*held, *ledger_domain.build_unallocated_payment_write_off_transfers(OWNER, "test", money)]).values()
    ) == {0}


def _left(flow: list[LedgerTransfer]) -> Counter[str]:
    """Debits less credits of every account that was touched."""
    left: Counter[str] = Counter()
    for transfer in flow:
        left[transfer.debit.key] += transfer.amount_minor
        left[transfer.credit.key] -= transfer.amount_minor
    return left
