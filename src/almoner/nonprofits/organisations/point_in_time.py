"""The record as of a day: its primary record, sources and branding at that time."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Final
from uuid import UUID

from almoner.kit.errors import NotFound
from almoner.nonprofits.organisations import domain, store, store_history
from almoner.nonprofits.organisations.domain import Organisation
from almoner.nonprofits.organisations.store import Scope
from almoner.platform.database.transactions import Tx

_LATEST: Final = datetime.max.replace(tzinfo=UTC)


async def get_as_of(tx: Tx, scope: Scope, organisation_id: UUID, as_of: datetime) -> Organisation:
    """The record as of a day. Raises NotFound if it does not exist or was not known then."""
    asked = await store.find_record_even_if_merged(tx, scope, organisation_id)
    if asked is None:
        raise NotFound
    stood = await _record_as_of(tx, asked, as_of) or await _earlier_primary_record(tx, scope, asked, as_of)
    if stood is None:
        raise NotFound("the organisation was not in the data of that day")
    answering = stood.same_as or stood.id
    if answering != stood.id and (primary := await store.find_record_even_if_merged(tx, scope, answering)) is not None:
        # A record loaded later, with a date before the link's, was not the primary record yet.
        stood = await _record_as_of(tx, primary, as_of) or stood
    shown = await _with_branding(tx, stood, as_of)
    joined = await store_history.list_merged_record_ids_at(tx, answering, as_of)
    return await _with_sources(tx, shown, joined, as_of)


async def _record_as_of(tx: Tx, record: Organisation, day: datetime) -> Organisation | None:
    """One record without merges; None if it was not known yet."""
    stood = domain.organisation_as_of(record, await store_history.list_changes(tx, record.id), day)
    if stood is None:
        return None
    listed = await store_history.was_listed_as_active_at(tx, record.id, day)
    return stood if listed is None else replace(stood, active=listed and stood.status_override is None)


async def _earlier_primary_record(tx: Tx, scope: Scope, asked: Organisation, day: datetime) -> Organisation | None:
    """The record merged with it now that was the primary record before this one was known; None if there is none."""
    others = await store.load_primary_record_ids_by_record_id(tx, [asked.same_as or asked.id])
    records = [await store.find_record_even_if_merged(tx, scope, id_) for id_ in others if id_ != asked.id]
    found = [await _record_as_of(tx, record, day) for record in records if record is not None]
    return min((one for one in found if one is not None), key=_rank, default=None)


def _rank(record: Organisation) -> tuple[bool, bool, datetime, str, str]:
    """The rank by which links choose the primary record."""
    dated = record.registration_date or _LATEST
    return record.same_as is not None, not record.active, dated, record.registry_code, record.registry_number


async def _with_branding(tx: Tx, stood: Organisation, day: datetime) -> Organisation:
    """With the branding and the branches of that day."""
    parent = stood.is_branch_parent or await store_history.had_branches_at(tx, stood.id, day)
    shown = await store_history.find_branding_at(tx, stood.id, day)
    if shown is None:
        return replace(stood, is_branch_parent=parent)
    return replace(
        stood,
        is_branch_parent=parent,
        display_name=shown.display_name or stood.display_name,
        description=shown.description or stood.description,
        logo=shown.logo,
        images=shown.images,
    )


async def _with_sources(tx: Tx, stood: Organisation, joined: list[UUID], day: datetime) -> Organisation:
    ids = list(dict.fromkeys((stood.id, *joined)))
    sources = await store_history.list_sources_at(tx, ids, day)
    return replace(stood, sources=tuple(sources), data_as_of=sources[0].data_as_of) if sources else stood
