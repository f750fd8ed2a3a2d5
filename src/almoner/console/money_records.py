"""What the money pages share: record pages with facts and actions, display names, and the acting operator."""

from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Generic, TypeVar
from uuid import UUID

from babel import Locale
from starlette.responses import Response

from almoner.access.accounts.page_guard import SignedInRequest
from almoner.access.operators import service as operators
from almoner.access.operators.domain import Approval, ApprovedDecision
from almoner.access.people import service as people
from almoner.access.people.domain import OPERATORS, OperatorRole, Person
from almoner.console.actions import ActionField, ActionLink, ActionPage, ConsoleAction
from almoner.console.context import MOST_COUNTED, ConsoleContext, PageKey
from almoner.console.lists import ListPage, ListQuery, ListRow
from almoner.giving.checkout.donations.domain import Donation
from almoner.kit.errors import IncorrectParams, NotFound
from almoner.kit.money import Money
from almoner.kit.time import iso_timestamp
from almoner.nonprofits.organisations import service as organisations
from almoner.platform.database.transactions import ALL_PARTNERS, AllPartners, Partner, Tx
from almoner.platform.pages import numbers
from almoner.platform.pages.numbers import AmountProblem
from almoner.platform.pages.record_tables import Column, LabelledValue, TimelineStep

R = TypeVar("R")
_MOST_NAMED: Final = 5
_ENGLISH: Final = Locale("en")

NOTE: Final = ActionField("note", "Evidence", "area", hint="Describe the evidence, or say where it is stored.")
FIRST: Final = "first"
"""The value of ``done`` in the URL after the first of two approvals."""
_WAITS: Final = (
    "Confirmed by you (1 of 2). A second operator with the role {} must also confirm this action within 7 days."
)
WAITS: Final = _WAITS.format("finance")


@dataclass(frozen=True, slots=True)
class RecordTable:
    """A table below the facts of a record.

    ``more``: the text below the table if some rows are not shown. ``opens``: if set, the keys 1 to 9 open the rows, and
    this is their description in the list of shortcuts.
    """

    title: str
    columns: Sequence[Column]
    rows: Sequence[ListRow]
    empty: str = ""
    more: str = ""
    opens: str = ""

    @property
    def page_keys(self) -> list[PageKey]:
        """The keyboard shortcuts of the rows."""
        return [(str(n), f"{self.opens} {n}") for n, _ in enumerate(self.rows[:9], 1)] if self.opens else []


@dataclass(frozen=True, slots=True)
class RecordPage:
    """The page of one record.

    ``notices``: shown at the top of the page.
    """

    title: str
    id: str
    status: str
    back: str
    back_label: str
    facts: Sequence[LabelledValue]
    steps: Sequence[TimelineStep] = ()
    actions: Sequence[ActionLink] = ()
    tables: Sequence[RecordTable] = ()
    notices: Sequence[str] = ()
    downloads: Sequence[tuple[str, str]] = ()


@dataclass(frozen=True, slots=True)
class ActingOperator:
    """The operator who performs an action on a page.

    For CLI commands, ``CommandCaller`` is the equivalent. ``role``: the role that a second operator needs.
    """

    context: ConsoleContext
    visitor: SignedInRequest
    role: OperatorRole = "finance"

    @property
    def id(self) -> str:
        """The operator ID, which is stored with the operator's decisions."""
        return self.context.operator_id(self.visitor)

    @property
    def person(self) -> Person:
        """The user account of the operator."""
        return self.visitor.person

    async def record_audit_entry(
        self, tx: Tx, audit_scope_id: UUID, action: str, subject: str, **details: str | int | bool | None
    ) -> None:
        """Record the same audit log entry as the corresponding CLI command."""
        await self.context.record_audit_entry(tx, self.visitor, audit_scope_id, action, subject, **details)

    async def confirm_with_second_operator(
        self, tx: Tx, audit_scope_id: UUID, action: str, subject: str, fingerprint: bytes, note: str, *, mandatory: bool
    ) -> ApprovedDecision | None:
        """A decision that needs two operators.

        None if a second operator must still confirm the decision, here or with the CLI command. ``mandatory``: requires
        two operators even if two-person approval is off. Raises OperatorActionDenied.
        """
        decide = (
            operators.require_two_person_approval if mandatory else operators.require_two_person_approval_if_enabled
        )
        decided = await decide(tx, self.person, self.role, action, subject, fingerprint, note)
        if isinstance(decided, Approval):
            await self.record_audit_entry(tx, audit_scope_id, action, subject, look=1)
            return None
        return decided


Perform = Callable[[Tx, ActingOperator, R, Mapping[str, str]], Awaitable[str | None]]
"""Performs the action and records it in the audit log. Returns a value for ``done`` in the URL, or None."""


@dataclass(frozen=True, slots=True)
class RecordAction(Generic[R]):
    """An action on a record.

    ``name``: the last segment of the action's path. ``unavailable_reason``: the reason why the action is not available,
    or an empty string. ``explain_effects``: explains what will happen, and who is affected. ``shortcut_key``: the
    keyboard shortcut that opens the action's page. ``earlier_operator_ids``: the operators who did an earlier step, so
    that somebody else must perform the action. ``find_first_approver``: finds who gave the first of two approvals, if
    the action needs two operators while two-person approval is on.
    """

    name: str
    button: str
    explain_effects: Callable[[Tx, R], Awaitable[Sequence[str]]]
    perform: Perform[R]
    fields: Sequence[ActionField] = (NOTE,)
    unavailable_reason: Callable[[R], str] = field(default=lambda _record: "")
    success_message: str = ""
    shortcut_key: str = ""
    earlier_operator_ids: Callable[[R], Sequence[str]] = field(default=lambda _record: ())
    find_first_approver: Callable[[Tx, R], Awaitable[Person | None]] | None = None


@dataclass(frozen=True, slots=True)
class RecordKind(Generic[R]):
    """A kind of record that has its own pages, below ``path``.

    ``get`` returns a record, or raises one of ``not_found_errors``. ``load_facts``: shown on the confirmation pages of
    actions. ``refusal_errors``: service errors whose message is shown to the visitor.
    """

    path: str
    id_type: str
    name: str
    get: Callable[[Tx, UUID], Awaitable[R]]
    get_record_id: Callable[[R], UUID]
    load_facts: Callable[[Tx, R], Awaitable[Sequence[LabelledValue]]]
    actions: Sequence[RecordAction[R]]
    refusal_errors: tuple[type[Exception], ...]
    not_found_errors: tuple[type[Exception], ...] = (NotFound,)
    role: OperatorRole = "finance"

    async def get_from_url(self, context: ConsoleContext, tx: Tx, visitor: SignedInRequest) -> R:
        """The record in the URL. Raises NotFound."""
        name = visitor.path.removeprefix(f"{visitor.portal.home}{self.path}/").split("/")[0]
        try:
            return await self.get(tx, context.parse_id(self.id_type, name))
        except self.not_found_errors:
            raise NotFound from None

    def page_path(self, tx: Tx, record: R) -> str:
        """The path of a record's page, below ``/operator``."""
        return f"{self.path}/{tx.ids.encode(self.id_type, self.get_record_id(record))}"

    def list_available_actions(self, tx: Tx, record: R, visitor_id: str = "") -> list[ActionLink]:
        """The actions that are available now. ``visitor_id``: the visitor, if some are only for others."""
        here = self.page_path(tx, record)
        return [
            ActionLink(f"{here}/{one.name}", one.button, one.shortcut_key)
            for one in self.actions
            if not one.unavailable_reason(record) and visitor_id not in one.earlier_operator_ids(record)
        ]

    async def describe_actions_reserved_for_others(self, tx: Tx, record: R, visitor_id: str) -> list[str]:
        """Who must perform the actions that are not offered to the visitor because of an earlier step."""
        return [
            await self._reserved(tx, one, record)
            for one in self.actions
            if not one.unavailable_reason(record) and visitor_id in one.earlier_operator_ids(record)
        ]

    async def _reserved(self, tx: Tx, action: RecordAction[R], record: R) -> str:
        others = await describe_other_operators(tx, self.role, action.earlier_operator_ids(record))
        return f"{action.button}: you did an earlier step, so somebody else must do this step. {others}"

    async def _describe_approval(self, tx: Tx, visitor: SignedInRequest, first: Person | None) -> str:
        """Whether a second operator must also perform the action, and who can. ``first``: who has confirmed it."""
        if first is not None:
            others = await describe_other_operators(tx, self.role, [tx.ids.encode(operators.ID, first.id)])
            if first.id == visitor.person.id:
                return f"You have confirmed this action (1 of 2). {others}"
            return (
                f"{first.display_name} has confirmed this action (1 of 2). The action takes effect when you confirm "
                "it, unless the record changes before that."
            )
        if not await operators.is_two_person_approval_enabled(tx):
            return "Two-person approval is off, so this action takes effect when you confirm it."
        others = await describe_other_operators(tx, self.role, [tx.ids.encode(operators.ID, visitor.person.id)])
        return f"Nothing changes until a second person also confirms this action, within 7 days. {others}"

    def success_message(self, visitor: SignedInRequest) -> str:
        """The message about the action that the visitor has just performed."""
        done = visitor.query.get("done", "")
        if done == FIRST:
            return _WAITS.format(self.role)
        return next((one.success_message or f"{one.button}: done." for one in self.actions if one.name == done), "")

    def declare_actions(self, context: ConsoleContext) -> list[ConsoleAction]:
        """Build the confirmation pages of the record's actions."""
        return [self._declare(context, one) for one in self.actions]

    def _declare(self, context: ConsoleContext, action: RecordAction[R]) -> ConsoleAction:
        async def describe(tx: Tx, visitor: SignedInRequest) -> ActionPage:
            record = await self.get_from_url(context, tx, visitor)
            back = self.page_path(tx, record)
            facts = await self.load_facts(tx, record)
            closed = action.unavailable_reason(record)
            about = [] if closed else [*await action.explain_effects(tx, record)]
            if not closed and context.operator_id(visitor) in action.earlier_operator_ids(record):
                closed = await self._reserved(tx, action, record)
            elif not closed and action.find_first_approver is not None:
                first = await action.find_first_approver(tx, record)
                about.append(await self._describe_approval(tx, visitor, first))
            return ActionPage(action.button, action.button, back, self.name, about, action.fields, facts, closed=closed)

        async def perform(tx: Tx, visitor: SignedInRequest, entered_values: Mapping[str, str]) -> str:
            record = await self.get_from_url(context, tx, visitor)
            done = await action.perform(tx, ActingOperator(context, visitor, self.role), record, entered_values)
            return f"{self.page_path(tx, record)}?done={done or action.name}"

        return ConsoleAction(
            f"{self.path}/{{id}}/{action.name}",
            frozenset({self.role}),
            describe,
            perform,
            self.refusal_errors,
            requires_reauthentication=True,
        )


async def describe_other_operators(tx: Tx, role: OperatorRole, excluded_operator_ids: Collection[str]) -> str:
    """Which operators with a role can act, apart from those who already did."""
    found = [one for one in await people.list_with_any_role(tx, OPERATORS, role) if one.active]
    names = [one.display_name for one in found if tx.ids.encode(operators.ID, one.id) not in excluded_operator_ids]
    if not names:
        return f"No other operator has the role {role}. Ask an administrator to invite somebody."
    more = f" and {len(names) - _MOST_NAMED} others" if len(names) > _MOST_NAMED else ""
    return f"With the role {role}: {', '.join(names[:_MOST_NAMED])}{more}."


def build_fixed_explanation(*sentences: str) -> Callable[[Tx, Any], Awaitable[Sequence[str]]]:
    """Build the explanation of an action from sentences that are the same for every record."""

    async def about(_tx: Tx, _record: Any) -> Sequence[str]:
        return sentences

    return about


async def render_record_page(
    context: ConsoleContext,
    visitor: SignedInRequest,
    page: RecordPage,
    message: str = "",
    template: str = "money_record.html",
    **more: Any,
) -> Response:
    """Render the page of a record."""
    keys = [(one.shortcut_key, one.label) for one in page.actions if one.shortcut_key]
    keys += [key for table in page.tables for key in table.page_keys]
    return await context.render_console_page(visitor, template, page_keys=keys, page=page, message=message, **more)


def label_amount(label: str, money: Money | None) -> LabelledValue:
    """A fact whose value is an amount of money."""
    return LabelledValue(label, money.minor if money else None, "amount", currency=money.currency if money else None)


def label_timestamp(label: str, at: Any) -> LabelledValue:
    """A fact whose value is a date and time."""
    return LabelledValue(label, iso_timestamp(at) if at else None, "moment")


async def load_organisation_names_by_id(
    tx: Tx, partner_and_organisation_ids: Iterable[tuple[UUID | None, UUID]]
) -> dict[UUID, str]:
    """The display names of nonprofits, by ID.

    Each argument is a pair of a partner and a nonprofit, because partners can add nonprofits of their own.
    """
    by_partner: dict[UUID | None, set[UUID]] = {}
    for partner_id, organisation_id in partner_and_organisation_ids:
        by_partner.setdefault(partner_id, set()).add(organisation_id)
    found: dict[UUID, str] = {}
    for partner_id, ids in by_partner.items():
        scope: Partner | AllPartners = Partner(partner_id) if partner_id else ALL_PARTNERS
        found |= await organisations.load_display_names_by_id(tx, scope, ids)
    return found


def donor_name(donation: Donation | None) -> str | None:
    """The name of the donor, or None if it is not known."""
    names = (donation.first_name, donation.last_name) if donation else ()
    return " ".join(name for name in names if name) or None


async def build_operator_name_lookup(tx: Tx, operator_ids: Iterable[str | None]) -> Callable[[str | None], str | None]:
    """A function that returns who made a decision: an operator's display name, or the stored text, such as a rule."""
    names = await operators.load_display_names_by_operator_id(tx, operator_ids)
    return lambda by: names.get(by, by) if by else None


def parse_cursor(context: ConsoleContext, query: ListQuery, id_type: str) -> UUID | None:
    """Parse the cursor: the ID of the last record on the previous page. Raises NotFound."""
    return context.parse_id(id_type, query.cursor) if query.cursor else None


def build_list_page(tx: Tx, id_type: str, rows: Sequence[tuple[UUID, ListRow]], limit: int, total: int) -> ListPage:
    """A page of a list.

    ``rows``: one row more than ``limit`` if there is a next page. ``total``: the number of matching records.
    """
    shown = rows[:limit]
    following = tx.ids.encode(id_type, shown[-1][0]) if len(rows) > limit else None
    return ListPage([row for _, row in shown], following, min(total, MOST_COUNTED), total > MOST_COUNTED)


def parse_filter_id(tx: Tx, query: ListQuery, filter_name: str, id_type: str) -> UUID | None:
    """Parse the record ID in a filter. Raises IncorrectParams."""
    if not (text := query.filters.get(filter_name)):
        return None
    if (found := tx.ids.decode(id_type, text)) is None:
        raise IncorrectParams(f"{filter_name}: enter an ID such as {tx.ids.example_id(id_type)}")
    return found


def parse_entered_amount(field_name: str, text: str, currency: str) -> int:
    """Parse an amount such as ``12.34`` into minor units. Raises IncorrectParams."""
    found = numbers.parse_amount(text, currency, _ENGLISH)
    if isinstance(found, AmountProblem) or found < 1:
        raise IncorrectParams(f"{field_name}: enter an amount in {currency} such as 12.50")
    return found


Choice = TypeVar("Choice", bound=str)


def parse_filter_choice(query: ListQuery, filter_name: str, choices: Sequence[Choice]) -> Choice | None:
    """The selected value of a filter, or None if the filter is not set. Raises IncorrectParams."""
    if not (text := query.filters.get(filter_name)):
        return None
    if (found := next((one for one in choices if one == text), None)) is None:
        raise IncorrectParams(f"{filter_name}: choose an option from the list")
    return found
