"""``almoner payees``: the accounts that nonprofits are paid to, and who looked at them."""

from typing import Annotated

import typer

from almoner.cli.access import read_id, table
from almoner.cli.database import in_transaction
from almoner.cli.officer import Note, Officer, decide, ensure_apart, named
from almoner.giving.account_notices import service as account_notices
from almoner.giving.disbursing.payee_bank_accounts import service
from almoner.giving.disbursing.payee_bank_accounts.domain import ALIKE, Address, PayeeAccount, PayeeRefused, PayeeStatus
from almoner.kit.errors import NotFound
from almoner.kit.text import one_line
from almoner.kit.time import iso
from almoner.nonprofits.organisations import service as organisations
from almoner.platform.audit.log import DEPLOYMENT
from almoner.platform.database.transactions import EVERYONE, Tx

commands = typer.Typer(help="The accounts that nonprofits are paid to.", no_args_is_help=True)

_TYPE = "payeeaccount"

AccountId = Annotated[str, typer.Argument(help="Identifier, as `almoner payees list` shows it.")]
Text = Annotated[str | None, typer.Option()]


@commands.command("list")
def list_accounts(
    status: Annotated[PayeeStatus | None, typer.Option(help="With this status only.")] = None,
    limit: Annotated[int, typer.Option(min=1, help="How many to show.")] = 50,
) -> None:
    """List accounts, newest first: whose each is, how well its holder agrees with the register, who has to look."""

    async def use(tx: Tx) -> list[list[object]]:
        return [await _row(tx, one) for one in await service.newest(tx, status, limit)]

    titles = ("account", "organisation", "currency", "number", "holder", "name agrees", "status", "looked", "proposed")
    table(titles, in_transaction(use))


async def _row(tx: Tx, one: PayeeAccount) -> list[object]:
    organisation = await organisations.get(tx, EVERYONE, one.organisation_id)
    agrees = f"{one.name_score} %" + ("" if one.name_score >= ALIKE else ", look closely")
    facts = (one.currency, one.masked_number, one.holder, agrees, one.status, f"{one.seen} of {one.looks}")
    return [tx.ids.text(_TYPE, one.id), organisation.shown_name, *facts, iso(one.proposed.at)]


@commands.command("show")
def show(account: AccountId) -> None:
    """Show one account: the holder beside the register's name, who else has given it, and who looked at it."""

    async def use(tx: Tx) -> tuple[list[list[object]], list[list[object]]]:
        one = await _find(tx, account)
        organisation = await organisations.get(tx, EVERYONE, one.organisation_id)
        others = await service.others_with(tx, one.id)
        notice = await account_notices.find(tx, one.id)
        where = one.address
        parts = (where.street, where.building, where.postcode, where.town, where.country)
        facts: list[list[object]] = [
            ["account", account],
            ["organisation", f"{organisation.name} ({tx.ids.text('organisation', organisation.id)})"],
            ["register", f"{organisation.registry_name}, {organisation.registry_number}"],
            ["holder", one.holder],
            ["name agrees", f"{one.name_score} %"],
            ["number", f"{one.masked_number} ({one.scheme}, {one.currency})"],
            ["address", ", ".join(part for part in parts if part)],
            ["takes two others", "yes" if one.looks == 2 else "no"],
            ["find out why", "; ".join(await service.oddities(tx, one)) or None],
            ["status", one.status],
            ["nonprofit told", iso(notice.notified_at) if notice else None],
            ["not its own, it says", iso(one.denied_at) if one.denied_at else None],
            ["also given by", ", ".join(tx.ids.text("organisation", other) for other in others) or None],
        ]
        by = await named(tx, [look.by for look in (one.proposed, one.first, one.second) if look] + [one.refused_by])
        looks = [("proposed", one.proposed), ("approved", one.first), ("approved", one.second)]
        rows: list[list[object]] = [[iso(look.at), what, by(look.by), look.note] for what, look in looks if look]
        if one.refused_by:
            rows.append([None, "refused", by(one.refused_by), one.refused_note])
        return facts, rows

    facts, looks = in_transaction(use)
    table(("field", "value"), facts)
    typer.echo()
    table(("at", "what", "by", "evidence"), looks)


@commands.command("propose")
def propose(
    organisation: Annotated[str, typer.Argument(help="Identifier of the nonprofit.")],
    currency: Annotated[str, typer.Option(help="What it is paid in there, such as EUR.")],
    holder: Annotated[str, typer.Option(help="In whose name the account is, as the bank has it.")],
    town: Annotated[str, typer.Option(help="Of the holder's address.")],
    country: Annotated[str, typer.Option(help="Of the holder's address, in three letters such as DEU.")],
    note: Note,
    iban: Text = None,
    bic: Text = None,
    account: Text = None,
    sort_code: Text = None,
    routing: Text = None,
    bsb: Text = None,
    institution: Text = None,
    transit: Text = None,
    street: Text = None,
    building: Text = None,
    postcode: Text = None,
) -> None:
    """Say where a nonprofit is paid: another officer has to approve it, two when it takes the place of another one."""
    given = {"iban": iban, "bic": bic, "account": account, "sort_code": sort_code, "routing": routing, "bsb": bsb}
    given |= {"institution": institution, "transit": transit}
    parts = (_line(part) or None for part in (street, building, postcode))
    address = Address(_line(town), country.strip().upper(), *parts)
    told = note.strip()

    async def use(tx: Tx, officer: Officer) -> tuple[PayeeAccount, str, list[str]]:
        proposal = await service.proposal(
            tx,
            tx.ids.parse("organisation", organisation),
            currency=currency.strip().upper(),
            holder=_line(holder),
            address=address,
            given=given,
            note=told,
        )
        made = await service.propose(tx, proposal, note=told, by=officer.id)
        await _record(tx, officer, "payee.proposed", made)
        return made, tx.ids.text(_TYPE, made.id), await service.oddities(tx, made)

    made, named_so, odd = decide("finance", use)
    typer.echo(f"{named_so} is proposed: {made.masked_number}, {made.holder}.")
    for one in odd:
        typer.echo(f"Find out why: {one}.")
    looks = "Two others of finance have" if made.is_change else "Another one of finance has"
    typer.echo(f"{looks} to approve it{': payouts to it wait until then' if made.is_change else ''}.")


@commands.command("approve")
def approve(
    account: AccountId,
    number: Annotated[
        str, typer.Option(help="As your evidence has it: the IBAN, or the bank's number and the account's.")
    ],
    note: Note,
) -> None:
    """Confirm that the account is the nonprofit's; with it the check bank_details of its verifications succeeds."""

    async def use(tx: Tx, officer: Officer) -> PayeeAccount:
        one = await _find(tx, account)
        await ensure_apart(tx, officer, one.proposed.by, one.first.by if one.first else None)
        seen = await service.approve(tx, one.id, number=number, note=note.strip(), by=officer.id)
        await _record(tx, officer, "payee.approved", seen)
        return seen

    seen = decide("finance", use)
    waits = " (1 of 2: somebody else has to look as well)" if seen.status == "proposed" else ""
    typer.echo(f"{account} is {seen.status}{waits}.")


@commands.command("refuse")
def refuse(account: AccountId, note: Note) -> None:
    """Say that it is not the nonprofit's, or cannot be paid to: nobody ever is."""

    async def use(tx: Tx, officer: Officer) -> PayeeAccount:
        refused = await service.refuse(tx, (await _find(tx, account)).id, note=note.strip(), by=officer.id)
        await _record(tx, officer, "payee.refused", refused)
        return refused

    typer.echo(f"{account} is {decide('finance', use).status}.")


async def _find(tx: Tx, account: str) -> PayeeAccount:
    try:
        return await service.get(tx, read_id(tx, _TYPE, account))
    except NotFound:
        raise PayeeRefused(f"There is no account {account}: see `almoner payees list`.") from None


async def _record(tx: Tx, officer: Officer, action: str, account: PayeeAccount) -> None:
    named_so = tx.ids.text(_TYPE, account.id)
    organisation = tx.ids.text("organisation", account.organisation_id)
    await officer.record(tx, DEPLOYMENT, action, named_so, organisation=organisation, currency=account.currency)


def _line(text: str | None) -> str:
    return one_line(text or "").strip()
