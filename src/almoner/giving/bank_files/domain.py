"""Files of payments for our bank: their states, what they hold, what a bank's answer means; pure (M11)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from enum import StrEnum
from typing import Final, Literal
from uuid import UUID

from almoner.giving.payees.domain import Address, Numbers, Payee, Scheme
from almoner.giving.payouts.domain import Disbursement
from almoner.kit.ids import encode
from almoner.kit.money import Money
from almoner.kit.states import Lifecycle

BANK_FILE: Final = Lifecycle("bank_file", {"made": frozenset({"released", "withdrawn"})})
FileStatus = Literal["made", "released", "withdrawn"]
MOST_PAYMENTS: Final = 10_000
MAX_NOTE: Final = 2000


class BankFileRefused(Exception):
    """What was asked of a file cannot be done, or an answer is none of ours; the message names every reason."""


class Verdict(StrEnum):
    """What a bank says of a payment."""

    ACCEPTED = "accepted"
    PAID = "paid"
    REJECTED = "rejected"


VERDICTS: Final[Mapping[str, Verdict]] = {
    **dict.fromkeys(("RCVD", "PDNG", "ACTC", "ACCP", "ACSP", "ACWC", "ACFC", "PART"), Verdict.ACCEPTED),
    **dict.fromkeys(("ACSC", "ACCC"), Verdict.PAID),
    **dict.fromkeys(("RJCT", "CANC"), Verdict.REJECTED),
}
"""ISO 20022's external codes of payment and group statuses; of any other a person has to think."""


@dataclass(frozen=True, slots=True)
class OwnAccount:
    """Our own account of a currency. ``alone``: up to this sum one person may release a file."""

    name: str
    numbers: Numbers
    address: Address
    alone: Money


@dataclass(frozen=True, slots=True)
class Payment:
    """One payout with the account that it goes to."""

    payout: Disbursement
    payee: Payee


@dataclass(frozen=True, slots=True)
class Order:
    """What a file asks our bank for."""

    message_id: str
    own: OwnAccount
    created_at: datetime
    execute_on: date
    payments: Sequence[Payment]

    @property
    def total(self) -> Money:
        """The control sum."""
        return Money(sum(one.payout.money.minor for one in self.payments), self.own.alone.currency)


@dataclass(frozen=True, slots=True)
class BankFile:
    """A file as it is kept. ``sealed``: its bytes, packed and encrypted; ``sha256`` is that of the bytes themselves."""

    id: UUID
    message_id: str
    total: Money
    payments: int
    alone: Money
    execute_on: date
    sha256: str
    sealed: bytes
    status: FileStatus
    made_by: str
    made_at: datetime
    released_by: str | None
    released_at: datetime | None
    withdrawn_by: str | None
    note: str | None

    @property
    def takes_two(self) -> bool:
        """Whether somebody else than who made it has to release it."""
        return self.alone < self.total


@dataclass(frozen=True, slots=True)
class Said:
    """What a bank said of one payment, by its end-to-end id. ``reason``: the bank's code and words."""

    end_to_end_id: str
    code: str
    reason: str | None


@dataclass(frozen=True, slots=True)
class Answer:
    """A bank's status file: what it says of single payments, of whole batches by their names, of the ``whole`` file.

    What is said of a payment counts before what is said of its batch, and that before what is said of all.
    """

    message_id: str
    about: str
    sha256: str
    whole: Said | None
    batches: Mapping[str, Said]
    said: tuple[Said, ...]
    payments: int | None


def message_id(file_id: UUID) -> str:
    """What names a file between us and the bank: 26 characters, those of the identifier."""
    return encode(file_id)


def by_sepa(currency: str, scheme: Scheme) -> bool:
    """Whether SEPA's rules hold: euros from account to account by IBAN."""
    return currency == "EUR" and scheme == "iban"


def batch(message: str, *, sepa: bool) -> str:
    """What names the payments of a file that go by SEPA, or any other way."""
    return f"{message}-{'sepa' if sepa else 'other'}"


def verdicts(answer: Answer, batches: Mapping[str, str]) -> Mapping[str, tuple[Verdict, str]]:
    """What becomes of the payments of the file that is answered. Raises BankFileRefused with all that does not fit.

    ``batches``: in which batch each payment is, by its end-to-end id.
    """
    found = [] if answer.payments in (None, len(batches)) else [_other(answer)]
    everything = [*answer.said, *answer.batches.values(), *([answer.whole] if answer.whole else [])]
    codes = {one.code for one in everything}
    found += [f"the status {code!r} is none that we know" for code in sorted(codes - VERDICTS.keys())]
    strange = [one.end_to_end_id for one in answer.said if one.end_to_end_id not in batches]
    found += [f"no payment of the file is {one!r}" for one in strange]
    found += [f"the file has no batch {one!r}" for one in answer.batches.keys() - set(batches.values())]
    if len({one.end_to_end_id for one in answer.said}) < len(answer.said):
        found.append("one payment is named twice")
    if found:
        raise BankFileRefused("; ".join(found))
    named = {one.end_to_end_id: one for one in answer.said}
    told = {one: named.get(one) or answer.batches.get(its) or answer.whole for one, its in batches.items()}
    return {one: (VERDICTS[said.code], _words(said)) for one, said in told.items() if said is not None}


def _other(answer: Answer) -> str:
    return f"the answer is about a file of {answer.payments} payments, which ours is not"


def _words(said: Said) -> str:
    return f"the bank says {said.code}" + (f": {said.reason}" if said.reason else "")
