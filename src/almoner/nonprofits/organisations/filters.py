"""The filters of organisation search (settled 8), as values."""

from dataclasses import dataclass
from uuid import UUID

AnyOf = tuple[UUID, ...]


@dataclass(frozen=True, slots=True)
class Filters:
    """Conditions that all hold. None is no condition; an empty tuple of keys or registries is one that nothing meets.

    Each of ``categories`` and ``tags`` names alternatives; an organisation needs one of each.
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
