"""The interface that organisations need from other slices."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Protocol
from uuid import UUID


class FollowerLookup(Protocol):
    """Looks up the partners that follow organisations."""

    async def __call__(self, tx: Any, organisation_ids: Sequence[UUID], /) -> Mapping[UUID, Collection[UUID]]:
        """The partners that follow each of these organisations; those without followers may be omitted."""
        ...
