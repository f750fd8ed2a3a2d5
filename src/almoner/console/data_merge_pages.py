"""Pages to compare two records of the same organisation and to merge them. Two operators must approve a merge."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from starlette.responses import Response
from starlette.routing import Route

from almoner.access.accounts.page_guard import SignedInRequest
from almoner.access.operators import service as operators
from almoner.access.operators.domain import Approval
from almoner.access.people.domain import Person
from almoner.console.actions import ActionField, ActionPage, ActionPages, ConsoleAction
from almoner.console.context import ConsoleContext
from almoner.console.data_organisation_pages import ID, ORGANISATIONS
from almoner.console.differences import ComparisonRow, build_comparison_rows
from almoner.console.links import ADMINISTRATORS, DATA_READERS
from almoner.console.lists import ConsoleList, ListPage, ListQuery, ListRouteBuilder, ListRow
from almoner.kit.errors import NotFound
from almoner.nonprofits.organisations import service as organisations
from almoner.nonprofits.organisations.domain import Organisation
from almoner.nonprofits.registers import service as registers
from almoner.nonprofits.registers.domain import ImportRefused
from almoner.nonprofits.registers.service import OrganisationRecordPair, PairDecision
from almoner.platform.audit.log import DEPLOYMENT
from almoner.platform.database.transactions import ALL_PARTNERS, Tx
from almoner.platform.pages.record_tables import Column, humanise_field_name
from almoner.validation.decisions.reviews.domain import ValueComparison

MERGES: Final = f"{ORGANISATIONS}/merges"
_SUGGESTED: Final = 20
_NOTE: Final = ActionField(
    "note",
    "Evidence",
    "area",
    hint="Explain why both records describe the same organisation, and where you found the evidence.",
)
_WHY: Final = ActionField(
    "note",
    "Evidence",
    "area",
    hint="Explain why the records describe two organisations, and where you found the evidence.",
)
_DONE: Final = {
    "proposed": "Your approval is recorded (1 of 2). A second administrator must also approve the change within 7 "
    "days.",
    "merge": "The records have been merged. Both registration numbers now lead to one record.",
    "separate": "The records have been separated. Each registration number leads to its own record again.",
}
_ROWS: Final[Sequence[tuple[str, Callable[[Organisation], str]]]] = (
    ("Registry", lambda one: f"{one.registry_name} ({one.registry_code})"),
    ("Registry number", lambda one: one.registry_number),
    ("Registered name", lambda one: one.full_name),
    ("Other names", lambda one: "; ".join(one.other_names)),
    ("Address", lambda one: one.address or ""),
    ("Country", lambda one: one.country_code),
    ("Websites", lambda one: " ".join(one.websites)),
    ("Types", lambda one: ", ".join(humanise_field_name(kind) for kind in one.types)),
    ("Status", lambda one: humanise_field_name(one.inactive_reason or "active")),
    ("Registered", lambda one: str(one.registration_date.date()) if one.registration_date else ""),
    ("Description", lambda one: one.description),
)


@dataclass(frozen=True, slots=True)
class _PendingMerge:
    """A merge or separation of two records that ``approver`` has approved."""

    decision: PairDecision
    approval: Approval
    approver: Person
    records: Sequence[Organisation]


class MergePages:
    """The pages."""

    def __init__(self, context: ConsoleContext) -> None:
        self._context = context
        self._list = ConsoleList(
            path=MERGES,
            title="Merges waiting for a second approval",
            about="No merges are waiting for approval. To merge two records of an organisation, open one of the "
            "records.",
            roles=DATA_READERS,
            columns=(
                Column("Decision"),
                Column("Record"),
                Column("Other record"),
                Column("First approved by"),
                Column("Evidence"),
                Column("Since", "age"),
            ),
            load=self._load,
        )

    def routes(self) -> list[Route]:
        """Starlette routes."""
        roles = sorted(DATA_READERS)
        return [
            *ListRouteBuilder(self._context).routes(self._list),
            self._context.route(f"{ORGANISATIONS}/{{id}}/compare", self.compare_records, *roles, methods=["GET"]),
            *ActionPages(self._context).routes(self._action("merge"), self._action("separate")),
        ]

    async def _load(self, visitor: SignedInRequest, _query: ListQuery) -> ListPage:
        decides = visitor.person.has_role(*ADMINISTRATORS)
        async with self._context.db.read() as tx:
            rows = [
                ListRow(
                    _decision_path(one, decides=decides),
                    (
                        humanise_field_name(one.decision),
                        *map(_name, one.records),
                        one.approver.display_name,
                        one.approval.first.note,
                        one.approval.first.at,
                    ),
                )
                for one in await _list_pending_merges(tx)
            ]
        return ListPage(rows, total=len(rows))

    async def compare_records(self, visitor: SignedInRequest) -> Response:
        """Show two records side by side.

        If there is no second record, suggest records that may be the same organisation.
        """
        name = visitor.path.removeprefix(f"{visitor.portal.home}{ORGANISATIONS}/").split("/")[0]
        typed, other = visitor.query.get("query", "").strip()[:500], visitor.query.get("other", "")
        pair: OrganisationRecordPair | None = None
        suggested: list[tuple[str, Organisation]] = []
        async with self._context.db.snapshot() as tx:
            one = await self._record(tx, name)
            if other:
                pair = await self._pair(tx, name, other)
            else:
                found = await organisations.list_best_matches(tx, ALL_PARTNERS, typed or one.name, _SUGGESTED)
                suggested = [
                    (tx.ids.encode(ID, match.id), match)
                    for match in found.organisations
                    if match.id != one.id and match.registry_id != one.registry_id
                ]
        return await self._context.render_console_page(
            visitor,
            "data_compare.html",
            one=one,
            own=f"{ORGANISATIONS}/{name}",
            name=name,
            other=other,
            pair=pair,
            rows=[] if pair is None else _marked(pair),
            suggested=suggested,
            decides=bool(visitor.person.roles & ADMINISTRATORS),
            typed=typed or one.name,
            message=_DONE.get(visitor.query.get("done", ""), ""),
            page_keys=[] if pair is None else [("m", "Merge"), ("s", "Separate")],
        )

    def _action(self, decision: PairDecision) -> ConsoleAction:
        async def describe(tx: Tx, visitor: SignedInRequest) -> ActionPage:
            pair, back = await self._pair_of_path(tx, visitor)
            merge = decision == "merge"
            words = "Merge the records" if merge else "Separate the records"
            about = _MERGE if merge else _SEPARATE
            return ActionPage(
                words,
                words,
                back,
                "Comparison",
                [_pair_label(pair), *about],
                [_NOTE if merge else _WHY],
                closed=pair.refusal_reason(decision),
            )

        async def perform(tx: Tx, visitor: SignedInRequest, entered_values: Mapping[str, str]) -> str:
            pair, back = await self._pair_of_path(tx, visitor)
            if reason := pair.refusal_reason(decision):
                raise ImportRefused(reason)
            subject = " ".join(sorted(tx.ids.encode(ID, record.id) for record in (pair.one, pair.other)))
            action = f"organisation.{decision}"
            decided = await operators.require_two_person_approval_if_enabled(
                tx, visitor.person, "administrator", action, subject, pair.fingerprint, entered_values["note"]
            )
            if isinstance(decided, Approval):
                await self._context.record_audit_entry(tx, visitor, DEPLOYMENT, action, subject, look=1)
                return f"{back}&done=proposed"
            await registers.merge_or_separate_records(tx, pair, decision)
            done = "organisation.merged" if decision == "merge" else "organisation.separated"
            await self._context.record_audit_entry(
                tx, visitor, DEPLOYMENT, done, subject, note=entered_values["note"], deciders=decided.approver_count
            )
            return f"{back}&done={decision}"

        path = f"{ORGANISATIONS}/{{id}}/{decision}/{{other}}"
        return ConsoleAction(
            path, ADMINISTRATORS, describe, perform, refusal_errors=(ImportRefused,), requires_reauthentication=True
        )

    async def _pair_of_path(self, tx: Tx, visitor: SignedInRequest) -> tuple[OrganisationRecordPair, str]:
        """The two records in the URL, and the path of the page that compares them."""
        name, _, other = visitor.path.removeprefix(f"{visitor.portal.home}{ORGANISATIONS}/").split("/")
        return await self._pair(tx, name, other), f"{ORGANISATIONS}/{name}/compare?other={other}"

    async def _pair(self, tx: Tx, name: str, other: str) -> OrganisationRecordPair:
        return await registers.load_record_pair(tx, *(self._context.parse_id(ID, one) for one in (name, other)))

    async def _record(self, tx: Tx, name: str) -> Organisation:
        """The published record with this ID, even if it has been merged. Raises NotFound."""
        found = await organisations.find_record_even_if_merged(tx, ALL_PARTNERS, self._context.parse_id(ID, name))
        if found is None:
            raise NotFound
        return found


async def count_pending_merges(tx: Tx) -> int:
    """The number of merges that need a second approval."""
    return len(await _list_pending_merges(tx))


async def _list_pending_merges(tx: Tx) -> list[_PendingMerge]:
    """Merges and separations that need a second approval, oldest first.

    Without approvals of records that have changed since, and without those of operators who are no longer
    administrators: a second approval would not complete them.
    """
    pending = [
        (decision, approval, first, [tx.ids.decode(ID, one) for one in approval.subject.split(" ")])
        for approval, first in await operators.list_pending_approvals(tx)
        if (decision := _decision_of(approval)) and first.has_role("administrator")
    ]
    wanted = [one for *_, ids in pending for one in ids if one is not None]
    records = await organisations.load_records_by_id_even_if_merged(tx, ALL_PARTNERS, wanted) if wanted else {}
    found = []
    for decision, approval, first, ids in pending:
        pair = [records[one] for one in ids if one in records]
        if len(pair) == 2 and registers.fingerprint_of_pair(*pair) == approval.fingerprint:
            found.append(_PendingMerge(decision, approval, first, pair))
    return found


def _decision_of(approval: Approval) -> PairDecision | None:
    match approval.action:
        case "organisation.merge":
            return "merge"
        case "organisation.separate":
            return "separate"
        case _:
            return None


def _decision_path(one: _PendingMerge, *, decides: bool) -> str:
    """The page of the decision, or of the comparison for visitors who cannot decide."""
    name, other = one.approval.subject.split(" ")
    return f"{ORGANISATIONS}/{name}/" + (f"{one.decision}/{other}" if decides else f"compare?other={other}")


def _name(record: Organisation) -> str:
    return f"{record.full_name} ({record.registry_code} {record.registry_number})"


def _marked(pair: OrganisationRecordPair) -> list[ComparisonRow]:
    return build_comparison_rows(
        [
            ValueComparison(label, take(pair.one), [other] if (other := take(pair.other)) else [])
            for label, take in _ROWS
        ]
    )


def _pair_label(pair: OrganisationRecordPair) -> str:
    one, other = (
        f"{record.full_name} ({record.registry_code} {record.registry_number})" for record in (pair.one, pair.other)
    )
    return f"{one} and {other}."


_MERGE: Final = (
    (
        "From now on, both registration numbers lead to one record: the active record, or the older record if both "
        "or neither are active."
    ),
    "Partners that monitor either record are notified.",
    "Past donations and verifications stay with their original record. You can separate the records later.",
    "If two-person approval is on, a second administrator must also approve the change within 7 days.",
)
_SEPARATE: Final = (
    "Each registration number leads to its own record again. Partners that monitor either record are notified.",
    "If a register also links both records, the records stay merged.",
    "If two-person approval is on, a second administrator must also approve the change within 7 days.",
)
