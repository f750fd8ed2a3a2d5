"""The addresses of the hosted form: one link, a step on each page, kept as soon as it is left.

GET changes nothing. POST needs the cookie of the link, its CSRF token and the page's own origin (house 5).
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from functools import wraps
from pathlib import Path
from typing import Final, TypeVar
from uuid import UUID

from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from almoner.kit.errors import NotFound
from almoner.kit.text import typed
from almoner.platform import audit
from almoner.platform.audit import Actor
from almoner.platform.db import Database, Tx
from almoner.platform.pages import visits
from almoner.platform.pages.broken import Broken
from almoner.platform.pages.headers import NO_PAGE, origin_of
from almoner.platform.pages.rendering import Pages
from almoner.platform.pages.visits import CSRF_FIELD, Visit
from almoner.platform.ratelimit import RateLimiter
from almoner.validation.applications import drafts, sending, service, wording
from almoner.validation.applications.drafts import Draft, Person, Step, Unlisted
from almoner.validation.applications.form_views import Face, FormViews, Notice
from almoner.validation.applications.searching import Search
from almoner.validation.applications.service import Application
from almoner.validation.invites.domain import PAGE, InviteExpired, InviteInvalidState

TEMPLATES: Final = Path(__file__).parent / "templates"

_COOKIE_SECONDS: Final = 8 * 24 * 3600  # a day longer than the link, to be told that it has expired
_MAX_FORM: Final = {"max_files": 0, "max_fields": 60, "max_part_size": 16_384}

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
    def id(self) -> UUID:
        """The invite."""
        return self.application.invite.id


class Again(Exception):
    """The posted form is not one of ours that this browser was given (H2)."""


def kindly(handler: Handler[P]) -> Handler[P]:
    """What may go wrong becomes a page; so does the unexpected, which is raised afterwards."""

    @wraps(handler)
    async def answer(self: P, request: Request) -> Response:
        try:
            return await handler(self, request)
        except NotFound:
            return self.say(request, "unknown", 404, "link")
        except InviteExpired:
            return self.say(request, "expired", 410, "clock")
        except InviteInvalidState:
            return await self.used(request)
        except Again:
            return self.say(request, "again", 403, "lock")
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
        """The application was sent: its own page says where it stands."""
        invite_id = self._ids.parse("validationinvite", request.path_params["id"])
        async with self.db.read() as tx:
            found = None if invite_id is None else await sending.sent_with(tx, invite_id)
            if found is not None:
                return to(sending.form_link(tx, found))
        return self.say(request, "used", 410, "check")

    async def open(self, request: Request) -> Opened:
        """The form of the address, for a browser with its cookie.

        Raises NotFound, InviteExpired, InviteInvalidState.
        """
        name = request.path_params["id"]
        invite_id = self._ids.parse("validationinvite", name)
        visit = None if invite_id is None else visits.find(request, self._vault, PAGE, invite_id, name)
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
        if not (visits.from_own_page(opened.request, self._origin) and opened.visit.owns(csrf)):
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
            following = drafts.open_step(application.draft, application.configuration)
        return to(opened.face.href(following))


class FormPages(FormBase):
    """The pages of the form, but for its documents."""

    def __init__(self, db: Database, pages: Pages, limiter: RateLimiter) -> None:
        super().__init__(db, pages)
        self._search = Search(limiter)

    def routes(self) -> list[Route]:
        """Starlette routes."""
        both = ["GET", "POST"]
        return [
            Route("/apply", self.open_link, methods=["GET"]),
            Route("/apply/{id}", self.start, methods=["GET"]),
            Route("/apply/{id}/nonprofit", self.nonprofit, methods=both),
            Route("/apply/{id}/nonprofit/results", self.results, methods=["GET"]),
            Route("/apply/{id}/nonprofit/other", self.unlisted, methods=both),
            Route("/apply/{id}/person", self.person, methods=both),
            Route("/apply/{id}/questions", self.questions, methods=both),
            Route("/apply/{id}/review", self.review, methods=both),
            Route("/apply/{id}/colleague", self.colleague, methods=both),
            Route("/apply/{id}/language", self.choose_language, methods=["POST"]),
        ]

    @kindly
    async def open_link(self, request: Request) -> Response:
        """The link with its token: a cookie takes the token's place, and the address is clean (H1)."""
        invite_id = self._vault.read_page_token(PAGE, request.query_params.get("token", ""))
        if invite_id is None:
            raise NotFound
        name = self._ids.text("validationinvite", invite_id)
        response = to(f"/{PAGE}/{name}")
        # A second tab keeps the first one's visit: a new one would void the form that is open there.
        visit = visits.find(request, self._vault, PAGE, invite_id, name)
        visit = visit or visits.begin(self._vault, PAGE, invite_id, name)
        visit.keep(response, seconds=_COOKIE_SECONDS)
        return response

    @kindly
    async def start(self, request: Request) -> Response:
        """What the form asks for, or how far it is."""
        return self.views.start((await self.open(request)).face)

    @kindly
    async def nonprofit(self, request: Request) -> Response:
        """The search, or the choice of one of its results."""
        opened = await self.open(request)
        if request.method == "GET":
            return await self._search_page(opened, request.query_params.get("q", ""))
        form = await self.posted(opened)
        chosen = self._ids.parse("organisation", str(form.get("organisation", "")))
        if chosen is None:
            return await self._search_page(opened, str(form.get("q", "")), "apply.problem.organisation.missing")
        try:
            async with self.db.write() as tx:
                draft = await service.choose(tx, opened.id, opened.application.partner, chosen)
                await self.record(tx, opened, "application.saved", {"step": "nonprofit"})
        except NotFound:
            return await self._search_page(opened, str(form.get("q", "")), "apply.problem.organisation.missing")
        changed = replace(opened.face, application=replace(opened.application, draft=draft))
        return self.onwards(replace(opened, face=changed), "nonprofit")

    async def _search_page(self, opened: Opened, query: str, problem: str | None = None) -> Response:
        locale = opened.face.language.locale
        async with self.db.read() as tx:
            results = await self._search.found(tx, opened.face, query)
            named = await service.organisation(tx, opened.application)
            chosen = wording.body_of(tx, named, locale, chosen=True) if named else None
        problems = {"q": problem} if problem else None
        return self.views.nonprofit(
            opened.face, chosen, query.strip()[:200], results, status=422 if problem else 200, problems=problems
        )

    @kindly
    async def results(self, request: Request) -> Response:
        """The results alone, as one types."""
        opened, query = await self.open(request), request.query_params.get("q", "")
        async with self.db.read() as tx:
            results = await self._search.found(tx, opened.face, query)
        return self.views.results(opened.face, query.strip()[:200], results)

    @kindly
    async def unlisted(self, request: Request) -> Response:
        """A nonprofit that the search does not know: its country first, since that says which registers there are."""
        opened = await self.open(request)
        if request.method == "POST":
            return await self._submit_unlisted(opened)
        known = opened.application.draft.unlisted or Unlisted()
        asked = request.query_params.get("country")
        country = known.country if asked is None else asked.upper()[:3]
        async with self.db.read() as tx:
            registries = await service.registries_of(tx, country)
            codes = await service.countries(tx)
        if not registries:
            wrong = (
                {"country": "apply.problem.country.missing"}
                if asked is not None and "change" not in request.query_params
                else None
            )
            return self.views.countries(opened.face, codes, known.country, wrong)
        given = known if known.country == country else Unlisted(country=country)
        return self.views.unlisted(opened.face, given, registries)

    async def _submit_unlisted(self, opened: Opened) -> Response:
        form = await self.posted(opened)
        given = Unlisted(
            _text(form, "name"),
            _text(form, "country").upper()[:3],
            _text(form, "registry"),
            _text(form, "number"),
            _text(form, "website"),
        )
        async with self.db.read() as tx:
            registries = await service.registries_of(tx, given.country)
            problems = await service.unlisted_problems(tx, given)
            codes = await service.countries(tx)
        if not registries:
            return self.views.countries(opened.face, codes, "", {"country": "apply.problem.country.missing"})
        if problems:
            return self.views.unlisted(opened.face, given, registries, problems)
        kept = await self.keep(opened, "nonprofit", lambda draft: replace(draft, organisation=None, unlisted=given))
        return self.onwards(kept, "nonprofit")

    @kindly
    async def person(self, request: Request) -> Response:
        """Who applies."""
        opened = await self._at(request, "person")
        if request.method == "GET":
            return self.views.person(opened.face, opened.application.draft.person or Person())
        form = await self.posted(opened)
        given = Person(*(_text(form, field) for field in ("first_name", "last_name", "email", "title")))
        if problems := drafts.person_problems(given):
            return self.views.person(opened.face, given, problems)
        return self.onwards(await self.keep(opened, "person", lambda draft: replace(draft, person=given)), "person")

    @kindly
    async def questions(self, request: Request) -> Response:
        """The partner's own questions."""
        opened = await self._at(request, "questions")
        if request.method == "GET":
            return self.views.questions(opened.face, opened.application.draft.answers or {})
        form, fields = await self.posted(opened), opened.application.configuration.partner_fields
        given = {field.id: _text(form, f"q-{field.id}", lines=field.kind == "long_text") for field in fields}
        if problems := drafts.answer_problems(fields, given):
            return self.views.questions(opened.face, given, problems)
        return self.onwards(
            await self.keep(opened, "questions", lambda draft: replace(draft, answers=given)), "questions"
        )

    @kindly
    async def review(self, request: Request) -> Response:
        """All answers; sending makes the submission, once."""
        opened = await self.open(request)
        application = opened.application
        step = drafts.open_step(application.draft, application.configuration)
        if request.method == "GET":
            return to(opened.face.href(step)) if step != "review" else await self._review(opened)
        await self.posted(opened)
        if step != "review":
            return to(opened.face.href(step))
        try:
            async with self.db.write() as tx:
                sent = await sending.send(tx, opened.id, opened.face.language.html_lang)
                await self.record(tx, opened, "application.sent", {"submission": sent.name})
        except sending.NotSent as problem:
            return await self._review(opened, Notice(problem.key, alert=True))
        return to(sent.url)

    async def _review(self, opened: Opened, notice: Notice | None = None) -> Response:
        async with self.db.read() as tx:
            named = await service.organisation(tx, opened.application)
            body = wording.body_of(tx, named, opened.face.language.locale) if named else None
            documents = await sending.documents_of(tx, opened.application.invite)
        return self.views.review(opened.face, body, len(documents), notice)

    @kindly
    async def colleague(self, request: Request) -> Response:
        """Hand the form over by a mail."""
        opened = await self.open(request)
        if request.method == "GET":
            return self.views.colleague(opened.face)
        email = _text(await self.posted(opened), "email")
        if problems := drafts.email_problems(email):
            return self.views.colleague(opened.face, email, status=422, problems=problems)
        async with self.db.write() as tx:
            sent = await service.hand_over(tx, opened.id, email)
            if sent:
                await self.record(tx, opened, "application.handed_over")
        notice = Notice("apply.colleague.sent") if sent else Notice("apply.colleague.later", alert=True)
        return self.views.colleague(opened.face, email, status=200 if sent else 429, notice=notice)

    @kindly
    async def choose_language(self, request: Request) -> Response:
        """The language of the form, its mails and the application's own pages."""
        opened = await self.open(request)
        form = await self.posted(opened)
        chosen = wording.offered(str(form.get("language", "")), self.views.pages.catalogues.offered)
        if chosen is not None:
            await self.keep(opened, "language", lambda draft: replace(draft, language=chosen))
        page = str(form.get("page", ""))
        known = page in (*drafts.steps_of(opened.application.configuration), "colleague")
        return to(f"{opened.face.home}/{page}" if known else opened.face.home)

    async def _at(self, request: Request, step: Step) -> Opened:
        """The form at one of its steps. Raises NotFound where the configuration does not ask for it."""
        opened = await self.open(request)
        if step not in drafts.steps_of(opened.application.configuration):
            raise NotFound
        return opened


def _text(form: FormData, field: str, *, lines: bool = False) -> str:
    value = form.get(field)
    return typed(value, lines=lines) if isinstance(value, str) else ""


def to(url: str) -> Response:
    """Onwards by GET."""
    return RedirectResponse(url, 303, NO_PAGE)
