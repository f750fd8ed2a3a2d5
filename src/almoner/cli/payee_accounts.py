"""``almoner payee-accounts``: bank accounts of nonprofits, and who approved them."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Final

import typer

from almoner.cli.access import parse_id
from almoner.cli.caller import (
    CommandCaller,
    Note,
    build_display_name_lookup,
    ensure_independent_operator,
    operator_command,
)
from almoner.cli.database import transaction_command
from almoner.cli.tables import Limit, Output, Table
from almoner.giving.account_notices import service as account_notices
from almoner.giving.disbursing.payee_bank_accounts import service as payee_bank_accounts
from almoner.giving.disbursing.payee_bank_accounts.domain import (
    MIN_MATCHING_SCORE,
    Address,
    PayeeAccount,
    PayeeAccountError,
    PayeeStatus,
    list_fields_with_entered_and_sent_text,
)
from almoner.kit.errors import NotFound
from almoner.kit.text import sanitise_for_terminal
from almoner.kit.time import iso_timestamp
from almoner.nonprofits.organisations import service as organisations
from almoner.platform.audit.log import DEPLOYMENT
from almoner.platform.database.transactions import ALL_PARTNERS, Tx

commands = typer.Typer(help="Approve nonprofits' bank accounts.", no_args_is_help=True)

_TYPE = "payeeaccount"


class AccountStatus(StrEnum):
    """The status of a payee account."""

    PROPOSED = "proposed"
    APPROVED = "approved"
    REJECTED = "rejected"
    REPLACED = "replaced"


_STORED: Final[Mapping[AccountStatus, PayeeStatus]] = {
    AccountStatus.PROPOSED: "proposed",
    AccountStatus.APPROVED: "approved",
    AccountStatus.REJECTED: "refused",
    AccountStatus.REPLACED: "replaced",
}
_SHOWN: Final = {stored: shown.value for shown, stored in _STORED.items()}

AccountId = Annotated[str, typer.Argument(help="Payee account ID, from `almoner payee-accounts list`.")]


@commands.command("list")
@transaction_command
async def list_accounts(
    tx: Tx,
    status: Annotated[AccountStatus | None, typer.Option(help="Show only accounts with this status.")] = None,
    limit: Limit = 50,
) -> Table:
    """List payee accounts, newest first."""
    return Table(
        (
            "account",
            "organisation",
            "currency",
            "number",
            "holder",
            "name match",
            "status",
            "approvals",
            "proposed",
        ),
        [
            await _row(tx, one)
            for one in await payee_bank_accounts.list_newest(tx, _STORED[status] if status else None, limit)
        ],
    )


async def _row(tx: Tx, one: PayeeAccount) -> list[object]:
    organisation = await organisations.get(tx, ALL_PARTNERS, one.organisation_id)
    agrees = f"{one.name_match_score} %" + ("" if one.name_match_score >= MIN_MATCHING_SCORE else ", check")
    facts = (
        one.currency,
        one.masked_number,
        one.holder,
        agrees,
        _SHOWN[one.status],
        f"{one.completed_review_count} of {one.required_review_count}",
    )
    return [
        tx.ids.encode(_TYPE, one.id),
        organisation.effective_display_name,
        *facts,
        iso_timestamp(one.proposal.at),
    ]


@commands.command("show")
@transaction_command
async def show(tx: Tx, account: AccountId) -> Output:
    """Show a payee account and its approvals."""
    one = await _find(tx, account)
    organisation = await organisations.get(tx, ALL_PARTNERS, one.organisation_id)
    others = await payee_bank_accounts.list_organisation_ids_sharing_account(tx, one.id)
    notice = await account_notices.find(tx, one.id)
    where = one.address
    parts = (where.street, where.building, where.postcode, where.town, where.country)
    facts: list[list[object]] = [
        ["account", account],
        ["organisation", f"{organisation.name} ({tx.ids.encode('organisation', organisation.id)})"],
        ["register", f"{organisation.registry_name}, {organisation.registry_number}"],
        ["holder", one.holder],
        ["name match", f"{one.name_match_score} %"],
        ["number", f"{one.masked_number} ({one.scheme}, {one.currency})"],
        ["address", ", ".join(part for part in parts if part)],
        ["two approvals", "yes" if one.required_review_count == 2 else "no"],
        ["warnings", "; ".join(await payee_bank_accounts.list_account_warnings(tx, one)) or None],
        ["status", _SHOWN[one.status]],
        ["nonprofit notified", iso_timestamp(notice.notified_at) if notice else None],
        ["denied by nonprofit", iso_timestamp(one.denied_at) if one.denied_at else None],
        ["also used by", ", ".join(tx.ids.encode("organisation", other) for other in others) or None],
    ]
    by = await build_display_name_lookup(
        tx, [look.by for look in (one.proposal, one.first_review, one.second_review) if look] + [one.refused_by]
    )
    looks = [("proposed", one.proposal), ("approved", one.first_review), ("approved", one.second_review)]
    rows: list[list[object]] = [[iso_timestamp(look.at), what, by(look.by), look.note] for what, look in looks if look]
    if one.refused_by:
        rows.append([None, "rejected", by(one.refused_by), one.refused_note])
    return [Table(("field", "value"), facts), Table(("at", "what", "by", "evidence"), rows)]


@commands.command("propose")
@operator_command("finance")
async def propose(
    tx: Tx,
    caller: CommandCaller,
    organisation: Annotated[str, typer.Argument(help="Organisation ID of the nonprofit.")],
    currency: Annotated[str, typer.Option(help="Currency of the account, such as EUR.")],
    holder: Annotated[str, typer.Option(help="Name of the account holder, as registered with the bank.")],
    town: Annotated[str, typer.Option(help="Town or city in the account holder's address.")],
    country: Annotated[str, typer.Option(help="Country in the account holder's address, such as DEU.")],
    note: Note,
    iban: Annotated[str | None, typer.Option(help="IBAN of the account.")] = None,
    bic: Annotated[str | None, typer.Option(help="BIC (SWIFT code) of the bank.")] = None,
    account: Annotated[str | None, typer.Option(help="Account number, if the account has no IBAN.")] = None,
    sort_code: Annotated[str | None, typer.Option(help="Sort code of the bank (United Kingdom).")] = None,
    routing: Annotated[str | None, typer.Option(help="Routing number of the bank (United States).")] = None,
    bsb: Annotated[str | None, typer.Option(help="BSB number of the bank (Australia).")] = None,
    institution: Annotated[str | None, typer.Option(help="Institution number of the bank (Canada).")] = None,
    transit: Annotated[str | None, typer.Option(help="Transit number of the bank branch (Canada).")] = None,
    street: Annotated[str | None, typer.Option(help="Street in the account holder's address.")] = None,
    building: Annotated[str | None, typer.Option(help="Building number in the account holder's address.")] = None,
    postcode: Annotated[str | None, typer.Option(help="Postcode in the account holder's address.")] = None,
) -> Output:
    """Propose a nonprofit's bank account.

    Another finance operator must approve the account. If the account replaces an existing account, two other finance
    operators must approve the new account.
    """
    given = {"iban": iban, "bic": bic, "account": account, "sort_code": sort_code, "routing": routing, "bsb": bsb}
    given |= {"institution": institution, "transit": transit}
    address_parts = (_line(part) or None for part in (street, building, postcode))
    address = Address(_line(town), country.strip().upper(), *address_parts)
    reported = note.strip()
    proposal = await payee_bank_accounts.parse_proposal(
        tx,
        tx.ids.decode("organisation", organisation),
        currency=currency.strip().upper(),
        holder=_line(holder),
        address=address,
        fields=given,
        note=reported,
    )
    created = await payee_bank_accounts.propose_account(tx, proposal, note=reported, proposed_by=caller.id)
    await _record(tx, caller, "payee_bank_account.proposed", created)
    parts = [f"{tx.ids.encode(_TYPE, created.id)} proposed: {created.masked_number}, {created.holder}."]
    parts += [f"Warning: {one}." for one in await payee_bank_accounts.list_account_warnings(tx, created)]
    who = "Two other finance operators" if created.requires_second_approval else "Another finance operator"
    return [
        *parts,
        (
            f"{who} must approve the account"
            f"{'. Until then, no disbursements are sent to it' if created.requires_second_approval else ''}."
        ),
    ]


@commands.command("approve")
@operator_command("finance")
async def approve(
    tx: Tx,
    caller: CommandCaller,
    account: AccountId,
    number: Annotated[str, typer.Option(help="IBAN, or bank code and account number, exactly as in your evidence.")],
    note: Note,
) -> Output:
    """Confirm that a bank account belongs to the nonprofit.

    The `bank_details` check of the nonprofit's verifications then succeeds.
    """
    one = await _find(tx, account)
    await ensure_independent_operator(tx, caller, one.proposal.by, one.first_review.by if one.first_review else None)
    seen = await payee_bank_accounts.approve(
        tx, one.id, entered_account_number=number, note=note.strip(), approved_by=caller.id
    )
    await _record(tx, caller, "payee_bank_account.approved", seen)
    waits = " (1 of 2: another finance operator must also approve the account)" if seen.status == "proposed" else ""
    changed = list_fields_with_entered_and_sent_text(seen.holder, seen.address)
    return [
        f"{account} is {_SHOWN[seen.status]}{waits}.",
        *(f"For the bank, the {name} is transliterated as {sent}." for name, _, sent in changed),
    ]


@commands.command("reject")
@operator_command("finance")
async def reject(tx: Tx, caller: CommandCaller, account: AccountId, note: Note) -> Output:
    """Reject a proposed bank account. Nothing is ever paid to a rejected account."""
    refused = await payee_bank_accounts.refuse(
        tx, (await _find(tx, account)).id, note=note.strip(), refused_by=caller.id
    )
    await _record(tx, caller, "payee_bank_account.rejected", refused)
    return f"{account} is rejected."


async def _find(tx: Tx, account: str) -> PayeeAccount:
    try:
        return await payee_bank_accounts.get(tx, parse_id(tx, _TYPE, account))
    except NotFound:
        raise PayeeAccountError(f"There is no account {account}: see `almoner payee-accounts list`.") from None


async def _record(tx: Tx, officer: CommandCaller, action: str, account: PayeeAccount) -> None:
    named_so = tx.ids.encode(_TYPE, account.id)
    organisation = tx.ids.encode("organisation", account.organisation_id)
    await officer.record_audit_entry(
        tx, DEPLOYMENT, action, named_so, organisation=organisation, currency=account.currency
    )


def _line(text: str | None) -> str:
    return sanitise_for_terminal(text or "").strip()
