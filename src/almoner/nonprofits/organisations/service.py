"""What can be asked about organisations."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

from almoner.kit.errors import NotFound
from almoner.nonprofits.organisations import domain, search, store, store_search
from almoner.nonprofits.organisations.domain import Branding, Change, Milestone, Organisation
from almoner.nonprofits.organisations.filters import Filters
from almoner.nonprofits.organisations.ranking import Placed
from almoner.nonprofits.registries import domain as registries_domain
from almoner.nonprofits.registries import service as registries
from almoner.platform.db import EVERYONE, Everyone, Partner, Tx
from almoner.platform.http.paging import Page

Scope = Partner | Everyone


@dataclass(frozen=True, slots=True)
class Found:
    """Organisations in the order asked for; ``total`` is exact unless ``exhaustive`` is false: then there are more.

    ``placed`` tells of each result for words how it was found.
    """

    organisations: list[Organisation]
    total: int
    exhaustive: bool
    placed: Mapping[UUID, Placed]


async def get(tx: Tx, scope: Scope, organisation_id: UUID) -> Organisation:
    """One organisation that the scope may see. Raises NotFound."""
    if (organisation := await store.find(tx, scope, organisation_id)) is None:
        raise NotFound
    return organisation


async def get_as_of(tx: Tx, scope: Scope, organisation_id: UUID, day: datetime) -> Organisation:
    """The record as it stood after the data of a day. Raises NotFound, also when it was not known yet."""
    organisation = await get(tx, scope, organisation_id)
    stood = domain.as_of(organisation, await store.every_change(tx, scope, organisation_id), day)
    if stood is None:
        raise NotFound("the organisation was not in the data of that day")
    return stood


async def history(tx: Tx, scope: Scope, organisation_id: UUID, page: Page) -> tuple[list[Change], int]:
    """One page of what its register changed in an organisation, and the total. Raises NotFound."""
    await get(tx, scope, organisation_id)
    return await store.page_of_changes(tx, scope, organisation_id, page)


async def get_published(tx: Tx, organisation_id: UUID) -> Organisation:
    """One organisation that everybody may see. Raises NotFound."""
    return await get(tx, EVERYONE, organisation_id)


async def by_number(tx: Tx, scope: Scope, country_code: str, registry: str, number: str) -> Organisation:
    """The organisation of a number, in any spelling, of a registry (its id, code or name). Raises NotFound."""
    for known in await registries.called(tx, registry, country_code):
        key = registries_domain.number_key(known.code, number)
        if key and (organisation := await store.find_by_number(tx, scope, known.id, key)):
            return organisation
    raise NotFound


async def find_receivable(tx: Tx, scope: Scope, organisation_id: UUID) -> Organisation | None:
    """An organisation that donations can be made to now, None for any other. ``receives`` names the currencies."""
    organisation = await store.find(tx, scope, organisation_id)
    return organisation if organisation and organisation.receives else None


async def branding(tx: Tx, scope: Scope, organisation_id: UUID) -> Branding:
    """How an organisation is shown. Raises NotFound."""
    if (found := await store.find_branding(tx, scope, organisation_id)) is None:
        raise NotFound
    return found


async def milestones(tx: Tx, scope: Scope, organisation_id: UUID, page: Page) -> tuple[list[Milestone], int]:
    """One page of an organisation's milestones, and their total. Raises NotFound."""
    if (found := await store.page_of_milestones(tx, scope, organisation_id, page)) is None:
        raise NotFound
    return found


async def filters_with(tx: Tx, filters: Filters, *, registry_name: str | None, registry_number: str | None) -> Filters:
    """The filters with a registry by its name, and a number in any spelling, looked up."""
    registry_ids, keys = filters.registry_ids, filters.number_keys
    if registry_name is not None:
        named = await registries.called(tx, registry_name, filters.country_code)
        registry_ids = tuple(registry.id for registry in named)
        if registry_number is not None:
            found = (registries_domain.number_key(registry.code, registry_number) for registry in named)
            keys = tuple({key for key in found if key})
    elif registry_number is not None:
        keys = tuple(registries_domain.number_keys(registry_number))
    return replace(filters, registry_ids=registry_ids, number_keys=keys)


async def page(tx: Tx, scope: Scope, filters: Filters, page_: Page, offset: int = 0) -> Found:
    """One page by creation, in reading order (``page_.limit`` rows), from its position or from an offset."""
    ids, counted = await store_search.page(tx, scope, filters, page_, offset)
    shown = await _in_order(tx, scope, ids)
    return Found(shown, min(counted, store_search.COUNTED), counted <= store_search.COUNTED, {})


async def ranked(
    tx: Tx, scope: Scope, filters: Filters, text: str, start: int, stop: int, *, best_first: bool
) -> Found:
    """Results ``start`` to ``stop`` for a query in words."""
    results = await search.ranked(tx, scope, filters, text, start, stop, best_first=best_first)
    shown = await _in_order(tx, scope, [placed.id for placed in results.placed])
    return Found(shown, results.total, results.exhaustive, {placed.id: placed for placed in results.placed})


async def _in_order(tx: Tx, scope: Scope, ids: list[UUID]) -> list[Organisation]:
    records = await store.find_many(tx, scope, ids) if ids else {}
    return [records[id_] for id_ in ids if id_ in records]
