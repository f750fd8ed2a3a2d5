"""The filters of the organisation search (settled 8)."""

from dataclasses import dataclass
from uuid import UUID

AnyOf = tuple[UUID, ...]


@dataclass(frozen=True, slots=True)
class OrganisationFilters:
    """Search filters that must all match.

    None: no filter; an empty tuple matches nothing. Each of ``categories`` and ``tags`` is a list of alternatives; an
    organisation must match one of each.
    """

    country_code: str | None = None
    number_keys: tuple[str, ...] | None = None
    registry_ids: AnyOf | None = None
    types: tuple[str, ...] = ()
    categories: tuple[AnyOf, ...] = ()
    not_categories: AnyOf = ()
    tags: tuple[AnyOf, ...] = ()
    not_tags: AnyOf = ()
    usa_group_exempt: bool | None = None
    active: bool | None = None
    accepts_donations: bool | None = None
