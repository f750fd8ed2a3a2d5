"""The context of sign-in pages: a browser that is not signed in, and the cookie its forms are bound to (H2)."""

from dataclasses import dataclass
from typing import Final

from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import Response

from almoner.access.accounts.domain import AccountPortal
from almoner.access.accounts.page_guard import PageGuard, browser_from_request, form_value
from almoner.access.accounts.request_forms import read_form
from almoner.access.sign_ins.domain import Browser
from almoner.platform.pages import link_sessions
from almoner.platform.pages.link_sessions import LinkSession

_PURPOSE: Final = "entry"
_SECONDS: Final = 12 * 3600


@dataclass(frozen=True, slots=True)
class SignInContext:
    """A browser that is not signed in at this portal, and the form it posted (empty on GET)."""

    request: Request
    portal: AccountPortal
    link_session: LinkSession
    form: FormData
    is_valid_form: bool
    """Whether the posted form has the CSRF token of this browser."""

    @property
    def browser(self) -> Browser:
        """The browser behind the request."""
        return browser_from_request(self.request, self.portal)

    @property
    def passkey_challenge_binding(self) -> bytes:
        """The value that a passkey challenge is bound to, so that only this browser can answer it."""
        return self.link_session.csrf.encode()

    def form_value(self, name: str) -> str:
        """The value of a field in the posted form, as typed; empty if it is missing."""
        return form_value(self.form, name)

    def set_csrf_cookie(self, response: Response) -> Response:
        """The response with the cookie that the page's forms are bound to."""
        self.link_session.set_cookie(response, max_age_seconds=_SECONDS)
        return response


async def read_sign_in_context(guard: PageGuard, request: Request, portal: AccountPortal) -> SignInContext:
    """The context of a request to a sign-in page. Tabs share one token, so that no form becomes invalid."""
    vault = guard.db.deployment.vault
    found = link_sessions.find_link_session(request, vault, _PURPOSE, portal.realm.id, portal.name)
    form = await read_form(request)
    visit = found or link_sessions.begin_link_session(vault, _PURPOSE, portal.realm.id, portal.name)
    return SignInContext(
        request, portal, visit, form, found is not None and guard.has_valid_csrf_token(request, form, visit.csrf)
    )
