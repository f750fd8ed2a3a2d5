"""The page that says where an application stands: for whoever has the link of our mails, without an account.

GET changes nothing. POST needs the cookie of the link, its CSRF token and the page's own origin (house 5).
"""

from dataclasses import dataclass
from typing import Final
from uuid import UUID

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from almoner.kit.errors import NotFound, Problem
from almoner.kit.text import typed
from almoner.platform import audit
from almoner.platform.audit import Actor
from almoner.platform.db import EVERYONE, Database, Partner, Tx
from almoner.platform.http.receiving import Intake
from almoner.platform.http.uploads import Received
from almoner.platform.pages import visits
from almoner.platform.pages.rendering import Pages
from almoner.platform.pages.visits import CSRF_FIELD, Visit
from almoner.platform.uploads.files import Stored
from almoner.validation.agents import service as agents
from almoner.validation.appeals import service as appeals
from almoner.validation.applications import status, status_views, store, wording
from almoner.validation.applications.form_documents import kind_of, problem_key, received_by
from almoner.validation.applications.link_pages import LinkPages
from almoner.validation.applications.opening import Again, FormBase, LinkEnded, kindly, to
from almoner.validation.applications.sending import BY_FORM, STATUS_PAGE
from almoner.validation.applications.status_views import Known, StatusViews
from almoner.validation.documents import service as documents
from almoner.validation.submission_documents import service as handed_in
from almoner.validation.submissions import service as submissions
from almoner.validation.submissions.domain import InvalidState

_COOKIE_SECONDS: Final = 30 * 24 * 3600  # the link opens it again
_PURPOSES: Final = (STATUS_PAGE, BY_FORM)
_MAX_FORM: Final = {"max_files": 0, "max_fields": 10, "max_part_size": 65_536}
_NOTICES: Final = {"added": "apply.documents.added", "appealed": "applied.appeal.sent"}


@dataclass(frozen=True, slots=True)
class Seen:
    """A request that came with the cookie of its submission. ``name``: the submission's id in addresses.

    ``mailed``: whether by a link that was mailed, and not by the form.
    """

    request: Request
    visit: Visit
    id: UUID
    name: str
    mailed: bool


class StatusPages(FormBase):
    """The page of one application."""

    def __init__(self, db: Database, pages: Pages, intake: Intake) -> None:
        super().__init__(db, pages)
        self._intake = intake
        self._status = StatusViews(pages)
        self._links = LinkPages(db, pages)

    def routes(self) -> list[Route]:
        """Starlette routes."""
        return [
            Route(f"/{STATUS_PAGE}", self.open_link, methods=["GET"]),
            Route(f"/{STATUS_PAGE}/{{id}}", self.show, methods=["GET"]),
            Route(f"/{STATUS_PAGE}/{{id}}/appeal", self.appeal, methods=["POST"]),
            Route(f"/{STATUS_PAGE}/{{id}}/language", self.choose_language, methods=["POST"]),
            Route(f"/{STATUS_PAGE}/{{id}}/documents", self.upload, methods=["POST"]),
            *self._links.routes(),
        ]

    @kindly
    async def open_link(self, request: Request) -> Response:
        """The link with its token: a cookie takes the token's place, and the address is clean (H1)."""
        token = request.query_params.get("token", "")
        if (read := self._vault.read_ending_token(STATUS_PAGE, token)) is None:
            if (found := self._vault.read_page_token(STATUS_PAGE, token)) is not None:
                raise LinkEnded(found)  # mailed when links had no end yet
            raise NotFound
        found, until = read
        if until <= self._now():
            raise LinkEnded(found)
        name = self._ids.text("validationsubmission", found)
        response = to(f"/{STATUS_PAGE}/{name}")
        # A second tab keeps the first one's visit: a new one would void the form that is open there.
        visit = visits.find(request, self._vault, STATUS_PAGE, found, name)
        if visit is None or not self.lasts(visit):
            visit = visits.begin(self._vault, STATUS_PAGE, found, name, until)
        visit.keep(response, seconds=_COOKIE_SECONDS)
        return response

    @kindly
    async def show(self, request: Request) -> Response:
        """Where it stands."""
        seen = self._seen(request)
        return await self._page(seen, notice=_NOTICES.get(request.query_params.get("did", "")))

    @kindly
    async def appeal(self, request: Request) -> Response:
        """Ask for a second look."""
        seen = await self._posting(request)
        form = await request.form(**_MAX_FORM)
        self._ensure_given(seen, form.get(CSRF_FIELD))
        text = typed(str(form.get("text", "")), lines=True)
        if (problem := status.problem_of(text)) is not None:
            return await self._page(seen, code=422, problems={"text": problem}, text=text)
        try:
            async with self.db.write() as tx:
                held = await submissions.hold(tx, EVERYONE, seen.id)
                if not status.may_appeal(held, await appeals.last(tx, EVERYONE, held.id)):
                    raise InvalidState("the page offers no appeal any more")  # it was open since before the answer
                await appeals.create(tx, EVERYONE, seen.id, text, "applicant" if seen.mailed else "visitor")
                await self._record(tx, seen, "application.appealed")
        except InvalidState:
            return await self._page(seen)
        return to(f"/{STATUS_PAGE}/{seen.name}?did=appealed")

    @kindly
    async def choose_language(self, request: Request) -> Response:
        """The language of the page, and of the mails from now on."""
        seen = await self._posting(request)
        form = await request.form(**_MAX_FORM)
        self._ensure_given(seen, form.get(CSRF_FIELD))
        chosen = wording.offered(str(form.get("language", "")), self.views.pages.catalogues.offered)
        if chosen is not None:
            async with self.db.write() as tx:
                submission = await submissions.get(tx, EVERYONE, seen.id)
                await store.save_language(tx, Partner(submission.partner_id), seen.id, chosen)
                if submission.agent_verification_id is not None:
                    await agents.speak(tx, EVERYONE, submission.agent_verification_id, chosen)
                await self._record(tx, seen, "application.language_chosen")
        return to(f"/{STATUS_PAGE}/{seen.name}")

    @kindly
    async def upload(self, request: Request) -> Response:
        """Take one more document."""
        seen = await self._posting(request)
        received = await received_by(request)
        try:
            return await self._take_in(seen, received)
        finally:
            received.close()

    async def _take_in(self, seen: Seen, received: Received) -> Response:
        try:
            uploaded = received.open()
            self._ensure_given(seen, uploaded.fields.get(CSRF_FIELD))
            async with self._intake.taken(None, uploaded, documents.DOCUMENT) as stored, self.db.write() as tx:
                assert isinstance(stored, Stored), "documents are stored"
                held = await submissions.hold(tx, EVERYONE, seen.id)
                kinds = status.takes_documents(held, await appeals.last(tx, EVERYONE, held.id))
                if not kinds:
                    raise NotFound
                kind, partner = kind_of(uploaded.fields.get("type", ""), kinds), Partner(held.partner_id)
                await handed_in.add_to_submission(tx, partner, held.id, held.validation_request_id, kind, stored)
                await self._record(tx, seen, "application.evidence_added")
        except Problem as problem:
            if (key := problem_key(problem)) is None:
                raise
            return await self._page(seen, code=422, problems={"file": key})
        return to(f"/{STATUS_PAGE}/{seen.name}?did=added")

    def _seen(self, request: Request) -> Seen:
        """Of a browser that opened the link, or has sent the form. Raises NotFound, LinkEnded."""
        name = request.path_params["id"]
        found = self._ids.parse("validationsubmission", name)
        if found is None:
            raise NotFound
        known = [(purpose, visits.find(request, self._vault, purpose, found, name)) for purpose in _PURPOSES]
        for purpose, visit in known:
            if visit is not None and self.lasts(visit):
                return Seen(request, visit, found, name, mailed=purpose == STATUS_PAGE)
        if any(visit is not None for _, visit in known):
            raise LinkEnded(found)
        raise NotFound

    async def _posting(self, request: Request) -> Seen:
        """As ``_seen``, of somebody who posts: what goes wrong is told in the application's language."""
        seen = self._seen(request)
        async with self.db.read() as tx:
            request.state.language = await status_views.language_of(tx, seen.id)
        return seen

    def _ensure_given(self, seen: Seen, csrf: object) -> None:
        """Whether this browser was given the form that it posts. Raises Again."""
        if not (visits.from_own_page(seen.request, self._origin) and seen.visit.owns(csrf)):
            raise Again

    async def _record(self, tx: Tx, seen: Seen, action: str) -> None:
        submission = await submissions.get(tx, EVERYONE, seen.id)
        address = seen.request.client.host if seen.request.client else None
        await audit.record(tx, submission.partner_id, Actor("system", "applicant"), action, seen.name, address=address)

    async def _page(
        self,
        seen: Seen,
        *,
        code: int = 200,
        problems: dict[str, str] | None = None,
        notice: str | None = None,
        text: str = "",
    ) -> Response:
        async with self.db.read() as tx:
            known: Known = await status_views.know(tx, seen.id)
        seen.request.state.language = known.language  # what goes wrong later is told in it
        home = f"/{STATUS_PAGE}/{seen.name}"
        return self._status.page(
            known, home, seen.visit.csrf, code=code, problems=problems or {}, notice=notice, text=text
        )
