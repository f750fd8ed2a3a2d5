"""Two records that operators compare, and merge or separate."""

from dataclasses import dataclass
from typing import Literal
from uuid import UUID

from almoner.kit.errors import NotFound
from almoner.nonprofits.organisations import service as organisations
from almoner.nonprofits.organisations.domain import Organisation
from almoner.nonprofits.registers import operator_links
from almoner.nonprofits.registers.domain import ImportRefused
from almoner.platform.crypto import sha256_digest
from almoner.platform.database.transactions import ALL_PARTNERS, Tx

PairDecision = Literal["merge", "separate"]


@dataclass(frozen=True, slots=True)
class OrganisationRecordPair:
    """Two records in the order given. ``are_merged``: both have the same primary record."""

    one: Organisation
    other: Organisation
    are_merged: bool
    are_merged_by_operators: bool

    def refusal_reason(self, decision: PairDecision) -> str | None:
        """Why the records cannot be merged or separated; None if they can."""
        if decision == "separate":
            return None if self.are_merged_by_operators else "Operators have not merged these records."
        return "They are merged." if self.are_merged else operator_links.merge_refusal_reason(self.one, self.other)

    @property
    def fingerprint(self) -> bytes:
        """A fingerprint of what is compared: the second operator must approve exactly what the first one saw."""
        return fingerprint_of_pair(self.one, self.other)


def fingerprint_of_pair(one: Organisation, other: Organisation) -> bytes:
    """The fingerprint of two records, in any order."""
    return sha256_digest(repr(sorted(repr(_compared(record)) for record in (one, other))).encode())


async def load_record_pair(tx: Tx, first_organisation_id: UUID, second_organisation_id: UUID) -> OrganisationRecordPair:
    """Two published records, even if they are merged. Raises NotFound."""
    found = [
        await organisations.find_record_even_if_merged(tx, ALL_PARTNERS, record)
        for record in (first_organisation_id, second_organisation_id)
    ]
    one, other = found
    if one is None or other is None:
        raise NotFound
    joined = await operator_links.are_merged(tx, one, other)
    return OrganisationRecordPair(one, other, joined, await operator_links.are_merged_by_operators(tx, one, other))


async def merge_or_separate_records(tx: Tx, pair: OrganisationRecordPair, decision: PairDecision) -> None:
    """Merge or separate the records. Raises ImportRefused."""
    if reason := pair.refusal_reason(decision):
        raise ImportRefused(reason)
    decide = operator_links.merge_records if decision == "merge" else operator_links.separate_records
    await decide(tx, pair.one, pair.other)


def _compared(one: Organisation) -> tuple[object, ...]:
    return (
        one.registry_code,
        one.registry_number,
        one.full_name,
        tuple(one.other_names),
        one.address,
        one.country_code,
        tuple(one.websites),
        tuple(one.types),
        one.inactive_reason,
        one.registration_date,
        one.description,
    )
