"""Organisations with several registration numbers: the primary record, and successors."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final, Literal, NamedTuple
from uuid import UUID

SuccessionKind = Literal["merged", "reregistered"]
_EARLIEST: Final = datetime.min.replace(tzinfo=UTC)
_LATEST: Final = datetime.max.replace(tzinfo=UTC)


class Succession(NamedTuple):
    """One organisation that merged into another or was re-registered as it."""

    organisation_id: UUID
    successor_id: UUID
    kind: SuccessionKind
    effective_at: datetime | None = None


class RegistryNumber(NamedTuple):
    """A normalised number of a registry."""

    registry_id: UUID
    number_key: str


@dataclass(frozen=True, slots=True)
class ImportScope:
    """What a load affects: parts of a source, and changed numbers.

    ``changed_group_keys``: groups that a former central body may have left. ``changed_numbers``: None if too many to
    look up one by one, so that the whole registry is processed.
    """

    registry_id: UUID
    source: str
    register_parts: Collection[str]
    changed_numbers: Collection[str] | None
    changed_group_keys: Collection[str] = ()


class Successor(NamedTuple):
    """The organisation at the end of a chain of successions."""

    organisation_id: UUID
    kind: SuccessionKind


@dataclass(frozen=True, slots=True)
class PrimaryRecordCandidate:
    """The facts that decide which record of an organisation is its primary one."""

    id: UUID
    active: bool
    registration_date: datetime | None
    registry_code: str
    number_key: str


def resolve_final_successors_by_organisation(successions: Iterable[Succession]) -> dict[UUID, Successor]:
    """The final successor of each organisation.

    Of several successions of one body the newest counts, and among equals the one with the lowest ID. Bodies in a cycle
    have no successor, since none is known to remain. A chain into a cycle ends where it enters it.
    """
    chosen: dict[UUID, Succession] = {}
    for step in successions:
        if step.organisation_id != step.successor_id:
            known = chosen.get(step.organisation_id)
            if known is None or _recency(step) > _recency(known):
                chosen[step.organisation_id] = step
    circling = _find_cycles({step.organisation_id: step.successor_id for step in chosen.values()})
    found = {}
    for started, step in chosen.items():
        if started in circling:
            continue
        last = step.successor_id
        while last in chosen and last not in circling:
            last = chosen[last].successor_id
        found[started] = Successor(last, step.kind)
    return found


def _recency(step: Succession) -> tuple[datetime, int, str]:
    return step.effective_at or _EARLIEST, -step.successor_id.int, step.kind


def _find_cycles(following: Mapping[UUID, UUID]) -> set[UUID]:
    """The bodies in a cycle of successions."""
    seen: set[UUID] = set()
    circling: set[UUID] = set()
    for started in following:
        path: list[UUID] = []
        here: UUID | None = started
        while here is not None and here not in seen:
            seen.add(here)
            path.append(here)
            here = following.get(here)
        if here in path:
            circling.update(path[path.index(here) :])
    return circling


def choose_primary_record_ids_by_duplicate_id(
    duplicate_pairs: Iterable[tuple[UUID, UUID]], candidates_by_id: Mapping[UUID, PrimaryRecordCandidate]
) -> dict[UUID, UUID]:
    """For each duplicate record, its primary record.

    Duplicates are transitive. If that would join two numbers of one register, the chain contains an error and none of
    its records are joined. The primary record is chosen by: listed now, then the earlier registration, then the
    registry's code and the number. It depends on the registers only, not on load order, so that every deployment
    chooses the same.
    """
    groups: dict[UUID, set[UUID]] = {}
    for one, other in duplicate_pairs:
        if one == other or one not in candidates_by_id or other not in candidates_by_id:
            continue
        joined = groups.get(one, {one}) | groups.get(other, {other})
        for member in joined:
            groups[member] = joined
    found = {}
    for group in {id(group): group for group in groups.values()}.values():
        if len({candidates_by_id[member].registry_code for member in group}) < len(group):
            continue
        first = min(group, key=lambda member: _rank(candidates_by_id[member]))
        found.update({member: first for member in group if member != first})
    return found


def _rank(body: PrimaryRecordCandidate) -> tuple[bool, datetime, str, str]:
    return not body.active, body.registration_date or _LATEST, body.registry_code, body.number_key
