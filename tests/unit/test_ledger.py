"""Every movement of money is two sides of one amount, and any order of them keeps the books even (M1, M3)."""

from collections import Counter
from collections.abc import Callable
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from almoner.giving.accounting.ledger import domain as books
from almoner.giving.accounting.ledger.domain import Account, AccountKind, Transfer, TransferKind
from almoner.kit.money import MAX_MINOR, Money

OWNER, CAUSE, OTHER = UUID(int=1), UUID(int=2), UUID(int=3)
GIFT, FEE = Money(2500, "USD"), Money(75, "USD")
CLEARING, BANK = books.clearing("test", "USD"), books.bank("USD")
FEES, SUSPENSE, REFUNDS = books.fees("test", "USD"), books.suspense("test", "USD"), books.refunds("test", "USD")
OWED, TRANSIT, OWED_TO_OTHER = (
    books.liability(CAUSE, "USD"),
    books.in_transit(CAUSE, "USD"),
    books.liability(OTHER, "USD"),
)


def _refunds_of_gifts() -> list[tuple[list[Transfer], list[tuple[str, str, str, int]]]]:
    clearing, fees, bank = "provider_clearing:USD:test", "fees:USD:test", "bank:USD"
    owed, back, by_bank = f"donation_liability:USD:{CAUSE}", "refunds:USD:test", "refunds:USD:partner_transfers"
    none, net = Money(0, "USD"), GIFT - FEE
    return [
        (books.gift_refund_begun(OWNER, "test", CAUSE, GIFT, GIFT), [("gift_refund_begun", owed, back, 2500)]),
        (
            books.gift_refund_begun(OWNER, "test", CAUSE, GIFT, net),
            [("gift_refund_begun", owed, back, 2425), ("gift_refund_topped_up", fees, back, 75)],
        ),
        (books.gift_refund_begun(OWNER, "test", CAUSE, GIFT, none), [("gift_refund_topped_up", fees, back, 2500)]),
        (books.gift_refund_sent(OWNER, "test", GIFT), [("gift_refund_sent", back, clearing, 2500)]),
        (books.gift_refund_sent(OWNER, books.PARTNERS, GIFT), [("gift_refund_sent", by_bank, bank, 2500)]),
        (
            books.gift_refund_undone(OWNER, "test", CAUSE, GIFT, net),
            [("gift_refund_undone", back, owed, 2425), ("gift_refund_untopped", back, fees, 75)],
        ),
        (
            books.settled(OWNER, "test", GIFT, FEE, CAUSE, charged=Money(50, "USD")),
            [
                ("settled", bank, clearing, 2425),
                ("provider_fee", fees, clearing, 75),
                ("fee_charged", owed, fees, 50),
            ],
        ),
    ]


def _disputes() -> list[tuple[list[Transfer], list[tuple[str, str, str, int]]]]:
    clearing, fees, bank = "provider_clearing:USD:test", "fees:USD:test", "bank:USD"
    drawn, owed, none = "disputed:USD:test", f"donation_liability:USD:{CAUSE}", Money(0, "USD")
    fee = ("provider_fee", fees, clearing, 75)
    return [
        (books.dispute_drawn(OWNER, "test", GIFT), [("dispute_drawn", drawn, clearing, 2500)]),
        (books.dispute_returned(OWNER, "test", GIFT), [("dispute_returned", clearing, drawn, 2500)]),
        (
            books.dispute_lost(OWNER, "test", CAUSE, GIFT - FEE, FEE),
            [("dispute_lost", owed, drawn, 2425), ("dispute_borne", fees, drawn, 75)],
        ),
        (books.dispute_lost(OWNER, "test", CAUSE, GIFT, none), [("dispute_lost", owed, drawn, 2500)]),
        (books.dispute_lost(OWNER, "test", CAUSE, none, GIFT), [("dispute_borne", fees, drawn, 2500)]),
        (books.dispute_lost(OWNER, "test", None, none, GIFT), [("dispute_borne", fees, drawn, 2500)]),
        (books.dispute_recovered(OWNER, "test", CAUSE, GIFT), [("dispute_recovered", owed, fees, 2500)]),
        (books.dispute_settled(OWNER, "test", GIFT, FEE), [("dispute_settled", clearing, bank, 2575), fee]),
        (books.dispute_settled(OWNER, "test", GIFT, none), [("dispute_settled", clearing, bank, 2500)]),
        (books.dispute_won_settled(OWNER, "test", GIFT, FEE), [("dispute_won_settled", bank, clearing, 2425), fee]),
    ]


def test_m3_movements_stand_in_the_books_under_these_names() -> None:
    clearing, fees, bank = "provider_clearing:USD:test", "fees:USD:test", "bank:USD"
    suspense, refunds = "suspense:USD:test", "refunds:USD:test"
    owed, transit = f"donation_liability:USD:{CAUSE}", f"payout_in_transit:USD:{CAUSE}"
    other = f"donation_liability:USD:{OTHER}"
    asked, partners = "request_clearing:USD", "suspense:USD:partner_transfers"
    fee = ("provider_fee", fees, clearing, 75)
    kinds: set[TransferKind] = set()
    sides: set[AccountKind] = set()
    for made, told in (
        (books.payment_received(OWNER, "test", CAUSE, GIFT), [("payment_received", clearing, owed, 2500)]),
        (books.payment_held(OWNER, "test", GIFT), [("payment_held", clearing, suspense, 2500)]),
        (
            books.settled(OWNER, "test", GIFT, FEE, CAUSE),
            [("settled", bank, clearing, 2425), fee, ("fee_charged", owed, fees, 75)],
        ),
        (books.settled(OWNER, "test", GIFT, FEE, None), [("settled", bank, clearing, 2425), fee]),
        (books.refund_settled(OWNER, "test", GIFT, FEE), [("refund_settled", clearing, bank, 2575), fee]),
        (books.payout_sent(OWNER, CAUSE, GIFT), [("payout_sent", owed, transit, 2500)]),
        (books.payout_paid(OWNER, CAUSE, GIFT), [("payout_paid", transit, bank, 2500)]),
        (
            books.payout_returned(OWNER, CAUSE, GIFT, was_paid=True),
            [("payout_returned", bank, transit, 2500), ("payout_undone", transit, owed, 2500)],
        ),
        (books.payout_returned(OWNER, CAUSE, GIFT, was_paid=False), [("payout_undone", transit, owed, 2500)]),
        (books.reassigned(OWNER, CAUSE, OTHER, GIFT), [("reassigned", owed, other, 2500)]),
        (books.refund_begun(OWNER, "test", GIFT), [("refund_begun", suspense, refunds, 2500)]),
        (books.refund_paid(OWNER, "test", GIFT), [("refund_paid", refunds, clearing, 2500)]),
        (books.held_dismissed(OWNER, "test", GIFT), [("held_dismissed", suspense, clearing, 2500)]),
        (books.held_accepted(OWNER, "test", GIFT), [("held_accepted", suspense, clearing, 2500)]),
        (
            books.request_paid(OWNER, GIFT, FEE),
            [("request_paid", bank, asked, 2500), ("request_over", bank, partners, 75)],
        ),
        (books.request_paid(OWNER, GIFT, Money(0, "USD")), [("request_paid", bank, asked, 2500)]),
        (books.request_paid(OWNER, Money(0, "EUR"), FEE), [("request_over", bank, partners, 75)]),
        (books.request_covered(OWNER, CAUSE, GIFT), [("request_covered", asked, owed, 2500)]),
        (books.over_returned(OWNER, FEE), [("over_returned", partners, bank, 75)]),
        (books.over_applied(OWNER, FEE), [("over_applied", partners, asked, 75)]),
        *_refunds_of_gifts(),
        *_disputes(),
    ):
        assert [(one.kind.value, one.debit.key, one.credit.key, one.minor) for one in made] == told
        assert {one.owner_id for one in made} == {OWNER}
        kinds |= {one.kind for one in made}
        sides |= {side.kind for one in made for side in (one.debit, one.credit)}
    assert kinds == set(TransferKind)
    assert sides == set(AccountKind)


def test_m3_every_kind_is_in_the_table_that_explains_them() -> None:
    assert [line.split()[0] for line in (books.__doc__ or "").splitlines() if line.startswith("    ")] == [
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
        (CLEARING, books.liability(CAUSE, "EUR"), 1),
    ],
)
def test_m1_what_is_not_balanced_cannot_be_said(debit: Account, credit: Account, minor: int) -> None:
    with pytest.raises(ValueError, match="does not move money"):
        Transfer(TransferKind.PAYMENT_RECEIVED, OWNER, debit, credit, minor)


def test_accounts_of_different_owners_have_different_names() -> None:
    accounts = [CLEARING, BANK, FEES, SUSPENSE, REFUNDS, OWED, TRANSIT, OWED_TO_OTHER, books.bank("EUR")]
    assert len({account.key for account in accounts}) == len(accounts)
    assert books.clearing("other", "USD").key != CLEARING.key


Move = Callable[[int, str, int], list[Transfer]]
ANY_MOVES: list[Move] = [
    lambda n, currency, minor: books.payment_received(UUID(int=n), "test", CAUSE, Money(minor, currency)),
    lambda n, currency, minor: books.payment_held(UUID(int=n), "test", Money(minor, currency)),
    lambda n, currency, minor: books.settled(
        UUID(int=n), "test", Money(minor, currency), Money(minor // 30, currency), CAUSE if n % 2 else None
    ),
    lambda n, currency, minor: books.refund_settled(
        UUID(int=n), "test", Money(minor // 2 + 1, currency), Money(minor // 30, currency)
    ),
    lambda n, currency, minor: books.payout_sent(UUID(int=n), CAUSE, Money(minor, currency)),
    lambda n, currency, minor: books.payout_paid(UUID(int=n), CAUSE, Money(minor, currency)),
    lambda n, currency, minor: books.payout_returned(UUID(int=n), CAUSE, Money(minor, currency), was_paid=n % 2 == 0),
    lambda n, currency, minor: books.reassigned(UUID(int=n), CAUSE, OTHER, Money(minor, currency)),
    lambda n, currency, minor: books.refund_begun(UUID(int=n), "test", Money(minor, currency)),
    lambda n, currency, minor: books.refund_paid(UUID(int=n), "test", Money(minor, currency)),
    lambda n, currency, minor: books.held_dismissed(UUID(int=n), "test", Money(minor, currency)),
    lambda n, currency, minor: books.held_accepted(UUID(int=n), "test", Money(minor, currency)),
    lambda n, currency, minor: books.dispute_drawn(UUID(int=n), "test", Money(minor, currency)),
    lambda n, currency, minor: books.dispute_lost(
        UUID(int=n), "test", CAUSE, Money(minor - minor // 30, currency), Money(minor // 30, currency)
    ),
    lambda n, currency, minor: books.dispute_settled(
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
            debited[transfer.debit.currency] += transfer.minor
            credited[transfer.credit.currency] += transfer.minor
    assert debited == credited


@given(st.integers(1, MAX_MINOR), st.integers(0, MAX_MINOR))
def test_m3_a_gift_that_was_paid_out_leaves_clearing_transit_and_liability_empty(gross: int, share: int) -> None:
    fee = share % gross
    net = Money(gross - fee, "USD")
    flow = [
        *books.payment_received(OWNER, "test", CAUSE, Money(gross, "USD")),
        *books.settled(OWNER, "test", Money(gross, "USD"), Money(fee, "USD"), CAUSE),
        *books.payout_sent(OWNER, CAUSE, net),
        *books.payout_returned(OWNER, CAUSE, net, was_paid=False),
        *books.payout_sent(OWNER, CAUSE, net),
        *books.payout_paid(OWNER, CAUSE, net),
    ]
    assert set(_left(flow).values()) == {0}


@given(st.integers(2, MAX_MINOR), st.integers(0, MAX_MINOR), st.booleans(), st.booleans())
def test_m3_a_disputed_gift_leaves_nothing_but_our_loss(gross: int, share: int, won: bool, paid_out: bool) -> None:
    """Whoever wins, whenever it was paid out: what is drawn and never came back is the gift's, or ours."""
    fee = share % gross
    whole, net, none = Money(gross, "USD"), Money(gross - fee, "USD"), Money(0, "USD")
    flow = [
        *books.payment_received(OWNER, "test", CAUSE, whole),
        *books.settled(OWNER, "test", whole, Money(fee, "USD"), CAUSE),
    ]
    payout = [*books.payout_sent(OWNER, CAUSE, net), *books.payout_paid(OWNER, CAUSE, net)]
    flow += payout if paid_out else []
    flow += [*books.dispute_drawn(OWNER, "test", whole), *books.dispute_settled(OWNER, "test", whole, none)]
    if won:
        flow += books.dispute_returned(OWNER, "test", whole)
        flow += books.dispute_won_settled(OWNER, "test", whole, none)
        flow += [] if paid_out else payout
    elif paid_out:
        flow += books.dispute_lost(OWNER, "test", CAUSE, none, whole)
    else:
        flow += books.dispute_lost(OWNER, "test", CAUSE, net, Money(fee, "USD"))
    left = _left(flow)
    loss = 0 if won else gross if paid_out else fee
    # What we lost is what our bank account lacks.
    assert (left.pop(FEES.key, 0), left.pop(BANK.key, 0)) == (loss, -loss)
    assert set(left.values()) == {0}


@given(st.integers(1, MAX_MINOR))
def test_m3_held_money_that_went_back_or_was_dismissed_leaves_nothing(minor: int) -> None:
    money = Money(minor, "USD")
    held = books.payment_held(OWNER, "test", money)
    refunded = [*held, *books.refund_begun(OWNER, "test", money), *books.refund_paid(OWNER, "test", money)]
    assert set(_left(refunded).values()) == {0}
    assert set(_left([*held, *books.held_dismissed(OWNER, "test", money)]).values()) == {0}


def _left(flow: list[Transfer]) -> Counter[str]:
    """Debits less credits of every account that was touched."""
    left: Counter[str] = Counter()
    for transfer in flow:
        left[transfer.debit.key] += transfer.minor
        left[transfer.credit.key] -= transfer.minor
    return left
