"""The page about activity tags: it lists the runs of the tagging rules and suggests sub-tags for a description."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from starlette.responses import Response
from starlette.routing import Route

from almoner.access.accounts.page_guard import SignedInRequest
from almoner.console.actions import ActionPage, ActionPages, ConsoleAction
from almoner.console.context import ConsoleContext
from almoner.console.links import ADMINISTRATORS, DATA_READERS
from almoner.nonprofits.activities import jobs as activities_jobs
from almoner.nonprofits.activities import service
from almoner.nonprofits.activities.domain import SUB_TAGS, TAGS
from almoner.platform.audit.log import DEPLOYMENT
from almoner.platform.database.transactions import Tx

PATH: Final = "/activities"
_RUNS: Final = 10
_MAX_TEXT: Final = 500


@dataclass(frozen=True, slots=True)
class _Suggestion:
    """A suggested sub-tag with its display names.

    ``score``: the approximate share of similar organisations that have the sub-tag.
    """

    name: str
    tag: str
    code: str
    score: float
    reasons: Sequence[str]


class OrganisationActivityPages:
    """The page about activities."""

    def __init__(self, context: ConsoleContext) -> None:
        self._context = context

    def routes(self, action_pages: ActionPages) -> list[Route]:
        """Starlette routes."""
        return [
            self._context.route(PATH, self.show_tagging_runs, *sorted(DATA_READERS), methods=["GET"]),
            *action_pages.routes(self._apply()),
        ]

    async def show_tagging_runs(self, visitor: SignedInRequest) -> Response:
        """Show the latest runs of the tagging rules, and suggest sub-tags for the entered description."""
        async with self._context.db.read() as tx:
            runs = await service.list_retagging_runs(tx, _RUNS)
        asked = {name: visitor.query.get(name, "").strip()[:_MAX_TEXT] for name in ("name", "activities", "objects")}
        return await self._context.render_console_page(
            visitor,
            "data_activities.html",
            own=PATH,
            version=service.RULES_VERSION,
            tags=len(TAGS),
            sub_tags=len(SUB_TAGS),
            may_apply=visitor.person.has_role(*ADMINISTRATORS),
            started=visitor.query.get("done") == "started",
            runs=runs,
            asked=asked,
            max_text=_MAX_TEXT,
            suggestions=await asyncio.to_thread(_suggest, **asked),
        )

    def _apply(self) -> ConsoleAction:
        async def describe(_tx: Tx, _visitor: SignedInRequest) -> ActionPage:
            return ActionPage(
                "Apply the rules to all organisations",
                "Apply the rules",
                PATH,
                "Activities",
                [
                    f"A background worker tags all organisations. Version of the rules: {service.RULES_VERSION}.",
                    (
                        "Imports tag organisations automatically. You only need to apply the rules after an upgrade "
                        "that changed the tags or the rules."
                    ),
                    "Tagging two million organisations takes a few minutes. The service keeps running.",
                    "Partners do not get events about the new tags. The history of each organisation shows the change.",
                    "If a changed tag changes an eligibility result, the partner is notified of the new result.",
                ],
            )

        async def perform(tx: Tx, visitor: SignedInRequest, _entered_values: Mapping[str, str]) -> str:
            await activities_jobs.enqueue_retagging(tx)
            await self._context.record_audit_entry(
                tx, visitor, DEPLOYMENT, "activities.apply_started", service.RULES_VERSION
            )
            return f"{PATH}?done=started"

        return ConsoleAction(f"{PATH}/apply", ADMINISTRATORS, describe, perform)


def _suggest(name: str, activities: str, objects: str) -> list[_Suggestion]:
    return [
        _Suggestion(SUB_TAGS[one.code].name, TAGS[SUB_TAGS[one.code].tag_id].name, one.code, one.score, one.reasons)
        for one in service.suggest_sub_tags(name, activities, objects)
    ]
