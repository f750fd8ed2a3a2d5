"""The navigation of the console, known without its pages, which are loaded at their first request."""

from typing import Final

from almoner.access.accounts.domain import OPERATORS_DESK, NavigationLink
from almoner.access.people.domain import OPERATOR_ROLES, Role

EVERYBODY: Final[frozenset[Role]] = frozenset(OPERATOR_ROLES)
REVIEWERS: Final[frozenset[Role]] = frozenset({"reviewer"})
FINANCE: Final[frozenset[Role]] = frozenset({"finance"})
ADMINISTRATORS: Final[frozenset[Role]] = frozenset({"administrator"})


def _link(words: str, path: str, roles: frozenset[Role], group: str) -> NavigationLink:
    return NavigationLink(words, path, roles, operators=True, group=group)


_DESK: Final = (_link("Desk", OPERATORS_DESK, EVERYBODY, "Desk"),)
_REVIEWS: Final = (
    _link("Open reviews", "/reviews", REVIEWERS, "Reviews"),
    _link("Second looks", "/reviews/second-looks", REVIEWERS, "Reviews"),
    _link("Review figures", "/reviews/figures", REVIEWERS, "Reviews"),
)
_MONEY: Final[tuple[NavigationLink, ...]] = ()
_DATA: Final[tuple[NavigationLink, ...]] = ()
_PARTNERS: Final[tuple[NavigationLink, ...]] = ()
_HEALTH: Final[tuple[NavigationLink, ...]] = ()

LINKS: Final = (*_DESK, *_REVIEWS, *_MONEY, *_DATA, *_PARTNERS)
"""In the order of the navigation, up to what is about people, which is ``access.operators.pages.LINKS``."""
LAST_LINKS: Final = _HEALTH
"""After those about people."""
