"""The page of a review case, and all actions on the case except decisions."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Final, NamedTuple
from uuid import UUID

from starlette.responses import Response
from starlette.routing import Route

from almoner.access.accounts.page_guard import SignedInRequest, redirect_to
from almoner.access.operators import service as operators
from almoner.access.partners import service as partners
from almoner.access.people import service as people
from almoner.access.people.domain import OPERATORS, Person
from almoner.console.actions import ActionField, ActionPage, ActionPages, ConsoleAction
from almoner.console.context import ConsoleContext, PageKey
from almoner.console.links import REVIEWERS, WATCHLIST_SEARCH
from almoner.console.lists import parse_time_cursor
from almoner.console.review_documents import DocumentListing
from almoner.console.review_dossiers import dossier_links
from almoner.console.review_lookups import WatchlistSearchForCase, search_watchlists_for_case
from almoner.console.review_parts import document_template_values, evidence_template_values
from almoner.console.review_verifications import find_next_waiting_item, waiting_item_path
from almoner.console.review_words import (
    ACTS,
    EVIDENCE_WORDS,
    KIND_WORDS,
    NOBODY_TO_ASK,
    REVIEWS,
    SINGULAR_WORDS,
    review_reason_text,
)
from almoner.kit.errors import NotFound
from almoner.platform.audit.log import DEPLOYMENT
from almoner.platform.database.transactions import Partner, Tx
from almoner.screening.screenings import service as screenings
from almoner.validation.applications.form import evidence_requests
from almoner.validation.applications.submissions import service as submissions
from almoner.validation.decisions.reviews import service as reviews
from almoner.validation.decisions.reviews.domain import (
    CLAIM_DURATION,
    ID_TYPES,
    MAX_NOTE_LENGTH,
    Kind,
    RelatedDecision,
    ReviewFilters,
    ReviewRefused,
    ReviewSubject,
)
from almoner.validation.decisions.reviews.ports import ReopenHandler, ReviewHandler
from almoner.validation.decisions.reviews.service import ReviewDetails

_TRIES: Final = 50
"""The number of attempts to claim the next case, in case another reviewer claims the same case first."""
_DONE: Final = {
    "claimed": "You have claimed this case.",
    "prolonged": "Your claim to this case has been extended by 15 minutes.",
    "noted": "Note added.",
    "requested": "We have asked the applicant for the evidence. The case stays open.",
    "conflict": "You declared a conflict of interest. Another reviewer must decide this case.",
    "accepted": "Your decision has been recorded.",
    "rejected": "Your decision has been recorded.",
    "busy": "Another reviewer has claimed this case.",
    "reopened": "Decision reversed. The case is open again.",
}
KEYS: Final[Sequence[PageKey]] = (
    ("a", "Accept"),
    ("x", "Reject"),
    ("q", "Ask the applicant"),
    ("t", "Hand over"),
    ("n", "Add note"),
    ("p", "Extend claim"),
    ("c", "Declare a conflict of interest"),
    ("o", "Reverse the decision"),
    ("d", "Documents"),
    ("r", "The register's page"),
    ("h", "Earlier decisions"),
)


class ReviewCaseReference(NamedTuple):
    """The review case that a URL names. ``record_id``: the ID in the URL."""

    handler: ReviewHandler
    kind: Kind
    subject_id: UUID
    record_id: str


class ReviewCasePages:
    """Pages about review cases."""

    def __init__(self, context: ConsoleContext) -> None:
        self._context = context
        self._handlers = context.services.review_handlers

    def routes(self) -> list[Route]:
        """Starlette routes."""
        return [
            self._context.route(f"{REVIEWS}/next", self.claim_next_case, *sorted(REVIEWERS)),
            *ActionPages(self._context).routes(self._reassign_action(), self._note(), self._conflict()),
            self._context.route(f"{REVIEWS}/{{id}}", self.show_case, *sorted(REVIEWERS)),
        ]

    def get_case_from_url(self, visitor: SignedInRequest) -> ReviewCaseReference:
        """The review case in the URL. Raises NotFound."""
        name = visitor.path.removeprefix(f"{visitor.portal.home}{REVIEWS}/").split("/")[0]
        for kind, handler in self._handlers.items():
            if (found := self._context.db.deployment.ids.decode(ID_TYPES[kind], name)) is not None:
                return ReviewCaseReference(handler, kind, found, name)
        raise NotFound

    async def load_documents(self, tx: Tx, visitor: SignedInRequest) -> DocumentListing:
        """The documents of the case in the URL, on whose link back is its ID. Raises NotFound."""
        handler, _, subject_id, name = self.get_case_from_url(visitor)
        view = await reviews.load_review_details(tx, handler, subject_id)
        return DocumentListing(view.documents, f"{REVIEWS}/{name}", name)

    async def claim_next_case(self, visitor: SignedInRequest) -> Response:
        """Claim the oldest unclaimed case, and open it. An older verification or flag is opened instead."""
        if not visitor.form:
            return redirect_to(visitor.portal.home + REVIEWS)
        for _ in range(_TRIES):
            async with self._context.db.write() as tx:
                path = await visitor.apply_form_once(tx, partial(self._claim_next_case, tx, visitor), str)
            if path:
                return redirect_to(visitor.portal.home + path)
        return redirect_to(f"{visitor.portal.home}{REVIEWS}")

    async def _claim_next_case(self, tx: Tx, visitor: SignedInRequest) -> str:
        """Claim a case; returns the path to redirect to, empty if another operator was faster."""
        by = self._context.operator_id(visitor)
        free = await reviews.list_open_reviews(tx, ReviewFilters(free_for=by), 1)
        beside = await find_next_waiting_item(tx, by, parse_time_cursor(visitor.form_value("after") or None))
        if beside is not None and (not free or beside.waiting_since < free[0].requested_at):
            return waiting_item_path(tx, beside)
        if not free:
            return REVIEWS
        taken = await reviews.claim_next_review(tx, ReviewFilters(), by, self._handlers)
        if taken is None:
            return ""
        name = tx.ids.encode(ID_TYPES[taken.subject.kind], taken.subject.id)
        await self._context.record_audit_entry(tx, visitor, taken.subject.partner_id, "review.viewed", name, held=True)
        return f"{REVIEWS}/{name}?done=claimed"

    async def show_case(self, visitor: SignedInRequest) -> Response:
        """Show the review case.

        Like the CLI command, this records in the audit log that the operator viewed the case.
        """
        if visitor.form:
            return await self._action(visitor)
        handler, _, subject_id, name = self.get_case_from_url(visitor)
        async with self._context.db.write() as tx:
            view = await reviews.load_review_details(tx, handler, subject_id)
            by = self._context.operator_id(visitor)
            held = view.claimed_by == by
            await self._context.record_audit_entry(
                tx, visitor, view.subject.partner_id, "review.viewed", name, held=held
            )
            facts = await self._facts(tx, visitor, handler, view)
        searchable = view.subject.kind == "screening" and view.history.current_open_review is not None
        search = await self._search(visitor, subject_id, name) if searchable and held else None
        facts |= {"search": search, "searchable": searchable}
        return await self._context.render_console_page(
            visitor, "review_case.html", page_keys=KEYS, **facts, name=name, view=view
        )

    async def _search(self, visitor: SignedInRequest, subject_id: UUID, name: str) -> WatchlistSearchForCase | None:
        """Search the watchlists for the case. Like on the search page, each search is recorded in the audit log."""
        found = await search_watchlists_for_case(self._context, subject_id)
        if found is not None:
            async with self._context.db.write() as tx:
                counts = {"texts": len(found.texts), "found": found.found_entry_count}
                await self._context.record_audit_entry(
                    tx, visitor, DEPLOYMENT, "watchlist.searched", found.kind, case=name, **counts
                )
        return found

    async def _facts(
        self, tx: Tx, visitor: SignedInRequest, handler: ReviewHandler, view: ReviewDetails
    ) -> dict[str, Any]:
        """The facts that the page of a review case shows in addition to the evidence."""
        known = await reviews.load_review_context(tx, handler, view.subject)
        decided = [one.decision.by for one in view.history.decisions]
        others = [one.decision.decision.by for one in known.related_decisions if one.decision]
        written = [*(one.by for one in known.notes), *(one.by for one in view.conflicts)]
        names = await operators.load_display_names_by_operator_id(tx, [view.claimed_by, *decided, *others, *written])
        by = self._context.operator_id(visitor)
        awaited = await submissions.load_requested_evidence_by_check_record_id(tx, view.subject.kind, [view.subject.id])
        waits = view.history.current_open_review
        return {
            "dossier": dossier_links(
                ID_TYPES[view.subject.kind], tx.ids.encode(ID_TYPES[view.subject.kind], view.subject.id)
            ),
            **evidence_template_values(tx.ids, view.subject, view.evidence, visitor.query.get("candidate", "")),
            "partner": (await partners.get(tx, Partner(view.subject.partner_id))).name,
            "kind_words": SINGULAR_WORDS[view.subject.kind],
            "reasons": [(one, review_reason_text(one)) for one in waits.reasons] if waits else [],
            "asked_at": waits.requested_at if waits else None,
            "who": lambda one: names.get(one, one),
            "held": view.claimed_by == by,
            "conflicted": by in {one.by for one in view.conflicts},
            "requested": [
                (EVIDENCE_WORDS[one.evidence_code], one.requested_at.isoformat())
                for one in awaited.get(view.subject.id, ())
            ],
            "answered": bool(waits and await reviews.filter_review_ids_with_received_evidence(tx, [waits.id])),
            "lookup": await self._lookup(tx, view.subject),
            "notes": known.notes,
            "earlier": [self._related(tx, one) for one in known.related_decisions],
            "similar": [self._related(tx, one) for one in known.related_open_reviews],
            "accept_words": ACTS[view.subject.kind, "accepted"],
            "reject_words": ACTS[view.subject.kind, "rejected"],
            "askable": await evidence_requests.can_request_evidence(tx, view.subject.kind, view.subject.id),
            "has_applicant": view.subject.kind in NOBODY_TO_ASK,
            "nobody_to_ask": NOBODY_TO_ASK.get(view.subject.kind),
            "reopenable": isinstance(handler, ReopenHandler) and waits is None,
            "message": _DONE.get(visitor.query.get("done", "")),
            "real_now": tx.real_now.isoformat(),
            **document_template_values(tx.ids, view.documents),
            "minutes": int(CLAIM_DURATION.total_seconds()) // 60,
        }

    async def _lookup(self, tx: Tx, subject: ReviewSubject) -> str | None:
        """The path of the page that looks up the record's name in the watchlists.

        None if the record is not screened.
        """
        screened = subject.kind == "screening" or (
            subject.kind == "agent_verification"
            and await screenings.find_screened_subject(tx, "agent_verification", subject.id) is not None
        )
        return f"{WATCHLIST_SEARCH}?case={tx.ids.encode(ID_TYPES[subject.kind], subject.id)}" if screened else None

    def _related(self, tx: Tx, one: RelatedDecision) -> dict[str, object]:
        subject = one.related_subject.subject
        name = tx.ids.encode(ID_TYPES[subject.kind], subject.id)
        return {
            "name": name,
            "kind": SINGULAR_WORDS[subject.kind],
            "relation": one.related_subject.relation,
            "one": one,
        }

    async def _action(self, visitor: SignedInRequest) -> Response:
        """An action that is performed without a confirmation page, because it does not decide the case."""
        handler, _, subject_id, name = self.get_case_from_url(visitor)
        by, own = self._context.operator_id(visitor), f"{visitor.portal.home}{REVIEWS}/{name}"
        try:
            async with self._context.db.write() as tx:
                match visitor.form_value("do"):
                    case "claim":
                        view = await reviews.claim_for_review(tx, handler, subject_id, by)
                        done = "claimed" if view.claimed_by == by else "busy"
                        await self.record_action_and_get_case_path(tx, visitor, view.subject, "review.viewed")
                    case "prolong":
                        subject = await reviews.extend_claim(tx, handler, subject_id, by)
                        done = "prolonged"
                        await self.record_action_and_get_case_path(tx, visitor, subject, "review.extended")
                    case "release":
                        subject = await reviews.release_claim(tx, handler, subject_id, by)
                        done = ""
                        await self.record_action_and_get_case_path(tx, visitor, subject, "review.released")
                    case _:
                        raise NotFound
        except ReviewRefused:
            return redirect_to(f"{own}?done=busy")
        return redirect_to(f"{own}?done={done}" if done else f"{visitor.portal.home}{REVIEWS}")

    async def build_action_page(
        self,
        tx: Tx,
        visitor: SignedInRequest,
        title: str,
        button: str,
        sentences: Sequence[str],
        fields: Sequence[ActionField],
    ) -> ActionPage:
        """Show the page for taking an action on the case. Raises NotFound."""
        handler, kind, subject_id, name = self.get_case_from_url(visitor)
        if await handler.lock_subject(tx, subject_id) is None:
            raise NotFound
        back = f"{KIND_WORDS[kind]}: {name}"
        return ActionPage(title, button, f"{REVIEWS}/{name}", back, sentences, fields)

    async def record_action_and_get_case_path(
        self, tx: Tx, visitor: SignedInRequest, subject: ReviewSubject, action: str, **details: str | None
    ) -> str:
        """Record the action in the audit log, and return the path of the case."""
        name = tx.ids.encode(ID_TYPES[subject.kind], subject.id)
        await self._context.record_audit_entry(tx, visitor, subject.partner_id, action, name, **details)
        return f"{REVIEWS}/{name}"

    def _reassign_action(self) -> ConsoleAction:
        async def build_action_page(tx: Tx, visitor: SignedInRequest) -> ActionPage:
            others = [one for one in await self._reviewers(tx) if one.id != visitor.person.id]
            sentences = [
                "The case is reserved for the selected reviewer until they open it, but for at most one day.",
                "While the case is reserved, nobody else can decide it, including you.",
            ]
            choices = [(tx.ids.encode(operators.ID, one.id), one.display_name) for one in others]
            to = ActionField("to", "Reviewer", "choice", choices=choices)
            return await self.build_action_page(tx, visitor, "Hand this case over", "Hand over", sentences, [to])

        async def perform(tx: Tx, visitor: SignedInRequest, values: Mapping[str, str]) -> str:
            handler, _, subject_id, _ = self.get_case_from_url(visitor)
            by = self._context.operator_id(visitor)
            other = next(
                one for one in await self._reviewers(tx) if tx.ids.encode(operators.ID, one.id) == values["to"]
            )
            subject = await reviews.hand_over_review(tx, handler, subject_id, by, other)
            return await self.record_action_and_get_case_path(
                tx, visitor, subject, "review.handed_over", to=values["to"]
            )

        return ConsoleAction(f"{REVIEWS}/{{id}}/hand-over", REVIEWERS, build_action_page, perform, (ReviewRefused,))

    async def _reviewers(self, tx: Tx) -> list[Person]:
        return [one for one in await people.list_with_any_role(tx, OPERATORS, "reviewer") if one.active]

    def _note(self) -> ConsoleAction:
        async def build_action_page(tx: Tx, visitor: SignedInRequest) -> ActionPage:
            sentences = [
                "Other reviewers can see the note, but partners and applicants cannot. A note cannot be deleted."
            ]
            text = ActionField("text", "Note", "area", maxlength=MAX_NOTE_LENGTH)
            return await self.build_action_page(tx, visitor, "Add note", "Add note", sentences, [text])

        async def perform(tx: Tx, visitor: SignedInRequest, values: Mapping[str, str]) -> str:
            handler, _, subject_id, _ = self.get_case_from_url(visitor)
            by = self._context.operator_id(visitor)
            subject = await reviews.add_note(tx, handler, subject_id, by, values["text"])
            return f"{await self.record_action_and_get_case_path(tx, visitor, subject, 'review.note_added')}?done=noted"

        return ConsoleAction(f"{REVIEWS}/{{id}}/note", REVIEWERS, build_action_page, perform, (ReviewRefused,))

    def _conflict(self) -> ConsoleAction:
        async def build_action_page(tx: Tx, visitor: SignedInRequest) -> ActionPage:
            sentences = [
                (
                    "Declare a conflict of interest if you know the nonprofit, the applicant or the partner too well "
                    "to decide this case."
                ),
                "You can still read the case, but you can never claim or decide it again.",
            ]
            reason = ActionField(
                "reason",
                "Your connection to the people or organisations in the case",
                "area",
                maxlength=MAX_NOTE_LENGTH,
            )
            title = "Declare a conflict of interest"
            return await self.build_action_page(tx, visitor, title, "Declare conflict of interest", sentences, [reason])

        async def perform(tx: Tx, visitor: SignedInRequest, values: Mapping[str, str]) -> str:
            handler, _, subject_id, _ = self.get_case_from_url(visitor)
            by = self._context.operator_id(visitor)
            subject = await reviews.declare_conflict_of_interest(tx, handler, subject_id, by, values["reason"])
            path = await self.record_action_and_get_case_path(tx, visitor, subject, "review.conflict_declared")
            return f"{path}?done=conflict"

        return ConsoleAction(f"{REVIEWS}/{{id}}/conflict", REVIEWERS, build_action_page, perform, (ReviewRefused,))
