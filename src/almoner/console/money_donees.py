"""Pages about donees, which US tax receipts name. One operator proposes a donee, and another operator approves it."""

from collections.abc import Mapping, Sequence
from typing import Final
from uuid import UUID

from starlette.responses import Response
from starlette.routing import Route

from almoner.access.accounts.page_guard import SignedInRequest
from almoner.access.operators import service as operators
from almoner.access.partners import service as partners
from almoner.access.partners.service import NoSuchPartner
from almoner.console.actions import ActionField, ActionPage, ActionPages, ConsoleAction
from almoner.console.context import ConsoleContext
from almoner.console.links import FINANCE
from almoner.console.lists import ConsoleList, ListPage, ListQuery, ListRouteBuilder, ListRow
from almoner.console.money_records import (
    NOTE,
    ActingOperator,
    RecordAction,
    RecordKind,
    RecordPage,
    build_fixed_explanation,
    build_operator_name_lookup,
    parse_cursor,
    render_record_page,
)
from almoner.giving.receipts import service as receipts
from almoner.giving.receipts.domain import Donee, DoneeError
from almoner.kit.errors import IncorrectParams, NotFound
from almoner.kit.time import iso_timestamp
from almoner.platform.database.transactions import Partner, Tx
from almoner.platform.pages.record_tables import Column, LabelledValue, TimelineStep

_TYPE: Final = "receiptdonee"
_PATH: Final = "/receipt-donees"
_PROPOSAL: Final = (
    ActionField("partner", "Partner ID", maxlength=255),
    ActionField("legal_name", "Legal name", hint="As registered with the IRS.", maxlength=255),
    ActionField("ein", "EIN", hint="For example, 12-3456789.", maxlength=20),
    ActionField("address", "Postal address", hint="On one line.", maxlength=500),
    NOTE,
)


async def _get(tx: Tx, donee_id: UUID) -> Donee:
    if (found := await receipts.find_donee(tx, donee_id)) is None:
        raise NotFound
    return found


async def _facts(tx: Tx, one: Donee) -> Sequence[LabelledValue]:
    return [
        LabelledValue("Partner", (await partners.load_partner_names_by_id(tx, [one.partner_id]))[one.partner_id]),
        LabelledValue("Partner ID", tx.ids.encode("partner", one.partner_id)),
        LabelledValue("Legal name", one.legal_name),
        LabelledValue("Postal address", one.address),
    ]


def _proposed(one: Donee) -> str:
    return "" if one.approval_status == "proposed" else f"This donee is {one.approval_status}."


def _active(one: Donee) -> str:
    return "" if one.approval_status != "ended" else "This donee has ended already."


async def _approve(tx: Tx, officer: ActingOperator, one: Donee, entered_values: Mapping[str, str]) -> None:
    locked = await receipts.get_donee_for_update(tx, one.id)
    await operators.ensure_independent_operator(tx, officer.person, [locked.proposed_by])
    approved = await receipts.approve_donee(
        tx, locked, entered_ein=entered_values["ein"], note=entered_values["note"], approved_by=officer.id
    )
    await _audit(tx, officer, "receipt_donee.approved", approved)


async def _end(tx: Tx, officer: ActingOperator, one: Donee, _entered_values: Mapping[str, str]) -> None:
    locked = await receipts.get_donee_for_update(tx, one.id)
    await _audit(
        tx, officer, "receipt_donee.ended", await receipts.end_or_withdraw_donee(tx, locked, ended_by=officer.id)
    )


async def _audit(tx: Tx, officer: ActingOperator, action: str, one: Donee) -> None:
    await officer.record_audit_entry(tx, one.partner_id, action, tx.ids.encode(_TYPE, one.id), ein=one.ein)


_KIND: Final = RecordKind(
    path=_PATH,
    id_type=_TYPE,
    name="Receipt donee",
    get=_get,
    get_record_id=lambda one: one.id,
    load_facts=_facts,
    actions=(
        RecordAction(
            "approve",
            "Approve donee",
            build_fixed_explanation(
                "Enter the EIN from your own evidence. The proposed EIN is hidden, so that two people check it "
                "independently.",
                "New receipts of the partner name this donee instead of the previous one. Receipts that were already "
                "issued do not change.",
            ),
            _approve,
            (ActionField("ein", "EIN", hint="Exactly as in your evidence.", maxlength=20), NOTE),
            _proposed,
            "Donee approved.",
            "a",
            lambda one: [one.proposed_by],
        ),
        RecordAction(
            "end",
            "Remove donee",
            build_fixed_explanation(
                "New receipts of the partner no longer name this donee. If the partner has no other donee, its "
                "receipts only confirm the payment and say that they are not tax receipts.",
            ),
            _end,
            (),
            _active,
            "Donee removed.",
            "r",
        ),
    ),
    refusal_errors=(DoneeError,),
)


class ReceiptDoneePages:
    """Pages about donees."""

    def __init__(self, context: ConsoleContext) -> None:
        self._context = context
        self._list = ConsoleList(
            path=_PATH,
            title="Receipt donees",
            about="A donee is the US nonprofit that legally receives the donations of a partner. Receipts name the "
            "donee once a second operator has approved it.",
            roles=FINANCE,
            columns=(
                Column("Legal name"),
                Column("Partner"),
                Column("Status", "status"),
                Column("Proposed", "age"),
                Column("Approved", "moment"),
                Column("ID", "id"),
            ),
            load=self._load,
            actions=((f"{_PATH}/propose", "Propose a donee"),),
            sort_order_description="newest first",
        )

    def routes(self) -> list[Route]:
        """Starlette routes."""
        context = self._context
        propose = ConsoleAction(
            f"{_PATH}/propose",
            FINANCE,
            _describe_proposal,
            self._propose,
            (DoneeError,),
            requires_reauthentication=True,
        )
        return [
            *ListRouteBuilder(context).routes(self._list),
            *ActionPages(context).routes(propose, *_KIND.declare_actions(context)),
            context.route(f"{_PATH}/{{id}}", self.show_donee, *FINANCE, methods=["GET"]),
        ]

    async def _load(self, _visitor: SignedInRequest, query: ListQuery) -> ListPage:
        after = parse_cursor(self._context, query, _TYPE)
        async with self._context.db.read() as tx:
            found = await receipts.list_donees(tx, after, query.limit + 1)
            shown = found[: query.limit]
            names = await partners.load_partner_names_by_id(tx, [one.partner_id for one in shown])
            rows = [
                ListRow(
                    _KIND.page_path(tx, one),
                    (
                        one.legal_name,
                        names.get(one.partner_id),
                        one.approval_status,
                        one.proposed_at,
                        one.approved_at,
                        tx.ids.encode(_TYPE, one.id),
                    ),
                )
                for one in shown
            ]
            return ListPage(rows, tx.ids.encode(_TYPE, shown[-1].id) if len(found) > len(shown) else None)

    async def show_donee(self, visitor: SignedInRequest) -> Response:
        """Show a donee. Its EIN is hidden until it is approved."""
        async with self._context.db.read() as tx:
            one = await _KIND.get_from_url(self._context, tx, visitor)
            me = self._context.operator_id(visitor)
            by = await build_operator_name_lookup(tx, [one.proposed_by, one.approved_by, one.ended_by])
            steps = [
                TimelineStep(
                    "Proposed", "done", iso_timestamp(one.proposed_at), f"{by(one.proposed_by)}: {one.proposed_note}"
                )
            ]
            if one.approved_at is not None:
                note = f"{by(one.approved_by)}: {one.approved_note}"
                steps.append(TimelineStep("Approved", "done", iso_timestamp(one.approved_at), note))
            elif one.ended_at is None:
                steps.append(TimelineStep("Approved", "waiting", None, "another finance operator must approve it"))
            if one.ended_at is not None:
                steps.append(TimelineStep("Removed", "done", iso_timestamp(one.ended_at), by(one.ended_by) or ""))
            ein = one.formatted_ein if one.approved_at is not None else None
            page = RecordPage(
                title=one.legal_name,
                id=tx.ids.encode(_TYPE, one.id),
                status=one.approval_status,
                back=_PATH,
                back_label="Receipt donees",
                facts=[*await _facts(tx, one), LabelledValue("EIN", ein)],
                steps=steps,
                actions=_KIND.list_available_actions(tx, one, me),
                notices=await _KIND.describe_actions_reserved_for_others(tx, one, me),
            )
        return await render_record_page(self._context, visitor, page, _KIND.success_message(visitor))

    async def _propose(self, tx: Tx, visitor: SignedInRequest, entered_values: Mapping[str, str]) -> str:
        officer = ActingOperator(self._context, visitor)
        if (partner_id := tx.ids.decode("partner", entered_values["partner"])) is None:
            raise IncorrectParams("partner: no partner has this ID")
        try:
            partner = Partner((await partners.get(tx, Partner(partner_id))).id)
        except NoSuchPartner:
            raise IncorrectParams("partner: no partner has this ID") from None
        created = await receipts.propose_donee(
            tx,
            partner,
            legal_name=entered_values["legal_name"],
            ein=entered_values["ein"],
            address=entered_values["address"],
            note=entered_values["note"],
            proposed_by=officer.id,
        )
        await _audit(tx, officer, "receipt_donee.proposed", created)
        return _KIND.page_path(tx, created)


async def _describe_proposal(_tx: Tx, _visitor: SignedInRequest) -> ActionPage:
    return ActionPage(
        "Propose a donee",
        "Propose donee",
        _PATH,
        "Receipt donees",
        (
            (
                "The donee is the US nonprofit that legally receives the donations of the partner. Another finance "
                "operator must approve the donee."
            ),
            "Receipts then show the donee's name, EIN and address, and the statement that the IRS requires.",
        ),
        _PROPOSAL,
    )
