"""The pages on which a reviewer decides a case. They show what will happen, and ask for a reason code and evidence."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Final

from markupsafe import Markup
from starlette.routing import Route

from almoner.access.accounts.page_guard import SignedInRequest
from almoner.access.partners import service as partners
from almoner.console.actions import ActionField, ActionPage, ActionPages, ConsoleAction, is_preview_request
from almoner.console.context import ConsoleContext
from almoner.console.links import REVIEWERS
from almoner.console.review_cases import ReviewCasePages
from almoner.console.review_effects import describe_decision_effects, describe_email_recipients
from almoner.console.review_words import ACTS, REVIEWS, list_summary_facts, rejection_choices
from almoner.kit.errors import Problem
from almoner.platform.database.transactions import Partner, Tx
from almoner.platform.outbound.mail import Mail
from almoner.validation.decisions.reviews import service as reviews
from almoner.validation.decisions.reviews.domain import (
    CLAIM_DURATION,
    MAX_NOTE_LENGTH,
    Kind,
    ReviewDecision,
    ReviewRefused,
    Verdict,
)
from almoner.validation.decisions.reviews.ports import ReopenHandler, ReviewHandler
from almoner.validation.decisions.reviews.service import ReviewDetails

_PATHS: Final[Mapping[Verdict, str]] = {"accepted": "accept", "rejected": "reject"}
_ACTIONS: Final[Mapping[Verdict, str]] = {"accepted": "review.accepted", "rejected": "review.rejected"}
_WITH_APPLICANT: Final = frozenset({"validation_request", "agent_verification", "appeal"})
_PREVIEWED: Final = "Preview of the email"
_UNCLAIMED: Final = "Claim this case and review its evidence before you make a decision."
EMAIL_TITLE: Final = "Email to the applicant"


class ReviewDecisionPages:
    """Pages about review decisions."""

    def __init__(self, context: ConsoleContext, cases: ReviewCasePages) -> None:
        self._context = context
        self._cases = cases

    def routes(self) -> list[Route]:
        """The Starlette routes. Deciding a case requires a recent reauthentication."""
        return ActionPages(self._context).routes(self._decide("accepted"), self._decide("rejected"), self._reopen())

    def _decide(self, verdict: Verdict) -> ConsoleAction:
        async def describe(tx: Tx, visitor: SignedInRequest) -> ActionPage:
            handler, kind, subject_id, name = self._cases.get_case_from_url(visitor)
            view = await reviews.load_review_details(tx, handler, subject_id)
            title = ACTS[kind, verdict]
            partner = (await partners.get(tx, Partner(view.subject.partner_id))).name
            sentences = [
                view.evidence.title,
                *await describe_decision_effects(tx, view.subject, verdict, partner),
                f"{partner} receives an event, and API responses show the decision.",
                "Your decision takes effect immediately, without a second person.",
                _reversal_of(handler, kind, verdict),
            ]
            page = ActionPage(
                title, title, f"{REVIEWS}/{name}", f"Case {name}", sentences, _fields(handler, kind, verdict)
            )
            page = add_claim_button(
                replace(page, facts=list_summary_facts(view.evidence)), view, self._context.operator_id(visitor)
            )
            if page.closed or kind not in _WITH_APPLICANT:
                return page
            return await self._with_emails(tx, visitor, page, handler, view, verdict)

        async def perform(tx: Tx, visitor: SignedInRequest, values: Mapping[str, str]) -> str:
            handler, _, subject_id, _ = self._cases.get_case_from_url(visitor)
            reason = values.get("reason")
            by = self._context.operator_id(visitor)
            decision = ReviewDecision(verdict, reason, by, values["note"])
            subject = await reviews.decide_review(tx, handler, subject_id, decision)
            details = {"reason": reason} if reason else {}
            path = await self._cases.record_action_and_get_case_path(tx, visitor, subject, _ACTIONS[verdict], **details)
            return f"{path}?done={verdict}"

        path = f"{REVIEWS}/{{id}}/{_PATHS[verdict]}"
        return ConsoleAction(path, REVIEWERS, describe, perform, (ReviewRefused,), requires_reauthentication=True)

    async def _with_emails(
        self,
        tx: Tx,
        visitor: SignedInRequest,
        page: ActionPage,
        handler: ReviewHandler,
        view: ReviewDetails,
        verdict: Verdict,
    ) -> ActionPage:
        """Say to whom an email is sent, and in which language, and show it.

        For a rejection, the reviewer must select a reason before the email is shown.
        """
        if visitor.form and not is_preview_request(visitor):
            return page
        reason, shown = None, True
        if verdict == "rejected":
            page, reason = replace(page, preview="Show the email"), visitor.form_value("reason")
            shown = reason in handler.rejection_reason_codes
            reason = reason if shown else handler.rejection_reason_codes[0]
        subject, by = view.subject, self._context.operator_id(visitor)
        decision = ReviewDecision(verdict, reason, by, _PREVIEWED)

        async def decide() -> object:
            return await reviews.decide_review(tx, handler, subject.id, decision)

        try:
            mails = await self._context.services.preview_decision_emails(tx, subject, decide)
        except (ReviewRefused, Problem):
            return page  # the page says why; a decision is still possible
        sentences = [*page.sentences, *describe_email_recipients(mails.emails, mails.unpreviewed_application_count)]
        page = replace(page, sentences=sentences, preview=page.preview if mails.emails else "")
        shown_emails = [(EMAIL_TITLE, render_email_preview(one.mail)) for one in mails.emails]
        return replace(page, mails=shown_emails) if shown else page

    def _reopen(self) -> ConsoleAction:
        async def describe(tx: Tx, visitor: SignedInRequest) -> ActionPage:
            sentences = ["The decision and its effects are reversed, and the case is open again."]
            fields = [ActionField("note", "Evidence", "area", maxlength=MAX_NOTE_LENGTH)]
            return await self._cases.build_action_page(
                tx, visitor, "Reverse the decision", "Reverse decision", sentences, fields
            )

        async def perform(tx: Tx, visitor: SignedInRequest, values: Mapping[str, str]) -> str:
            handler, _, subject_id, _ = self._cases.get_case_from_url(visitor)
            by = self._context.operator_id(visitor)
            subject = await reviews.reopen_decision(tx, handler, subject_id, by, values["note"])
            path = await self._cases.record_action_and_get_case_path(tx, visitor, subject, "review.reopened")
            return f"{path}?done=reopened"

        return ConsoleAction(
            f"{REVIEWS}/{{id}}/reopen", REVIEWERS, describe, perform, (ReviewRefused,), requires_reauthentication=True
        )


def _reversal_of(handler: ReviewHandler, kind: Kind, verdict: Verdict) -> str:
    """Who can reverse the decision."""
    if isinstance(handler, ReopenHandler):
        return "A reviewer can reverse the decision later."
    if verdict == "rejected" and kind != "appeal":
        return "Only an appeal can reverse the decision."
    return "This decision cannot be reversed here."


def add_claim_button(page: ActionPage, view: ReviewDetails, operator_id: str) -> ActionPage:
    """Add the reason why the operator cannot decide the case now, and a button to claim the case if it is unclaimed."""
    closed = _closed_reason(view, operator_id)
    remedy = (f"Claim this case for {CLAIM_DURATION // timedelta(minutes=1)} minutes", "claim")
    return replace(page, closed=closed, remedy=remedy if closed == _UNCLAIMED else None)


def _closed_reason(view: ReviewDetails, by: str) -> str | None:
    """The reason why the operator cannot decide the case now, or None.

    The service checks this again when the operator submits a decision.
    """
    if view.history.current_open_review is None:
        return "This case is closed and does not need a decision."
    if by in {one.by for one in view.conflicts}:
        return "You have declared a conflict of interest in this case."
    if view.claimed_by not in (None, by):
        return "Another reviewer has claimed this case."
    if view.claimed_by is None and view.history.current_open_review.claimed_by != by:
        return _UNCLAIMED
    return None


def render_email_preview(email: Mail) -> Markup:
    """The subject and text of an email, in the recipient's language."""
    lines = Markup("").join(Markup("<p>{}</p>").format(line) for line in email.text.splitlines() if line.strip())
    body = Markup('<div lang="{}" dir="auto"><p><strong>{}</strong></p>{}</div>')
    return body.format(email.language, email.subject, lines)


def _fields(handler: ReviewHandler, kind: Kind, verdict: Verdict) -> Sequence[ActionField]:
    label, linked = "Evidence (visible only to other reviewers)", kind == "screening"
    note = ActionField("note", label, "area", maxlength=MAX_NOTE_LENGTH, takes_value_from_query=linked)
    if verdict == "accepted":
        return [note]
    choices = rejection_choices(kind, handler.rejection_reason_codes)
    return [ActionField("reason", "Reason", "choice", choices=choices, takes_value_from_query=linked), note]
