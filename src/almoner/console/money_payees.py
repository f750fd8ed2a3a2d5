"""Pages about nonprofits' bank accounts. One operator proposes an account, and other operators check and approve it."""

from collections.abc import Mapping, Sequence
from typing import Final

from starlette.responses import Response
from starlette.routing import Route

from almoner.access.accounts.page_guard import SignedInRequest
from almoner.access.operators import service as operators
from almoner.console.actions import ActionField, ActionPage, ActionPages, ConsoleAction
from almoner.console.context import MOST_COUNTED, ConsoleContext
from almoner.console.links import FINANCE
from almoner.console.lists import ConsoleList, ListPage, ListQuery, ListRouteBuilder, ListRow
from almoner.console.money_records import (
    NOTE,
    ActingOperator,
    RecordAction,
    RecordKind,
    RecordPage,
    build_fixed_explanation,
    build_list_page,
    build_operator_name_lookup,
    label_timestamp,
    load_organisation_names_by_id,
    parse_cursor,
    parse_filter_choice,
    parse_filter_id,
    render_record_page,
)
from almoner.giving.account_notices import service as account_notices
from almoner.giving.disbursing.payee_bank_accounts import service as payee_bank_accounts
from almoner.giving.disbursing.payee_bank_accounts.domain import (
    MIN_MATCHING_SCORE,
    Address,
    PayeeAccount,
    PayeeAccountError,
    PayeeStatus,
)
from almoner.kit.text import sanitise_for_terminal
from almoner.kit.time import iso_timestamp
from almoner.nonprofits.organisations import service as organisations
from almoner.platform.audit.log import DEPLOYMENT
from almoner.platform.database.transactions import ALL_PARTNERS, Tx
from almoner.platform.pages.record_tables import Column, Filter, LabelledValue, TimelineStep

_TYPE: Final = "payeeaccount"
_PATH: Final = "/payee-accounts"
_STATUSES: Final[Mapping[str, PayeeStatus]] = {
    "proposed": "proposed",
    "approved": "approved",
    "rejected": "refused",
    "replaced": "replaced",
}
_WORDS: Final = {stored: shown for shown, stored in _STATUSES.items()}
_NUMBERS: Final = {
    "iban": ("IBAN", ""),
    "bic": ("BIC", "Required only if the bank asks for it."),
    "account": ("Account number", "Required if the account has no IBAN."),
    "sort_code": ("Sort code", "United Kingdom."),
    "routing": ("Routing number", "United States."),
    "bsb": ("BSB number", "Australia."),
    "institution": ("Institution number", "Canada."),
    "transit": ("Transit number", "Canada."),
}
_PLACES: Final = {"street": "Street", "building": "Building number", "postcode": "Postcode"}


def _short(name: str, label: str, hint: str = "", *, required: bool = True) -> ActionField:
    return ActionField(name, label, hint=hint, required=required, maxlength=255)


_PROPOSAL: Final = (
    _short("organisation", "Nonprofit ID"),
    _short("currency", "Currency", "For example, EUR."),
    _short("holder", "Account holder", "The account holder's name as registered with the bank."),
    *(_short(name, label, hint, required=False) for name, (label, hint) in _NUMBERS.items()),
    _short("town", "Account holder's town"),
    _short("country", "Account holder's country", "Three-letter code, for example DEU."),
    *(_short(name, label, required=False) for name, label in _PLACES.items()),
    NOTE,
)


async def _facts(tx: Tx, one: PayeeAccount) -> Sequence[LabelledValue]:
    organisation = await organisations.get(tx, ALL_PARTNERS, one.organisation_id)
    agrees = f"{one.name_match_score} %" + ("" if one.name_match_score >= MIN_MATCHING_SCORE else ": compare the names")
    where = one.address
    parts = (where.street, where.building, where.postcode, where.town, where.country)
    others = await payee_bank_accounts.list_organisation_ids_sharing_account(tx, one.id)
    return [
        LabelledValue("Nonprofit in the register", organisation.name),
        LabelledValue("Account holder as proposed", one.holder),
        LabelledValue("Names match", agrees),
        LabelledValue("Register", f"{organisation.registry_name}, {organisation.registry_number}"),
        LabelledValue("Nonprofit ID", tx.ids.encode("organisation", organisation.id)),
        LabelledValue("Currency", one.currency),
        LabelledValue("Number", f"{one.masked_number} ({one.scheme})"),
        LabelledValue("Account holder's address", ", ".join(part for part in parts if part)),
        LabelledValue("Approvals", f"{one.completed_review_count} of {one.required_review_count}"),
        LabelledValue("Also used by", ", ".join(tx.ids.encode("organisation", other) for other in others) or None),
        label_timestamp("Denied by the nonprofit", one.denied_at),
    ]


async def _audit(tx: Tx, officer: ActingOperator, action: str, account: PayeeAccount) -> None:
    organisation = tx.ids.encode("organisation", account.organisation_id)
    await officer.record_audit_entry(
        tx,
        DEPLOYMENT,
        action,
        tx.ids.encode(_TYPE, account.id),
        organisation=organisation,
        currency=account.currency,
    )


def _proposed(one: PayeeAccount) -> str:
    return "" if one.status == "proposed" else f"This account is {_WORDS[one.status]}."


def _earlier(one: PayeeAccount) -> list[str]:
    """Who proposed the account, and who has approved it."""
    return [one.proposal.by, *([one.first_review.by] if one.first_review else [])]


async def _about_approval(tx: Tx, one: PayeeAccount) -> Sequence[str]:
    left = one.required_review_count - one.completed_review_count
    warnings = await payee_bank_accounts.list_account_warnings(tx, one)
    return [
        (
            "Enter the account number from your own evidence, such as a letter from the nonprofit, or a call to a "
            "phone number that you already had. The proposed account number is hidden, so that two people check it "
            "independently."
        ),
        "Once this account is approved, disbursements are paid to it. The nonprofit is notified at its contact address."
        if left == 1
        else "Another finance operator must also approve the account. Until then, no disbursements are sent to the "
        "account.",
        *(f"Warning: {one}." for one in warnings),
    ]


async def _approve(tx: Tx, officer: ActingOperator, one: PayeeAccount, entered_values: Mapping[str, str]) -> str | None:
    await operators.ensure_independent_operator(tx, officer.person, _earlier(one))
    seen = await payee_bank_accounts.approve(
        tx, one.id, entered_account_number=entered_values["number"], note=entered_values["note"], approved_by=officer.id
    )
    await _audit(tx, officer, "payee_bank_account.approved", seen)
    return "first" if seen.status == "proposed" else None


async def _reject(tx: Tx, officer: ActingOperator, one: PayeeAccount, entered_values: Mapping[str, str]) -> None:
    refused = await payee_bank_accounts.refuse(tx, one.id, note=entered_values["note"], refused_by=officer.id)
    await _audit(tx, officer, "payee_bank_account.rejected", refused)


_KIND: Final = RecordKind(
    path=_PATH,
    id_type=_TYPE,
    name="Payee account",
    get=payee_bank_accounts.get,
    get_record_id=lambda one: one.id,
    load_facts=_facts,
    actions=(
        RecordAction(
            "approve",
            "Approve account",
            _about_approval,
            _approve,
            (
                _short(
                    "number",
                    "Number",
                    "Enter the IBAN, or the bank code and account number, exactly as in your evidence.",
                ),
                NOTE,
            ),
            _proposed,
            "Approved.",
            "a",
            _earlier,
        ),
        RecordAction(
            "reject",
            "Reject account",
            build_fixed_explanation(
                "Nothing is paid to a rejected account. Disbursements that were blocked by the proposal can continue."
            ),
            _reject,
            (NOTE,),
            _proposed,
            "Rejected.",
            "r",
        ),
    ),
    refusal_errors=(PayeeAccountError,),
)


class PayeeAccountPages:
    """Pages about payee accounts."""

    def __init__(self, context: ConsoleContext) -> None:
        self._context = context
        self._list = ConsoleList(
            path=_PATH,
            title="Payee accounts",
            about="Nonprofits' bank accounts are listed here. One operator proposes an account, and other operators "
            "approve it.",
            roles=FINANCE,
            columns=(
                Column("Holder"),
                Column("Nonprofit"),
                Column("Currency"),
                Column("Number"),
                Column("Name match"),
                Column("Status", "status"),
                Column("Approvals"),
                Column("Proposed", "age"),
                Column("ID", "id"),
            ),
            load=self._load,
            filters=(
                Filter("status", "choice", tuple(_STATUSES), label_member="Status"),
                Filter("nonprofit", label_member="Nonprofit ID"),
            ),
            views=(("To approve", {"status": "proposed"}), ("Approved", {"status": "approved"}), ("All", {})),
            actions=((f"{_PATH}/propose", "Propose an account"),),
            sort_order_description="newest first",
            oldest_first_filter=("status", "proposed"),
        )

    def routes(self) -> list[Route]:
        """Starlette routes."""
        context = self._context
        propose = ConsoleAction(
            f"{_PATH}/propose",
            FINANCE,
            self._describe_proposal,
            self._propose,
            (PayeeAccountError,),
            requires_reauthentication=True,
        )
        return [
            *ListRouteBuilder(context).routes(self._list),
            *ActionPages(context).routes(propose, *_KIND.declare_actions(context)),
            context.route(f"{_PATH}/{{id}}", self.show_account, *FINANCE, methods=["GET"]),
        ]

    async def _load(self, _visitor: SignedInRequest, query: ListQuery) -> ListPage:
        shown = parse_filter_choice(query, "status", tuple(_STATUSES))
        status = _STATUSES[shown] if shown else None
        after = parse_cursor(self._context, query, _TYPE)
        async with self._context.db.read() as tx:
            nonprofit = parse_filter_id(tx, query, "nonprofit", "organisation")
            found = await payee_bank_accounts.list_for_operators(tx, status, nonprofit, after, query.limit + 1)
            total = await payee_bank_accounts.count_for_operators(tx, status, nonprofit, MOST_COUNTED)
            names = await load_organisation_names_by_id(tx, [(None, one.organisation_id) for one in found])
            rows = [
                (
                    one.id,
                    ListRow(
                        _KIND.page_path(tx, one),
                        (
                            one.holder,
                            names.get(one.organisation_id),
                            one.currency,
                            one.masked_number,
                            f"{one.name_match_score} %",
                            _WORDS[one.status],
                            f"{one.completed_review_count} of {one.required_review_count}",
                            one.proposal.at,
                            tx.ids.encode(_TYPE, one.id),
                        ),
                    ),
                )
                for one in found
            ]
            return build_list_page(tx, _TYPE, rows, query.limit, total)

    async def show_account(self, visitor: SignedInRequest) -> Response:
        """Show an account and its approvals."""
        async with self._context.db.read() as tx:
            one = await _KIND.get_from_url(self._context, tx, visitor)
            notice = await account_notices.find(tx, one.id)
            looks = [("Proposed", one.proposal), ("Approved", one.first_review), ("Approved", one.second_review)]
            by = await build_operator_name_lookup(tx, [*(look.by for _, look in looks if look), one.refused_by])
            steps = [
                TimelineStep(what, "done", iso_timestamp(look.at), f"{by(look.by)}: {look.note}")
                for what, look in looks
                if look
            ]
            if one.refused_by:
                steps.append(TimelineStep("Rejected", "done", None, f"{by(one.refused_by)}: {one.refused_note}"))
            elif one.status == "proposed":
                left = one.required_review_count - one.completed_review_count
                who = "another finance operator" if left == 1 else "two other finance operators"
                steps.append(TimelineStep("Approved", "waiting", None, f"{who} must approve it"))
            if notice is not None:
                steps.append(TimelineStep("Nonprofit notified", "done", iso_timestamp(notice.notified_at)))
            warnings = await payee_bank_accounts.list_account_warnings(tx, one)
            me = self._context.operator_id(visitor)
            page = RecordPage(
                title="Payee account",
                id=tx.ids.encode(_TYPE, one.id),
                status=_WORDS[one.status],
                back=_PATH,
                back_label="Payee accounts",
                facts=await _facts(tx, one),
                steps=steps,
                actions=_KIND.list_available_actions(tx, one, me),
                notices=[
                    *await _KIND.describe_actions_reserved_for_others(tx, one, me),
                    *(f"{warning[:1].upper()}{warning[1:]}." for warning in warnings),
                ],
            )
        return await render_record_page(self._context, visitor, page, _KIND.success_message(visitor))

    async def _describe_proposal(self, _tx: Tx, _visitor: SignedInRequest) -> ActionPage:
        return ActionPage(
            "Propose a payee account",
            "Propose account",
            _PATH,
            "Payee accounts",
            (
                (
                    "Another finance operator must approve the account. Two other operators must approve an account "
                    "that replaces another account, or if the nonprofit was verified with a different account. Until "
                    "then, no disbursements are sent to the nonprofit."
                ),
                "If the nonprofit has a contact address, we notify the nonprofit at that address.",
                "Call the nonprofit on a phone number that you already had, never on a number from the request.",
            ),
            _PROPOSAL,
        )

    async def _propose(self, tx: Tx, visitor: SignedInRequest, entered_values: Mapping[str, str]) -> str:
        officer = ActingOperator(self._context, visitor)
        places = (sanitise_for_terminal(entered_values[name]).strip() or None for name in _PLACES)
        address = Address(
            sanitise_for_terminal(entered_values["town"]).strip(), entered_values["country"].upper(), *places
        )
        proposal = await payee_bank_accounts.parse_proposal(
            tx,
            tx.ids.decode("organisation", entered_values["organisation"]),
            currency=entered_values["currency"].upper(),
            holder=sanitise_for_terminal(entered_values["holder"]).strip(),
            address=address,
            fields={name: entered_values[name] or None for name in _NUMBERS},
            note=entered_values["note"],
        )
        created = await payee_bank_accounts.propose_account(
            tx, proposal, note=entered_values["note"], proposed_by=officer.id
        )
        await _audit(tx, officer, "payee_bank_account.proposed", created)
        return _KIND.page_path(tx, created)
