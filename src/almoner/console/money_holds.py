"""Pages about holds on disbursements: list and release them."""

from collections.abc import Mapping
from typing import Final
from uuid import UUID

from starlette.routing import Route

from almoner.access.accounts.page_guard import SignedInRequest
from almoner.access.partners import service as partners
from almoner.console.actions import ActionField, ActionPage, ActionPages, ConsoleAction
from almoner.console.context import ConsoleContext
from almoner.console.links import FINANCE
from almoner.console.lists import (
    ConsoleList,
    ListPage,
    ListQuery,
    ListRouteBuilder,
    ListRow,
    build_success_message_lookup,
    parse_number_cursor,
)
from almoner.console.money_records import (
    FIRST,
    ActingOperator,
    build_operator_name_lookup,
    load_organisation_names_by_id,
)
from almoner.giving.disbursing.disbursements import service as disbursements
from almoner.giving.disbursing.disbursements.domain import MAX_NOTE_LENGTH, DisbursementError, DisbursementHold
from almoner.kit.errors import NotFound
from almoner.platform.audit.log import DEPLOYMENT
from almoner.platform.database.transactions import ALL_PARTNERS, AllPartners, Partner, Tx
from almoner.platform.pages.record_tables import Column, LabelledValue

_PATH: Final = "/disbursements/holds"
_ALL: Final = "all"
_NOTE: Final = ActionField(
    "note",
    "Your findings",
    "area",
    hint="Explain why the nonprofit can be paid again.",
    maxlength=MAX_NOTE_LENGTH,
)


class DisbursementHoldPages:
    """Pages about holds on disbursements."""

    def __init__(self, context: ConsoleContext) -> None:
        self._context = context
        self._list = ConsoleList(
            path=_PATH,
            title="Holds on disbursements",
            message=build_success_message_lookup(
                {"released": "Hold released. The next run sends all disbursements that are ready."}
            ),
            about="Nonprofits whose disbursements were put on hold by a person or a rule are listed here.",
            roles=FINANCE,
            columns=(
                Column("Nonprofit"),
                Column("Partner"),
                Column("Since", "age"),
                Column("By"),
                Column("Reason"),
                Column("Nonprofit ID", "id"),
            ),
            load=self._load,
            sort_order_description="oldest first",
            lead=(
                "Flagged verifications and changed payee accounts also block disbursements. Review flags and account "
                "changes on their own pages."
            ),
        )

    def routes(self) -> list[Route]:
        """Starlette routes."""
        release = ConsoleAction(
            f"{_PATH}/{{organisation}}/{{whose}}/release",
            FINANCE,
            self._describe,
            self._release,
            (DisbursementError,),
            requires_reauthentication=True,
        )
        return [*ListRouteBuilder(self._context).routes(self._list), *ActionPages(self._context).routes(release)]

    async def _load(self, _visitor: SignedInRequest, query: ListQuery) -> ListPage:
        async with self._context.db.read() as tx:
            after = parse_number_cursor(query.cursor) or 0
            found = await disbursements.list_active_holds_after_id(tx, query.limit + 1, after)
            total = await disbursements.count_active_holds(tx)
            shown = [one.hold for one in found[: query.limit]]
            following = str(found[query.limit - 1].hold_id) if len(found) > query.limit else None
            names = await load_organisation_names_by_id(tx, [(one.partner_id, one.organisation_id) for one in shown])
            partner_names = await partners.load_partner_names_by_id(
                tx, [one.partner_id for one in shown if one.partner_id]
            )
            by = await build_operator_name_lookup(tx, [one.decided_by for one in shown])
            rows = [
                ListRow(
                    self._address(one),
                    (
                        names.get(one.organisation_id) or tx.ids.encode("organisation", one.organisation_id),
                        partner_names[one.partner_id] if one.partner_id else "All partners",
                        one.decided_at,
                        by(one.decided_by),
                        one.note,
                        tx.ids.encode("organisation", one.organisation_id),
                    ),
                )
                for one in shown
            ]
            return ListPage(rows, following, total)

    def _address(self, one: DisbursementHold) -> str:
        whose = self._context.format_id("partner", one.partner_id) if one.partner_id else _ALL
        return f"{_PATH}/{self._context.format_id('organisation', one.organisation_id)}/{whose}/release"

    def _named(self, visitor: SignedInRequest) -> tuple[UUID, Partner | AllPartners]:
        """The nonprofit and the partner in the URL. Raises NotFound."""
        nonprofit, whose, _ = visitor.path.removeprefix(f"{visitor.portal.home}{_PATH}/").split("/")
        scope = ALL_PARTNERS if whose == _ALL else Partner(self._context.parse_id("partner", whose))
        return self._context.parse_id("organisation", nonprofit), scope

    async def _describe(self, tx: Tx, visitor: SignedInRequest) -> ActionPage:
        organisation_id, scope = self._named(visitor)
        of = scope.id if isinstance(scope, Partner) else None
        held = [
            one
            for one in await disbursements.list_active_holds(tx, organisation_id)
            if of is None or one.partner_id == of
        ]
        if not held:
            raise NotFound
        names = await load_organisation_names_by_id(tx, [(one.partner_id, one.organisation_id) for one in held])
        by = await build_operator_name_lookup(tx, [one.decided_by for one in held])
        facts = [LabelledValue("Nonprofit", names.get(organisation_id))]
        facts += [
            LabelledValue(f"On hold since {one.decided_at:%Y-%m-%d}", f"{by(one.decided_by)}: {one.note}")
            for one in held
        ]
        return ActionPage(
            "Release disbursements",
            "Release disbursements",
            _PATH,
            "Holds on disbursements",
            (
                (
                    "The next disbursement run sends all disbursements that are ready. The person who placed a hold "
                    "cannot release it alone. If two-person approval is on, two finance operators must release the "
                    "hold, here or with the CLI command."
                ),
                "This action releases all holds on the nonprofit."
                if of is None
                else "This action releases the hold on this partner's donations.",
            ),
            (_NOTE,),
            facts,
        )

    async def _release(self, tx: Tx, visitor: SignedInRequest, entered_values: Mapping[str, str]) -> str:
        organisation_id, scope = self._named(visitor)
        officer, organisation = ActingOperator(self._context, visitor), tx.ids.encode("organisation", organisation_id)
        whose = f" for {tx.ids.encode('partner', scope.id)}" if isinstance(scope, Partner) else ""
        of = scope.id if isinstance(scope, Partner) else DEPLOYMENT
        seen = await disbursements.lock_and_fingerprint_holds(tx, scope, organisation_id)
        agreed = await officer.confirm_with_second_operator(
            tx, of, "disbursements.release", f"{organisation}{whose}", seen, entered_values["note"], mandatory=False
        )
        if agreed is None:
            return f"/money?done={FIRST}"
        await disbursements.release_holds(
            tx,
            scope,
            organisation_id,
            note=agreed.note,
            decided_by=agreed.decided_by,
            rules=self._context.services.disbursement_rules,
            second_operator_and_note=agreed.second_approval,
        )
        await officer.record_audit_entry(tx, of, "disbursements.released", organisation, people=agreed.approver_count)
        return f"{_PATH}?done=released"
