"""Statements of our bank accounts: their lines, and what each is the movement of; pure (M7)."""

import re
from collections import Counter
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from datetime import date, datetime
from enum import StrEnum
from typing import Final, Literal
from uuid import UUID

from almoner.giving.checkout.donation_requests.domain import DonationRequest
from almoner.giving.checkout.payments.domain import Payment
from almoner.giving.disbursing.disbursements.domain import Disbursement
from almoner.kit import iso11649
from almoner.kit.money import MAX_MINOR, Money
from almoner.kit.states import Lifecycle

BANK_LINE: Final = Lifecycle("bank_statement_line", {"open": frozenset({"matched", "dismissed"})})
LineStatus = Literal["open", "matched", "dismissed"]
MatchedAs = Literal["request", "settlement", "disbursement", "disbursement_return", "donation", "donation_refund"]
MAX_NOTE: Final = 2000
MAX_REMITTANCE_TEXT: Final = 1000
DAYS_AHEAD: Final = 3
"""A bank may date what it books by the next day of business; a day further ahead is mistyped."""
MAX_ACCOUNT: Final = 60
MAX_STATEMENT: Final = 60
MAX_REFERENCE: Final = 140
MAX_END_TO_END: Final = 35
_BETWEEN: Final = re.compile(r"[\s.\-/]+")
REQUEST_REFERENCE: Final = re.compile(r"\bALM[\s-]*([0-9A-Z]{5})[\s-]*([0-9A-Z]{5})\b", re.ASCII)
"""As requests are named, however banks and people have spaced it."""
END_TO_END: Final = re.compile(r"\b[0-7][0-9a-hjkmnp-tv-z]{25}\b", re.ASCII | re.IGNORECASE)


class StatementError(Exception):
    """A statement cannot be imported, or a line not decided; the message names every reason."""


class OpenLineReason(StrEnum):
    """Why a line waits for a person."""

    UNKNOWN = "unknown"
    SEEN_BEFORE = "seen_before"
    TAKEN_BACK = "reversed"
    OTHER_AMOUNT = "other_amount"
    OTHER_CURRENCY = "other_currency"
    OTHER_STATE = "other_state"
    AMBIGUOUS = "ambiguous"
    MATCHED_BEFORE = "matched_before"
    REFUSED = "refused"
    UNCONFIRMED = "unconfirmed"

    @property
    def sentence(self) -> str:
        """For people."""
        return _SENTENCES[self]


_SENTENCES: Final = {
    OpenLineReason.UNKNOWN: "no reference of ours was found in the line",
    OpenLineReason.SEEN_BEFORE: "the bank has already reported this movement",
    OpenLineReason.TAKEN_BACK: "the bank has reversed an earlier movement",
    OpenLineReason.OTHER_AMOUNT: "the referenced record has a different amount",
    OpenLineReason.OTHER_CURRENCY: "the referenced record has a different currency",
    OpenLineReason.OTHER_STATE: "the referenced record is already settled, paid or returned, or has not been sent yet",
    OpenLineReason.AMBIGUOUS: "the line refers to more than one record",
    OpenLineReason.MATCHED_BEFORE: "the referenced record already has another line: it may have been paid twice",
    OpenLineReason.REFUSED: "the line could not be booked",
    OpenLineReason.UNCONFIRMED: "the disbursement is in no released file: run `almoner disbursements confirm` first",
}


@dataclass(frozen=True, slots=True)
class BankMovement:
    """One movement as a statement tells it. ``minor``: in minor units, below zero when it left.

    ``reference``: the bank's own name of it. ``remittance_information``: what the payer wrote. ``return_reason``: why
    it came back. ``reversal``: the bank undoes a movement, mostly under the same name.
    """

    booked_on: date
    minor: int
    currency: str
    reference: str
    end_to_end_id: str | None
    counterparty: str | None
    remittance_information: str | None
    return_reason: str | None
    reversal: bool = False

    @property
    def money(self) -> Money:
        """How much it was, whichever way it went."""
        return Money(abs(self.minor), self.currency)

    @property
    def text(self) -> str:
        """All that it may name something by."""
        return " ".join(part for part in (self.end_to_end_id, self.remittance_information) if part)

    @property
    def fact(self) -> tuple[date, int, str, str, str | None, str | None]:
        """What stays of it once who and what for are forgotten, by which it is known again."""
        return self.booked_on, self.minor, self.currency, self.reference, self.end_to_end_id, self.return_reason


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement of one account in one currency. Balances are None where the file has none.

    ``ends_on``: the day of the closing balance. ``export``: lines of some days, of which others may tell again.
    """

    account: str
    reference: str
    currency: str
    opening_minor: int | None
    closing_minor: int | None
    sha256: str
    movements: tuple[BankMovement, ...]
    ends_on: date | None = None
    export: bool = False


@dataclass(frozen=True, slots=True)
class BankLine:
    """A movement as it is kept. ``reason``: why it is open; ``since``: when it was imported.

    ``booking_error``: what spoke against booking it, of a refused one.
    """

    id: UUID
    account: str
    movement: BankMovement
    status: LineStatus
    reason: OpenLineReason | None
    matched_as: MatchedAs | None
    since: datetime
    booking_error: str | None = None


@dataclass(frozen=True, slots=True)
class ProviderPayout:
    """What a provider says that it paid out to us at once, by the sum of all lines of its report."""

    id: UUID
    reference: str
    currency: str
    net_minor: int


@dataclass(frozen=True, slots=True)
class MissingProviderPayout:
    """A report of a provider whose payout no line tells of. ``since``: when it was imported.

    ``near``: lines that wait and name it, but are of another amount.
    """

    provider: str
    settled_on: date
    payout: ProviderPayout
    since: datetime
    candidate_lines: int

    @property
    def why(self) -> str:
        """For people."""
        return (
            "an unmatched bank statement line refers to it, but has a different amount"
            if self.candidate_lines
            else "no bank statement line refers to it"
        )


@dataclass(frozen=True, slots=True)
class UnreconciledItem:
    """What a provider or our bank tells of and the books do not show yet.

    ``since``: when it was imported. ``name``: of the line or the report. ``minor``: below zero when it left.
    """

    what: Literal["provider_line", "bank_statement_line", "provider_payout", "bank_statement"]
    since: datetime
    whose: str
    name: str
    minor: int
    currency: str
    why: str


@dataclass(frozen=True, slots=True)
class StatementGap:
    """A statement that opens with a balance which no other one ended with; ``day``: when it ends.

    ``since``: when it was imported.
    """

    id: UUID
    account: str
    currency: str
    reference: str
    opening_minor: int
    data_date: date
    since: datetime

    @property
    def why(self) -> str:
        """For people."""
        return f"the statement before {self.reference} of {self.data_date} has not been imported"


@dataclass(frozen=True, slots=True)
class LineReferences:
    """What of ours a line names. ``seen_before``: another line of the account bears the bank's reference.

    ``taken``: what other lines are the movements of. ``released``: payouts that went in a file which was released.
    """

    requests: Sequence[DonationRequest] = ()
    gifts: Sequence[Payment] = ()
    reports: Sequence[ProviderPayout] = ()
    payouts: Sequence[Disbursement] = ()
    seen_before: bool = False
    matched_targets: AbstractSet[tuple[MatchedAs, UUID]] = frozenset()
    released: AbstractSet[UUID] = frozenset()


MatchTarget = DonationRequest | ProviderPayout | Disbursement | Payment


def normalise_account_number(account: str) -> str:
    """An account as it is compared and kept, however it was written."""
    return _BETWEEN.sub("", account).upper()


def statement_problems(statement: Statement, latest: date) -> list[str]:
    """All that is wrong with a statement as a whole; nothing is booked after ``latest``."""
    found = [
        f"{what} must have 1 to {most} characters"
        for what, text, most in (
            ("the account", statement.account, MAX_ACCOUNT),
            ("the bank's reference for the statement", statement.reference, MAX_STATEMENT),
        )
        if not 1 <= len(text) <= most
    ]
    found += [
        f"line {position}: {problem}"
        for position, one in enumerate(statement.movements, 1)
        for problem in _movement_problems(one, latest)
    ]
    found += [
        f"line {position} is in {one.currency}, but the account is in {statement.currency}"
        for position, one in enumerate(statement.movements, 1)
        if one.currency != statement.currency
    ]
    found += [
        f"line {position} has an amount of zero" for position, one in enumerate(statement.movements, 1) if not one.minor
    ]
    found += [
        "a balance is too large"
        for one in (statement.opening_minor, statement.closing_minor)
        if one is not None and abs(one) > MAX_MINOR
    ]
    if statement.opening_minor is not None and statement.closing_minor is not None:
        moved = sum(one.minor for one in statement.movements)
        if statement.opening_minor + moved != statement.closing_minor:
            found.append(
                f"the lines add up to {moved} minor units, but the balances differ by "
                f"{statement.closing_minor - statement.opening_minor}: lines are missing or duplicated"
            )
    return found


def _movement_problems(one: BankMovement, latest: date) -> list[str]:
    found = []
    if not 1 <= len(one.reference) <= MAX_REFERENCE:
        found.append(f"the bank's reference must have 1 to {MAX_REFERENCE} characters")
    if one.end_to_end_id and len(one.end_to_end_id) > MAX_END_TO_END:
        found.append(f"the end-to-end ID has more than {MAX_END_TO_END} characters")
    if abs(one.minor) > MAX_MINOR:
        found.append("the amount is too large")
    if one.booked_on > latest:
        found.append(f"the booking date {one.booked_on} is more than {DAYS_AHEAD} days in the future")
    return found


def new_movements(statement: Statement, known: Sequence[BankMovement]) -> list[tuple[int, BankMovement]]:
    """What of a statement the bank has not told in it before, with its positions; ``known``: what it has.

    A bank may make a file again, add lines to it, or use the number of an old statement anew. Raises StatementRefused
    that names every line which it tells otherwise now; of an export, which tells of the days that were chosen, nothing
    is.
    """
    left = Counter(one.fact for one in known)
    new: list[tuple[int, BankMovement]] = []
    for position, one in enumerate(statement.movements, 1):
        if left[one.fact]:
            left[one.fact] -= 1
        else:
            new.append((position, one))
    if not new or statement.export:  # the same again, or a file of before it has grown
        return new
    days, names = [one.booked_on for one in statement.movements], {one.reference for _, one in new}
    gone = [fact for fact in left.elements() if fact[3] in names or min(days) <= fact[0] <= max(days)]
    if gone:
        reported = "\n".join(f"{fact[3]} of {fact[0]}: {fact[1]} minor units of {fact[2]}" for fact in gone)
        raise StatementError(
            f"Statement {statement.reference} of {statement.account} was imported before. Some of the lines imported "
            f"then are now missing or different. Ask the bank why the statement has changed.\n{reported}"
        )
    return new


def donation_request_references(movement: BankMovement) -> list[str]:
    """The donation requests that it may name."""
    return list(dict.fromkeys(f"ALM-{one[1]}-{one[2]}" for one in REQUEST_REFERENCE.finditer(movement.text.upper())))


def donation_references(movement: BankMovement) -> list[str]:
    """The donors' transfers that it may name."""
    return iso11649.find_references(movement.text)


def end_to_end_ids(movement: BankMovement) -> list[str]:
    """The payouts that it may name."""
    return list(dict.fromkeys(one[0].lower() for one in END_TO_END.finditer(movement.text)))


def match_movement(movement: BankMovement, named: LineReferences) -> tuple[MatchedAs, MatchTarget] | OpenLineReason:
    """What a line is the movement of, or why a person has to look. Only what is certain is matched.

    Money that came for a request may be any amount: the request takes what it is open for, the rest is held. So may
    money that came for a gift: what is not the gift itself is held (settled 5). What went back is looked up. Statements
    are imported by one person: a payout that no two have let out in a file is paid once people confirm it.
    """
    things: list[MatchTarget] = [*named.requests, *named.gifts, *named.reports, *named.payouts]
    if movement.reversal and movement.minor < 0:  # what was believed is gone: never the double of what it undoes
        return OpenLineReason.TAKEN_BACK
    if named.seen_before:
        return OpenLineReason.SEEN_BEFORE
    if not things:
        return OpenLineReason.UNKNOWN
    if len(things) > 1:
        return OpenLineReason.AMBIGUOUS
    found = _match_target(movement, things[0])
    if isinstance(found, OpenLineReason):
        return found
    matched_as, thing = found
    if (matched_as, thing.id) in named.matched_targets:
        return OpenLineReason.MATCHED_BEFORE
    if matched_as == "disbursement" and isinstance(thing, Disbursement):
        return _outgoing_mismatch(thing, named) or found
    return found


def _outgoing_mismatch(payout: Disbursement, named: LineReferences) -> OpenLineReason | None:
    """Why money that left is not yet that of a payout. Its return may be told before it, never instead of it."""
    if payout.status == "SENT" and payout.id not in named.released:
        return OpenLineReason.UNCONFIRMED
    back = payout.status == "RETURNED" and ("disbursement_return", payout.id) not in named.matched_targets
    return OpenLineReason.OTHER_STATE if back else None


def _match_target(movement: BankMovement, thing: MatchTarget) -> tuple[MatchedAs, MatchTarget] | OpenLineReason:
    came = movement.minor > 0
    if isinstance(thing, Payment):
        return ("donation", thing) if came else ("donation_refund", thing)
    if movement.currency != (thing.currency if isinstance(thing, ProviderPayout) else thing.money.currency):
        return OpenLineReason.OTHER_CURRENCY
    if isinstance(thing, DonationRequest):
        ready = came and thing.status != "PAID" and not thing.collecting
        return ("request", thing) if ready else OpenLineReason.OTHER_STATE
    if isinstance(thing, ProviderPayout):
        return ("settlement", thing) if movement.minor == thing.net_minor else OpenLineReason.OTHER_AMOUNT
    if movement.money != thing.money:
        return OpenLineReason.OTHER_AMOUNT
    if came:
        return (
            ("disbursement_return", thing)
            if thing.status in {"SENT", "PAID", "RETURNED"}
            else OpenLineReason.OTHER_STATE
        )
    return ("disbursement", thing) if thing.status in {"SENT", "PAID", "RETURNED"} else OpenLineReason.OTHER_STATE
