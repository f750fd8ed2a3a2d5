"""What the pages of applications have in common: the cookie that takes a link's place, and what goes wrong as a page.

GET changes nothing. POST needs the cookie of the link, its CSRF token and the page's own origin (architecture 5).
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import wraps
from typing import Final, Literal, TypeVar
from uuid import UUID

from starlette.datastructures import FormData
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from almoner.kit.errors import NotFound
from almoner.platform.audit import log as audit
from almoner.platform.audit.log import Actor
from almoner.platform.database.transactions import Database, Tx
from almoner.platform.pages import link_sessions
from almoner.platform.pages.headers import NO_PAGE, origin_of
from almoner.platform.pages.link_sessions import CSRF_FIELD, Visit
from almoner.platform.pages.rendering import Pages
from almoner.platform.pages.server_error import Broken
from almoner.validation.applications.form import drafts, service, submit
from almoner.validation.applications.form.drafts import Draft, Step
from almoner.validation.applications.form.form_views import Face, FormViews
from almoner.validation.applications.form.service import Application
from almoner.validation.applications.form.submit import ASKING, BY_FORM, SENT_AGAIN, STATUS_PAGE
from almoner.validation.applications.invites.domain import PAGE, InviteExpired, InviteInvalidState

_MAX_FORM: Final = {"max_files": 0, "max_fields": 60, "max_part_size": 65_536}
_SENDER: Final = timedelta(days=7)
_ASKER: Final = timedelta(hours=1)
"""How long a browser may see the page of what it has sent, and may ask for the link of that page."""

P = TypeVar("P", bound="FormBase")
Handler = Callable[[P, Request], Awaitable[Response]]


@dataclass(frozen=True, slots=True)
class Opened:
    """A request that came with the cookie of its invite."""

    request: Request
    visit: Visit
    face: Face

    @property
    def application(self) -> Application:
        """What is filled in."""
        return self.face.application

    @property
    def open_step(self) -> str:
        """Where the first step is that has no answer yet, else the review."""
        return self.face.href(drafts.open_step(self.application.draft, self.application.configuration))

    @property
    def id(self) -> UUID:
        """The invite."""
        return self.application.invite.id


class LinkEnded(Exception):
    """The link, or the visit that it began, was good until some time ago."""

    def __init__(self, submission_id: UUID) -> None:
        super().__init__(submission_id)
        self.submission_id = submission_id


class NotAsked(Exception):
    """The configuration does not ask for the step of this address, or no more; ``instead``: where the form goes on."""

    def __init__(self, instead: str) -> None:
        super().__init__(instead)
        self.instead = instead


class Again(Exception):
    """The posted form is not one of ours that this browser was given (H2)."""


def kindly(handler: Handler[P]) -> Handler[P]:
    """What may go wrong becomes a page; so does the unexpected, which is raised afterwards."""

    @wraps(handler)
    async def answer(self: P, request: Request) -> Response:
        try:
            return await handler(self, request)
        except NotAsked as elsewhere:
            return to(elsewhere.instead)
        except NotFound:
            return self.say(request, "unknown", 404, "link")
        except InviteExpired:
            return self.say(request, "expired", 410, "clock")
        except InviteInvalidState:
            return await self.used(request)
        except LinkEnded as ended:
            return self.offer_link(request, ended.submission_id, "ended")
        except Again:
            return self.say(request, "again", 403, "lock")
        except HTTPException as refused:  # a form that cannot be read: too many fields, too large a part, cut off
            return self.say(request, "again", refused.status_code, "lock")
        except Exception as error:  # noqa: BLE001 (answered as a page, then raised for the log)
            return Broken(self.say(request, "broken", 500, "info"), error)

    return answer


class FormBase:
    """What the pages of the form have in common."""

    def __init__(self, db: Database, pages: Pages) -> None:
        self.db = db
        self.views = FormViews(pages)
        self._vault = db.deployment.vault
        self._ids = db.deployment.ids
        self._origin = origin_of(db.deployment.links.pages)

    def say(self, request: Request, kind: str, status: int, icon: str) -> HTMLResponse:
        """A page that only says something: in the opened form's language, else in the browser's."""
        pages, tag = self.views.pages, getattr(request.state, "language", None)
        language = pages.language(tag) if tag else pages.preferred(request)
        return pages.message(f"apply.{kind}", language, status=status, icon=icon)

    def unknown(self, request: Request, status: int) -> Response:
        """There is no such page."""
        return self.say(request, "unknown", status, "link")

    async def used(self, request: Request) -> Response:
        """The application was sent. Its page is for who has sent it, and for whom its link is mailed to.

        The link of the form shows nothing of it: others may know that, and it is not the applicant's alone.
        """
        invite_id = self._ids.parse("validationinvite", request.path_params["id"])
        async with self.db.read() as tx:
            found = None if invite_id is None else await submit.sent_with(tx, invite_id)
        if invite_id is None or found is None:
            raise AssertionError("an invite is used by a submission alone")
        name = self._ids.text("validationsubmission", found.id)
        if self._now() - found.at < SENT_AGAIN and await self._sends_again(request, invite_id):
            return self.sent(to(found.url), found.id)
        purposes = (STATUS_PAGE, BY_FORM)
        if any(link_sessions.find(request, self._vault, purpose, found.id, name) for purpose in purposes):
            return to(f"/{STATUS_PAGE}/{name}")
        return self.offer_link(request, found.id, "sent")

    async def _sends_again(self, request: Request, invite_id: UUID) -> bool:
        """Whether it is the review that is posted, by a browser that it was shown to."""
        if request.method != "POST" or not request.url.path.endswith("/review"):
            return False
        visit = link_sessions.find(request, self._vault, PAGE, invite_id, request.path_params["id"])
        try:
            form = await request.form(**_MAX_FORM)
        except HTTPException:
            return False
        return (
            visit is not None
            and link_sessions.from_own_page(request, self._origin)
            and visit.owns(form.get(CSRF_FIELD))
        )

    def sent(self, response: Response, submission_id: UUID) -> Response:
        """This browser has sent the application, and may see for some days where it stands."""
        name = self._ids.text("validationsubmission", submission_id)
        until = self._now() + _SENDER
        link_sessions.begin(self._vault, BY_FORM, submission_id, name, until).keep(
            response, seconds=int(_SENDER.total_seconds())
        )
        return response

    def offer_link(self, request: Request, submission_id: UUID, why: Literal["sent", "ended"]) -> Response:
        """To the page from which the applicant has the link mailed anew."""
        name = self._ids.text("validationsubmission", submission_id)
        response = to(f"/{STATUS_PAGE}/{name}/link?why={why}")
        visit = link_sessions.find(request, self._vault, ASKING, submission_id, name)
        if visit is None or not self.lasts(visit):
            visit = link_sessions.begin(self._vault, ASKING, submission_id, name, self._now() + _ASKER)
        visit.keep(response, seconds=int(_ASKER.total_seconds()))
        return response

    def lasts(self, visit: Visit) -> bool:
        """Whether a visit that ends has not ended yet."""
        return visit.until is not None and visit.until > self._now()

    def _now(self) -> datetime:
        return self.db.deployment.clock.now()

    async def open(self, request: Request) -> Opened:
        """The form of the address, for a browser with its cookie.

        Raises NotFound, InviteExpired, InviteInvalidState.
        """
        name = request.path_params["id"]
        invite_id = self._ids.parse("validationinvite", name)
        visit = None if invite_id is None else link_sessions.find(request, self._vault, PAGE, invite_id, name)
        if invite_id is None or visit is None:
            raise NotFound
        async with self.db.read() as tx:
            application = await service.load(tx, invite_id)
            request.state.language = application.language  # what goes wrong later is told in it
            application.invite.ensure_open(tx.now)
        return Opened(request, visit, self._face(application, name, visit))

    def _face(self, application: Application, name: str, visit: Visit) -> Face:
        language = self.views.pages.language(application.language)
        return Face(application, f"/{PAGE}/{name}", visit.csrf, language)

    async def posted(self, opened: Opened) -> FormData:
        """The posted form. Raises Again."""
        form = await opened.request.form(**_MAX_FORM)
        self.ensure_ours(opened, form.get(CSRF_FIELD))
        return form

    def ensure_ours(self, opened: Opened, csrf: object) -> None:
        """Whether this browser was given the form that it posts. Raises Again."""
        if not (link_sessions.from_own_page(opened.request, self._origin) and opened.visit.owns(csrf)):
            raise Again

    async def keep(self, opened: Opened, step: str, change: Callable[[Draft], Draft]) -> Opened:
        """Keep what was answered in a step, and the form with it."""
        async with self.db.write() as tx:
            draft = await service.change(tx, opened.id, change)
            await self.record(tx, opened, "application.saved", {"step": step})
        application = replace(opened.application, draft=draft)
        return replace(opened, face=replace(opened.face, application=application))

    async def record(self, tx: Tx, opened: Opened, action: str, details: Mapping[str, str] | None = None) -> None:
        """That the applicant did something (V8)."""
        invite, request = opened.application.invite, opened.request
        address = request.client.host if request.client else None
        name = tx.ids.text("validationinvite", invite.id)
        await audit.record(
            tx, invite.partner_id, Actor("system", "applicant"), action, name, address=address, details=details
        )

    def onwards(self, opened: Opened, step: Step) -> Response:
        """To the step after this one, or to what is open before the review."""
        application = opened.application
        following = drafts.after(step, application.configuration)
        if following == "review":
            return to(opened.open_step)
        return to(opened.face.href(following))


def to(url: str) -> Response:
    """Onwards by GET."""
    return RedirectResponse(url, 303, NO_PAGE)
