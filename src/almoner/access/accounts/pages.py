"""All pages of this slice, assembled for wiring."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from starlette.routing import Route

from almoner.access.accounts.account_pages import AccountPages
from almoner.access.accounts.link_pages import EmailLinkPages
from almoner.access.accounts.page_guard import PageGuard
from almoner.access.accounts.sign_in_pages import SignInPages
from almoner.platform.pages.rendering import PageRenderer
from almoner.platform.ratelimit import RateLimiter

TEMPLATES: Final = Path(__file__).parent / "templates"


def routes(guard: PageGuard, page_renderer: PageRenderer, limiter: RateLimiter) -> Sequence[Route]:
    """Starlette routes for both realms. ``page_renderer`` renders ``TEMPLATES``."""
    return [
        *EmailLinkPages(guard, page_renderer, limiter).routes(),
        *SignInPages(guard, page_renderer).routes(),
        *AccountPages(guard, page_renderer).routes(),
    ]
