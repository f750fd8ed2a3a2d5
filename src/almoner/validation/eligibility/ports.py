"""What eligibility needs from outside."""

from typing import Any, Protocol
from uuid import UUID

from almoner.validation.eligibility.domain import EVERY, Allowed


class Allowances(Protocol):
    """Who knows what a partner's configuration allows (``allowedActivitySubTags``)."""

    async def __call__(self, tx: Any, partner_id: UUID, configuration_id: UUID | None, /) -> Allowed:
        """Of one configuration, None for the partner's default."""
        ...


async def every(_tx: Any, _partner_id: UUID, _configuration_id: UUID | None) -> Allowed:
    """The allowances of a deployment without configurations: every sub-tag."""
    return EVERY
