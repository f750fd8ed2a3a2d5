"""Pages about second looks, in which a second reviewer assesses a closed case again."""

from collections.abc import Mapping
from typing import Final
from uuid import UUID

from starlette.responses import Response
from starlette.routing import Route

from almoner.access.accounts.page_guard import SignedInRequest
from almoner.console.actions import ActionField, ActionPage, ActionPages, ConsoleAction
from almoner.console.context import ConsoleContext
from almoner.console.links import REVIEWERS
from almoner.console.lists import (
    ConsoleList,
    ListPage,
    ListQuery,
    ListRouteBuilder,
    ListRow,
    build_time_sorted_page,
    parse_time_cursor,
)
from almoner.console.review_documents import DocumentListing
from almoner.console.review_parts import document_template_values, evidence_template_values
from almoner.console.review_words import (
    ACTS,
    SECOND_LOOKS,
    SINGULAR_WORDS,
    rejection_choices,
)
from almoner.kit.errors import IncorrectParams, NotFound
from almoner.platform.database.transactions import Tx
from almoner.platform.pages.record_tables import Column
from almoner.validation.decisions.reviews import service as reviews
from almoner.validation.decisions.reviews.domain import (
    ID_TYPES,
    MAX_NOTE_LENGTH,
    ReviewDecision,
    ReviewRefused,
    SecondLook,
    Verdict,
)
from almoner.validation.decisions.reviews.service import ReviewDetails

_REVEALING: Final = frozenset({"status", "organisation", "decision", "found by a person", "status of the appeal"})
"""Facts that would reveal how a case was decided. They are hidden during a second look."""


class SecondLookPages:
    """Pages about second looks."""

    def __init__(self, context: ConsoleContext) -> None:
        self._context = context

    def routes(self) -> list[Route]:
        """The Starlette routes. They come before the routes of review cases, which would also match these URLs."""
        return [
            *ListRouteBuilder(self._context).routes(self._list()),
            *ActionPages(self._context).routes(self._answer()),
            self._context.route(f"{SECOND_LOOKS}/{{id}}", self.show_second_look, *sorted(REVIEWERS), methods=["GET"]),
        ]

    def _list(self) -> ConsoleList:
        return ConsoleList(
            SECOND_LOOKS,
            "Second looks",
            "Some closed cases are selected at random, to measure how often reviewers agree.",
            REVIEWERS,
            (Column("Case"), Column("Selected", "age")),
            self._load_list,
            lead="You cannot see how the cases were decided. Your answers do not change the decisions that were made.",
            exported=False,
        )

    async def _load_list(self, visitor: SignedInRequest, query: ListQuery) -> ListPage:
        async with self._context.db.read() as tx:
            after = parse_time_cursor(query.cursor)
            by = self._context.operator_id(visitor)
            found = await reviews.list_waiting_second_looks(tx, by, query.limit + 1, after)
        rows = [
            (
                one.selected_at,
                one.review_id,
                ListRow(f"{SECOND_LOOKS}/{one.review_id}", (SINGULAR_WORDS[one.subject.kind], one.selected_at)),
            )
            for one in found
        ]
        return build_time_sorted_page(rows, query.limit)

    async def _find_second_look(self, tx: Tx, visitor: SignedInRequest) -> SecondLook:
        """The second look in the URL. Raises NotFound if the visitor may not answer it."""
        name = visitor.path.removeprefix(f"{visitor.portal.home}{SECOND_LOOKS}/").split("/")[0]
        try:
            review_id = UUID(name)
        except ValueError:
            raise NotFound from None
        return await reviews.get_second_look(tx, review_id, self._context.operator_id(visitor))

    async def _load(self, tx: Tx, look: SecondLook) -> ReviewDetails:
        """The evidence of the case."""
        handler = self._context.services.review_handlers[look.subject.kind]
        return await reviews.load_review_details(tx, handler, look.subject.id)

    async def load_documents(self, tx: Tx, visitor: SignedInRequest) -> DocumentListing:
        """The documents of the second look in the URL. Raises NotFound."""
        look = await self._find_second_look(tx, visitor)
        view = await self._load(tx, look)
        return DocumentListing(view.documents, f"{SECOND_LOOKS}/{look.review_id}", "Second look")

    async def show_second_look(self, visitor: SignedInRequest) -> Response:
        """Show the evidence of the case without anything that reveals the first decision."""
        async with self._context.db.write() as tx:
            look = await self._find_second_look(tx, visitor)
            view, candidate = await self._load(tx, look), visitor.query.get("candidate", "")
            evidence = evidence_template_values(tx.ids, look.subject, view.evidence, candidate)
            parts = evidence | document_template_values(tx.ids, view.documents)
            name = tx.ids.encode(ID_TYPES[look.subject.kind], look.subject.id)
            await self._context.record_audit_entry(
                tx, visitor, look.subject.partner_id, "review.viewed", name, held=False
            )
        return await self._context.render_console_page(
            visitor,
            "review_second_look.html",
            page_keys=[("a", "Give your answer"), ("d", "Documents"), ("r", "The register's page")],
            own=f"{visitor.portal.home}{SECOND_LOOKS}/{look.review_id}",
            kind_words=SINGULAR_WORDS[look.subject.kind],
            shown=view.evidence,
            **parts | {"facts": [fact for fact in parts["facts"] if fact[0].rpartition(": ")[2] not in _REVEALING]},
        )

    def _answer(self) -> ConsoleAction:
        async def describe(tx: Tx, visitor: SignedInRequest) -> ActionPage:
            look = await self._find_second_look(tx, visitor)
            handler = self._context.services.review_handlers[look.subject.kind]
            verdicts: tuple[Verdict, Verdict] = ("accepted", "rejected")
            choices = [(verdict, ACTS[look.subject.kind, verdict]) for verdict in verdicts]
            reasons = rejection_choices(look.subject.kind, handler.rejection_reason_codes)
            return ActionPage(
                "Your second look",
                "Submit answer",
                f"{SECOND_LOOKS}/{look.review_id}",
                "Second look",
                [
                    (
                        "Your answer is compared with the first decision. Your answer does not change the decision, "
                        "and nobody is notified."
                    )
                ],
                [
                    ActionField("verdict", "How would you decide?", "choice", choices=choices),
                    ActionField("reason", "Reason (if you would reject)", "choice", required=False, choices=reasons),
                    ActionField("note", "Evidence", "area", maxlength=MAX_NOTE_LENGTH),
                ],
            )

        async def perform(tx: Tx, visitor: SignedInRequest, values: Mapping[str, str]) -> str:
            look = await self._find_second_look(tx, visitor)
            verdict: Verdict = "accepted" if values["verdict"] == "accepted" else "rejected"
            if (verdict == "rejected") != bool(values["reason"]):
                raise IncorrectParams("reason: choose a reason if you would reject, or none if you would accept")
            handler = self._context.services.review_handlers[look.subject.kind]
            decision = ReviewDecision(
                verdict, values["reason"] or None, self._context.operator_id(visitor), values["note"]
            )
            await reviews.decide_second_look(tx, handler, look.review_id, decision)
            name = tx.ids.encode(ID_TYPES[look.subject.kind], look.subject.id)
            await self._context.record_audit_entry(tx, visitor, look.subject.partner_id, "review.second_look", name)
            return SECOND_LOOKS

        return ConsoleAction(
            f"{SECOND_LOOKS}/{{id}}/answer",
            REVIEWERS,
            describe,
            perform,
            (ReviewRefused,),
            requires_reauthentication=True,
        )
