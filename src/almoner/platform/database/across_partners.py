"""Marks statements that read rows of all partners: each gives a reason, and a test finds unmarked ones."""

from collections.abc import Callable
from typing import Literal, TypeVar

_F = TypeVar("_F", bound=Callable[..., object])

CrossPartnerReason = Literal["held", "link", "sweep", "followers", "registers", "operators", "banking"]
"""``held``: by IDs that the caller found in a scope, or from our own row or job.

``link``: by a secret that only authorised people have. ``sweep``: by time or state, for all partners alike.
``followers``: everybody affected by a shared record, such as an organisation. ``registers``: registers, watchlists and
their organisations, which belong to no partner unless unlisted. ``operators``: for operators. ``banking``: by data from
payment providers and banks.
"""


def across_partners(_reason: CrossPartnerReason) -> Callable[[_F], _F]:
    """Declare that a store function reads rows of all partners, and why."""

    def declare(function: _F) -> _F:
        return function

    return declare
