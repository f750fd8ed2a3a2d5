"""The donor's form: its input, parsed into a donation or a list of all problems."""

from collections.abc import Collection, Mapping, Sequence
from typing import Final

import msgspec
from babel import Locale

from almoner.giving.checkout.dedications.domain import MAX_MESSAGE, MAX_NAME, DedicationEmail
from almoner.giving.checkout.donations.domain import DonationDetails
from almoner.giving.checkout.hosted_page import domain
from almoner.giving.checkout.hosted_page.domain import DonationAmounts
from almoner.giving.checkout.payments.domain import FeeSchedule
from almoner.giving.checkout.sessions.domain import ONE_TIME, DonationFrequency
from almoner.giving.gift_aid.declarations import claimable
from almoner.giving.gift_aid.declarations.claimable import DeclarerProblem
from almoner.giving.gift_aid.declarations.domain import HOME, Declarer
from almoner.kit.money import Money
from almoner.kit.text import clean_text
from almoner.platform.outbound import email_addresses
from almoner.platform.pages import formats

MAX_LENGTH: Final = 255  # spec 2.8, as every name and address of the interface
GIFT_AID_FIELDS: Final = {"title": 20, "house": 40, "road": 80, "city": 60, "postcode": 10}
"""The Gift Aid fields besides the name, with their maximum lengths, most of which are those of a claim."""
_FIELDS: Final = {"building_name_number": "house"}
_DEDICATION: Final = ("dedication", "recipient_name", "recipient_email", "recipient_message")
OTHER: Final = "other"
TRANSFER: Final = "transfer"
"""The payment method without a card and without a fee: a bank transfer."""

Problems = dict[str, str]
"""Catalogue keys of the problems by field ID, in the order of the page."""


def email_problem_key(email: str) -> str | None:
    """The catalogue key of an email address's problem."""
    if not email:
        return "give.problem.email.missing"
    if len(email) > MAX_LENGTH:
        return "give.problem.email.too_long"
    return None if email_addresses.is_email_address(email) else "give.problem.email.wrong"


class DonationForm(msgspec.Struct, frozen=True):
    """The donation form as posted.

    ``amount`` is a suggested amount in minor units, or ``other`` for the one typed in ``typed``.
    """

    amount: str = ""
    typed: str = ""
    first_name: str = ""
    last_name: str = ""
    email: str = ""
    anonymous: bool = False
    contact: bool = False
    cover: bool = False
    message: str = ""
    gift_aid: bool = False
    title: str = ""
    house: str = ""
    road: str = ""
    city: str = ""
    postcode: str = ""
    way: str = ""
    frequency: str = ""
    another: bool = False
    designation: str = ""
    dedication: str = ""
    recipient_name: str = ""
    recipient_email: str = ""
    recipient_message: str = ""

    @classmethod
    def from_fields(cls, fields: Mapping[str, object]) -> "DonationForm":
        """The form from the posted fields."""
        return cls(
            amount=_clean(fields.get("amount")),
            typed=_clean(fields.get("typed")),
            first_name=_clean(fields.get("first_name")),
            last_name=_clean(fields.get("last_name")),
            email=_clean(fields.get("email")),
            anonymous=fields.get("anonymous") == "yes",
            contact=fields.get("contact") == "yes",
            cover=fields.get("cover") == "yes",
            message=_clean(fields.get("message"), lines=True),
            gift_aid=fields.get("gift_aid") == "yes",
            title=_clean(fields.get("title")),
            house=_clean(fields.get("house")),
            road=_clean(fields.get("road")),
            city=_clean(fields.get("city")),
            postcode=_postcode(_clean(fields.get("postcode"))),
            way=TRANSFER if fields.get("way") == TRANSFER else "",
            frequency=_clean(fields.get("frequency")),
            another=fields.get("another") == "yes",
            designation=_clean(fields.get("designation")),
            dedication=_clean(fields.get("dedication")),
            recipient_name=_clean(fields.get("recipient_name")),
            recipient_email=_clean(fields.get("recipient_email")),
            recipient_message=_clean(fields.get("recipient_message"), lines=True),
        )

    def chosen_frequency(self, frequencies: Sequence[DonationFrequency]) -> DonationFrequency | None:
        """The chosen frequency; without one, the first that the page offers."""
        if not self.frequency:
            return frequencies[0]
        return next((one for one in frequencies if one == self.frequency), None)

    def parse(
        self,
        amounts: DonationAmounts,
        locale: Locale,
        fee_schedule: FeeSchedule,
        *,
        offers_gift_aid: bool = False,
        frequencies: Sequence[DonationFrequency] = ONE_TIME,
        designations: Collection[str] = (),
        offers_dedication: bool = False,
    ) -> DonationDetails | Problems:
        """The donation details, or every problem of the form.

        ``offers_gift_aid``: the page offers gift aid; where it does not, nothing that was typed for it counts.
        ``frequencies``: among which the donor chooses. ``designations``: what it may be for; a single one needs no
        choice. ``offers_dedication``: it may be dedicated; where it may not, nothing that was typed for that counts.
        """
        problems: Problems = {}
        frequency = self.chosen_frequency(frequencies)
        if frequency is None:
            problems[f"frequency-{frequencies[0]}"] = "give.problem.frequency.missing"
        elif frequency != "one_time" and self.way == TRANSFER:
            problems[f"frequency-{frequency}"] = "give.problem.frequency.transfer"
        minor = self._minor(amounts, locale)
        if isinstance(minor, str):
            problems[self._amount_field(amounts)] = minor
        designation = self._designation(designations)
        if designations and designation is None:
            problems["designation"] = "give.problem.designation.missing"
        problems |= self._donor_problems(locale)
        if len(self.message) > MAX_MESSAGE:
            problems["message"] = "give.problem.message.too_long"
        if offers_dedication:
            problems |= self._dedication_problems()
        if declares := offers_gift_aid and self.gift_aid:
            found = self._aid_problems()  # it asks for both names, in better words
            problems = _in_order(problems | found)
        if problems or isinstance(minor, str) or frequency is None:
            return problems
        gift = Money(minor, amounts.currency)
        total = fee_schedule.gross_up(gift) if self.cover and self.way != TRANSFER else gift
        return DonationDetails(
            money=total,
            first_name=self.first_name,
            last_name=self.last_name,
            email=self.email,
            consented=self.contact,
            anonymous=self.anonymous,
            cover_minor=(total - gift).minor,
            message=self.message or None,
            declarer=self._declarer() if declares else None,
            frequency=frequency,
            designation=designation,
            dedication=(self.dedication or None) if offers_dedication else None,
            dedication_email=self._dedication_email() if offers_dedication else None,
        )

    def _dedication_problems(self) -> Problems:
        """Problems of the dedication email, which needs a recipient's name and address, and a dedication."""
        problems: Problems = {}
        told = self.recipient_name or self.recipient_email or self.recipient_message
        if told and not self.dedication:
            problems["dedication"] = "give.problem.dedication.missing"
        if told and not self.recipient_name:
            problems["recipient_name"] = "give.problem.recipient_name.missing"
        if told and not self.recipient_email:
            problems["recipient_email"] = "give.problem.recipient_email.missing"
        elif told and (problem := email_problem_key(self.recipient_email)):
            problems["recipient_email"] = problem
        for field in ("dedication", "recipient_name"):
            if len(getattr(self, field)) > MAX_NAME:
                problems[field] = "give.problem.dedication.too_long"
        if len(self.recipient_message) > MAX_MESSAGE:
            problems["recipient_message"] = "give.problem.message.too_long"
        return problems

    def _dedication_email(self) -> DedicationEmail | None:
        if not self.recipient_email:
            return None
        return DedicationEmail(self.recipient_name, self.recipient_email, self.recipient_message or None)

    def _donor_problems(self, locale: Locale) -> Problems:
        problems: Problems = {}
        if not (self.first_name or self.last_name):
            first = "last_name" if formats.is_family_name_first(locale) else "first_name"  # as the page asks
            problems[first] = "give.problem.name.missing"
        for field, value in (("first_name", self.first_name), ("last_name", self.last_name)):
            if len(value) > MAX_LENGTH:
                problems[field] = f"give.problem.{field}.too_long"
        if problem := email_problem_key(self.email):
            problems["email"] = problem
        return problems

    def _aid_problems(self) -> Problems:
        problems: Problems = {}
        for field, most in GIFT_AID_FIELDS.items():
            value = getattr(self, field)
            if not value:
                problems[field] = f"give.problem.{field}.missing"
            elif len(value) > most:
                problems[field] = "give.problem.giftaid.too_long"
            elif field in ("road", "city") and claimable.is_placeholder(value):
                problems[field] = f"give.problem.{field}.missing"
        found = claimable.find_declarer_problems(self._declarer())
        return {_FIELDS.get(field, field): _claim_problem(field, found[field]) for field in found} | problems

    def _declarer(self) -> Declarer:
        typed = Declarer(
            self.title, self.first_name, self.last_name, self.house, self.road, self.city, HOME, self.postcode
        )
        return claimable.normalise_declarer(typed)

    def _minor(self, amounts: DonationAmounts, locale: Locale) -> int | str:
        if self.amount in map(str, amounts.suggested):
            return int(self.amount)
        if self.amount not in ("", OTHER):
            return "give.problem.amount.missing"
        return domain.parse_entered_amount_or_problem_key(self.typed, amounts, locale)

    def _designation(self, designations: Collection[str]) -> str | None:
        if len(designations) == 1:
            return next(iter(designations))
        return self.designation if self.designation in designations else None

    def _amount_field(self, amounts: DonationAmounts) -> str:
        return "typed" if self.amount == OTHER or self.typed else f"amount-{amounts.suggested[0]}"


def _postcode(entered: str) -> str:
    """The postcode in canonical form; in upper case if it is not a UK postcode."""
    return claimable.normalise_postcode(entered) or entered.upper()


def _claim_problem(field: str, problem: DeclarerProblem) -> str:
    """The catalogue key of the problem."""
    match problem:
        case DeclarerProblem.SEVERAL_PEOPLE:
            return "give.problem.giftaid.one_person"
        case DeclarerProblem.NOT_A_PERSON:
            return "give.problem.giftaid.company"
        case DeclarerProblem.TOO_LONG:
            return "give.problem.giftaid.last_name"
        case DeclarerProblem.HOUSE_TOO_LONG:
            return "give.problem.giftaid.too_long"
        case DeclarerProblem.NOT_A_POSTCODE:
            return "give.problem.postcode.wrong"
        case _ if field in ("first_name", "last_name") and problem is not DeclarerProblem.MISSING:
            return "give.problem.giftaid.real_name"
        case _:
            return f"give.problem.{_FIELDS.get(field, field)}.missing"


def _in_order(problems: Problems) -> Problems:
    """The problems in the order of the page's fields."""
    order = ("designation", "first_name", "last_name", "email", "message", *_DEDICATION, *GIFT_AID_FIELDS)
    amount = {field: key for field, key in problems.items() if field not in order}
    return amount | {field: problems[field] for field in order if field in problems}


def _clean(value: object, *, lines: bool = False) -> str:
    return clean_text(value, keep_line_breaks=lines) if isinstance(value, str) else ""
