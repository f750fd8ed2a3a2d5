"""Corrections on the status page: email address and registration number."""

from datetime import timedelta
from typing import Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from almoner.kit.errors import NotFound
from almoner.kit.text import clean_text
from almoner.platform.database.transactions import ALL_PARTNERS, Tx
from almoner.platform.pages.forms import read_form
from almoner.platform.pages.link_sessions import CSRF_FIELD
from almoner.validation.agents import domain as agents_domain
from almoner.validation.agents import service as agents
from almoner.validation.applications.form import drafts, service
from almoner.validation.applications.form.form_session import redirect_to, with_form_error_pages
from almoner.validation.applications.form.notifications import notify_applicant
from almoner.validation.applications.form.status_session import StatusPageRequest, StatusPagesBase
from almoner.validation.applications.form.submit import STATUS_PAGE
from almoner.validation.applications.submissions import domain as submissions_domain
from almoner.validation.applications.submissions import service as submissions
from almoner.validation.requests import domain as validation_requests_domain

_MISSING_NOTICE_DELAY: Final = timedelta(minutes=10)
"""By then the registers have usually answered for the corrected number, so what is still missing can be emailed."""
_TOO_LATE: Final = (
    submissions_domain.InvalidState,
    agents_domain.InvalidState,
    validation_requests_domain.InvalidState,
)
"""Raised if the form was opened before the decision or confirmation."""


class ApplicationCorrectionPages(StatusPagesBase):
    """The correction forms on the status page."""

    def routes(self) -> list[Route]:
        """Starlette routes."""
        return [
            Route(f"/{STATUS_PAGE}/{{id}}/email", self.correct_email, methods=["POST"]),
            Route(f"/{STATUS_PAGE}/{{id}}/number", self.correct_registry_number, methods=["POST"]),
        ]

    @with_form_error_pages
    async def correct_email(self, request: Request) -> Response:
        """Change the email address to confirm, or send the email again.

        Only for the browser that sent the form: a link emailed to a wrong address is in a stranger's hands, who could
        take the application over (decision 0063).
        """
        seen = await self.load_status_request_for_post(request)
        form = await read_form(request)
        self.ensure_valid_status_csrf_token(seen, form.get(CSRF_FIELD))
        if not seen.is_submitting_browser:
            raise NotFound
        email = clean_text(str(form.get("email", "")))
        if problems := drafts.find_email_problems(email):
            return await self.render_status_page(
                seen, http_status=422, problems=problems, entered_values={"email": email}
            )
        try:
            async with self.db.write() as tx:
                done = await self._write_to(tx, seen, email)
        except _TOO_LATE:
            return await self.render_status_page(seen, is_from_outdated_page=True)
        if not done:
            return await self.render_status_page(
                seen, http_status=429, problems={"email": "agent.later"}, entered_values={"email": email}
            )
        return redirect_to(f"{seen.page_path}?did=mailed")

    async def _write_to(self, tx: Tx, visit: StatusPageRequest, email: str) -> bool:
        """Whether limits allow one more email to this address. Raises InvalidState."""
        locked = await submissions.get_for_update(tx, ALL_PARTNERS, visit.submission_id)
        agent = locked.check_records.agent
        if agent is None or not agent.is_email_unconfirmed:
            raise submissions_domain.InvalidState("there is no address that nobody has confirmed")
        if same := (agent.email or "").casefold() == email.casefold():
            done = await agents.resend_confirmation(tx, agent.id)
        else:
            done = await self._correct(tx, visit, email)
        if done:
            action = "application.confirmation_resent" if same else "application.email_corrected"
            await self._record(tx, visit, action)
        return done

    async def _correct(self, tx: Tx, visit: StatusPageRequest, email: str) -> bool:
        corrected = await submissions.correct_email(tx, ALL_PARTNERS, visit.submission_id, email)
        if corrected is None:
            return False
        # Earlier emails went to the wrong address and their links are invalid: email the page's link to the new one.
        await notify_applicant(tx, visit.submission_id, "received", dedupe_key=str(corrected.agent_verification_id))
        return True

    @with_form_error_pages
    async def correct_registry_number(self, request: Request) -> Response:
        """Change the register or registration number."""
        seen = await self.load_status_request_for_post(request)
        form = await read_form(request)
        self.ensure_valid_status_csrf_token(seen, form.get(CSRF_FIELD))
        given = {name: clean_text(str(form.get(name, ""))) for name in ("registry", "number")}
        async with self.db.read() as tx:
            country = (await submissions.get(tx, ALL_PARTNERS, seen.submission_id)).country_code
            problems = await service.find_registration_problems(tx, given["registry"], given["number"], country)
        if problems:
            return await self.render_status_page(seen, http_status=422, problems=problems, entered_values=given)
        try:
            async with self.db.write() as tx:
                corrected = await submissions.correct_registry_number(
                    tx, ALL_PARTNERS, seen.submission_id, given["registry"], given["number"]
                )
                times = corrected.check_records.request.corrections if corrected.check_records.request else 0
                await notify_applicant(
                    tx, seen.submission_id, "missing", delay=_MISSING_NOTICE_DELAY, dedupe_key=f"number-{times}"
                )
                await self._record(tx, seen, "application.number_corrected")
        except validation_requests_domain.UnchangedCorrection:
            return await self.render_status_page(
                seen, http_status=422, problems={"number": "applied.number.same"}, entered_values=given
            )
        except _TOO_LATE:
            return await self.render_status_page(seen, is_from_outdated_page=True)
        return redirect_to(f"{seen.page_path}?did=corrected")
