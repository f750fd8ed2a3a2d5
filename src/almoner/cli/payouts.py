"""``almoner payouts``: paying nonprofits what was given for them."""

from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Annotated, Final
from uuid import UUID

import typer

from almoner import settings
from almoner.cli import outputs
from almoner.cli.access import read_id, table
from almoner.cli.amounts import amount, decimal
from almoner.cli.database import in_transaction, with_database
from almoner.cli.officer import Agreed, Note, Officer, acting, decide, look, look_by_two, named
from almoner.cli.progress import Line
from almoner.giving.banking.payment_files import service as bank_files
from almoner.giving.disbursing.disbursements import flows, service
from almoner.giving.disbursing.disbursements.domain import (
    MAX_NOTE_LENGTH,
    MAX_REASON_LENGTH,
    Confirmation,
    Disbursement,
    PayoutRefused,
    Rules,
    Status,
    Sums,
)
from almoner.giving.disbursing.disbursements.flows import Ran
from almoner.giving.disbursing.remittances import service as remittances
from almoner.giving.disbursing.remittances.domain import Remittance
from almoner.kit.errors import NotFound
from almoner.kit.language import nearest
from almoner.kit.time import iso, iso_or_none
from almoner.nonprofits.organisations import service as organisations
from almoner.platform.audit.log import DEPLOYMENT
from almoner.platform.database.transactions import EVERYONE, Database, Everyone, Partner, Tx

commands = typer.Typer(help="Paying nonprofits what was given for them.", no_args_is_help=True)

PayoutId = Annotated[str, typer.Argument(help="Identifier, as `almoner payouts list` shows it.")]
_SHOWN: Final = 100


def rules() -> Rules:
    """What the settings say of the least payout."""
    return Rules(settings.read().payout_least_gifts)


@commands.command("run")
def run() -> None:
    """Send every payout that nothing stands in the way of, and say what waits and why.

    In the sandbox payouts are confirmed at once; in production the bank's confirmation is noted by `confirm`.
    """
    line = Line()

    async def use(database: Database) -> tuple[Ran, bool, list[tuple[str, str]]]:
        async with acting(database, "finance") as (_, officer):
            pass  # refused before anything is sent

        async def record(tx: Tx, ran: Ran) -> None:
            sent = sum(sums.payouts for sums in ran.sent.values())
            await officer.record(tx, DEPLOYMENT, "payouts.run", "all", sent=sent, refused=len(ran.refused))

        told = await flows.run(database, rules(), lambda ran: line.show(f"{ran.looked:,} buckets looked at"), record)
        ids = database.deployment.ids
        return told, database.deployment.sandbox, [(ids.text("disbursement", one), said) for one, said in told.refused]

    ran, sandbox, refused = with_database(use)
    line.clear()
    if not ran.sent:
        typer.echo("Nothing was sent.")
    for sums in ran.sent.values():
        typer.echo(f"{'Paid' if sandbox else 'Sent'}  {_told(sums)}")
    for (reason, _), sums in sorted(ran.waiting.items()):
        typer.echo(f"Waits {_told(sums)}: {reason.value}, {reason.sentence}")
    for payout, said in refused:
        typer.echo(f"Refused by the books: payout {payout}: {said}", err=True)
    if refused:
        raise typer.Exit(1)


def _told(sums: Sums) -> str:
    whole = f"{decimal(sums.minor, sums.currency)} {sums.currency}"
    return f"{whole} in {_many(sums.payouts, 'payout')} with {_many(sums.donations, 'donation')}"


def _many(count: int, what: str) -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"


@commands.command("list")
def list_payouts(
    status: Annotated[str | None, typer.Option(help="PENDING, SENT, PAID or RETURNED.")] = None,
    limit: Annotated[int, typer.Option(min=1, help="How many to show.")] = 50,
) -> None:
    """List payouts, newest first: what each is worth, where it stands, and why it waits."""
    wanted = _status(status)

    async def use(tx: Tx) -> list[list[object]]:
        return [await _row(tx, payout) for payout in await service.newest(tx, wanted, limit)]

    titles = ("payout", "organisation", "amount", "donations", "status", "waits for", "created", "sent", "paid")
    table(titles, in_transaction(use))


def _status(text: str | None) -> Status | None:
    for known in ("PENDING", "SENT", "PAID", "RETURNED"):
        if text is not None and text.upper() == known:
            return known
    if text is not None:
        raise typer.BadParameter(f"{text!r} is not PENDING, SENT, PAID or RETURNED")
    return None


async def _row(tx: Tx, payout: Disbursement) -> list[object]:
    organisation = await organisations.get(tx, Partner(payout.partner_id), payout.organisation_id)
    moments = map(iso_or_none, (payout.created_at, payout.sent_at, payout.paid_at))
    standing = (amount(payout.money), payout.donations, payout.status, payout.waiting_reason)
    return [tx.ids.text("disbursement", payout.id), organisation.shown_name, *standing, *moments]


@commands.command("show")
def show(
    payout: PayoutId,
    csv_file: Annotated[
        Path | None, typer.Option("--csv", help="Write the advice for the nonprofit, all donations, into this file.")
    ] = None,
) -> None:
    """Show a payout with its donations: who gave, unless anonymously, and what they said to the nonprofit."""

    async def use(database: Database) -> None:
        async with database.read() as tx:
            with _known(payout):
                found = await service.get(tx, EVERYONE, read_id(tx, "disbursement", payout))
            await _describe(tx, found)
        if csv_file is not None:
            with csv_file.open("w", encoding="utf-8-sig", newline="") as opened:
                written = await flows.write_advice(database, found.id, opened)
            typer.echo(f"The advice is in {csv_file}: {_many(written, 'donation')}.")
            return
        table(flows.TITLES, await flows.first_of_advice(database, found.id, _SHOWN))
        if found.donations > _SHOWN:
            typer.echo(f"and {found.donations - _SHOWN:,} more: --csv FILE writes all of them.")

    with_database(use)


async def _describe(tx: Tx, found: Disbursement) -> None:
    organisation = await organisations.get(tx, Partner(found.partner_id), found.organisation_id)
    waits = f", waits: {found.waiting_reason.value}, {found.waiting_reason.sentence}" if found.waiting_reason else ""
    lines = {
        "organisation": f"{organisation.shown_name} ({tx.ids.text('organisation', organisation.id)})",
        "partner": tx.ids.text("partner", found.partner_id),
        "amount": f"{amount(found.money)} from {_many(found.donations, 'donation')}",
        "status": f"{found.status}{waits}",
        "end-to-end id": found.end_to_end_id,
        "created": iso(found.created_at),
        "sent": iso_or_none(found.sent_at),
        "paid": iso_or_none(found.paid_at),
        "returned": f"{iso(found.returned_at)}: {found.return_reason}" if found.returned_at else None,
    }
    for name, value in lines.items():
        if value:
            typer.echo(f"{name:<14}{value}")


@commands.command("remittance")
def remittance(
    payout: PayoutId,
    pdf: Annotated[Path, typer.Option("--pdf", help="Where the document is written; the file must not exist.")],
    language: Annotated[
        str | None,
        typer.Option("--language", help="Such as de; that of the nonprofit's country unless given."),
    ] = None,
) -> None:
    """Write the remittance statement for the nonprofit: its gifts, what was taken off, and what they come to.

    Donors who wanted to stay anonymous are not named. The same payout gives the same document each time.
    """
    outputs.ensure_new(pdf)

    async def use(database: Database) -> Remittance:
        papers = remittances.Papers(database.deployment)
        spoken = _spoken(papers, language)
        payout_id = _id(database, payout)
        async with acting(database, "finance") as (tx, officer):
            with _known(payout):
                made = await remittances.make(tx, payout_id, spoken)
        document = await papers.document(made)
        facts = {"language": made.language, "sha256": sha256(document).hexdigest()}
        async with database.write() as tx:
            await officer.record(tx, made.payout.partner_id, "payout.remittance", payout, **facts)
        outputs.write(pdf, document)
        return made

    made = with_database(use)
    told = f"{amount(made.payout.money)} from {_many(made.totals.gifts, 'donation')}"
    typer.echo(f"{pdf} is the remittance statement for {made.organisation}: {told}, in {made.language}.")
    if len(made.lines) < made.totals.gifts:
        typer.echo(
            f"It lists the first {len(made.lines):,}: `almoner payouts show {payout} --csv FILE` has all of them."
        )


def _spoken(papers: remittances.Papers, language: str | None) -> str | None:
    """The language that was asked for. Raises BadParameter."""
    if language is None or nearest(language, papers.offered) is not None:
        return language
    raise typer.BadParameter(f"{language!r} is none of {', '.join(papers.offered)}")


@commands.command("confirm")
def confirm(
    payout: PayoutId,
    note: Annotated[
        str | None, typer.Option("--note", help="Where you saw it; needed when two of finance have to confirm.")
    ] = None,
) -> None:
    """Note that the bank has paid it: its donations are DISBURSED.

    One that went in a file which was released is confirmed by one of finance. Of others, above what one person may
    release (`alone` in ALMONER_BANK_ACCOUNTS; nothing without it), two run the same command.
    """
    told = (note or "").strip()[:MAX_NOTE_LENGTH] or None

    async def use(database: Database) -> Disbursement | str:
        payout_id = _id(database, payout)
        async with acting(database, "finance") as (tx, officer):
            with _known(payout):
                said = await _said(tx, officer, payout_id, told)
            if isinstance(said, str):
                return said
            confirmed = await service.confirm(tx, payout_id, said)
            people = 2 if said and said.second else 1
            await officer.record(tx, confirmed.partner_id, "payout.confirmed", payout, people=people)
        await flows.propagate_status(database, confirmed)
        return confirmed

    found = with_database(use)
    if isinstance(found, str):
        typer.echo(found)
        return
    typer.echo(f"{payout} is {found.status}: {amount(found.money)} with {_many(found.donations, 'donation')}.")


async def _said(tx: Tx, officer: Officer, payout_id: UUID, note: str | None) -> Confirmation | str | None:
    """Who says that it was paid; None when its file is enough, a sentence while a second has to look."""
    held, seen = await service.look_at_sent(tx, payout_id)
    if await bank_files.is_released(tx, payout_id):
        return None
    alone = _alone(held.money.currency)
    if held.money.minor <= alone:
        return Confirmation(officer.id, alone, note)
    if not note:
        raise PayoutRefused(
            f"{amount(held.money)} is more than one person may confirm: say with --note where you saw that the bank "
            "has paid it; then another of finance runs the same command"
        )
    shown = tx.ids.text("disbursement", payout_id)
    agreed = await look_by_two(tx, officer, "finance", "payouts.confirm", shown, seen, note, held.partner_id)
    return Confirmation(agreed.by, alone, agreed.note, agreed.second) if isinstance(agreed, Agreed) else agreed


def _alone(currency: str) -> int:
    """Up to what one person may say that it was paid, in minor units."""
    if (file := settings.read().bank_accounts) is None:
        return 0
    own = bank_files.own_accounts(file).get(currency)
    return own.alone.minor if own else 0


@commands.command("return")
def give_back(
    payout: PayoutId,
    reason: Annotated[str, typer.Option(help=f"What the bank said; at most {MAX_REASON_LENGTH} characters.")],
) -> None:
    """Note that the bank returned it, or never sent it: its donations go into the next payout, which is held."""

    async def use(database: Database) -> Disbursement:
        payout_id = _id(database, payout)
        async with acting(database, "finance") as (tx, officer):
            with _known(payout):
                returned = await service.mark_returned(tx, payout_id, reason.strip(), recorded_by=officer.id)
            await officer.record(tx, returned.partner_id, "payout.returned", payout)
        await flows.propagate_status(database, returned)
        return returned

    found = with_database(use)
    typer.echo(
        f"{payout} is {found.status}: {amount(found.money)} with {_many(found.donations, 'donation')}. Nothing more is "
        "sent to this organisation: find out why it came back, then `almoner payouts release`."
    )


OrganisationId = Annotated[str, typer.Argument(help="Identifier of an organisation.")]
PartnerId = Annotated[str | None, typer.Option("--partner", help="Of this partner's gifts alone; else of all.")]


@commands.command("hold")
def hold(organisation: OrganisationId, note: Note, partner: PartnerId = None) -> None:
    """Send nothing to an organisation until it is released, whatever its verification says."""
    told = note.strip()

    async def use(tx: Tx, officer: Officer) -> None:
        with _found(organisation):
            scope, organisation_id = _whose(tx, partner, organisation)
            await service.hold(tx, scope, organisation_id, note=told, decided_by=officer.id, rules=rules())
        await officer.record(tx, _audited(scope), "payouts.held", organisation)

    decide("finance", use)
    typer.echo(f"Payouts to {organisation} are held{f' for {partner}' if partner else ''}.")


@commands.command("release")
def release(organisation: OrganisationId, note: Note, partner: PartnerId = None) -> None:
    """End all holds of an organisation, or one partner's: the next run sends what waits.

    Who held it does not release it alone; in production two officers of finance run the same command.
    """
    told = note.strip()
    whose = f" for {partner}" if partner else ""

    async def use(tx: Tx, officer: Officer) -> str:
        with _found(organisation):
            scope, organisation_id = _whose(tx, partner, organisation)
        seen = await service.look_at_holds(tx, scope, organisation_id)
        of = _audited(scope)
        agreed = await look(tx, officer, "finance", "payouts.release", f"{organisation}{whose}", seen, told, of)
        if not isinstance(agreed, Agreed):
            return agreed
        await service.release(
            tx, scope, organisation_id, note=agreed.note, decided_by=agreed.by, rules=rules(), second=agreed.second
        )
        await officer.record(tx, of, "payouts.released", organisation, people=agreed.people)
        return f"Payouts to {organisation} are released{whose}."

    typer.echo(decide("finance", use))


def _whose(tx: Tx, partner: str | None, organisation: str) -> tuple[Partner | Everyone, UUID]:
    """Whose gifts, and the nonprofit."""
    scope = Partner(read_id(tx, "partner", partner)) if partner else EVERYONE
    return scope, read_id(tx, "organisation", organisation)


def _audited(scope: Partner | Everyone) -> UUID:
    return scope.id if isinstance(scope, Partner) else DEPLOYMENT


@contextmanager
def _found(organisation: str) -> Iterator[None]:
    """Say which organisation is not known."""
    try:
        yield
    except NotFound:
        raise PayoutRefused(
            f"there is no organisation {organisation}; one that a partner added is found with --partner"
        ) from None


@commands.command("holds")
def list_holds() -> None:
    """List what is held, oldest first: since when, by whom and why."""

    async def use(tx: Tx) -> list[list[object]]:
        held = await service.holds(tx)
        by = await named(tx, [one.decided_by for one in held])
        return [
            [
                tx.ids.text("organisation", one.organisation_id),
                tx.ids.text("partner", one.partner_id) if one.partner_id else "all",
                *(iso(one.decided_at), by(one.decided_by), one.note),
            ]
            for one in held
        ]

    table(("organisation", "partner", "since", "by", "note"), in_transaction(use))


@contextmanager
def _known(payout: str) -> Iterator[None]:
    """Say which payout is not known, and where all are."""
    try:
        yield
    except NotFound:
        raise PayoutRefused(f"there is no payout {payout}: see `almoner payouts list`") from None


def _id(database: Database, payout: str) -> UUID:
    """The UUID of a payout. Raises BadParameter."""
    found = database.deployment.ids.parse("disbursement", payout)
    if found is None:
        example = database.deployment.ids.example("disbursement")
        raise typer.BadParameter(f"{payout!r} is not the identifier of a disbursement, such as {example}")
    return found
