"""Who is not signed in yet: the cookie that their forms are bound to (H2)."""

from dataclasses import dataclass
from typing import Final

from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import Response

from almoner.access.accounts.domain import AccountPortal
from almoner.access.accounts.page_guard import PageGuard, browser_of, form_value
from almoner.access.accounts.request_forms import read_form
from almoner.access.sign_ins.domain import Browser
from almoner.platform.pages import link_sessions
from almoner.platform.pages.link_sessions import LinkSession

_PURPOSE: Final = "entry"
_SECONDS: Final = 12 * 3600


@dataclass(frozen=True, slots=True)
class SignInContext:
    """A browser at a place where nobody is signed in, and what it posted (nothing on GET)."""

    request: Request
    place: AccountPortal
    visit: LinkSession
    form: FormData
    is_valid_form: bool
    """Whether what was posted came from a form that this browser was given."""

    @property
    def browser(self) -> Browser:
        """Whose request it is."""
        return browser_of(self.request, self.place)

    @property
    def challenge_binding(self) -> bytes:
        """What a passkey's challenge is bound to."""
        return self.visit.csrf.encode()

    def form_value(self, name: str) -> str:
        """One field of the form as it was typed, empty without it."""
        return form_value(self.form, name)

    def with_csrf_cookie(self, response: Response) -> Response:
        """With the cookie that the forms of the page need."""
        self.visit.set_cookie(response, seconds=_SECONDS)
        return response


async def open_sign_in_context(gate: PageGuard, request: Request, place: AccountPortal) -> SignInContext:
    """Who comes to a place. A second tab keeps the first one's token: a new one would void the form there."""
    vault = gate.db.deployment.vault
    found = link_sessions.find_link_session(request, vault, _PURPOSE, place.realm.id, place.name)
    form = await read_form(request)
    visit = found or link_sessions.begin_link_session(vault, _PURPOSE, place.realm.id, place.name)
    return SignInContext(
        request, place, visit, form, found is not None and gate.is_valid_form(request, form, visit.csrf)
    )
