"""How the dashboard reads to one visitor: their language, their time zone, and words for members and values."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo
from functools import lru_cache
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from markupsafe import Markup

from almoner.access.accounts.domain import ROLE_NAMES
from almoner.access.accounts.page_guard import PageContext, SignedInRequest
from almoner.access.people.domain import Role
from almoner.platform.pages import formats
from almoner.platform.pages.record_tables import humanise_api_fields, humanise_field_name
from almoner.platform.pages.translations import Language


@dataclass(frozen=True, slots=True)
class PageTexts:
    """The texts of one page. ``now``: the time from which ages are counted."""

    language: Language
    zone: tzinfo
    now: datetime

    def text(self, key: str, **values: object) -> str:
        """A message of the catalogues."""
        return self.language.text(key, **values)

    def field_label(self, field: str) -> str:
        """The label of a record's field, such as "Created" for ``createdAt``.

        A field without a label is shown as English.
        """
        return self._words("member", field, humanise_field_name(field))

    def value_label(self, value: str) -> str:
        """The display text for a status or another enumerated value; the value itself if it has no text."""
        return self._words("value", value.lower(), value)

    def record_type_name(self, record_type: str) -> str:
        """The display name for the records of an event type, such as "Donation sessions" for ``donation_session``."""
        return self._words("list", f"{record_type.replace('_', '')}.title", humanise_field_name(record_type))

    def role_names(self, roles: Iterable[Role]) -> str:
        """The names of roles, in one line."""
        held = set(roles)
        return formats.list_separator(self.language.locale).join(
            self.text(f"desk.role.{role}") for role in ROLE_NAMES if role in held
        )

    def field_error(self, label: str, reason: str) -> Markup:
        """The API's error about a field, under the field's label. The reason itself is in English."""
        return self.language.html("dashboard.problem", label=label, reason=mark_as_english(reason))

    def _words(self, group: str, name: str, otherwise: str) -> str:
        key = f"dashboard.{group}.{name}"
        return self.language.text(key) if self.language.has_message(key) else mark_as_english(otherwise)

    def country_name(self, code: str) -> str:
        """The name of a country by its ISO 3166-1 alpha-3 code; the code if it is unknown."""
        return formats.country_name(code, self.language.locale)

    def language_name(self, tag: str) -> str:
        """The name of a language."""
        return formats.language_name(tag, self.language.locale)

    def number_text(self, number: int) -> str:
        """A count with its separators."""
        return formats.format_whole_number(number, self.language.locale)

    def timestamp_text(self, at: datetime) -> str:
        """A timestamp in the visitor's time zone."""
        return formats.format_timestamp(at, self.language.locale, self.zone)

    def short_timestamp_text(self, at: datetime) -> str:
        """A timestamp for a table whose heading shows the time zone."""
        return formats.format_short_timestamp(at, self.language.locale, self.zone)

    def age_text(self, at: datetime) -> str:
        """The age of a timestamp, such as "3 hours ago"."""
        return formats.format_relative_time(self.now - at, self.language.locale)

    def time_zone_name(self) -> str:
        """The display name of the visitor's time zone, by its city."""
        return formats.zone_name(self.zone, self.language.locale)


def mark_as_english(text: str) -> Markup:
    """Text from the API or a server, marked as English."""
    return Markup('<bdi lang="en">{}</bdi>').format(text)


def join_reasons_as_english(reasons: Iterable[str]) -> Markup:
    """All reasons of an error, joined and marked as English, with words for the API's fields."""
    return mark_as_english(humanise_api_fields("; ".join(reasons)))


def language_choices(tags: Iterable[str], texts: PageTexts) -> list[tuple[str, str]]:
    """The languages to choose from, with their names, in the order of the names."""
    named = [(tag, texts.language_name(tag)) for tag in tags]
    return sorted(named, key=lambda pair: pair[1].casefold())


def build_page_texts(context: PageContext, visitor: SignedInRequest) -> PageTexts:
    """The texts of a visitor's page."""
    deployment = context.db.deployment
    zone = parse_time_zone(visitor.person.time_zone) or deployment.time_zone
    return PageTexts(context.page_renderer.language_for_tag(visitor.language), zone, deployment.clock.now())


@lru_cache(maxsize=1000)
def _zone(name: str) -> tzinfo | None:
    try:
        return UTC if name == "UTC" else ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return None


def parse_time_zone(name: str | None) -> tzinfo | None:
    """The time zone with a name that a person or their directory entered; None if it does not exist."""
    return _zone(name) if name and len(name) < 64 else None
