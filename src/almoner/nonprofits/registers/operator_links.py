"""Records of different registries that operators join as one organisation, or separate again."""

from typing import Final

from almoner.nonprofits.merges import service as merges
from almoner.nonprofits.merges.domain import ImportScope
from almoner.nonprofits.organisations import service as organisations
from almoner.nonprofits.organisations.domain import Organisation
from almoner.nonprofits.registers import store
from almoner.nonprofits.registers.domain import ImportRefused, RegisterImport, RegisterLink
from almoner.nonprofits.registries import domain as registries_domain
from almoner.platform.database.transactions import ALL_PARTNERS, Tx

SOURCE: Final = "operators"
"""The source code of operators' links, as opposed to registers'."""


async def are_merged(tx: Tx, one: Organisation, other: Organisation) -> bool:
    """Whether both have the same primary record."""
    first, second = [await organisations.get(tx, ALL_PARTNERS, record.id) for record in (one, other)]
    return first.id == second.id


async def are_merged_by_operators(tx: Tx, one: Organisation, other: Organisation) -> bool:
    """Whether operators have joined the two."""
    return await merges.has_register_links(tx, SOURCE, _part(one, other))


async def merge_records(tx: Tx, one: Organisation, other: Organisation) -> None:
    """Merge two records. Raises ImportRefused if they cannot be one organisation."""
    if reason := merge_refusal_reason(one, other):
        raise ImportRefused(reason)
    link = RegisterLink(
        "same",
        one.registry_code,
        one.registry_number,
        other.registry_code,
        other.registry_number,
        part=_part(one, other),
    )
    await _apply(tx, one, other, [link])
    if not await are_merged(tx, one, other):
        raise ImportRefused(
            "One of the two is already merged with another record of the same registry. Separate that one first."
        )


async def separate_records(tx: Tx, one: Organisation, other: Organisation) -> None:
    """Separate two merged records, unless a register merges them. Raises ImportRefused."""
    if not await are_merged_by_operators(tx, one, other):
        raise ImportRefused("Operators have not merged these records.")
    await _apply(tx, one, other, [])


def merge_refusal_reason(one: Organisation, other: Organisation) -> str | None:
    """Why the two cannot be one organisation; None if they can."""
    if one.id == other.id:
        return "Choose two different records."
    if one.partner_id or other.partner_id:
        return "Publish the organisation first."
    if one.registry_id == other.registry_id:
        return "Two numbers of one registry are two organisations."
    return None


async def _apply(tx: Tx, one: Organisation, other: Organisation, links: list[RegisterLink]) -> None:
    """Replace the link of two records by an import of its own, recorded in the history of both."""
    load = RegisterImport(
        tx.new_id(), one.registry_code, SOURCE, tx.now, tx.now, len(links), 0, 0, 0, 0, forced=False, files=()
    )
    await store.insert_import(tx, one.registry_id, load, [], {})
    relinked = await merges.replace_register_links_and_list_affected_numbers(
        tx, SOURCE, load.id, tx.now, links, [_part(one, other)]
    )
    scope = ImportScope(one.registry_id, SOURCE, (), [_key(one)])
    await merges.apply_register_links_to_organisations(tx, load.id, tx.now, scope, relinked)


def _part(one: Organisation, other: Organisation) -> str:
    return " ".join(sorted(f"{record.registry_code}:{_key(record)}" for record in (one, other)))


def _key(record: Organisation) -> str:
    return registries_domain.normalise_stored_number(record.registry_code, record.registry_number) or ""
