"""The pages of the hosted form, one for each step, saved when the applicant leaves it."""

from dataclasses import replace
from pathlib import Path
from typing import Final

from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from almoner.kit.errors import NotFound
from almoner.kit.text import clean_text
from almoner.platform.database.transactions import Database
from almoner.platform.pages import formats, link_sessions
from almoner.platform.pages.rendering import PageRenderer
from almoner.platform.ratelimit import RateLimiter
from almoner.validation.applications.form import drafts, service, submit, view_models
from almoner.validation.applications.form.drafts import ApplicantDetails, FormStep, UnlistedNonprofit
from almoner.validation.applications.form.form_session import (
    FormPagesBase,
    FormRequest,
    StepNotRequired,
    redirect_to,
    with_form_error_pages,
)
from almoner.validation.applications.form.form_views import EXTRA_PAGES, FormNotice
from almoner.validation.applications.form.nonprofit_search import NonprofitSearch
from almoner.validation.applications.invites.domain import PAGE
from almoner.validation.applications.submissions.domain import OrganisationNotActive

TEMPLATES: Final = Path(__file__).parent / "templates"

_MAX_QUESTIONS_BYTES: Final = 2 * 1024 * 1024
"""All answers at maximum length; URL encoding makes twelve bytes of a four-byte character."""
_COOKIE_SECONDS: Final = 8 * 24 * 3600  # a day longer than the link, so that visitors learn that it expired


class ApplicationFormPages(FormPagesBase):
    """The pages of the form except the documents step."""

    def __init__(self, db: Database, pages: PageRenderer, limiter: RateLimiter) -> None:
        super().__init__(db, pages)
        self._search = NonprofitSearch(limiter)

    def routes(self) -> list[Route]:
        """Starlette routes."""
        both = ["GET", "POST"]
        return [
            Route("/apply", self.open_link, methods=["GET"]),
            Route("/apply/{id}", self.start_page, methods=["GET"]),
            Route("/apply/{id}/nonprofit", self.nonprofit_search_page, methods=both),
            Route("/apply/{id}/nonprofit/results", self.search_results_fragment, methods=["GET"]),
            Route("/apply/{id}/nonprofit/other", self.unlisted_nonprofit_page, methods=both),
            Route("/apply/{id}/person", self.applicant_page, methods=both),
            Route("/apply/{id}/questions", self.questions_page, methods=both),
            Route("/apply/{id}/review", self.review_page, methods=both),
            Route("/apply/{id}/colleague", self.share_form_page, methods=both),
            Route("/apply/{id}/language", self.choose_language, methods=["POST"]),
        ]

    @with_form_error_pages
    async def open_link(self, request: Request) -> Response:
        """Open the link: a cookie replaces its token, and the browser is redirected (H1)."""
        invite_id = self._vault.read_page_token(PAGE, request.query_params.get("token", ""))
        if invite_id is None:
            raise NotFound
        name = self._ids.encode("validationinvite", invite_id)
        response = redirect_to(f"/{PAGE}/{name}")
        # A second tab reuses the first one's session: a new one would void the form open there.
        visit = link_sessions.find_link_session(request, self._vault, PAGE, invite_id, name)
        visit = visit or link_sessions.begin_link_session(self._vault, PAGE, invite_id, name)
        visit.set_cookie(response, max_age_seconds=_COOKIE_SECONDS)
        return response

    @with_form_error_pages
    async def start_page(self, request: Request) -> Response:
        """Show what the form requires, or the progress so far."""
        return self.views.render_start_page((await self.load_form_request(request)).form_context)

    @with_form_error_pages
    async def nonprofit_search_page(self, request: Request) -> Response:
        """The search, or the choice of one of its results."""
        opened = await self.load_form_request(request)
        if request.method == "GET":
            return await self._search_page(opened, request.query_params.get("q", ""))
        form = await self.read_form(opened)
        chosen = self._ids.decode("organisation", str(form.get("organisation", "")))
        if chosen is None:
            return await self._search_page(opened, str(form.get("q", "")), "apply.problem.organisation.missing")
        try:
            async with self.db.write() as tx:
                draft = await service.choose_organisation(tx, opened.invite_id, opened.application.partner, chosen)
                await self.record_audit(tx, opened, "application.saved", {"step": "nonprofit"})
        except NotFound:
            return await self._search_page(opened, str(form.get("q", "")), "apply.problem.organisation.missing")
        except OrganisationNotActive:
            return await self._search_page(opened, str(form.get("q", "")), "apply.problem.organisation.gone")
        changed = replace(opened.form_context, application=replace(opened.application, draft=draft))
        return self.redirect_to_next_step(replace(opened, form_context=changed), "nonprofit")

    async def _search_page(self, opened: FormRequest, query: str, problem: str | None = None) -> Response:
        locale = opened.form_context.language.locale
        async with self.db.read() as tx:
            results = await self._search.search_and_build_results_view_model(tx, opened.form_context, query)
            named = await service.find_chosen_organisation(tx, opened.application)
            chosen = view_models.build_organisation_card(tx, named, locale, chosen=True) if named else None
        problems = {"q": problem} if problem else None
        return self.views.render_nonprofit_search_page(
            opened.form_context, chosen, query.strip()[:200], results, status=422 if problem else 200, problems=problems
        )

    @with_form_error_pages
    async def search_results_fragment(self, request: Request) -> Response:
        """The results alone, for search as you type."""
        opened, query = await self.load_form_request(request), request.query_params.get("q", "")
        async with self.db.read() as tx:
            results = await self._search.search_and_build_results_view_model(tx, opened.form_context, query)
        return self.views.render_search_results_fragment(opened.form_context, query.strip()[:200], results)

    @with_form_error_pages
    async def unlisted_nonprofit_page(self, request: Request) -> Response:
        """Ask for a nonprofit that is not found: first its country, then its register and details."""
        opened = await self.load_form_request(request)
        if not drafts.accepts_unlisted_nonprofits(opened.application.configuration):
            return redirect_to(opened.form_context.step_url("nonprofit"))
        if request.method == "POST":
            return await self._submit_unlisted(opened)
        known = opened.application.draft.unlisted or UnlistedNonprofit()
        asked = request.query_params.get("country")
        country = known.country if asked is None else clean_text(asked).upper()[:3]
        async with self.db.read() as tx:
            registries = await service.list_registries(tx, country)
            codes = await service.list_country_codes_with_registry(tx)
        if not registries:
            wrong = (
                {"country": "apply.problem.country.missing"}
                if asked is not None and "change" not in request.query_params
                else None
            )
            return self.views.render_country_choice_page(opened.form_context, codes, known.country, wrong)
        given = known if known.country == country else UnlistedNonprofit(country=country)
        return self.views.render_unlisted_nonprofit_page(opened.form_context, given, registries)

    async def _submit_unlisted(self, opened: FormRequest) -> Response:
        form = await self.read_form(opened)
        given = UnlistedNonprofit(
            _text(form, "name"),
            _text(form, "country").upper()[:3],
            _text(form, "registry"),
            _text(form, "number"),
            _text(form, "website"),
        )
        async with self.db.read() as tx:
            registries = await service.list_registries(tx, given.country)
            problems = await service.find_unlisted_nonprofit_problems(tx, given)
            codes = await service.list_country_codes_with_registry(tx)
        if not registries:
            return self.views.render_country_choice_page(
                opened.form_context, codes, "", {"country": "apply.problem.country.missing"}
            )
        if problems:
            return self.views.render_unlisted_nonprofit_page(opened.form_context, given, registries, problems)
        stored = await self.save_step_answers(
            opened, "nonprofit", lambda draft: replace(draft, organisation=None, unlisted=given)
        )
        return self.redirect_to_next_step(stored, "nonprofit")

    @with_form_error_pages
    async def applicant_page(self, request: Request) -> Response:
        """The applicant's details."""
        opened = await self._at(request, "person")
        if request.method == "GET":
            return self.views.render_applicant_page(
                opened.form_context, opened.application.draft.person or ApplicantDetails()
            )
        form = await self.read_form(opened)
        given = ApplicantDetails(*(_text(form, field) for field in ("first_name", "last_name", "email", "title")))
        named = drafts.requires_applicant_name(opened.application.configuration)
        family_name_first = formats.is_family_name_first(opened.form_context.language.locale)
        if problems := drafts.find_applicant_problems(given, name_required=named, family_name_first=family_name_first):
            return self.views.render_applicant_page(opened.form_context, given, problems)
        return self.redirect_to_next_step(
            await self.save_step_answers(opened, "person", lambda draft: replace(draft, person=given)), "person"
        )

    @with_form_error_pages
    async def questions_page(self, request: Request) -> Response:
        """The partner's own questions."""
        opened = await self._at(request, "questions")
        if request.method == "GET":
            return self.views.render_questions_page(opened.form_context, opened.application.draft.answers or {})
        fields = opened.application.configuration.partner_fields
        form = await self.read_form(opened, _MAX_QUESTIONS_BYTES)
        given = {field.id: _text(form, f"q-{field.id}", lines=field.kind == "long_text") for field in fields}
        if problems := drafts.find_answer_problems(fields, given):
            return self.views.render_questions_page(opened.form_context, given, problems)
        return self.redirect_to_next_step(
            await self.save_step_answers(opened, "questions", lambda draft: replace(draft, answers=given)), "questions"
        )

    @with_form_error_pages
    async def review_page(self, request: Request) -> Response:
        """All answers; submitting creates the submission, once."""
        opened = await self.load_form_request(request)
        application = opened.application
        asked_first = drafts.first_incomplete_step(application.draft, application.configuration) != "review"
        if request.method == "GET":
            return redirect_to(opened.first_incomplete_step_url) if asked_first else await self._review(opened)
        await self.read_form(opened)
        if asked_first:
            return redirect_to(opened.first_incomplete_step_url)
        try:
            async with self.db.write() as tx:
                sent = await submit.submit_application(tx, opened.invite_id, opened.form_context.language.html_lang)
                await self.record_audit(tx, opened, "application.submitted", {"submission": sent.submission_id_text})
        except submit.SubmissionRefused as problem:
            return await self._review(opened, problem)
        return self.set_submitter_cookie(redirect_to(sent.redirect_url), sent.submission_id)

    async def _review(self, opened: FormRequest, problem: submit.SubmissionRefused | None = None) -> Response:
        async with self.db.read() as tx:
            named = await service.find_chosen_organisation(tx, opened.application)
            body = (
                view_models.build_organisation_card(tx, named, opened.form_context.language.locale) if named else None
            )
            documents = await submit.list_invite_documents(tx, opened.application.invite)
        problems = {f"part-{problem.step}": problem.key} if problem and problem.step else None
        notice = FormNotice(problem.key, is_alert=True) if problem and not problems else None
        return self.views.render_review_page(opened.form_context, body, documents, problems, notice)

    @with_form_error_pages
    async def share_form_page(self, request: Request) -> Response:
        """Share the form by email."""
        opened = await self.load_form_request(request)
        if request.method == "GET":
            return self.views.render_share_form_page(opened.form_context)
        email = _text(await self.read_form(opened), "email")
        if problems := drafts.find_email_problems(email):
            return self.views.render_share_form_page(opened.form_context, email, status=422, problems=problems)
        async with self.db.write() as tx:
            sent = await service.email_form_link(tx, opened.invite_id, email)
            if sent:
                await self.record_audit(tx, opened, "application.shared")
        notice = FormNotice("apply.colleague.sent") if sent else FormNotice("apply.colleague.later", is_alert=True)
        return self.views.render_share_form_page(opened.form_context, email, status=200 if sent else 429, notice=notice)

    @with_form_error_pages
    async def choose_language(self, request: Request) -> Response:
        """Choose the language of the form, its emails and the status page."""
        opened = await self.load_form_request(request)
        form = await self.read_form(opened)
        chosen = view_models.find_offered_language(
            str(form.get("language", "")), self.views.pages.catalogues.offered_languages
        )
        if chosen is not None:
            await self.save_step_answers(opened, "language", lambda draft: replace(draft, language=chosen))
        page = str(form.get("page", ""))
        known = page in (*drafts.form_steps_of(opened.application.configuration), *EXTRA_PAGES)
        return redirect_to(f"{opened.form_context.base_path}/{page}" if known else opened.form_context.base_path)

    async def _at(self, request: Request, step: FormStep) -> FormRequest:
        """The form at one of its steps.

        Raises StepNotRequired if the configuration does not, or no longer, require it.
        """
        opened = await self.load_form_request(request)
        if step not in drafts.form_steps_of(opened.application.configuration):
            raise StepNotRequired(opened.first_incomplete_step_url)
        return opened


def _text(form: FormData, field: str, *, lines: bool = False) -> str:
    value = form.get(field)
    return clean_text(value, keep_line_breaks=lines) if isinstance(value, str) else ""
