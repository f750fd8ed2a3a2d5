"""Nonprofits' bank accounts: their numbers, states, and who may approve them; pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Literal
from uuid import UUID

from almoner.kit.bank_text import non_sepa_characters, to_sepa_text
from almoner.kit.events import InternalEvent
from almoner.kit.money import EXPONENTS
from almoner.kit.states import Lifecycle
from almoner.nonprofits.countries.domain import ALPHA3_BY_ALPHA2, COUNTRIES

_PAYEE_ACCOUNT: Final = Lifecycle(
    "payee_bank_account",
    {"proposed": frozenset({"approved", "refused"}), "approved": frozenset({"replaced"})},
)
Scheme = Literal["iban", "gb", "us", "au", "nz", "ca"]
PayeeStatus = Literal["proposed", "approved", "refused", "replaced"]
STATUSES: Final[tuple[PayeeStatus, ...]] = ("proposed", "approved", "refused", "replaced")
NONPROFIT: Final = "nonprofit"
"""Recorded as who rejected an account that the nonprofit denies to own."""
MAX_NOTE: Final = 2000
MIN_MATCHING_SCORE: Final = 80
"""From this score, in hundredths, the holder's name matches the register's; below it, reviewers are warned."""

MIN_PLAUSIBLE_SCORE: Final = 50
"""Below this score it is a different name: two more operators must review it before the nonprofit is paid."""

_CURRENCY_OF: Final[Mapping[Scheme, str]] = {"gb": "GBP", "us": "USD", "au": "AUD", "nz": "NZD", "ca": "CAD"}
"""The only currency of accounts with national numbers; an IBAN may be in any currency."""
_SEPA: Final = frozenset(
    (
        "AD AT AX BE BG BL CH CY CZ DE DK EE ES FI FR GB GF GG GI GP GR HR HU IE IM IS IT JE LI LT LU LV MC MF MQ MT "
        "NC NL NO PF PL PM PT RE RO SE SI SK SM TF VA WF YT"
    ).split()
)
"""The SEPA countries by SWIFT's IBAN registry; transfers to its newest members do not use SEPA."""
_LENGTHS: Final = {"holder": 70, "street": 70, "building": 16, "postcode": 16, "town": 35}


def is_sepa_account(scheme: Scheme, account_number: str) -> bool:
    """Whether an account is in the SEPA area; the first two letters of an IBAN are enough."""
    return scheme == "iban" and account_number[:2] in _SEPA


class PayeeAccountError(Exception):
    """A bank account cannot be stored or approved; the message lists every reason."""


@dataclass(frozen=True, slots=True)
class AccountNumbers:
    """An account's numbers. ``bank``: sort code, routing number or similar; None for an IBAN."""

    scheme: Scheme
    account: str
    bank: str | None = None
    bic: str | None = None

    @property
    def masked_number(self) -> str:
        """The number for display, mostly hidden."""
        hidden = "•" * 4 + self.account[-4:]
        return f"{self.account[:4]} {hidden}" if self.scheme == "iban" else f"{self.bank or ''} {hidden}".strip()

    @property
    def country(self) -> str | None:
        """The country of the account (three letters); None if it is unknown."""
        return ALPHA3_BY_ALPHA2.get(self.account[:2] if self.scheme == "iban" else self.scheme.upper())


@dataclass(frozen=True, slots=True)
class Address:
    """The account holder's address. Since November 2026, banks require town and country (three letters here)."""

    town: str
    country: str
    street: str | None = None
    building: str | None = None
    postcode: str | None = None


@dataclass(frozen=True, slots=True)
class AccountProposal:
    """A proposed bank account to pay a nonprofit in a currency."""

    organisation_id: UUID
    currency: str
    holder: str
    numbers: AccountNumbers
    address: Address


@dataclass(frozen=True, slots=True)
class AccountReview:
    """An operator's review of a bank account."""

    by: str
    note: str
    at: datetime


@dataclass(frozen=True, slots=True)
class PayeeAccount:
    """A nonprofit's bank account as stored, with its reviews.

    ``denied_at``: when the nonprofit denied to own it. ``name_match_score``: how well the holder's name matches the
    register's, in hundredths. ``requires_second_approval``: it replaces an account or follows a completed check, so two
    operators besides the proposer must approve it.
    """

    id: UUID
    organisation_id: UUID
    currency: str
    scheme: Scheme
    holder: str
    encrypted_number: bytes
    masked_number: str
    address: Address
    name_match_score: int
    requires_second_approval: bool
    status: PayeeStatus
    proposal: AccountReview
    first_review: AccountReview | None
    second_review: AccountReview | None
    refused_by: str | None
    refused_note: str | None
    denied_at: datetime | None

    @property
    def required_review_count(self) -> int:
        """The number of operators who must approve it."""
        was_not_enough = self.status == "proposed" and self.first_review is not None
        return 2 if self.requires_second_approval or was_not_enough or self.second_review is not None else 1

    @property
    def completed_review_count(self) -> int:
        """The number of operators who have approved it."""
        return sum(look is not None for look in (self.first_review, self.second_review))


@dataclass(frozen=True, slots=True)
class PayeeAccountProposedEvent:
    """The internal event that an account was proposed."""

    account: UUID


ACCOUNT_PROPOSED: Final = InternalEvent("internal.payee_bank_account_proposed", PayeeAccountProposedEvent)
"""An account was proposed or approved; the nonprofit may have to be notified."""


@dataclass(frozen=True, slots=True)
class Payee:
    """A nonprofit's approved account with its decrypted numbers."""

    account_id: UUID
    holder: str
    numbers: AccountNumbers
    address: Address


def find_proposal_problems(holder: str, address: Address, currency: str, scheme: Scheme | None) -> list[str]:
    """All problems of a proposal, except its numbers. ``scheme``: None if the numbers are not valid."""
    given = {"holder": holder, "town": address.town}
    found = [f"{name} is required" for name, value in given.items() if not value]
    parts = {**given, "street": address.street, "building": address.building, "postcode": address.postcode}
    found += [
        f"{name} must have at most {_LENGTHS[name]} characters"
        for name, value in parts.items()
        if value and max(len(value), len(to_sepa_text(value))) > _LENGTHS[name]
    ]
    found += [
        f"{name} has characters that banks do not take: {' '.join(wrong)}. Write it as the bank does"
        for name, value in parts.items()
        if value and (wrong := [one for one in non_sepa_characters(value) if not one.isalpha()])
    ]
    found += [
        f"{name} has no letter or digit that banks take: write it as the bank does"
        for name, value in parts.items()
        if value and not any(one.isalnum() for one in (*to_sepa_text(value), *non_sepa_characters(value)))
    ]
    found += [
        f"{name} must be in Latin letters, as the bank writes it"
        for name, value in parts.items()
        if value and any(one.isalpha() for one in non_sepa_characters(value))
    ]
    if address.country not in COUNTRIES:
        found.append(f"country must have three letters such as DEU, not {address.country!r}")
    if currency not in EXPONENTS:
        found.append(f"currency must have three letters such as EUR, not {currency!r}")
    elif scheme and (only := _CURRENCY_OF.get(scheme, currency)) != currency:
        found.append(f"an account of this type must be in {only}, not in {currency}")
    return found


def list_fields_with_entered_and_sent_text(holder: str, address: Address) -> list[tuple[str, str, str]]:
    """A payee's texts that banks get in other characters than entered: field, text as entered, text as sent."""
    parts = {
        "holder": holder,
        "street": address.street,
        "building": address.building,
        "postcode": address.postcode,
        "town": address.town,
    }
    return [(name, text, sent) for name, text in parts.items() if text and (sent := to_sepa_text(text)) != text]


def account_warnings(account: PayeeAccount, numbers: AccountNumbers, country: str) -> list[str]:
    """Unusual facts about an account that reviewers should check."""
    found = [
        f"the bank receives the {name} as {sent}"
        for name, _, sent in list_fields_with_entered_and_sent_text(account.holder, account.address)
    ]
    if account.name_match_score < MIN_MATCHING_SCORE:
        found.append(f"the holder matches the name in the register by only {account.name_match_score} %")
    if numbers.country != country:
        found.append(f"the account is in {numbers.country or 'an unknown country'}, but the nonprofit is in {country}")
    if account.address.country != country:
        found.append(f"the holder's address is in {account.address.country}, but the nonprofit is in {country}")
    bank = ALPHA3_BY_ALPHA2.get(numbers.bic[4:6]) if numbers.bic else numbers.country
    if bank != numbers.country:
        found.append(f"the BIC belongs to a bank in {bank or 'an unknown country'}")
    return found


def ensure_may_approve(account: PayeeAccount, operator_id: str) -> None:
    """Check that this operator may review the account now. Raises PayeeAccountError."""
    if account.status != "proposed":
        raise PayeeAccountError(f"The account is {account.status}. Only a proposed account can be approved.")
    if account.proposal.by == operator_id:
        raise PayeeAccountError("You proposed this account, so somebody else must approve it.")
    if account.first_review is not None and account.first_review.by == operator_id:
        raise PayeeAccountError(
            "You have already approved this account. It replaces another account, so a second person must approve it."
        )
