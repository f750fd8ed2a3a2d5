"""All pages of this slice, for wiring."""

from pathlib import Path
from typing import Final

from starlette.routing import Route

from almoner.access.accounts.domain import Link
from almoner.access.accounts.gate import Gate
from almoner.access.providers.own_pages import OwnPages
from almoner.access.providers.owner_pages import OwnerPages
from almoner.access.providers.sign_on_pages import SignOnPages
from almoner.access.sign_on.service.oidc_flow import SignOn
from almoner.platform.outbound.client import Outbound
from almoner.platform.pages.rendering import Pages

TEMPLATES: Final = Path(__file__).parent / "templates"

LINKS: Final = (Link("SSO", "/provider", frozenset({"owner"})),)
"""For the navigation."""


def routes(gate: Gate, pages: Pages, outbound: Outbound) -> list[Route]:
    """Starlette routes. ``pages``: of ``TEMPLATES``."""
    sign_on = SignOn(gate.db, outbound)
    return [
        *SignOnPages(gate, pages, sign_on).routes(),
        *OwnPages(gate, pages).routes(),
        *OwnerPages(gate, pages, sign_on).routes(),
    ]
