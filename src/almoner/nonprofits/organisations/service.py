"""Finds, lists and publishes organisations, and notifies partners of changes."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final
from uuid import UUID

import msgspec

from almoner.kit.errors import IncorrectParams, NotFound
from almoner.nonprofits.categories import service as categories
from almoner.nonprofits.organisations import (
    domain,
    point_in_time,
    schemas,
    search,
    store,
    store_history,
    store_namesakes,
    store_search,
    store_unlisted,
)
from almoner.nonprofits.organisations.domain import (
    DonationMilestone,
    EffectiveBranding,
    Namesake,
    Organisation,
    OrganisationChange,
    PublicDetailsChangedEvent,
    RegistryNumberTaken,
    UnlistedOrganisation,
)
from almoner.nonprofits.organisations.filters import OrganisationFilters as OrganisationFilters
from almoner.nonprofits.organisations.normalisation import SearchQuery, normalise_search_text
from almoner.nonprofits.organisations.ports import FollowerLookup
from almoner.nonprofits.organisations.ranking import RankedResult
from almoner.nonprofits.organisations.store import (
    find_record_by_number_even_if_merged as find_record_by_number_even_if_merged,
)
from almoner.nonprofits.organisations.store import find_record_even_if_merged as find_record_even_if_merged
from almoner.nonprofits.organisations.store import list_merged_records as list_merged_records
from almoner.nonprofits.organisations.store import (
    list_records_by_number_even_if_merged as list_records_by_number_even_if_merged,
)
from almoner.nonprofits.organisations.store import (
    load_records_by_id_even_if_merged as load_records_by_id_even_if_merged,
)
from almoner.nonprofits.organisations.store_history import list_former_names as list_former_names
from almoner.nonprofits.organisations.store_namesakes import NamesakeSearch
from almoner.nonprofits.organisations.store_namesakes import count_namesakes as count_namesakes
from almoner.nonprofits.organisations.store_unlisted import (
    list_unpublished_organisations as list_unpublished_organisations,
)
from almoner.nonprofits.registries import domain as registries_domain
from almoner.nonprofits.registries import service as registries
from almoner.nonprofits.registries.domain import Registry
from almoner.platform.database.transactions import ALL_PARTNERS, AllPartners, Partner, Tx
from almoner.platform.events import outbox
from almoner.platform.http.paging import RequestedPage
from almoner.platform.jobs.queue import JobKind

Scope = Partner | AllPartners


class NotifyFollowersOfImportJob(msgspec.Struct, frozen=True):
    """The import whose changes followers are notified of."""

    load: UUID


NOTIFY_FOLLOWERS: Final = JobKind("organisations.notify_followers", NotifyFollowersOfImportJob)
"""The job that notifies followers of the changes of an import."""
UPDATED: Final = "organisation.updated"
_TOLD_AT_ONCE: Final = 100


@dataclass(frozen=True, slots=True)
class OrganisationResults:
    """A page of organisations.

    ``total`` is exact if ``is_total_exact``, else a lower bound. ``ranked_results_by_id``: for text searches, how each
    result was found; the rest as in ``SearchResults``.
    """

    organisations: list[Organisation]
    total: int
    is_total_exact: bool
    ranked_results_by_id: Mapping[UUID, RankedResult]
    similar_results_only: bool = False
    leading_zeros_added: bool = False


async def get(tx: Tx, scope: Scope, organisation_id: UUID) -> Organisation:
    """One organisation that the scope may see. Raises NotFound."""
    if (organisation := await store.find(tx, scope, organisation_id)) is None:
        raise NotFound
    return organisation


async def load_display_names_by_id(tx: Tx, scope: Scope, organisation_ids: Collection[UUID]) -> dict[UUID, str]:
    """Readable names of these organisations, except those that the scope cannot see."""
    if not organisation_ids:
        return {}
    found = await store.load_organisations_by_id(tx, scope, list(organisation_ids))
    return {id_: organisation.effective_display_name for id_, organisation in found.items()}


async def get_as_of(tx: Tx, scope: Scope, organisation_id: UUID, as_of: datetime) -> Organisation:
    """The record as of a day. Raises NotFound if it does not exist or was not known then."""
    return await point_in_time.get_as_of(tx, scope, organisation_id, as_of)


async def list_changes(
    tx: Tx, scope: Scope, organisation_id: UUID, page: RequestedPage
) -> tuple[list[OrganisationChange], int]:
    """One page of the changes of an organisation by its registers, and the total. Raises NotFound."""
    organisation = await get(tx, scope, organisation_id)
    return await store_history.list_changes_page(tx, organisation.id, page)


async def get_for_operators(tx: Tx, organisation_id: UUID) -> Organisation:
    """One organisation, including those visible to a single partner. Raises NotFound."""
    owner = await store_unlisted.find_owner_partner_id(tx, organisation_id)
    return await get(tx, ALL_PARTNERS if owner is None else Partner(owner), organisation_id)


async def get_published(tx: Tx, organisation_id: UUID) -> Organisation:
    """One organisation that is visible to all. Raises NotFound."""
    return await get(tx, ALL_PARTNERS, organisation_id)


async def get_by_number(tx: Tx, scope: Scope, country_code: str, registry: str, number: str) -> Organisation:
    """The organisation of a number, in any spelling, of a registry (its ID, code or name).

    Raises NotFound, whose message distinguishes an invalid number, a number that the data (with their date) do not
    list, and a registry that is not loaded.
    """
    named = await registries.find_registries_by_text(tx, registry, country_code)
    checks = [registries_domain.check_registry_number(known.code, number) for known in named]
    for known, checked in zip(named, checks, strict=True):
        key = checked.number_key or registries_domain.normalise_stored_number(known.code, number)
        if key and (organisation := await store.find_by_number(tx, scope, known.id, key)):
            return organisation
    if not named:
        there_are = await registries.describe_known_registries(tx, country_code)
        raise NotFound(f"the country has no registry of that id, code or name; it has {there_are}")
    days = [known.data_as_of for known in named if known.data_as_of is not None]
    doubts = [_describe_check(checked) for checked in checks if checked.verdict != "ok"]
    unlisted = [_describe_unlisted(known, await registries.list_imported_parts(tx, known.id)) for known in named]
    raise NotFound(*doubts, *unlisted, data_as_of=min(days, default=None))


async def find_by_number_key(tx: Tx, scope: Scope, registry_id: UUID, number_key: str) -> Organisation | None:
    """The organisation of a number's key in a registry, the published one before the partner's own."""
    return await store.find_by_number(tx, scope, registry_id, number_key)


async def list_namesakes(
    tx: Tx, organisation: Organisation, entered_name: str, entered_place: str, entered_number_key: str
) -> list[Namesake]:
    """Other organisations that a name or a mistyped number may mean."""
    query = SearchQuery.parse(entered_name)
    own = normalise_search_text(organisation.name).split()
    shared = [word for word in query.required_words if word in own]
    near = sorted(registries_domain.number_keys_one_typo_away(entered_number_key))
    further = [word for word in query.required_words if word not in own]
    search = NamesakeSearch(
        query.text, normalise_search_text(entered_place), further, (query.required_words, shared), near
    )
    return await store_namesakes.list_namesakes(tx, organisation, search)


async def find_or_create_unlisted(
    tx: Tx, partner: Partner, unlisted_organisation: UnlistedOrganisation
) -> Organisation:
    """The organisation with this number, created for one partner if unknown (settled 5)."""
    found = await store.find_by_number(tx, partner, unlisted_organisation.registry_id, unlisted_organisation.number_key)
    if found is None:
        await store_unlisted.insert(tx, partner, unlisted_organisation)  # of two concurrent inserts, one is stored
        found = await store.find_by_number(
            tx, partner, unlisted_organisation.registry_id, unlisted_organisation.number_key
        )
    assert found is not None, "it was stored, or another was"
    return found


async def make_organisation_public(tx: Tx, organisation_id: UUID, confirmed_websites: Sequence[str] = ()) -> None:
    """Make one partner's unlisted organisation visible to all (settled 5).

    ``confirmed_websites``: those that the reviewer checked. The partner's own input is not copied, since an email
    address on a published website lets agents pass. Raises NotFound, RegistryNumberTaken; after the latter the
    transaction is unusable.
    """
    if await store_unlisted.find_owner_partner_id(tx, organisation_id) is None:
        raise NotFound
    if not await store_unlisted.make_organisation_public(tx, organisation_id, confirmed_websites):
        raise RegistryNumberTaken("another organisation of its number is published: requests are accepted as that one")


_VERDICTS: Final[Mapping[registries_domain.Verdict, str]] = {
    "malformed": "is malformed",
    "wrong_check_digit": "has a wrong check digit",
    "refused": "is refused",
}


def _describe_check(checked: registries_domain.IdentifierCheck) -> str:
    hints = f" ({'; '.join(checked.suggested_numbers)})" if checked.suggested_numbers else ""
    return f"registryId {_VERDICTS[checked.verdict]}: {checked.explanation}{hints}"


def _describe_unlisted(registry: Registry, parts: Sequence[str]) -> str:
    """The message about an unlisted number; names the loaded parts, since it may be in another one."""
    if registry.data_as_of is None:
        return f"the register {registry.code} is not loaded: whether it lists this number is not known"
    reported = f"the register {registry.code} does not list this number in its data of {registry.data_as_of:%Y-%m-%d}"
    if not (missing := registries_domain.missing_register_parts(registry.code, parts)):
        return reported
    loaded, whole = ", ".join(parts), len(registries_domain.REQUIRED_PARTS[registry.code])
    present = f"{whole - len(missing)} of {whole} parts are loaded ({loaded})"
    return f"{reported}, of which {present}: one of the others may list it"


async def get_effective_branding(tx: Tx, scope: Scope, organisation_id: UUID) -> EffectiveBranding:
    """An organisation's branding, own or from its record. Raises NotFound."""
    if (found := await store.find_effective_branding(tx, scope, organisation_id)) is None:
        raise NotFound
    return found


async def list_donation_milestones(
    tx: Tx, scope: Scope, organisation_id: UUID, page: RequestedPage
) -> tuple[list[DonationMilestone], int]:
    """One page of an organisation's milestones, and their total. Raises NotFound."""
    if (found := await store.list_donation_milestones_page(tx, scope, organisation_id, page)) is None:
        raise NotFound
    return found


async def resolve_filters(
    tx: Tx, filters: OrganisationFilters, *, registry_name: str | None, registry_number: str | None
) -> OrganisationFilters:
    """The filters with the registry name and number resolved. Raises IncorrectParams for an unknown registry."""
    registry_ids, keys = filters.registry_ids, filters.number_keys
    if registry_name is not None:
        named = await registries.find_registries_by_text(tx, registry_name, filters.country_code)
        if not named:
            country = f" of {filters.country_code}, which has" if filters.country_code else "; there are"
            raise IncorrectParams(
                f"query.registryName '{registry_name[:100]}' is the id, code or name of no registry{country} "
                f"{await registries.describe_known_registries(tx, filters.country_code)}"
            )
        registry_ids = tuple(registry.id for registry in named)
        if registry_number is not None:
            found = (registries_domain.normalise_stored_number(registry.code, registry_number) for registry in named)
            keys = tuple({key for key in found if key})
    elif registry_number is not None:
        keys = tuple(registries_domain.possible_number_keys(registry_number))
    if keys and registry_ids is not None:  # the number's primary record may be in another registry
        registry_ids = tuple({*registry_ids, *await store.list_registry_ids_of_primary_records(tx, registry_ids, keys)})
    return replace(filters, registry_ids=registry_ids, number_keys=keys)


async def list_page(
    tx: Tx, scope: Scope, filters: OrganisationFilters, page_: RequestedPage, offset: int = 0
) -> OrganisationResults:
    """One page by creation, in reading order (``page_.limit`` rows), from its position or from an offset."""
    ids, counted = await store_search.list_page(tx, scope, filters, page_, offset)
    shown = await list_by_ids(tx, scope, ids)
    return OrganisationResults(shown, min(counted, store_search.MAX_COUNTED), counted <= store_search.MAX_COUNTED, {})


async def list_donatable_organisations_in_category(
    tx: Tx, scope: Scope, category_id: UUID, text: str, start: int, limit: int
) -> OrganisationResults:
    """Organisations of a category that can receive donations: results for a text, or without one the newest first."""
    filters = OrganisationFilters(categories=((category_id,),), active=True, accepts_donations=True)
    if text:
        return await search_by_text(tx, scope, filters, text, start, start + limit, best_first=True)
    found = await list_page(tx, scope, filters, RequestedPage(limit, descending=True), start)
    return replace(found, organisations=found.organisations[:limit])


async def search_by_text(
    tx: Tx, scope: Scope, filters: OrganisationFilters, text: str, start: int, stop: int, *, best_first: bool
) -> OrganisationResults:
    """Results ``start`` to ``stop`` for a query in words."""
    results = await search.search_by_text(tx, scope, filters, text, start, stop, best_first=best_first)
    shown = await list_by_ids(tx, scope, [placed.id for placed in results.ranked_results])
    rankings = {placed.id: placed for placed in results.ranked_results}
    return OrganisationResults(
        shown,
        results.total,
        results.is_total_exact,
        rankings,
        results.similar_results_only,
        results.leading_zeros_added,
    )


async def list_best_matches(tx: Tx, scope: Scope, text: str, limit: int) -> OrganisationResults:
    """The best results for a search text among all visible organisations."""
    return await search_by_text(tx, scope, OrganisationFilters(), text, 0, limit, best_first=True)


async def enqueue_import_notifications(tx: Tx, import_id: UUID) -> None:
    """Enqueue the notification of partners about a load's changes."""
    await store_history.insert_notification_progress(tx, import_id)
    await NOTIFY_FOLLOWERS.enqueue(tx, NotifyFollowersOfImportJob(import_id), unique_key=str(import_id))


async def emit_public_details_changed_event(tx: Tx, organisation_id: UUID) -> None:
    """Notify followers that an organisation's public details changed, such as its branding."""
    await outbox.emit_internal_event(tx, domain.PUBLIC_DETAILS_CHANGED, PublicDetailsChangedEvent(organisation_id))


async def notify_next_followers_batch_if_any(
    tx: Tx, follower_lookups: Sequence[FollowerLookup], import_id: UUID
) -> bool:
    """Notify followers of a batch of a load's changes; False when all are notified.

    Events and progress are one commit, so each partner is notified once per organisation even after a crash.
    """
    telling = await store_history.lock_notification_progress(tx, import_id)
    if telling is None or telling.done:
        return False
    changed = await store_history.list_records_changed_by_import(tx, import_id, telling.last_notified_id, _TOLD_AT_ONCE)
    if not changed:
        await store_history.advance_notification_progress(tx, import_id, None)
        return False
    before = await store_history.find_already_notified_record_ids(tx, import_id, [record for record, _ in changed])
    await notify_followers(tx, follower_lookups, [primary for record, primary in changed if record not in before])
    await store_history.advance_notification_progress(tx, import_id, changed[-1][0])
    return True


async def notify_followers(
    tx: Tx, follower_lookups: Sequence[FollowerLookup], organisation_ids: Sequence[UUID]
) -> None:
    """Notify the partners that follow these organisations."""
    records = await store.load_primary_record_ids_by_record_id(tx, organisation_ids)
    reported: dict[UUID, set[UUID]] = {}
    for followers_of in follower_lookups:
        for record, partners in (await followers_of(tx, list(records))).items():
            for partner in partners:
                reported.setdefault(partner, set()).add(records[record])
    shown = (
        await store.load_organisations_by_id(tx, ALL_PARTNERS, list({id_ for ids in reported.values() for id_ in ids}))
        if reported
        else {}
    )
    events: list[tuple[UUID, object]] = []
    for partner, ids in sorted(reported.items()):
        own = await categories.load_categories_by_organisation(tx, Partner(partner), list(ids))
        events += [
            (partner, schemas.organisation_response(tx, shown[id_], own.get(id_, [])))
            for id_ in sorted(ids & shown.keys())
        ]
    if events:
        await outbox.emit_events(tx, UPDATED, events)


async def emit_organisation_updated_event_returning_record(
    tx: Tx, partner: Partner, organisation_id: UUID
) -> schemas.OrganisationResponse:
    """Notify one partner of an organisation, for example after a load. Raises NotFound."""
    organisation = await get(tx, partner, organisation_id)
    own = await categories.load_categories_by_organisation(tx, partner, [organisation.id])
    shown = schemas.organisation_response(tx, organisation, own.get(organisation.id, []))
    await outbox.emit_event(tx, partner.id, UPDATED, shown)
    return shown


async def load_primary_records_by_given_id(tx: Tx, scope: Scope, ids: Collection[UUID]) -> dict[UUID, Organisation]:
    """Like ``get`` for several organisations, by the ID given; without those that the scope cannot see."""
    found = await store.load_organisations_by_id(tx, scope, list(ids)) if ids else {}
    primary_ids = [one.same_as for one in found.values() if one.same_as is not None]
    primaries = await store.load_organisations_by_id(tx, scope, primary_ids) if primary_ids else {}
    return {id_: one if one.same_as is None else primaries.get(one.same_as, one) for id_, one in found.items()}


async def list_by_ids(tx: Tx, scope: Scope, ids: Sequence[UUID]) -> list[Organisation]:
    """These organisations in this order, except those that the scope cannot see."""
    records = await store.load_organisations_by_id(tx, scope, list(ids)) if ids else {}
    return [records[id_] for id_ in ids if id_ in records]
