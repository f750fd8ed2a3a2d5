"""Stripe's payouts to our bank account as settlement reports: each balance transaction is a line."""

import asyncio
import hashlib
from collections.abc import Awaitable, Callable, Iterator, Sequence
from datetime import UTC, datetime
from typing import Annotated, Any, Final

import msgspec
from stripe.params import BalanceTransactionListParams, PayoutListParams

from almoner.adapters import stripe_currencies
from almoner.adapters.stripe_client import StripeConnection as Wire
from almoner.adapters.stripe_client import parse_response, translate_stripe_errors
from almoner.adapters.stripe_currencies import UnsupportedAmount
from almoner.giving.accounting.settlements.domain import LineKey, SettlementLine, SettlementLineKind, SettlementReport
from almoner.giving.checkout.payments.domain import ProviderFailure
from almoner.kit.money import Money

_PAGE: Final = 100
_AT_ONCE: Final = 8
_PAID: Final = frozenset({"charge", "payment"})
_SENT_BACK: Final = frozenset({"refund", "payment_refund"})
_FAILED: Final = "payment_failure_refund"
"""A payment that had succeeded failed later: Stripe debits it again, and does not call that a refund."""
_OWN: Final = "payout"


class _Source(msgspec.Struct, frozen=True):
    """The source of a balance transaction: a charge, refund, dispute or payout."""

    id: str
    object: str
    payment_intent: str | None = None


class _Transaction(msgspec.Struct, frozen=True):
    id: Annotated[str, msgspec.Meta(min_length=1, max_length=255)]
    type: str
    amount: int
    fee: int
    net: int
    currency: str
    source: Any = None


class _Transactions(msgspec.Struct, frozen=True):
    data: list[_Transaction]
    has_more: bool


class _Payout(msgspec.Struct, frozen=True):
    id: Annotated[str, msgspec.Meta(pattern=r"^po_[0-9A-Za-z_]+\Z", max_length=100)]
    amount: int
    currency: str
    arrival_date: int
    automatic: bool
    status: str


class _Payouts(msgspec.Struct, frozen=True):
    data: list[_Payout]
    has_more: bool


class StripePayoutReportSource:
    """Reads Stripe's payouts. ``stored_id_of``: maps a PaymentIntent to our payment; None if it is not ours."""

    def __init__(self, name: str, wire: Wire, stored_id_of: Callable[[str], Awaitable[str | None]]) -> None:
        self._name = name
        self._wire = wire
        self._stored_id_of = stored_id_of
        self._named: dict[str, str] = {}

    @property
    def name(self) -> str:
        """The provider's name as stored with each payment."""
        return self._name

    async def list_payout_references(self, since: datetime) -> list[str]:
        """Automatic payouts that arrived since then, oldest first. Stripe does not itemise manual ones.

        Raises ProviderFailure.
        """
        found: list[_Payout] = []
        more = True
        while more:
            asked: PayoutListParams = {
                "status": "paid",
                "arrival_date": {"gte": int(since.timestamp())},
                "limit": _PAGE,
            }
            if found:
                asked["starting_after"] = found[-1].id
            with translate_stripe_errors("payouts"):
                page = parse_response(await self._wire.client.v1.payouts.list_async(asked), _Payouts)
            found += page.data
            more = page.has_more and bool(page.data)
        return [one.id for one in sorted(found, key=lambda one: (one.arrival_date, one.id)) if one.automatic]

    async def fetch_report(self, reference: str) -> SettlementReport:
        """All lines of one payout; their sum is its amount. Raises ProviderFailure."""
        with translate_stripe_errors(reference):
            payout = parse_response(await self._wire.client.v1.payouts.retrieve_async(reference), _Payout)
        moves = [move for move in await self._transactions(reference) if not _is_payout_itself(move, reference)]
        if sum(move.net for move in moves) != payout.amount:
            raise ProviderFailure(f"the transactions of {reference} do not add up to the amount paid")
        names = await self._names(moves)
        for intent in names:
            self._named.pop(intent, None)
        lines = _unique_lines(moves, names)
        return SettlementReport(
            self._name,
            payout.id,
            payout.currency.upper(),
            datetime.fromtimestamp(payout.arrival_date, UTC).date(),
            _digest(payout, lines),
            lines,
        )

    async def _transactions(self, reference: str) -> list[_Transaction]:
        found: list[_Transaction] = []
        more = True
        while more:
            asked: BalanceTransactionListParams = {"payout": reference, "limit": _PAGE, "expand": ["data.source"]}
            if found:
                asked["starting_after"] = found[-1].id
            with translate_stripe_errors(reference):
                page = parse_response(await self._wire.client.v1.balance_transactions.list_async(asked), _Transactions)
            found += page.data
            more = page.has_more and bool(page.data)
        return found[::-1]

    async def _names(self, moves: Sequence[_Transaction]) -> dict[str, str]:
        """Our IDs of the transactions' payments, by PaymentIntent.

        Stripe has no batch call, and answers 429 to too many: IDs already found are kept, so that a retry continues
        there.
        """
        turns = asyncio.Semaphore(_AT_ONCE)

        async def name(intent: str) -> None:
            async with turns:
                self._named[intent] = await self._stored_id_of(intent) or intent

        sources = [_source(move) for move in moves]
        intents = sorted({one.payment_intent for one in sources if one is not None and one.payment_intent})
        asked = [asyncio.create_task(name(intent)) for intent in intents if intent not in self._named]
        try:
            await asyncio.gather(*asked)
        finally:
            for task in asked:
                task.cancel()  # one call failed: cancel the others
        return {intent: self._named[intent] for intent in intents}


def _unique_lines(moves: Sequence[_Transaction], names: dict[str, str]) -> tuple[SettlementLine, ...]:
    """The lines of all transactions; a second line with the same key is keyed by its transaction, for review."""
    found: dict[LineKey, SettlementLine] = {}
    for move in moves:
        for line in _lines(move, names):
            reported = SettlementLine(line.kind, move.id, line.gross, line.fee) if line.key in found else line
            found[reported.key] = reported
    return tuple(found.values())


def _lines(move: _Transaction, names: dict[str, str]) -> Iterator[SettlementLine]:
    """The payout lines of a transaction.

    A line without a payment is keyed by the transaction's ID, for review.
    """
    source, comes = _source(move), move.amount > 0
    kind = SettlementLineKind.PAYMENT if comes else SettlementLineKind.REFUND
    name = names.get(source.payment_intent) if source and source.payment_intent else None
    part = ""
    if name is None or source is None:
        name = move.id
    elif move.type in _SENT_BACK and not comes:
        part = source.id
    elif move.type == _FAILED and not comes:
        part = move.id
    elif source.object == "dispute":
        kind, part = (SettlementLineKind.DISPUTE_WON if comes else SettlementLineKind.DISPUTE), source.id
    elif move.type not in _PAID or not comes:
        name = move.id
    if move.amount:
        yield SettlementLine(kind, name, _money(move.amount, move), _money(max(move.fee, 0), move), part)
    if move.fee < 0:
        yield SettlementLine(SettlementLineKind.PAYMENT, f"{move.id}:fee", _money(move.fee, move), _money(0, move))
    elif move.fee and not move.amount:
        yield SettlementLine(SettlementLineKind.REFUND, f"{move.id}:fee", _money(move.fee, move), _money(0, move))


def _money(amount: int, move: _Transaction) -> Money:
    try:
        return stripe_currencies.from_stripe_amount(abs(amount), move.currency)
    except UnsupportedAmount as error:
        raise ProviderFailure(str(error)) from error


def _source(move: _Transaction) -> _Source | None:
    try:
        return msgspec.convert(move.source, _Source)
    except msgspec.ValidationError:
        return None


def _is_payout_itself(move: _Transaction, reference: str) -> bool:
    source = _source(move)
    return move.type == _OWN and source is not None and source.id == reference


def _digest(payout: _Payout, lines: Sequence[SettlementLine]) -> bytes:
    reported_ = [[payout.id, payout.amount, payout.currency]]
    reported_ += [[*line.key, line.gross.minor, line.fee.minor, line.gross.currency] for line in lines]
    return hashlib.sha256(msgspec.json.encode(reported_)).digest()
