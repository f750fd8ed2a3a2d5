"""Statements of our bank accounts: their lines, and what each is the movement of; pure (M7)."""

import re
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from datetime import date, datetime
from enum import StrEnum
from typing import Final, Literal
from uuid import UUID

from almoner.giving.payments.domain import Payment
from almoner.giving.payouts.domain import Disbursement
from almoner.giving.requests.domain import DonationRequest
from almoner.kit import rf
from almoner.kit.money import Money
from almoner.kit.states import Lifecycle

BANK_LINE: Final = Lifecycle("bank_line", {"open": frozenset({"matched", "dismissed"})})
LineStatus = Literal["open", "matched", "dismissed"]
MatchedAs = Literal["request", "settlement", "payout", "payout_return", "gift", "gift_refund"]
MAX_NOTE: Final = 2000
MAX_WORDS: Final = 1000
REQUEST_REFERENCE: Final = re.compile(r"\bALM[\s-]*([0-9A-Z]{5})[\s-]*([0-9A-Z]{5})\b", re.ASCII)
"""As requests are named, however banks and people have spaced it."""
END_TO_END: Final = re.compile(r"\b[0-7][0-9a-hjkmnp-tv-z]{25}\b", re.ASCII | re.IGNORECASE)


class StatementRefused(Exception):
    """A statement cannot be imported, or a line not decided; the message names every reason."""


class Open(StrEnum):
    """Why a line waits for a person."""

    UNKNOWN = "unknown"
    SEEN_BEFORE = "seen_before"
    OTHER_AMOUNT = "other_amount"
    OTHER_CURRENCY = "other_currency"
    OTHER_STATE = "other_state"
    AMBIGUOUS = "ambiguous"
    MATCHED_BEFORE = "matched_before"

    @property
    def sentence(self) -> str:
        """For people."""
        return _SENTENCES[self]


_SENTENCES: Final = {
    Open.UNKNOWN: "nothing of ours is named in it",
    Open.SEEN_BEFORE: "the bank has told this movement before",
    Open.OTHER_AMOUNT: "what it names is of another amount",
    Open.OTHER_CURRENCY: "what it names is in another currency",
    Open.OTHER_STATE: "what it names is settled, paid or returned already, or not sent yet",
    Open.AMBIGUOUS: "it names more than one thing of ours",
    Open.MATCHED_BEFORE: "another movement is that of what it names: was it paid twice?",
}


@dataclass(frozen=True, slots=True)
class Movement:
    """One movement as a statement tells it. ``minor``: in minor units, below zero when it left.

    ``reference``: the bank's own name of it. ``words``: what the payer wrote. ``return_reason``: why it came back.
    """

    booked_on: date
    minor: int
    currency: str
    reference: str
    end_to_end_id: str | None
    counterparty: str | None
    words: str | None
    return_reason: str | None

    @property
    def money(self) -> Money:
        """How much it was, whichever way it went."""
        return Money(abs(self.minor), self.currency)

    @property
    def text(self) -> str:
        """All that it may name something by."""
        return " ".join(part for part in (self.end_to_end_id, self.words) if part)


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement of one account in one currency. Balances are None where the file has none."""

    account: str
    reference: str
    currency: str
    opening_minor: int | None
    closing_minor: int | None
    sha256: str
    movements: tuple[Movement, ...]


@dataclass(frozen=True, slots=True)
class BankLine:
    """A movement as it is kept. ``reason``: why it is open; ``since``: when it was imported."""

    id: UUID
    account: str
    movement: Movement
    status: LineStatus
    reason: Open | None
    matched_as: MatchedAs | None
    since: datetime


@dataclass(frozen=True, slots=True)
class PaidOut:
    """What a provider says that it paid out to us at once, by the sum of all lines of its report."""

    id: UUID
    reference: str
    currency: str
    net_minor: int


@dataclass(frozen=True, slots=True)
class Unbanked:
    """A report of a provider whose payout no line tells of. ``since``: when it was imported.

    ``near``: lines that wait and name it, but are of another amount.
    """

    provider: str
    settled_on: date
    paid_out: PaidOut
    since: datetime
    near: int


@dataclass(frozen=True, slots=True)
class Named:
    """What of ours a line names. ``seen_before``: another line of the account bears the bank's reference.

    ``taken``: what other lines are the movements of.
    """

    requests: Sequence[DonationRequest] = ()
    gifts: Sequence[Payment] = ()
    reports: Sequence[PaidOut] = ()
    payouts: Sequence[Disbursement] = ()
    seen_before: bool = False
    taken: AbstractSet[tuple[MatchedAs, UUID]] = frozenset()


Thing = DonationRequest | PaidOut | Disbursement | Payment


def problems(statement: Statement) -> list[str]:
    """All that is wrong with a statement as a whole."""
    found = [
        f"line {position} is in {one.currency}, the account in {statement.currency}"
        for position, one in enumerate(statement.movements, 1)
        if one.currency != statement.currency
    ]
    found += [f"line {position} moves nothing" for position, one in enumerate(statement.movements, 1) if not one.minor]
    if statement.opening_minor is not None and statement.closing_minor is not None:
        moved = sum(one.minor for one in statement.movements)
        if statement.opening_minor + moved != statement.closing_minor:
            found.append(
                f"its lines come to {moved} minor units, its balances differ by "
                f"{statement.closing_minor - statement.opening_minor}: lines are missing, or there twice"
            )
    return found


def references(movement: Movement) -> list[str]:
    """The donation requests that it may name."""
    return list(dict.fromkeys(f"ALM-{one[1]}-{one[2]}" for one in REQUEST_REFERENCE.finditer(movement.text.upper())))


def gift_references(movement: Movement) -> list[str]:
    """The donors' transfers that it may name."""
    return rf.found_in(movement.text)


def end_to_end_ids(movement: Movement) -> list[str]:
    """The payouts that it may name."""
    return list(dict.fromkeys(one[0].lower() for one in END_TO_END.finditer(movement.text)))


def match(movement: Movement, named: Named) -> tuple[MatchedAs, Thing] | Open:
    """What a line is the movement of, or why a person has to look. Only what is certain is matched.

    Money that came for a request may be any amount: the request takes what it is open for, the rest is held. So may
    money that came for a gift: what is not the gift itself is held (settled 5). What went back is looked up.
    """
    things: list[Thing] = [*named.requests, *named.gifts, *named.reports, *named.payouts]
    if named.seen_before:
        return Open.SEEN_BEFORE
    if not things:
        return Open.UNKNOWN
    if len(things) > 1:
        return Open.AMBIGUOUS
    found = _match(movement, things[0])
    if isinstance(found, Open):
        return found
    return Open.MATCHED_BEFORE if (found[0], found[1].id) in named.taken else found


def _match(movement: Movement, thing: Thing) -> tuple[MatchedAs, Thing] | Open:
    came = movement.minor > 0
    if isinstance(thing, Payment):
        return ("gift", thing) if came else ("gift_refund", thing)
    if movement.currency != (thing.currency if isinstance(thing, PaidOut) else thing.money.currency):
        return Open.OTHER_CURRENCY
    if isinstance(thing, DonationRequest):
        ready = came and thing.status != "PAID" and not thing.gathering
        return ("request", thing) if ready else Open.OTHER_STATE
    if isinstance(thing, PaidOut):
        return ("settlement", thing) if movement.minor == thing.net_minor else Open.OTHER_AMOUNT
    if movement.money != thing.money:
        return Open.OTHER_AMOUNT
    if came:
        return ("payout_return", thing) if thing.status in {"SENT", "PAID", "RETURNED"} else Open.OTHER_STATE
    return ("payout", thing) if thing.status in {"SENT", "PAID"} else Open.OTHER_STATE
