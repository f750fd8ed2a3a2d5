"""``almoner bank-files``: files of payments for our bank, and what it answers."""

from datetime import datetime
from pathlib import Path
from typing import Annotated, Final

import typer

from almoner import settings
from almoner.cli import outputs
from almoner.cli.access import read_id, table
from almoner.cli.amounts import amount
from almoner.cli.database import in_transaction, with_database
from almoner.cli.officer import Note, Officer, acting, decide, ensure_apart, named
from almoner.giving.banking.payment_files import flows, service
from almoner.giving.banking.payment_files.domain import BankFile, BankFileRefused, OwnAccount, Verdict
from almoner.giving.banking.payment_files.flows import Told
from almoner.giving.banking.payment_files.service import Made
from almoner.giving.disbursing.disbursements.domain import Disbursement
from almoner.kit.errors import NotFound
from almoner.kit.time import iso_or_none
from almoner.nonprofits.organisations import service as organisations
from almoner.platform.audit.log import DEPLOYMENT
from almoner.platform.database.transactions import Database, Partner, Tx

commands = typer.Typer(help="Files of payments for our bank, and what it answers.", no_args_is_help=True)

_TYPE: Final = "bankfile"
_SHOWN: Final = 20
_HELD: Final = "is on hold, see `almoner payouts holds` and `almoner verifications flags`"

FileId = Annotated[str, typer.Argument(help="Identifier, as `almoner bank-files list` shows it.")]
Out = Annotated[Path, typer.Option("--out", help="Where the file is written; it must not exist.")]


@commands.command("list")
def list_files(limit: Annotated[int, typer.Option(min=1, help="How many to show.")] = 50) -> None:
    """List files, newest first: what each is worth, who made and who released it."""

    async def use(tx: Tx) -> list[list[object]]:
        found = await service.newest(tx, limit)
        by = await named(tx, [who for one in found for who in (one.created_by, one.released_by, one.withdrawn_by)])
        return [
            [
                tx.ids.text(_TYPE, one.id),
                amount(one.total),
                one.payments,
                one.execution_date,
                one.status,
                by(one.created_by),
                by(one.released_by or one.withdrawn_by),
                iso_or_none(one.released_at),
                one.sha256[:12],
            ]
            for one in found
        ]

    titles = ("file", "amount", "payments", "on", "status", "made by", "released or withdrawn by", "released", "sha256")
    table(titles, in_transaction(use))


@commands.command("make")
def make(
    currency: Annotated[str, typer.Argument(help="Of the payouts, such as EUR.")],
    on: Annotated[
        datetime | None, typer.Option("--on", formats=["%Y-%m-%d"], help="The day of the payments; else today.")
    ] = None,
) -> None:
    """Put all payouts of a currency that are SENT into a new file (ISO 20022 pain.001.001.09)."""
    own = _own(currency.strip().upper())

    async def use(tx: Tx, officer: Officer) -> tuple[Made, list[str]]:
        made = await service.make(tx, own, on.date() if on else tx.now.date(), by=officer.id)
        if made.file is not None:
            await _record(tx, officer, "payment_file.made", made.file)
        whys = ((made.homeless, "has no approved account, see `almoner payees`"), (made.held, _HELD))
        lost = [await _left_out(tx, payout, why) for payouts, why in whys for payout in payouts[:_SHOWN]]
        return made, [tx.ids.text(_TYPE, made.file.id) if made.file else "", *lost]

    made, (named_so, *lost) = decide("finance", use)
    for one in lost:
        typer.echo(f"Left out: {one}")
    if more := sum(max(0, len(payouts) - _SHOWN) for payouts in (made.homeless, made.held)):
        typer.echo(f"Left out: and {more:,} more")
    if made.file is None:
        typer.echo(f"There is no payout of {own.alone.currency} that could be paid.")
        return
    who = "somebody else of finance has to release it" if made.file.requires_second_approval else "release it"
    typer.echo(
        f"{named_so} is made: {amount(made.file.total)} in {_payments(made.file)}, on "
        f"{made.file.execution_date}; sha256 {made.file.sha256}."
    )
    typer.echo(f"Nothing is written yet: {who} with `almoner bank-files release`.")


async def _left_out(tx: Tx, payout: Disbursement, why: str) -> str:
    organisation = await organisations.get(tx, Partner(payout.partner_id), payout.organisation_id)
    named_so = tx.ids.text("disbursement", payout.id)
    return f"{named_so}, {amount(payout.money)}: {organisation.shown_name} {why}"


def _own(currency: str) -> OwnAccount:
    known = service.own_accounts(settings.read().bank_accounts)
    if currency not in known:
        raise BankFileRefused(
            f"There is no account of ours in {currency}: ALMONER_BANK_ACCOUNTS has {', '.join(known)}."
        )
    return known[currency]


@commands.command("release")
def release(file: FileId, out: Out) -> None:
    """Let a file go to the bank, and write it; above what one person may release, not by who made it."""
    outputs.ensure_new(out)

    async def use(tx: Tx, officer: Officer) -> tuple[BankFile, bytes]:
        made = await _find(tx, file)
        if made.requires_second_approval:
            await ensure_apart(tx, officer, made.created_by)
        released = await service.release(tx, made.id, by=officer.id)
        await _record(tx, officer, "payment_file.released", released)
        return released, service.content(tx, released)

    released, content = decide("finance", use)
    outputs.write(out, content)
    typer.echo(f"{out} holds {amount(released.total)} in {_payments(released)}; sha256 {released.sha256}.")
    typer.echo("Upload it once: a second time the bank refuses it, by its message id.")


@commands.command("write")
def write_again(file: FileId, out: Out) -> None:
    """Write a released file once more, the same byte for byte."""
    outputs.ensure_new(out)

    async def use(tx: Tx, officer: Officer) -> bytes:
        found = await _find(tx, file)
        await _record(tx, officer, "payment_file.written", found)
        return service.content(tx, found)

    outputs.write(out, decide("finance", use))
    typer.echo(f"{out} is written.")


@commands.command("withdraw")
def withdraw(file: FileId, note: Note) -> None:
    """Let a file that was not released never go to the bank; its payouts may go into another one."""

    async def use(tx: Tx, officer: Officer) -> BankFile:
        withdrawn = await service.withdraw(tx, (await _find(tx, file)).id, note=note.strip(), by=officer.id)
        await _record(tx, officer, "payment_file.withdrawn", withdrawn)
        return withdrawn

    typer.echo(f"{file} is {decide('finance', use).status}.")


@commands.command("answer")
def answer(answer_file: Annotated[Path, typer.Argument(exists=True, dir_okay=False, help="A pain.002.")]) -> None:
    """Do what the bank's status file says: confirm payouts that were paid, return those that were rejected."""
    content = answer_file.read_bytes()

    async def use(database: Database) -> tuple[Told, list[str]]:
        async with acting(database, "finance") as (_, officer):
            pass  # refused before anything is done

        async def record(tx: Tx, file: BankFile, counts: dict[Verdict, int]) -> None:
            told = {verdict.value: count for verdict, count in counts.items()}
            named_so = tx.ids.text(_TYPE, file.id)
            await officer.record(tx, DEPLOYMENT, "payment_file.answered", named_so, **told)

        told = await flows.import_bank_answer(database, content, by=officer.id, record=record)
        return told, _wrong(database, told)

    told, wrong = with_database(use)
    if not told.counts:
        typer.echo("This answer was noted before: nothing changed.")
        return
    said = ", ".join(f"{count:,} {verdict.value}" for verdict, count in sorted(told.counts.items()))
    typer.echo(f"The bank says: {said}. Payouts confirmed by it: {told.confirmed:,}, returned: {told.returned:,}.")
    for line in wrong:
        typer.echo(line, err=True)
    if wrong:
        raise typer.Exit(1)


def _wrong(database: Database, told: Told) -> list[str]:
    """What somebody has to see to."""
    ids = database.deployment.ids
    found = [
        f"{ids.text('disbursement', one)} is otherwise by what the bank said before: payouts to the organisation are "
        "held, `almoner payouts holds` says why; ask the bank, and release them only once it is clear."
        for one in told.contradicted
    ]
    for one, why in told.refused:
        found.append(f"{ids.text('disbursement', one)} could not be changed: {why}. Run this again once that is right.")
    return found


async def _find(tx: Tx, file: str) -> BankFile:
    try:
        return await service.get(tx, read_id(tx, _TYPE, file))
    except NotFound:
        raise BankFileRefused(f"There is no file {file}: see `almoner bank-files list`.") from None


async def _record(tx: Tx, officer: Officer, action: str, file: BankFile) -> None:
    facts = {"amount": amount(file.total), "payments": str(file.payments), "sha256": file.sha256}
    await officer.record(tx, DEPLOYMENT, action, tx.ids.text(_TYPE, file.id), **facts)


def _payments(file: BankFile) -> str:
    return f"{file.payments:,} payment{'' if file.payments == 1 else 's'}"
