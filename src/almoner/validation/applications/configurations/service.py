"""Creates and updates submission configurations."""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Final
from uuid import UUID

from almoner.access.partners import service as partners
from almoner.kit.errors import IncorrectParams, NotFound
from almoner.kit.patch import UNSET, UnsetType
from almoner.nonprofits.activities.domain import SUB_TAGS
from almoner.nonprofits.organisations.domain import OrganisationType
from almoner.platform.database.transactions import AllPartners, Partner, Tx
from almoner.platform.events import outbox
from almoner.platform.files import media
from almoner.platform.files.images import Image
from almoner.platform.pages import colours
from almoner.screening.watchlists.domain import Category
from almoner.validation.applications.configurations import domain, store
from almoner.validation.applications.configurations.domain import (
    CHECKS,
    COMPLIANCE_FLAGS,
    ORGANISATION_TYPES,
    Check,
    Configuration,
    PartnerField,
    SubmissionConfigurationChangedEvent,
)
from almoner.validation.applications.configurations.store import find as find
from almoner.validation.applications.configurations.store import find_default as find_default
from almoner.validation.applications.configurations.store import list_all as list_all

Scope = Partner | AllPartners

MAX_LOGO_BYTES: Final = 40_000
"""With a logo of this size a page stays under 100 kB (H10)."""

_CODES: Final = {sub.id: code for code, sub in SUB_TAGS.items()}


@dataclass(frozen=True, slots=True)
class ConfigurationInput:
    """The requested values of a configuration; UNSET ones stay or take their default.

    ``allowed_activity_sub_tags``: IDs as text, None for all.
    """

    name: str | UnsetType | None = UNSET
    display_name: str | UnsetType | None = UNSET
    primary_color: str | UnsetType | None = UNSET
    is_default: bool | UnsetType = UNSET
    checks: Sequence[Check] | UnsetType = UNSET
    allowed_organisation_types: Sequence[OrganisationType] | UnsetType = UNSET
    compliance_flags: Sequence[Category] | UnsetType = UNSET
    allowed_activity_sub_tags: Sequence[str] | UnsetType | None = UNSET
    email_verification: bool | UnsetType = UNSET
    partner_fields: Sequence[PartnerField] | UnsetType = UNSET

    def specified_values(self) -> dict[str, Any]:
        """The values that are not UNSET."""
        stated = {field.name: getattr(self, field.name) for field in fields(self)}
        return {
            name: tuple(value) if isinstance(value, list) else value
            for name, value in stated.items()
            if value is not UNSET
        }


async def create_default(tx: Tx, partner: Partner) -> Configuration:
    """Create a new partner's default configuration with all four checks. Raises NoSuchPartner."""
    return await create(tx, partner, ConfigurationInput())


async def create(tx: Tx, partner: Partner, configuration_input: ConfigurationInput) -> Configuration:
    """Create a configuration. A partner's first one is its default. Raises IncorrectParams, NoSuchPartner."""
    before = await store.lock_configurations(tx, partner)
    if len(before) >= domain.MAX_CONFIGURATIONS:
        raise IncorrectParams(f"there are already {len(before)} configurations, which is the maximum")
    named = (await partners.get(tx, partner)).name[:255]
    blank = Configuration(
        id=tx.new_id(),
        partner_id=partner.id,
        name=None,
        display_name=named,
        logo=None,
        primary_color=None,
        is_default=not before,
        checks=CHECKS,
        allowed_organisation_types=ORGANISATION_TYPES,
        compliance_flags=COMPLIANCE_FLAGS,
        allowed_activity_sub_tags=None,
        email_verification=True,
        partner_fields=(),
        created_at=tx.now,
        updated_at=tx.now,
    )
    made = _merge_input(tx, blank, configuration_input, named)
    if made.is_default and before:
        await store.clear_default(tx, partner)
    await store.insert(tx, partner, made)
    if made.is_default and (
        before or configuration_input != ConfigurationInput()
    ):  # submissions without a configuration use the new default
        await outbox.emit_internal_event(
            tx, domain.CHANGED, SubmissionConfigurationChangedEvent(made.id, partner.id), partner_id=partner.id
        )
    return made


async def get(tx: Tx, scope: Scope, configuration_id: UUID) -> Configuration:
    """One configuration. Raises NotFound."""
    if (found := await store.find(tx, scope, configuration_id)) is None:
        raise NotFound
    return found


async def load_configurations_by_id(
    tx: Tx, partner: Partner, configuration_ids: Sequence[UUID]
) -> dict[UUID, Configuration]:
    """The existing ones of these configurations, by ID."""
    found = await store.list_configurations_with_ids(tx, partner, configuration_ids) if configuration_ids else []
    return {configuration.id: configuration for configuration in found}


async def find_configuration_or_default(
    tx: Tx, partner: Partner, configuration_id: UUID | None
) -> Configuration | None:
    """The given configuration, or the partner's default if None."""
    return (
        await store.find_default(tx, partner) if configuration_id is None else await get(tx, partner, configuration_id)
    )


async def update(
    tx: Tx, partner: Partner, configuration_id: UUID, configuration_input: ConfigurationInput
) -> Configuration:
    """Update a configuration; everything that depends on it is evaluated again. Raises NotFound, IncorrectParams."""
    before = await get_for_update(tx, partner, configuration_id)
    named = (
        before.display_name
        if configuration_input.display_name is not None
        else (await partners.get(tx, partner)).name[:255]
    )
    return await _store_change(tx, partner, before, _merge_input(tx, before, configuration_input, named))


async def set_logo(tx: Tx, partner: Partner, configuration_id: UUID, image: Image) -> Configuration:
    """Store a logo in place of the previous one. Raises NotFound, IncorrectParams."""
    before = await get_for_update(tx, partner, configuration_id)
    if len(image.content) > MAX_LOGO_BYTES:
        raise IncorrectParams(
            f"body.logo has {len(image.content)} bytes after processing, but the maximum is {MAX_LOGO_BYTES}, because "
            "every page of the form loads it: use a simpler image"
        )
    key = await media.insert_image(tx, image.content, image.media_type)
    return await _store_change(tx, partner, before, replace(before, logo=key))


async def get_for_update(tx: Tx, partner: Partner, configuration_id: UUID) -> Configuration:
    """Lock one configuration until the transaction ends. Raises NotFound."""
    for one in await store.lock_configurations(tx, partner):
        if one.id == configuration_id:
            return one
    raise NotFound


async def _store_change(tx: Tx, partner: Partner, before: Configuration, wished: Configuration) -> Configuration:
    if wished == before:
        return before
    changed = replace(wished, updated_at=tx.now)
    if changed.is_default and not before.is_default:
        await store.clear_default(tx, partner)
    await store.update(tx, partner, changed)
    if before.logo not in (None, changed.logo):
        await media.delete_image(tx, before.logo)
    await outbox.emit_internal_event(
        tx, domain.CHANGED, SubmissionConfigurationChangedEvent(changed.id, partner.id), partner_id=partner.id
    )
    return changed


def _merge_input(tx: Tx, before: Configuration, requested: ConfigurationInput, named: str) -> Configuration:
    """The configuration with the requested values. Raises IncorrectParams naming every problem."""
    given = requested.specified_values()
    wrong: list[str] = []
    if given.get("display_name", "") is None:
        given["display_name"] = named
    if given.get("primary_color") is not None:
        given["primary_color"] = colours.css_colour(colours.parse_colour(given["primary_color"]))
    if given.get("allowed_activity_sub_tags") is not None:
        codes = {text: _sub_tag_code(tx, text) for text in given["allowed_activity_sub_tags"]}
        wrong += [
            f"body.allowedActivitySubTags '{text[:100]}' is not the ID of an activity sub-tag"
            for text, code in codes.items()
            if code is None
        ]
        given["allowed_activity_sub_tags"] = tuple(code for code in codes.values() if code is not None)
    if given.get("is_default") is False and before.is_default:
        wrong.append("body.isDefault cannot become false: make another configuration the default")
    made = replace(before, **given)
    if wrong := [*wrong, *domain.find_configuration_problems(made)]:
        raise IncorrectParams(*wrong)
    return made


def _sub_tag_code(tx: Tx, text: str) -> str | None:
    named = tx.ids.decode("activitysubtag", text)
    return _CODES.get(named) if named else None
