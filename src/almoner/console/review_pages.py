"""Pages about the review queue."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, TypeVar, get_args
from uuid import UUID

from starlette.routing import Route

from almoner.access.accounts.page_guard import SignedInRequest
from almoner.access.operators import service as operators
from almoner.access.partners import service as partners
from almoner.access.people.domain import Person
from almoner.console.context import MOST_COUNTED, ConsoleContext, Counter
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
from almoner.console.money_records import load_organisation_names_by_id
from almoner.console.operator_start_page import StartPageLine, StartPageSection
from almoner.console.review_cases import ReviewCasePages
from almoner.console.review_decisions import ReviewDecisionPages
from almoner.console.review_documents import PageWithDocuments, ReviewDocumentPages
from almoner.console.review_dossiers import DossierPages
from almoner.console.review_evidence import EvidenceRequestPages
from almoner.console.review_second_looks import SecondLookPages
from almoner.console.review_statistics import ReviewStatisticsPage
from almoner.console.review_verifications import (
    FLAG_TYPE,
    FLAGS,
    TYPE,
    VERIFICATIONS,
    DonationRecipientVerificationPages,
    load_first_approvers_by_verification_id,
)
from almoner.console.review_words import (
    EVIDENCE_WORDS,
    KIND_WORDS,
    REVIEWS,
    SECOND_LOOKS,
    SINGULAR_WORDS,
    VERIFICATION_WORDS,
    review_reasons_text,
)
from almoner.giving.disbursing.verifications import service as verifications
from almoner.giving.disbursing.verifications.service import WaitingReviewItem
from almoner.kit.errors import IncorrectParams
from almoner.platform.database.transactions import Tx
from almoner.platform.pages.record_tables import Column, Filter, humanise_field_name
from almoner.validation.applications.submissions import service as submissions
from almoner.validation.decisions.reviews import service as reviews
from almoner.validation.decisions.reviews.domain import ID_TYPES, EvidenceState, Kind, Review, ReviewFilters

Option = TypeVar("Option")
_ANSWERED: Final = "Has answered"
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
_APPLICANT: Final[Mapping[str, EvidenceState]] = {"waiting": "awaited", "answered": "received"}
_VIEWS: Final[Sequence[tuple[str, Mapping[str, str]]]] = (
    ("All", {}),
    ("Mine", {"holder": "mine"}),
    *((words, {"kind": kind}) for kind, words in KIND_WORDS.items()),
    *((words, {"kind": kind}) for kind, (words, _) in VERIFICATION_WORDS.items()),
)


async def _count_open(tx: Tx) -> tuple[int, datetime | None]:
    counted = [
        await reviews.count_open_reviews_up_to(tx, MOST_COUNTED + 1),
        *(await verifications.count_waiting_by_kind_up_to(tx, MOST_COUNTED + 1)).values(),
    ]
    return sum(count for count, _ in counted), min((oldest for _, oldest in counted if oldest), default=None)


COUNTERS: Final[Mapping[str, Counter]] = {REVIEWS: _count_open}


def routes(context: ConsoleContext) -> list[Route]:
    """Starlette routes."""
    cases, looks = ReviewCasePages(context), SecondLookPages(context)
    owners = (
        PageWithDocuments(f"{REVIEWS}/{{id}}", cases.load_documents),
        PageWithDocuments(f"{SECOND_LOOKS}/{{id}}", looks.load_documents),
    )
    return [
        *ListRouteBuilder(context).routes(_ReviewQueue(context).declared()),
        *looks.routes(),
        *ReviewStatisticsPage(context).routes(),
        *DossierPages(context).routes(),
        *DonationRecipientVerificationPages(context).routes(),
        *ReviewDecisionPages(context, cases).routes(),
        *ReviewDocumentPages(context, *owners).routes(),
        *EvidenceRequestPages(context, cases).routes(),
        *cases.routes(),
    ]


def start_page_sections(context: ConsoleContext) -> Sequence[StartPageSection]:
    """The section for reviewers on the console's start page."""

    async def waiting(tx: Tx, visitor: SignedInRequest) -> list[StartPageLine]:
        by = context.operator_id(visitor)
        counted = await reviews.count_open_reviews_by_filter(tx, by, MOST_COUNTED + 1)
        answered = await reviews.count_reviews_with_received_evidence_up_to(tx, MOST_COUNTED + 1)
        beside = await verifications.count_waiting_by_kind_up_to(tx, MOST_COUNTED + 1)
        lines = [
            StartPageLine("Claimed by you", f"{REVIEWS}?holder=mine", *counted["claimed"]),
            StartPageLine("Overdue", f"{REVIEWS}?due=overdue", *counted["overdue"]),
            StartPageLine("Applicant has answered", f"{REVIEWS}?applicant=answered", *answered),
            *(StartPageLine(words, f"{REVIEWS}?kind={kind}", *counted[kind]) for kind, words in KIND_WORDS.items()),
            *(
                StartPageLine(words, f"{REVIEWS}?kind={kind}", *beside[kind])
                for kind, (words, _) in VERIFICATION_WORDS.items()
            ),
        ]
        looks = await reviews.list_waiting_second_looks(tx, by, MOST_COUNTED + 1)
        lines.append(StartPageLine("Second looks", SECOND_LOOKS, len(looks), looks[0].selected_at if looks else None))
        return lines

    return [StartPageSection("Reviews", REVIEWERS, waiting)]


@dataclass(frozen=True, slots=True)
class _QueueTexts:
    """Names and texts of the rows of the queue: of records and partners by ID, of operators by their text ID.

    ``answered``: the reviews whose applicant was asked for evidence and has sent some.
    """

    about: Mapping[UUID, str]
    missing: Mapping[UUID, str]
    answered: Collection[UUID]
    operators: Mapping[str, str]
    partners: Mapping[UUID, str]


class _ReviewQueue:
    """The list of open cases, verifications and flags."""

    def __init__(self, context: ConsoleContext) -> None:
        self._context = context

    def declared(self) -> ConsoleList:
        """The list."""
        return ConsoleList(
            REVIEWS,
            "Open reviews",
            "Cases that cannot be decided automatically are listed here, together with appeals against decisions.",
            REVIEWERS,
            (
                Column("Case", "id", place="file"),
                Column("About"),
                Column("Kind", place="below"),
                Column("Reason"),
                Column("Missing", place="below"),
                Column("Applicant", place="below"),
                Column("Partner"),
                Column("Country", place="below"),
                Column("Script", place="file"),
                Column("Waiting", "age"),
                Column("Due", "moment", place="below"),
                Column("Claimed by"),
            ),
            self._load,
            (
                Filter("kind", "choice", (*get_args(Kind), *VERIFICATION_WORDS), label_member="Kind"),
                Filter("partner", label_member="Partner ID"),
                Filter("country", label_member="Country code"),
                Filter("script", "choice", _SCRIPTS, label_member="Script"),
                Filter("reason", label_member="Reason"),
                Filter("age", "choice", tuple(_AGES), label_member="Waiting for more than"),
                Filter("due", "choice", tuple(_DUE), label_member="Due"),
                Filter("applicant", "choice", tuple(_APPLICANT), label_member="Applicant"),
                Filter("holder", "choice", ("mine",), label_member="Claimed by"),
            ),
            views=_VIEWS,
            choice_words={
                **{str(kind): words for kind, words in SINGULAR_WORDS.items()},
                **{str(kind): words for kind, (_, words) in VERIFICATION_WORDS.items()},
                "EAST ASIAN": "East Asian",
                "waiting": "Asked, no answer yet",
                "answered": _ANSWERED,
            },
            begin=(f"{REVIEWS}/next", "Review next case"),
        )

    async def _load(self, visitor: SignedInRequest, query: ListQuery) -> ListPage:
        async with self._context.db.read() as tx:
            filters, after = self._filters(tx, visitor, query.filters), parse_time_cursor(query.cursor)
            beside = await self._list_verifications_and_flags(tx, query.filters, filters, query.limit + 1, after)
            cases = query.filters.get("kind") not in VERIFICATION_WORDS
            found = await reviews.list_open_reviews(tx, filters, query.limit + 1, after) if cases else []
            names = await operators.load_display_names_by_operator_id(
                tx, [one.claimant_at(tx.real_now) for one in found]
            )
            ids = [*(one.subject.partner_id for one in found), *(one.partner_id for one in beside)]
            partner_names = await partners.load_partner_names_by_id(tx, ids)
            texts = _QueueTexts(
                await self._find_names(tx, found),
                await _describe_missing_evidence(tx, found),
                await reviews.filter_review_ids_with_received_evidence(tx, [one.id for one in found]),
                names,
                partner_names,
            )
            nonprofits = await load_organisation_names_by_id(
                tx, [(one.partner_id, one.organisation_id) for one in beside]
            )
            approved = await load_first_approvers_by_verification_id(
                tx, [one.id for one in beside if one.kind != "verification_flag"]
            )
            rows = [(one.requested_at, one.id, self._row(tx, one, texts)) for one in found]
            rows += [
                (one.waiting_since, one.id, _verification_row(tx, one, nonprofits, partner_names, approved))
                for one in beside
            ]
        return build_time_sorted_page(sorted(rows, key=lambda row: row[:2]), query.limit)

    async def _list_verifications_and_flags(
        self,
        tx: Tx,
        given: Mapping[str, str],
        filters: ReviewFilters,
        limit: int,
        after: tuple[datetime, UUID] | None,
    ) -> list[WaitingReviewItem]:
        """List verifications and flags. The list is empty if the filters select only other kinds of items."""
        if filters.kind is not None or not given.keys() <= {"kind", "partner", "age"}:
            return []
        kind = next((one for one in VERIFICATION_WORDS if one == given.get("kind")), None)
        return await verifications.list_waiting_review_items(
            tx,
            limit,
            kind=kind,
            partner_id=filters.partner_id,
            waiting_since_before=filters.asked_until,
            after_position=after,
        )

    def _filters(self, tx: Tx, visitor: SignedInRequest, given: Mapping[str, str]) -> ReviewFilters:
        kind = next((one for one in get_args(Kind) if one == given.get("kind")), None)
        if kind is None and given.get("kind", "monetary_donation_verification") not in VERIFICATION_WORDS:
            raise IncorrectParams("kind: choose a kind from the list")
        partner = tx.ids.decode("partner", given["partner"]) if "partner" in given else None
        if partner is None and "partner" in given:
            raise IncorrectParams(f"partner: enter a partner's ID, such as {tx.ids.example_id('partner')}")
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
            evidence=_chosen(given, "applicant", _APPLICANT),
        )

    async def _find_names(self, tx: Tx, found: Sequence[Review]) -> dict[UUID, str]:
        """Whom each case is about, by the ID of its record."""
        names: dict[UUID, str] = {}
        for kind, ids in _ids_by_kind(found).items():
            names |= await self._context.services.review_handlers[kind].load_names_by_subject_id(tx, ids)
        return names

    def _row(self, tx: Tx, one: Review, texts: _QueueTexts) -> ListRow:
        subject = one.subject
        case = tx.ids.encode(ID_TYPES[subject.kind], subject.id)
        holder = one.claimant_at(tx.real_now)
        held = holder and texts.operators.get(holder, holder)
        why = review_reasons_text(one.reasons)
        values = (
            case,
            texts.about.get(subject.id) or f"Case {case}",
            SINGULAR_WORDS[subject.kind],
            why,
            texts.missing.get(subject.id),
            _ANSWERED if one.id in texts.answered else None,
            texts.partners[subject.partner_id],
            subject.country_code,
            subject.name_script and subject.name_script.title(),
            one.requested_at,
            one.due_at,
            held,
        )
        return ListRow(f"{REVIEWS}/{case}", values)


def _ids_by_kind(found: Sequence[Review]) -> dict[Kind, list[UUID]]:
    ids: dict[Kind, list[UUID]] = {}
    for one in found:
        ids.setdefault(one.subject.kind, []).append(one.subject.id)
    return ids


async def _describe_missing_evidence(tx: Tx, found: Sequence[Review]) -> dict[UUID, str]:
    """The evidence that each applicant was asked for and has not sent, by the ID of the record."""
    missing: dict[UUID, str] = {}
    for kind, ids in _ids_by_kind(found).items():
        for subject_id, awaited in (
            await submissions.load_requested_evidence_by_check_record_id(tx, kind, ids)
        ).items():
            missing[subject_id] = ", ".join(EVIDENCE_WORDS[one.evidence_code] for one in awaited)
    return missing


def _verification_row(
    tx: Tx,
    one: WaitingReviewItem,
    nonprofits: Mapping[UUID, str],
    partner_names: Mapping[UUID, str],
    approved: Mapping[UUID, Person],
) -> ListRow:
    """The row of a verification or a flag in the review queue. ``approved``: the first approvers, by verification."""
    flagged = one.kind == "verification_flag"
    name = tx.ids.encode(FLAG_TYPE if flagged else TYPE, one.id)
    values = (
        name,
        nonprofits.get(one.organisation_id) or name,
        VERIFICATION_WORDS[one.kind][1],
        "Details changed after the check" if flagged else "Approval before disbursements",
        f"The second of 2 approvals, after {approved[one.id].display_name}" if one.id in approved else _missing_of(one),
        None,
        partner_names[one.partner_id],
        None,
        None,
        one.waiting_since,
        None,
        None,
    )
    return ListRow(f"{FLAGS if flagged else VERIFICATIONS}/{name}", values)


def _missing_of(one: WaitingReviewItem) -> str:
    """The reviews of a flag, or the checks of a verification, that are missing."""
    if one.kind == "verification_flag":
        return "The second of 2 reviews" if one.has_first_review else "2 reviews"
    return ", ".join(map(humanise_field_name, one.remaining_checks))


def _chosen(given: Mapping[str, str], name: str, among: Mapping[str, Option]) -> Option | None:
    """The selected option of a filter, or None if the filter is not set. Raises IncorrectParams."""
    if name not in given:
        return None
    if given[name] not in among:
        raise IncorrectParams(f"{name}: choose an option from the list")
    return among[given[name]]
