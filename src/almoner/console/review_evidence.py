"""Ask the applicant of a case for more evidence instead of rejecting the case."""

from collections.abc import Mapping
from dataclasses import replace
from uuid import UUID

from starlette.routing import Route

from almoner.access.accounts.page_guard import SignedInRequest
from almoner.console.actions import ActionField, ActionPage, ActionPages, ConsoleAction, is_preview_request
from almoner.console.context import ConsoleContext
from almoner.console.links import REVIEWERS
from almoner.console.review_cases import ReviewCasePages
from almoner.console.review_decisions import EMAIL_TITLE, add_claim_button, render_email_preview
from almoner.console.review_effects import describe_email_recipients
from almoner.console.review_words import EVIDENCE_WORDS, REVIEWS
from almoner.kit.errors import Problem
from almoner.platform.database.transactions import Tx
from almoner.validation.applications.form import evidence_requests
from almoner.validation.decisions.reviews import service as reviews
from almoner.validation.decisions.reviews.domain import Kind, ReviewRefused


class EvidenceRequestPages:
    """The page for requesting evidence from an applicant."""

    def __init__(self, context: ConsoleContext, cases: ReviewCasePages) -> None:
        self._context = context
        self._cases = cases

    def routes(self) -> list[Route]:
        """Starlette routes."""
        return ActionPages(self._context).routes(
            ConsoleAction(f"{REVIEWS}/{{id}}/request", REVIEWERS, self._describe, self._perform, (ReviewRefused,))
        )

    async def _describe(self, tx: Tx, visitor: SignedInRequest) -> ActionPage:
        handler, kind, subject_id, name = self._cases.get_case_from_url(visitor)
        offered = await evidence_requests.list_requestable_evidence_codes(tx, kind, subject_id)
        view = await reviews.load_review_details(tx, handler, subject_id)
        choices = [(one, EVIDENCE_WORDS[one]) for one in offered]
        sentences = [
            view.evidence.title,
            ("The email has a link to upload the evidence. API responses tell the partner which evidence is missing."),
            "The case stays open. You can decide the case at any time.",
            *await _some_applicants(tx, kind, subject_id),
        ]
        page = ActionPage(
            "Ask the applicant",
            "Send email",
            f"{REVIEWS}/{name}",
            f"Case {name}",
            sentences,
            [ActionField("evidence", "What do you need?", "choice", choices=choices)],
            preview="Show the email",
        )
        page = add_claim_button(page, view, self._context.operator_id(visitor))
        if not page.closed and not offered:
            page = replace(page, closed="This case has no application, so there is nobody to ask for evidence.")
        evidence = visitor.form_value("evidence")
        if page.closed or (visitor.form and not is_preview_request(visitor)):
            return page
        shown = evidence in offered

        async def ask() -> object:
            by = self._context.operator_id(visitor)
            named = evidence if shown else offered[0]
            return await evidence_requests.request_evidence(tx, handler, kind, subject_id, named, by)

        try:
            mails = await self._context.services.preview_decision_emails(tx, view.subject, ask, "missing")
        except (ReviewRefused, Problem):
            return page  # the page says why; sending is still possible
        page = replace(
            page,
            sentences=[*page.sentences, *describe_email_recipients(mails.emails, mails.unpreviewed_application_count)],
        )
        shown_emails = [(EMAIL_TITLE, render_email_preview(one.mail)) for one in mails.emails]
        return replace(page, mails=shown_emails) if shown else page

    async def _perform(self, tx: Tx, visitor: SignedInRequest, values: Mapping[str, str]) -> str:
        handler, kind, subject_id, name = self._cases.get_case_from_url(visitor)
        by, evidence = self._context.operator_id(visitor), values["evidence"]
        subject = await evidence_requests.request_evidence(tx, handler, kind, subject_id, evidence, by)
        await self._context.record_audit_entry(
            tx, visitor, subject.partner_id, "review.evidence_requested", name, evidence=evidence
        )
        return f"{REVIEWS}/{name}?done=requested"


async def _some_applicants(tx: Tx, kind: Kind, subject_id: UUID) -> list[str]:
    """That the request asks only some applicants, if the case has many applications."""
    asked, waiting = await evidence_requests.count_applicants_to_ask_and_waiting(tx, kind, subject_id)
    if asked == waiting:
        return []
    return [
        (
            f"{waiting:,} applicants wait for this case. This request asks {asked} of them, first those who were never "
            "asked. To ask the others, send another request."
        )
    ]
