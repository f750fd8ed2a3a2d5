"""Marks statements that read rows of all partners: each gives a reason, and a test finds those that do not."""

from collections.abc import Callable
from typing import Literal, TypeVar

_F = TypeVar("_F", bound=Callable[..., object])

Why = Literal["held", "link", "sweep", "followers", "registers", "operators", "banking"]
"""``held``: by ids that the caller has found in a scope, or that a row or a job of ours holds. ``link``: by a secret
that only who may see the row has. ``sweep``: by time or state, for all partners alike. ``followers``: whoever is
concerned by something that all see, such as an organisation. ``registers``: what registers and watch lists say, and
their organisations, which are those of no partner but for the unlisted ones. ``operators``: for those who run the
service. ``banking``: by what payment providers and banks tell.
"""


def across_partners(_why: Why) -> Callable[[_F], _F]:
    """Declare that a function of a store takes rows of whatever partner, and why."""

    def declare(function: _F) -> _F:
        return function

    return declare
