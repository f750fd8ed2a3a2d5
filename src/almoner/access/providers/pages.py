"""All pages of this slice, assembled for wiring."""

from pathlib import Path
from typing import Final

from starlette.routing import Route

from almoner.access.accounts.domain import NavigationLink
from almoner.access.accounts.page_guard import PageContext, PageGuard
from almoner.access.providers.provider_account_pages import IdentityProviderAccountPages
from almoner.access.providers.provider_setup_pages import IdentityProviderSetupPages
from almoner.access.providers.sso_pages import SsoPages
from almoner.access.sso.service.oidc_flow import OidcFlow
from almoner.platform.outbound.client import OutboundClient
from almoner.platform.pages.rendering import PageRenderer

TEMPLATES: Final = Path(__file__).parent / "templates"

LINKS: Final = (NavigationLink("desk.link.provider", "/provider", frozenset({"owner"}), group="Settings"),)
"""The navigation entries of these pages."""


def routes(guard: PageGuard, page_renderer: PageRenderer, outbound: OutboundClient) -> list[Route]:
    """Starlette routes. ``page_renderer`` renders ``TEMPLATES``."""
    sign_on, context = OidcFlow(guard.db, outbound), PageContext(guard.db, guard, page_renderer)
    return [
        *SsoPages(guard, page_renderer, sign_on).routes(),
        *IdentityProviderAccountPages(context).routes(),
        *IdentityProviderSetupPages(context, sign_on).routes(),
    ]
