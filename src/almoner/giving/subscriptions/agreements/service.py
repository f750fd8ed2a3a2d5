"""The text of a donor's consent: amount, frequency, first date, and how to cancel.

It is identical on the hosted page, the provider's page, the page of regular donations and in the email. A change of its
meaning needs a new version.
"""

from datetime import date
from typing import Final

from almoner.giving.subscriptions.donation_subscriptions.domain import Agreement
from almoner.kit.money import Money
from almoner.kit.recurrence import Frequency
from almoner.platform.pages import formats
from almoner.platform.pages.rendering import bidi_isolated_plain_text
from almoner.platform.pages.translations import Language

VERSION: Final = "2026-11"


def format_amount_and_frequency(money: Money, frequency: Frequency, language: Language) -> str:
    """Format an amount and frequency: ``$25.00 every month``."""
    amount = formats.format_money(money.minor, money.currency, language.locale)
    return language.text(f"regular.every.{frequency}", amount=amount)


def build_agreement(
    language: Language, organisation: str, money: Money, frequency: Frequency, first_day: date
) -> Agreement:
    """The agreement for a regular donation with its next payment on ``first_day``."""
    parts = {
        "every": format_amount_and_frequency(money, frequency, language),
        "organisation": organisation,
        "day": formats.format_day(first_day, language.locale),
    }
    own = {name: bidi_isolated_plain_text(text, language.direction) for name, text in parts.items()}
    return Agreement(VERSION, language.html_lang, language.text("regular.agreement", **own))
