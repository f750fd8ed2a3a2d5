"""Payment files for our bank: their states and content, and the meaning of status reports; pure (M11)."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from enum import StrEnum
from typing import Final, Literal, NamedTuple
from uuid import UUID

from almoner.giving.disbursing.disbursements.domain import Disbursement
from almoner.giving.disbursing.payee_bank_accounts.domain import AccountNumbers, Address, Payee, Scheme, is_sepa_account
from almoner.kit.ids import encode_uuid
from almoner.kit.money import Money, currency_exponent
from almoner.kit.states import Lifecycle

_PAYMENT_FILE: Final = Lifecycle("payment_file", {"created": frozenset({"released", "withdrawn"})})
PaymentFileStatus = Literal["created", "released", "withdrawn"]
MAX_PAYMENTS: Final = 10_000
MAX_NOTE: Final = 2000
_FORM: Final = "pain.001"
_NOTHING: Final = {"", "NOTPROVIDED"}
_QUOTED: Final = 40
"""The maximum length of a quotation from a bank's message."""


class PaymentFileError(Exception):
    """A payment file or status report cannot be processed; the message lists every reason."""


class BankOutcome(StrEnum):
    """The bank's outcome for a payment."""

    ACCEPTED = "accepted"
    PAID = "paid"
    REJECTED = "rejected"


_OUTCOME_BY_CODE: Final[Mapping[str, BankOutcome]] = {
    **dict.fromkeys(("RCVD", "PDNG", "ACTC", "ACCP", "ACSP", "ACWC", "ACFC", "PART"), BankOutcome.ACCEPTED),
    **dict.fromkeys(("ACIS", "ACPD", "ACWP", "PATC", "PRES"), BankOutcome.ACCEPTED),
    **dict.fromkeys(("ACSC", "ACCC"), BankOutcome.PAID),
    **dict.fromkeys(("RJCT", "CANC"), BankOutcome.REJECTED),
}
"""ISO 20022's external status codes of payments and groups; an operator decides about any other."""


@dataclass(frozen=True, slots=True)
class OwnAccount:
    """Our bank account for a currency. ``single_operator_release_limit``: the sum one operator may release alone."""

    name: str
    numbers: AccountNumbers
    address: Address
    single_operator_release_limit: Money


@dataclass(frozen=True, slots=True)
class CreditTransfer:
    """One disbursement with the account it is paid to."""

    disbursement: Disbursement
    payee: Payee


@dataclass(frozen=True, slots=True)
class TransliteratedText:
    """A payee's text that the bank gets in other characters than entered."""

    account_id: UUID
    field_name: str
    entered_text: str
    sent_text: str


@dataclass(frozen=True, slots=True)
class CreditTransferInitiation:
    """A payment order with its credit transfers, to be written as pain.001."""

    message_id: str
    own_account: OwnAccount
    created_at: datetime
    execution_date: date
    transfers: Sequence[CreditTransfer]

    @property
    def total(self) -> Money:
        """The control sum."""
        return Money(
            sum(one.disbursement.money.minor for one in self.transfers),
            self.own_account.single_operator_release_limit.currency,
        )


@dataclass(frozen=True, slots=True)
class PaymentFile:
    """A payment file as stored, with its status and who created and released it."""

    id: UUID
    message_id: str
    total: Money
    payment_count: int
    single_operator_release_limit: Money
    execution_date: date
    sha256: bytes
    encrypted_content: bytes
    status: PaymentFileStatus
    created_by: str
    created_at: datetime
    released_by: str | None
    released_at: datetime | None
    withdrawn_by: str | None
    note: str | None

    @property
    def requires_second_approval(self) -> bool:
        """Whether a different operator than its creator must release it."""
        return self.single_operator_release_limit < self.total


@dataclass(frozen=True, slots=True)
class RecordedStatusReport:
    """An imported status report, with the number of payments for each outcome."""

    message_id: str
    accepted_count: int
    paid_count: int
    rejected_count: int
    recorded_by: str
    recorded_at: datetime


@dataclass(frozen=True, slots=True)
class DisbursementConfirmationRequirement:
    """How many operators must confirm that the bank paid a sent disbursement: 0 if its released file is enough."""

    disbursement: Disbursement
    fingerprint: bytes
    required_operator_count: Literal[0, 1, 2]
    single_operator_limit_minor: int


@dataclass(frozen=True, slots=True)
class BankStatus:
    """A status code from the bank, with its reason."""

    code: str
    reason: str | None


@dataclass(frozen=True, slots=True)
class GroupStatus:
    """The bank's status for a whole file or batch."""

    status: BankStatus | None
    transaction_count_text: str | None
    control_sum: Decimal | None


@dataclass(frozen=True, slots=True)
class TransactionStatus:
    """The bank's status for one payment."""

    end_to_end_id: str
    batch_id: str
    currency: str | None
    amount: Decimal | None
    status: BankStatus | None


@dataclass(frozen=True, slots=True)
class StatusReport:
    """A bank's payment status report (pain.002) about one of our files.

    The status of a payment takes precedence over that of its batch, which takes precedence over that of the whole file.
    """

    message_id: str
    original_message_id: str
    original_message_name_id: str
    sha256: bytes
    file_status: GroupStatus
    batch_statuses: tuple[tuple[str, GroupStatus], ...]
    transaction_statuses: tuple[TransactionStatus, ...]


@dataclass(frozen=True, slots=True)
class RequestedTransfer:
    """A payment as we ordered it."""

    batch_id: str
    money: Money


@dataclass(frozen=True, slots=True)
class ReleasedFileTransfer:
    """A payment of a released file. ``was_returned``: it was rejected or returned since."""

    batch_id: str
    end_to_end_id: str
    money: Money
    was_returned: bool


def message_id_of(file_id: UUID) -> str:
    """The message ID of a file: the 26 characters of its identifier."""
    return encode_uuid(file_id)


def is_sepa_transfer(currency: str, scheme: Scheme, account_number: str) -> bool:
    """Whether the transfer follows SEPA rules: euros to an IBAN in a SEPA country."""
    return currency == "EUR" and is_sepa_account(scheme, account_number)


def build_batch_id(message_id: str, *, is_sepa: bool) -> str:
    """The ID of a file's SEPA or non-SEPA batch."""
    return f"{message_id}-{'sepa' if is_sepa else 'other'}"


class ReportedOutcome(NamedTuple):
    """The outcome of a payment in a status report, and the bank's text about it."""

    outcome: BankOutcome
    status_text: str


def match_bank_outcomes_to_transfers(
    status_report: StatusReport, requested_transfers: Mapping[str, RequestedTransfer]
) -> Mapping[str, ReportedOutcome]:
    """The outcome of each payment of a file in a status report, by end-to-end ID.

    ``requested_transfers``: the file's payments by end-to-end ID. Raises PaymentFileError.
    """
    if found := [*_content_problems(status_report, requested_transfers), *_unknown_codes(status_report)]:
        raise PaymentFileError("; ".join(found))
    singles = {one.end_to_end_id: one.status for one in status_report.transaction_statuses if one.status}
    batches = {name: part.status for name, part in status_report.batch_statuses if part.status}
    reported = {
        one: singles.get(one) or batches.get(its.batch_id) or status_report.file_status.status
        for one, its in requested_transfers.items()
    }
    return {
        one: ReportedOutcome(_OUTCOME_BY_CODE[stated.code], _status_text(stated))
        for one, stated in reported.items()
        if stated is not None
    }


def _content_problems(
    status_report: StatusReport, requested_transfers: Mapping[str, RequestedTransfer]
) -> Iterator[str]:
    """Report payments that differ from ours in number, sum, amount or currency, as the bank states them."""
    if not status_report.original_message_name_id.startswith(_FORM):
        yield f"the answer is about a message {status_report.original_message_name_id[:_QUOTED]!r}, which ours is not"
    yield from _sum_problems("a file", status_report.file_status, list(requested_transfers.values()))
    batches = {its.batch_id for its in requested_transfers.values()}
    for name, part in status_report.batch_statuses:
        if name in batches:
            yield from _sum_problems(
                f"a batch {name!r}", part, [its for its in requested_transfers.values() if its.batch_id == name]
            )
        elif name not in _NOTHING:
            yield f"the file has no batch {name[:_QUOTED]!r}"
    for one in status_report.transaction_statuses:
        named = repr(one.end_to_end_id[:_QUOTED])
        if (ours := requested_transfers.get(one.end_to_end_id)) is None:
            yield f"no payment of the file is {named}"
            continue
        if one.batch_id in batches - {ours.batch_id}:
            yield f"{named} is in another batch than {one.batch_id!r}"
        if one.amount is not None and (one.currency, one.amount) != (ours.money.currency, _control_sum([ours])):
            yield f"{named} is no payment of {one.amount!s:.{_QUOTED}} {one.currency}"


def _sum_problems(what: str, part: GroupStatus, payments: Sequence[RequestedTransfer]) -> Iterator[str]:
    if part.transaction_count_text is not None and part.transaction_count_text.lstrip("0") != str(len(payments)):
        yield f"the answer is about {what} of {part.transaction_count_text[:_QUOTED]} payments, which ours is not"
    if part.control_sum is not None and not (
        part.control_sum.is_finite() and part.control_sum == _control_sum(payments)
    ):
        yield f"the answer is about {what} of {part.control_sum!s:.{_QUOTED}} in all, which ours is not"


def _control_sum(payments: Sequence[RequestedTransfer]) -> Decimal:
    """The control sum of payments in one currency."""
    return sum((Decimal(its.money.minor).scaleb(-currency_exponent(its.money.currency)) for its in payments), Decimal())


def _unknown_codes(status_report: StatusReport) -> Iterator[str]:
    stated = [
        status_report.file_status.status,
        *(part.status for _, part in status_report.batch_statuses),
        *(one.status for one in status_report.transaction_statuses),
    ]
    for code in sorted({one.code for one in stated if one} - _OUTCOME_BY_CODE.keys()):
        yield f"the status {code[:_QUOTED]!r} is none that we know"
    if len({one.end_to_end_id for one in status_report.transaction_statuses}) < len(status_report.transaction_statuses):
        yield "one payment is named twice"
    reported = [(name, part.status.code) for name, part in status_report.batch_statuses if part.status]
    if len(dict(reported)) < len(set(reported)):
        yield "one batch has two statuses"


def _status_text(stated: BankStatus) -> str:
    return f"the bank says {stated.code}" + (f": {stated.reason}" if stated.reason else "")
