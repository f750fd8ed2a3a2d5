"""Who is not signed in yet: the cookie that their forms are bound to (H2)."""

from dataclasses import dataclass
from typing import Final

from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import Response

from almoner.access.accounts.domain import Place
from almoner.access.accounts.gate import Gate, browser_of, text_of
from almoner.access.accounts.posts import posted
from almoner.access.sign_ins.domain import Browser
from almoner.platform.pages import link_sessions
from almoner.platform.pages.link_sessions import Visit

_PURPOSE: Final = "entry"
_SECONDS: Final = 12 * 3600


@dataclass(frozen=True, slots=True)
class Entry:
    """A browser at a place where nobody is signed in, and what it posted (nothing on GET)."""

    request: Request
    place: Place
    visit: Visit
    form: FormData
    ours: bool
    """Whether what was posted came from a form that this browser was given."""

    @property
    def browser(self) -> Browser:
        """Whose request it is."""
        return browser_of(self.request, self.place)

    @property
    def binding(self) -> bytes:
        """What a passkey's challenge is bound to."""
        return self.visit.csrf.encode()

    def typed(self, name: str) -> str:
        """One field of the form as it was typed, empty without it."""
        return text_of(self.form, name)

    def kept(self, response: Response) -> Response:
        """With the cookie that the forms of the page need."""
        self.visit.keep(response, seconds=_SECONDS)
        return response


async def enter(gate: Gate, request: Request, place: Place) -> Entry:
    """Who comes to a place. A second tab keeps the first one's token: a new one would void the form there."""
    vault = gate.db.deployment.vault
    found = link_sessions.find(request, vault, _PURPOSE, place.realm.id, place.name)
    form = await posted(request)
    visit = found or link_sessions.begin(vault, _PURPOSE, place.realm.id, place.name)
    return Entry(request, place, visit, form, found is not None and gate.is_ours(request, form, visit.csrf))
