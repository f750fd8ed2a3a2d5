"""The queue of cases that wait for a reviewer."""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Final, get_args
from uuid import UUID

from starlette.routing import Route

from almoner.access.accounts.page_guard import Visitor
from almoner.access.operators import service as operators
from almoner.console.context import MOST_COUNTED, ConsoleContext, Counter
from almoner.console.desk_pages import DeskLine, DeskSection
from almoner.console.links import REVIEWERS
from almoner.console.lists import ConsoleList, ListPage, ListPages, ListQuery, ListRow, parse_position, position_text
from almoner.console.partner_ids import names_of_partners
from almoner.console.review_cases import CasePages
from almoner.console.review_decisions import DecisionPages
from almoner.console.review_documents import DocumentPages
from almoner.console.review_evidence import EvidencePages
from almoner.console.review_second_looks import SecondLookPages
from almoner.console.review_words import KIND_WORDS, REVIEWS, SECOND_LOOKS, SINGULAR_WORDS, reason_words
from almoner.kit.errors import IncorrectParams
from almoner.platform.database.transactions import Tx
from almoner.platform.pages.record_tables import Column, Filter
from almoner.validation.decisions.reviews import service as reviews
from almoner.validation.decisions.reviews.domain import ID_TYPES, Kind, Review, ReviewFilters

_SCRIPTS: Final = (
    "LATIN",
    "ARABIC",
    "ARMENIAN",
    "BENGALI",
    "CYRILLIC",
    "DEVANAGARI",
    "EAST ASIAN",
    "ETHIOPIC",
    "GEORGIAN",
    "GREEK",
    "HEBREW",
    "TAMIL",
    "THAI",
    "MIXED",
)
_AGES: Final = {f"{days} day{'s'[days == 1 :]}": timedelta(days) for days in (1, 3, 10, 30)}
_DUE: Final = {"overdue": timedelta(), "within a day": timedelta(1)}
_VIEWS: Final[Sequence[tuple[str, Mapping[str, str]]]] = (
    ("All", {}),
    ("Mine", {"holder": "mine"}),
    *((words, {"kind": kind}) for kind, words in KIND_WORDS.items()),
)


async def _count_open(tx: Tx) -> int:
    return await reviews.count_open_at_most(tx, MOST_COUNTED + 1)


COUNTERS: Final[Mapping[str, Counter]] = {REVIEWS: _count_open}


def routes(context: ConsoleContext) -> list[Route]:
    """Starlette routes."""
    cases = CasePages(context)
    return [
        *ListPages(context).routes(_ReviewQueue(context).declared()),
        *SecondLookPages(context).routes(),
        *DecisionPages(context, cases).routes(),
        *DocumentPages(context, cases).routes(),
        *EvidencePages(context, cases).routes(),
        *cases.routes(),
    ]


def desk_sections(context: ConsoleContext) -> Sequence[DeskSection]:
    """What waits for reviewers."""

    async def waiting(tx: Tx, visitor: Visitor) -> list[DeskLine]:
        by = context.operator_id(visitor)
        mine = await reviews.list_open_reviews(tx, ReviewFilters(holder=by), MOST_COUNTED + 1)
        late = await reviews.list_open_reviews(tx, ReviewFilters(due_until=tx.now), MOST_COUNTED + 1)
        lines = [
            DeskLine("Claimed by you", f"{REVIEWS}?holder=mine", len(mine), mine[0].asked_at if mine else None),
            DeskLine("Overdue", f"{REVIEWS}?due=overdue", len(late), late[0].asked_at if late else None),
        ]
        for kind, count, oldest in await reviews.count_open_reviews(tx):
            lines.append(DeskLine(KIND_WORDS[kind], f"{REVIEWS}?kind={kind}", count, oldest))
        looks = await reviews.list_waiting_second_looks(tx, by, MOST_COUNTED + 1)
        lines.append(DeskLine("Second looks", SECOND_LOOKS, len(looks), looks[0].selected_at if looks else None))
        return lines

    return [DeskSection("Reviews", REVIEWERS, waiting)]


class _ReviewQueue:
    """The list of what waits."""

    def __init__(self, context: ConsoleContext) -> None:
        self._context = context

    def declared(self) -> ConsoleList:
        """The list."""
        return ConsoleList(
            REVIEWS,
            "Open reviews",
            "A case appears here when the rules cannot decide it, or when somebody appeals against a decision.",
            REVIEWERS,
            (
                Column("Case", "id"),
                Column("Kind"),
                Column("Partner"),
                Column("Country"),
                Column("Script"),
                Column("Why"),
                Column("Waiting", "age"),
                Column("Due", "moment"),
                Column("Claimed by"),
            ),
            self._load,
            (
                Filter("kind", "choice", get_args(Kind), named="Kind"),
                Filter("partner", named="Partner ID"),
                Filter("country", named="Country code"),
                Filter("script", "choice", _SCRIPTS, named="Script"),
                Filter("reason", named="Reason"),
                Filter("age", "choice", tuple(_AGES), named="Waiting for more than"),
                Filter("due", "choice", tuple(_DUE), named="Due"),
                Filter("holder", "choice", ("mine",), named="Claimed by"),
            ),
            views=_VIEWS,
            choice_words={str(kind): words for kind, words in SINGULAR_WORDS.items()} | {"EAST ASIAN": "East Asian"},
            begin=(f"{REVIEWS}/next", "Review next case"),
        )

    async def _load(self, visitor: Visitor, query: ListQuery) -> ListPage:
        async with self._context.db.read() as tx:
            filters = self._filters(tx, visitor, query.filters)
            found = await reviews.list_open_reviews(tx, filters, query.limit + 1, parse_position(query.cursor))
            shown = found[: query.limit]
            names = await operators.find_display_names(tx, [one.claimant_at(tx.real_now) for one in shown])
            partners = await names_of_partners(tx, [one.subject.partner_id for one in shown])
            rows = [self._row(tx, one, names, partners) for one in shown]
        last = shown[-1] if len(found) > query.limit else None
        return ListPage(rows, position_text(last.asked_at, last.id) if last else None)

    def _filters(self, tx: Tx, visitor: Visitor, given: Mapping[str, str]) -> ReviewFilters:
        kind = next((one for one in get_args(Kind) if one == given.get("kind")), None)
        if kind is None and "kind" in given:
            raise IncorrectParams("kind: choose a kind from the list")
        partner = tx.ids.parse("partner", given["partner"]) if "partner" in given else None
        if partner is None and "partner" in given:
            raise IncorrectParams(f"partner: enter a partner's ID, such as {tx.ids.example('partner')}")
        age, due = _chosen(given, "age", _AGES), _chosen(given, "due", _DUE)
        return ReviewFilters(
            kind,
            partner,
            self._context.operator_id(visitor) if "holder" in given else None,
            given["country"].upper() if "country" in given else None,
            given.get("script"),
            given.get("reason"),
            None if age is None else tx.now - age,
            due_until=None if due is None else tx.now + due,
        )

    def _row(self, tx: Tx, one: Review, names: Mapping[str, str], partners: Mapping[UUID, str]) -> ListRow:
        subject = one.subject
        case = tx.ids.text(ID_TYPES[subject.kind], subject.id)
        holder = one.claimant_at(tx.real_now)
        held = holder and names.get(holder, holder)
        why = " ".join(reason_words(reason) for reason in one.reasons)
        about = (subject.country_code, subject.script and subject.script.title())
        values = (
            case,
            SINGULAR_WORDS[subject.kind],
            partners[subject.partner_id],
            *about,
            why,
            one.asked_at,
            one.due_at,
            held,
        )
        return ListRow(f"{REVIEWS}/{case}", values)


def _chosen(given: Mapping[str, str], name: str, among: Mapping[str, timedelta]) -> timedelta | None:
    """What is chosen from a list, None where nothing is. Raises IncorrectParams."""
    if name not in given:
        return None
    if given[name] not in among:
        raise IncorrectParams(f"{name}: choose an option from the list")
    return among[given[name]]
