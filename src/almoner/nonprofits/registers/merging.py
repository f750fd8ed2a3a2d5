"""The merge of a load: entries and organisations become what its files say, and links and standing follow."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import Final
from uuid import UUID

from almoner.nonprofits.merges import service as links
from almoner.nonprofits.registers import store, store_merge, store_staging
from almoner.nonprofits.registers.domain import Fills, ImportRefused, Load
from almoner.nonprofits.registers.ports import Declaring, RegisterSource
from almoner.nonprofits.registers.reading import Pace
from almoner.nonprofits.registers.store_merge import Counts, Merge
from almoner.nonprofits.registries import service as registries
from almoner.nonprofits.registries.domain import Declared, Registry
from almoner.platform.database.transactions import EVERYONE, Tx

Record = Callable[[Tx, Load], Awaitable[None]]
"""Says who loaded it, in the transaction that does; also when it is put into quarantine."""

_STEPS: Final = 5


async def registry_of(tx: Tx, source: RegisterSource) -> Registry:
    """The registry whose numbers a source holds. Raises ImportRefused when it was never declared."""
    for row in await registries.every(tx):
        if row.code == source.registry_code:
            return row
    raise ImportRefused(f"{source.registry_code} is no registry: nothing of {source.code} was ever loaded")


async def declare(tx: Tx, source: RegisterSource) -> Declared | None:
    """Enter the registry that a source brings with it; what was entered. Raises ImportRefused when it is another."""
    declared = source.declares if isinstance(source, Declaring) else None
    if declared is None:
        return None
    entered = await registries.declare(tx, declared)
    if entered is None:
        raise ImportRefused(
            f"the registry {declared.code} is known already by other names or in another country: "
            "GET /v1/registries tells them. Give yours a code of its own, or leave [registry] out"
        )
    return declared if entered else None


async def merge(
    tx: Tx,
    source: RegisterSource,
    registry_id: UUID,
    reading_id: UUID,
    load: Load,
    parts: Mapping[str, Fills],
    pace: Pace,
) -> Load:
    """Merge what is staged; the load with its counts."""
    staged = store_staging.table_of(reading_id)
    if source.repeats:
        staged = await store_merge.gather_repeated(tx, EVERYONE, reading_id)
    known = await store_merge.has_entries(tx, EVERYONE, source.code)
    if known:
        day = load.data_as_of
        rows, counts = await store_merge.compare(
            tx, EVERYONE, source.code, staged, list(parts), source.ignored_columns, day
        )
    else:
        rows, counts = store_merge.all_new(staged), Counts()
    pace.merged(1, _STEPS)
    doing = Merge(source.code, registry_id, load.id, load.data_as_of, rows)
    if known:
        await store_merge.end_entries(tx, EVERYONE, doing)
    inserted = await store_merge.insert_entries(tx, EVERYONE, doing)
    pace.merged(2, _STEPS)
    if source.lists:
        await merge_bodies(tx, doing, known=known)
    pace.merged(3, _STEPS)
    told = await store_staging.links(tx, EVERYONE, reading_id)
    # Without links in it, a file by itself says that there are none; an extract may come without their table.
    silent = () if source.joined else parts.keys()
    await links.take(tx, source.code, load.id, load.data_as_of, told, silent)
    await store.date_parts(tx, EVERYONE, load, parts)
    await store.date_source(tx, EVERYONE, source.code, registry_id)
    await links.settle(tx, registry_id, load.id, load.data_as_of)
    pace.merged(4, _STEPS)
    added = counts.added if known else inserted
    made = replace(
        load,
        added=added,
        changed=counts.changed,
        ignored_changes=counts.ignored_changes,
        moved=counts.moved,
        removed=counts.removed,
    )
    return replace(made, ambiguous=await links.ambiguous(tx, source.code))


async def merge_bodies(tx: Tx, doing: Merge, *, known: bool) -> None:
    """Organisations follow from the entries that differ. ``known``: whether there were any before."""
    await store_merge.tell_changes(tx, EVERYONE, doing)
    await store_merge.change_organisations(tx, EVERYONE, doing)
    await store_merge.insert_organisations(tx, EVERYONE, doing)
    if known:
        await store_merge.retire_organisations(tx, EVERYONE, doing)
