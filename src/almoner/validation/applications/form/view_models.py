"""Texts and values that the form's pages show about nonprofits, registers, languages and files."""

from collections.abc import Iterable
from typing import Any, Final

from babel import Locale

from almoner.access.partners.domain import PartnerAccount
from almoner.kit import language as languages
from almoner.nonprofits.organisations.domain import Organisation
from almoner.nonprofits.registries.domain import Registry
from almoner.platform.database.transactions import Tx
from almoner.platform.pages import colours, formats
from almoner.validation.applications.configurations.domain import Configuration

FORMATS: Final = {"image/jpeg": "JPG", "image/png": "PNG", "application/pdf": "PDF"}


def accepted_document_kinds(configuration: Configuration) -> list[str]:
    """The kinds of documents that the configuration's checks use."""
    return [check for check in ("validation_request", "agent_verification") if configuration.runs_check(check)]


def build_organisation_card(
    tx: Tx, organisation: Organisation, locale: Locale, *, chosen: bool = False
) -> dict[str, Any]:
    """A nonprofit of the register as the form shows it."""
    town = ", ".join(part for part in (organisation.display_city, organisation.state) if part)
    return {
        "id": tx.ids.encode("organisation", organisation.id),
        "name": organisation.effective_display_name,
        "place": [part for part in (town, formats.country_name(organisation.country_code, locale)) if part],
        "register": organisation.registry_code,
        "number": organisation.registry_number,
        "active": organisation.active,
        "chosen": chosen,
    }


def registry_display_name(registry: Registry) -> str:
    """A register's name for people."""
    own = registry.name
    return own if own == registry.english_name else f"{own} ({registry.english_name})"


def native_language_name(tag: str) -> str:
    """A language's name in itself."""
    locale = Locale.parse(tag, sep="-")
    name = locale.get_display_name(locale) or tag
    return name[:1].upper() + name[1:]


def list_language_tags_and_names(offered_tags: Iterable[str]) -> list[tuple[str, str]]:
    """The languages that may be chosen, each with its name."""
    return [(tag, native_language_name(tag)) for tag in offered_tags]


def find_offered_language(tag: str, offered_tags: Iterable[str]) -> str | None:
    """The offered language of a tag that a form may have sent."""
    return languages.nearest_offered_language(tag, list(offered_tags)) if languages.is_language_tag(tag) else None


def build_branding_view_model(configuration: Configuration, account: PartnerAccount) -> dict[str, Any]:
    """The branding for applicants: the configuration's colour and logo, else the account's."""
    colour, logo = configuration.primary_color or account.brand_colour, configuration.logo or account.brand_logo
    return {
        "partner": configuration.display_name,
        "monogram": name_initials(configuration.display_name),
        "logo": f"/media/{logo}" if logo else None,
        "palette": colours.build_palette(colours.parse_colour(colour)) if colour else None,
    }


def mask_email(email: str) -> str:
    """A masked email address that only its owner recognises: ``a…@c….example``."""
    local, _, host = email.rpartition("@")
    return f"{local[:1]}…@{host[:1]}….{host.rpartition('.')[2]}"


def name_initials(name: str) -> str:
    """One or two initials of a name."""
    words = [word for word in name.split() if word[0].isalpha()] or [name]
    return "".join(word[0] for word in words[:2]).upper()


def format_file_size(size: int, locale: Locale) -> str:
    """A file size as text."""
    if size < 1_000_000:
        return formats.localise_digits(f"{max(1, round(size / 1000))} kB", locale)
    return formats.localise_digits(
        f"{size / 1_000_000:.1f} MB".replace(".", locale.number_symbols["latn"]["decimal"]), locale
    )
