"""Statements of our bank accounts: their lines, and the movement that each one matches; pure (M7)."""

import re
from collections import Counter
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from decimal import Decimal
from enum import StrEnum
from typing import Final, Literal, NamedTuple
from uuid import UUID

from almoner.giving.checkout.donation_requests.domain import DonationRequest
from almoner.giving.checkout.payments.domain import Payment, UnallocatedReason
from almoner.giving.disbursing.disbursements.domain import Disbursement
from almoner.kit import iso11649
from almoner.kit.ids import encode_uuid
from almoner.kit.money import MAX_MINOR, Money, currency_exponent
from almoner.kit.states import Lifecycle
from almoner.kit.text import normalise_code_for_search

_BANK_LINE: Final = Lifecycle(
    "bank_statement_line",
    {
        "open": frozenset({"matched", "dismissed"}),
        "matched": frozenset({"open"}),
        "dismissed": frozenset({"open"}),
    },
)
LineStatus = Literal["open", "matched", "dismissed"]
MatchedAs = Literal["request", "settlement", "disbursement", "disbursement_return", "donation", "donation_refund"]
MAX_NOTE: Final = 2000
MAX_COMBINED: Final = 3
"""The maximum number of donation requests that one line can pay."""
MAX_UPLOAD: Final = 10 * 1024 * 1024
"""The maximum size of an uploaded file in bytes; larger files are imported by the command."""
UPLOAD_RETENTION: Final = timedelta(days=7)
"""How long an uploaded file waits to be booked."""
MAX_REMITTANCE_TEXT: Final = 1000
DAYS_AHEAD: Final = 3
"""Days that a movement may be dated ahead, to the next business day; a later date is a typing error."""
_MAX_ACCOUNT: Final = 60
MAX_STATEMENT: Final = 60
MAX_REFERENCE: Final = 140
MAX_END_TO_END: Final = 35
DERIVED: Final = "#"
"""The prefix of references made from the movement, for movements without one of the bank's."""
_BETWEEN: Final = re.compile(r"[\s.\-/]+")
_END_TO_END: Final = re.compile(r"\b[0-7][0-9a-hjkmnp-tv-z]{25}\b", re.ASCII | re.IGNORECASE)


_BLANKS: Final = re.compile(r"\s+")
_MAX_ELEMENT: Final = 500
"""Characters of the longest text of an entry (AddtlTxInf) in ISO 20022."""
_DENSE_REQUEST: Final = re.compile(r"(?=ALM([0-9A-Z]{5})([0-9A-Z]{5}))", re.ASCII)
_MISREAD: Final = str.maketrans("OIL", "011")
"""Misread characters; references are Crockford's base32, which has none of these."""
_DENSE_END_TO_END: Final = re.compile(r"(?=([0-7][0-9a-hjkmnp-tv-z]{25}))", re.ASCII | re.IGNORECASE)
"""End-to-end IDs in text without word boundaries; candidates are looked up, so chance matches do no harm."""


class BankStatementError(Exception):
    """A statement cannot be imported, or a line cannot be reconciled; the message says why."""


class UnreconciledLineReason(StrEnum):
    """Why a statement line is not reconciled and waits for an operator."""

    UNKNOWN = "unknown"
    SEEN_BEFORE = "seen_before"
    POSSIBLE_DUPLICATE = "possible_duplicate"
    TAKEN_BACK = "reversed"
    OTHER_AMOUNT = "other_amount"
    OTHER_CURRENCY = "other_currency"
    OTHER_STATE = "other_state"
    AMBIGUOUS = "ambiguous"
    MATCHED_BEFORE = "matched_before"
    REFUSED = "refused"
    UNCONFIRMED = "unconfirmed"
    REOPENED = "reopened"

    @property
    def description(self) -> str:
        """The reason as a sentence."""
        return _SENTENCES[self]


_SENTENCES: Final = {
    UnreconciledLineReason.UNKNOWN: "no reference of ours was found in the line",
    UnreconciledLineReason.SEEN_BEFORE: "another statement has already reported this movement",
    UnreconciledLineReason.POSSIBLE_DUPLICATE: (
        "another statement has a similar movement: find out if it is the same money"
    ),
    UnreconciledLineReason.TAKEN_BACK: "the bank has reversed an earlier movement",
    UnreconciledLineReason.OTHER_AMOUNT: "the referenced record has a different amount",
    UnreconciledLineReason.OTHER_CURRENCY: "the referenced record has a different currency",
    UnreconciledLineReason.OTHER_STATE: (
        "the referenced record is already settled, paid or returned, or has not been sent yet"
    ),
    UnreconciledLineReason.AMBIGUOUS: "the line refers to more than one record",
    UnreconciledLineReason.MATCHED_BEFORE: (
        "the referenced record already has another line: it may have been paid twice"
    ),
    UnreconciledLineReason.REFUSED: "the line could not be booked",
    UnreconciledLineReason.UNCONFIRMED: "the disbursement is in no released file: confirm that it was paid first",
    UnreconciledLineReason.REOPENED: "an operator undid the earlier decision: match or dismiss the line",
}


def reopen_blocked_reason(status: LineStatus, matched_as: MatchedAs | None) -> str | None:
    """Why a line's dismissal or match cannot be undone; None if it can."""
    if status == "open":
        return "This line is open."
    if status == "matched" and matched_as != "settlement":
        return "This match has moved money in the ledger, so it cannot be undone. Reverse the record that it booked."
    return None


@dataclass(frozen=True, slots=True)
class BankMovement:
    """One movement on a bank statement. ``amount_minor``: negative for outgoing money.

    ``reference``: the bank's own reference. ``remittance_information``: what the payer wrote. ``return_reason``: why it
    was returned. ``is_reversal``: the bank reverses a movement, usually with the same reference.
    """

    booked_on: date
    amount_minor: int
    currency: str
    reference: str
    end_to_end_id: str | None
    counterparty: str | None
    remittance_information: str | None
    return_reason: str | None
    is_reversal: bool = False

    @property
    def money(self) -> Money:
        """The absolute amount."""
        return Money(abs(self.amount_minor), self.currency)

    @property
    def reference_search_text(self) -> str:
        """All texts in which a reference may occur."""
        return " ".join(part for part in (self.end_to_end_id, self.remittance_information) if part)

    @property
    def deduplication_key_without_personal_texts(self) -> tuple[date, int, str, str, str | None, str | None]:
        """The non-personal fields that identify a movement after its texts were erased."""
        return self.booked_on, self.amount_minor, self.currency, self.reference, self.end_to_end_id, self.return_reason

    @property
    def occurrence_group_key(self) -> tuple[date, int, str, bool]:
        """The bank's key of the movement; several movements may share one."""
        return self.booked_on, self.amount_minor, self.reference, self.is_reversal


@dataclass(frozen=True, slots=True)
class NewStatementLine:
    """A movement that is not stored yet. ``occurrence_number``: its number among movements with the same key."""

    position: int
    movement: BankMovement
    occurrence_number: int


@dataclass(frozen=True, slots=True)
class BankStatement:
    """A statement of one account in one currency. Balances are None if the file has none.

    ``ends_on``: the day of the closing balance. ``is_account_export``: it has lines of some days, which other files may
    repeat. ``sequence_number``: the bank's statement number, usually within a year. ``file_format``: the file's format;
    None for statements that we generate. ``rejected``: unreadable lines, each with the reason.
    """

    account: str
    reference: str
    currency: str
    opening_minor: int | None
    closing_minor: int | None
    sha256: bytes
    movements: tuple[BankMovement, ...]
    ends_on: date | None = None
    is_account_export: bool = False
    sequence_number: str | None = None
    file_format: str | None = None
    rejected: tuple[str, ...] = ()

    @property
    def date_range(self) -> tuple[date, date] | None:
        """The first and the last day of the statement."""
        days = [one.booked_on for one in self.movements] + ([self.ends_on] if self.ends_on else [])
        return (min(days), max(days)) if days else None


class ParsedStatements(NamedTuple):
    """The statements of a file, and all problems of the file."""

    statements: list[BankStatement]
    problems: list[str]


@dataclass(frozen=True, slots=True)
class BankLine:
    """A stored statement line with its reconciliation status. ``unreconciled_reason``: why it is open.

    ``booking_error``: why booking it was refused, if it was. ``occurrence_number``: as in ``NewStatementLine``.
    """

    id: UUID
    account: str
    movement: BankMovement
    status: LineStatus
    unreconciled_reason: UnreconciledLineReason | None
    matched_as: MatchedAs | None
    imported_at: datetime
    booking_error: str | None = None
    occurrence_number: int = 1


@dataclass(frozen=True, slots=True)
class ImportedStatement:
    """A stored statement, or a part of one: which account and days it covers, and who imported it."""

    id: UUID
    account: str
    reference: str
    currency: str
    opening_minor: int | None
    closing_minor: int | None
    line_count: int
    imported_by: str
    imported_at: datetime
    begins_on: date | None
    ends_on: date | None
    file_format: str | None
    rejected_lines: Sequence[str]


@dataclass(frozen=True, slots=True)
class LineDetails:
    """A line with its matched record and who decided. ``matched_record_id``: its kind is ``line.matched_as``.

    ``statement_reference``: the bank's name of its statement.
    """

    line: BankLine
    statement_reference: str
    matched_record_id: UUID | None
    decided_by: str | None
    decided_at: datetime | None
    note: str | None


@dataclass(frozen=True, slots=True)
class LineFilters:
    """Filters of a list of statement lines; None: not filtered. ``amounts_minor``: amounts, incoming or outgoing."""

    status: LineStatus | None = None
    reason: UnreconciledLineReason | None = None
    account: str | None = None
    amounts_minor: Sequence[int] | None = None
    booked_on: date | None = None


@dataclass(frozen=True, slots=True)
class MatchProposal:
    """A record that an operator may match an open line with. ``expected_minor``: the expected amount of its line.

    ``display_name``: its display name, if it is not shown by its ID; of several requests, their references.
    ``is_referenced``: the line refers to it.
    """

    kind: Literal["request", "donation", "provider_payout", "disbursement"]
    record_id: UUID
    display_name: str
    expected_minor: int
    currency: str
    is_referenced: bool
    line_amount_minor: int

    @property
    def difference_minor(self) -> int:
        """The line's amount minus the record's amount."""
        return self.line_amount_minor - self.expected_minor


def ensure_requests_match_movement(movement: BankMovement, requests: Sequence[DonationRequest]) -> None:
    """Check that one movement pays exactly what is left to pay of several requests. Raises BankStatementError."""
    if not 1 <= len({one.id for one in requests}) == len(requests) <= MAX_COMBINED:
        raise BankStatementError(f"Enter up to {MAX_COMBINED} different donation requests.")
    if len({one.partner_id for one in requests}) > 1:
        raise BankStatementError("The donation requests are not all of one partner.")
    if paid := [one.reference for one in requests if not one.outstanding_minor]:
        raise BankStatementError(f"The donation request {paid[0]} is already paid.")
    total = sum(one.outstanding_minor for one in requests)
    if total != movement.amount_minor or {one.money.currency for one in requests} != {movement.currency}:
        raise BankStatementError("The amounts left to pay of the donation requests do not add up to the line.")


@dataclass(frozen=True, slots=True)
class StatementUpload:
    """An uploaded file that is not booked yet. ``mapping``: the column mapping of a CSV file."""

    id: UUID
    file_name: str
    sha256: bytes
    size_bytes: int
    mapping: str | None
    uploaded_by: str
    uploaded_at: datetime


@dataclass(frozen=True, slots=True)
class PreviewedLine:
    """What would happen to a new line. ``matched_record_id``: its match; ``waiting_reason``: why it would wait.

    ``unallocated_reason``: why its money would pay no donation, although it has the reference of one.
    """

    movement: BankMovement
    matched_as: MatchedAs | None = None
    matched_record_id: UUID | None = None
    waiting_reason: str | None = None
    unallocated_reason: UnallocatedReason | None = None


@dataclass(frozen=True, slots=True)
class StatementPreview:
    """What importing a statement would change. ``stored_line_count``: stored lines; ``new_line_count``: others.

    ``previewed_lines``: those of the new ones that were matched. ``refusal_reason``: why nothing would be imported.
    """

    statement: BankStatement
    new_line_count: int = 0
    stored_line_count: int = 0
    previewed_lines: Sequence[PreviewedLine] = ()
    refusal_reason: str | None = None


@dataclass(frozen=True, slots=True)
class ProviderPayout:
    """A provider's payout to us, with the sum of its report."""

    id: UUID
    reference: str
    currency: str
    net_minor: int


@dataclass(frozen=True, slots=True)
class MissingProviderPayout:
    """A provider payout that no statement line shows yet.

    ``mismatched_line_count``: the number of open lines that name it but have another amount.
    """

    provider: str
    settled_on: date
    payout: ProviderPayout
    imported_at: datetime
    mismatched_line_count: int

    @property
    def explanation(self) -> str:
        """The explanation for operators."""
        return (
            "an unmatched bank statement line refers to it, but has a different amount"
            if self.mismatched_line_count
            else "no bank statement line refers to it"
        )


@dataclass(frozen=True, slots=True)
class UnreconciledItem:
    """Something that a provider or our bank reported and the ledger does not show yet.

    ``imported_at``: when it was imported. ``display_name``: of the line or report. ``amount_minor``: negative for
    outgoing money.
    """

    kind: Literal["provider_line", "bank_statement_line", "provider_payout", "bank_statement"]
    imported_at: datetime
    provider_or_account: str
    display_name: str
    amount_minor: int
    currency: str
    reason: str


@dataclass(frozen=True, slots=True)
class StatementGap:
    """A statement whose opening balance is no other statement's closing balance: one may be missing.

    ``imported_at``: when it was imported.
    """

    id: UUID
    account: str
    currency: str
    statement_reference: str
    opening_minor: int
    statement_date: date
    imported_at: datetime
    rejected_lines: Sequence[str] = ()

    @property
    def explanation(self) -> str:
        """The explanation for operators."""
        if self.rejected_lines:
            more = f", and {len(self.rejected_lines) - 1:,} more" if len(self.rejected_lines) > 1 else ""
            statement = f"{self.statement_reference} of {self.statement_date}"
            return f"a line of {statement} could not be read: {self.rejected_lines[0]}{more}"
        return f"the statement before {self.statement_reference} of {self.statement_date} has not been imported"


@dataclass(frozen=True, slots=True)
class ReferencedRecords:
    """Our records that a statement line refers to, and its possible duplicates.

    ``matched_records``: those that other lines are matched to. ``released_disbursement_ids``: disbursements in released
    payment files.
    """

    donation_requests: Sequence[DonationRequest] = ()
    payments: Sequence[Payment] = ()
    provider_payouts: Sequence[ProviderPayout] = ()
    disbursements: Sequence[Disbursement] = ()
    duplicate_reason: UnreconciledLineReason | None = None
    matched_records: AbstractSet[tuple[MatchedAs, UUID]] = frozenset()
    released_disbursement_ids: AbstractSet[UUID] = frozenset()


MatchTarget = DonationRequest | ProviderPayout | Disbursement | Payment


def build_unique_line_reference(line: BankLine) -> str:
    """A unique reference of one line, even if the bank uses one for several lines."""
    return f"{line.movement.reference[: MAX_REFERENCE - 27]}/{encode_uuid(line.id)}"


def normalise_account_number(account: str) -> str:
    """The account number in the form in which it is stored and compared."""
    return _BETWEEN.sub("", account).upper()


def reject_unbookable_lines(statement: BankStatement, latest_booking_date: date) -> BankStatement:
    """The statement without lines that cannot be booked, such as those dated after ``latest_booking_date``."""
    found = [(one, _line_problem(one, statement, latest_booking_date)) for one in statement.movements]
    rejected = [f"line {position}: {problem}" for position, (_, problem) in enumerate(found, 1) if problem]
    return replace(
        statement,
        movements=tuple(one for one, problem in found if problem is None),
        rejected=(*statement.rejected, *rejected),
    )


def _line_problem(one: BankMovement, statement: BankStatement, latest: date) -> str | None:
    if not one.amount_minor:
        return "it has an amount of zero"
    if abs(one.amount_minor) > MAX_MINOR:
        return "the amount is too large"
    if one.booked_on > latest:
        return f"the booking date {one.booked_on} is more than {DAYS_AHEAD} days in the future"
    if one.currency != statement.currency:
        return f"it is in {one.currency}, but the account is in {statement.currency}"
    return None


def find_statement_problems(statement: BankStatement) -> list[str]:
    """The problems that prevent importing a statement."""
    found = (
        [] if 1 <= len(statement.account) <= _MAX_ACCOUNT else [f"the account must have 1 to {_MAX_ACCOUNT} characters"]
    )
    balances = statement.opening_minor, statement.closing_minor
    found += ["a balance is too large" for one in balances if one is not None and abs(one) > MAX_MINOR]
    if statement.rejected and not statement.movements:
        return [*found, *statement.rejected]
    if statement.opening_minor is not None and statement.closing_minor is not None and not statement.rejected:
        moved = sum(one.amount_minor for one in statement.movements)
        if statement.opening_minor + moved != statement.closing_minor:
            found.append(
                f"the lines add up to {_decimal(moved, statement)}, but the balances differ by "
                f"{_decimal(statement.closing_minor - statement.opening_minor, statement)}: lines are missing or "
                "duplicated"
            )
    return found


def _decimal(minor: int, statement: BankStatement) -> str:
    exponent = currency_exponent(statement.currency)
    return f"{Decimal(minor).scaleb(-exponent):.{exponent}f} {statement.currency}"


def find_new_lines(statement: BankStatement, existing_movements: Sequence[BankMovement]) -> list[NewStatementLine]:
    """The movements of a statement that are not among the ``existing_movements``.

    A bank may repeat a file, or add lines to it. Several equal movements in one file are different movements. Raises
    BankStatementError with every imported line that is now missing or different, except for an export, whose days are
    arbitrary.
    """
    # Exact repeats are matched first, so that of several equal movements only those not yet stored are new.
    same, left = (
        Counter(existing_movements),
        Counter(one.deduplication_key_without_personal_texts for one in existing_movements),
    )
    unsure: list[tuple[int, BankMovement]] = []
    for position, one in enumerate(statement.movements, 1):
        if same[one]:
            same[one] -= 1
            left[one.deduplication_key_without_personal_texts] -= 1
        else:
            unsure.append((position, one))
    new: list[tuple[int, BankMovement]] = []
    for position, one in unsure:
        if left[one.deduplication_key_without_personal_texts] > 0:
            left[one.deduplication_key_without_personal_texts] -= 1
        else:
            new.append((position, one))
    if new and not statement.is_account_export:
        _ensure_nothing_gone(statement, [one for _, one in new], list(left.elements()))
    counts = Counter(one.occurrence_group_key for one in existing_movements)
    lines = []
    for position, one in new:
        counts[one.occurrence_group_key] += 1
        lines.append(NewStatementLine(position, one, counts[one.occurrence_group_key]))
    return lines


def _ensure_nothing_gone(
    statement: BankStatement,
    new: Sequence[BankMovement],
    left: Sequence[tuple[date, int, str, str, str | None, str | None]],
) -> None:
    """Check that a file with new lines still has all lines imported before; otherwise it is a different file.

    Raises BankStatementError.
    """
    days, names = [one.booked_on for one in statement.movements], {one.reference for one in new}
    gone = [fact for fact in left if fact[3] in names or min(days) <= fact[0] <= max(days)]
    if gone:
        in_order = sorted(gone, key=lambda fact: (fact[0], fact[3]))
        reported = "\n".join(f"{fact[3]} of {fact[0]}: {_decimal(fact[1], statement)}" for fact in in_order)
        raise BankStatementError(
            f"Statement {statement.reference} of {statement.account} was imported before. Some of the lines imported "
            f"then are now missing or different. Ask the bank why the statement has changed.\n{reported}"
        )


def find_donation_request_references(movement: BankMovement) -> list[str]:
    """Donation request references that occur in the movement's texts."""
    return _donation_request_references(movement.reference_search_text)


def _donation_request_references(text: str) -> list[str]:
    found = _DENSE_REQUEST.findall(normalise_code_for_search(text))
    return list(dict.fromkeys(f"ALM-{one.translate(_MISREAD)}-{other.translate(_MISREAD)}" for one, other in found))


def find_donation_references(movement: BankMovement) -> list[str]:
    """Donors' bank transfer references that occur in the movement's texts."""
    return iso11649.find_creditor_references(movement.reference_search_text)


def find_end_to_end_ids(movement: BankMovement) -> list[str]:
    """Disbursements' end-to-end IDs that occur in the movement's texts."""
    found = _END_TO_END.findall(movement.reference_search_text) or _DENSE_END_TO_END.findall(
        _BLANKS.sub("", movement.reference_search_text)
    )
    return list(dict.fromkeys(one.lower() for one in found))


def contains_donation_reference(text: str) -> bool:
    """Whether an element of a bank's message names a donation or a donation request of ours."""
    start = text[:_MAX_ELEMENT]
    return bool(iso11649.find_creditor_references(start) or _donation_request_references(start))


class PossibleDuplicate(NamedTuple):
    """A stored movement that may be the same as another, and whether it certainly is."""

    is_certain: bool
    movement: BankMovement


def possible_duplicate_reason(
    movement: BankMovement, possible_duplicates: Sequence[PossibleDuplicate]
) -> UnreconciledLineReason | None:
    """Why the movement may be a duplicate of ``possible_duplicates``; None if it is not.

    A movement that names other records of ours is not a duplicate.
    """
    mine = _references(movement)
    same = [
        other.is_certain
        for other in possible_duplicates
        if not (mine and (others := _references(other.movement)) and not mine & others)
    ]
    if not same:
        return None
    return UnreconciledLineReason.SEEN_BEFORE if any(same) else UnreconciledLineReason.POSSIBLE_DUPLICATE


def _references(movement: BankMovement) -> set[str]:
    end_to_end_id = movement.end_to_end_id
    own = {end_to_end_id.lower()} if end_to_end_id and _END_TO_END.fullmatch(end_to_end_id) else set[str]()
    return {*find_donation_request_references(movement), *find_donation_references(movement), *own}


def match_movement(
    movement: BankMovement, referenced_records: ReferencedRecords
) -> tuple[MatchedAs, MatchTarget] | UnreconciledLineReason:
    """The record that a movement belongs to, or why an operator must decide; only certain matches.

    A payment of a request or a donation may have any amount: what exceeds it is held as an unallocated payment
    (settled 5). One person imports statements, so a disbursement that two people did not release in a payment file is
    paid only once people confirm it.
    """
    things: list[MatchTarget] = [
        *referenced_records.donation_requests,
        *referenced_records.payments,
        *referenced_records.provider_payouts,
        *referenced_records.disbursements,
    ]
    # A reversal is never a duplicate of the movement that it reverses.
    if movement.is_reversal and movement.amount_minor < 0:
        return UnreconciledLineReason.TAKEN_BACK
    if referenced_records.duplicate_reason is not None:
        return referenced_records.duplicate_reason
    if not things:
        return UnreconciledLineReason.UNKNOWN
    if len(things) > 1:
        return UnreconciledLineReason.AMBIGUOUS
    found = _match_target(movement, things[0])
    if isinstance(found, UnreconciledLineReason):
        return found
    matched_as, thing = found
    if (matched_as, thing.id) in referenced_records.matched_records:
        return UnreconciledLineReason.MATCHED_BEFORE
    if matched_as == "disbursement" and isinstance(thing, Disbursement):
        return _outgoing_mismatch(thing, referenced_records) or found
    return found


def _outgoing_mismatch(disbursement: Disbursement, named: ReferencedRecords) -> UnreconciledLineReason | None:
    """Why an outgoing movement is not certainly this disbursement. Its return may be reported first."""
    if disbursement.status == "SENT" and disbursement.id not in named.released_disbursement_ids:
        return UnreconciledLineReason.UNCONFIRMED
    back = disbursement.status == "RETURNED" and ("disbursement_return", disbursement.id) not in named.matched_records
    return UnreconciledLineReason.OTHER_STATE if back else None


def _match_target(movement: BankMovement, thing: MatchTarget) -> tuple[MatchedAs, MatchTarget] | UnreconciledLineReason:
    came = movement.amount_minor > 0
    if isinstance(thing, Payment):
        return ("donation", thing) if came else ("donation_refund", thing)
    if movement.currency != (thing.currency if isinstance(thing, ProviderPayout) else thing.money.currency):
        return UnreconciledLineReason.OTHER_CURRENCY
    if isinstance(thing, DonationRequest):
        ready = came and thing.status != "PAID" and not thing.is_adding_donations
        return ("request", thing) if ready else UnreconciledLineReason.OTHER_STATE
    if isinstance(thing, ProviderPayout):
        return (
            ("settlement", thing) if movement.amount_minor == thing.net_minor else UnreconciledLineReason.OTHER_AMOUNT
        )
    if movement.money != thing.money:
        return UnreconciledLineReason.OTHER_AMOUNT
    if came:
        return (
            ("disbursement_return", thing)
            if thing.status in {"SENT", "PAID", "RETURNED"}
            else UnreconciledLineReason.OTHER_STATE
        )
    return (
        ("disbursement", thing) if thing.status in {"SENT", "PAID", "RETURNED"} else UnreconciledLineReason.OTHER_STATE
    )
