"""``almoner audit``: verify the audit log, read it, sign its heads, show the public key."""

import time
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Final
from uuid import UUID

import typer
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from almoner import settings
from almoner.access.partners import service as partners
from almoner.access.partners.service import NoSuchPartner
from almoner.cli.database import database_command, run_with_database, transaction_command
from almoner.cli.progress import ProgressLine
from almoner.cli.tables import Table
from almoner.kit.ids import RecordIdCodec
from almoner.kit.time import iso_timestamp
from almoner.platform.audit import heads as audit_heads
from almoner.platform.audit import log as audit
from almoner.platform.audit import verification as audit_verification
from almoner.platform.audit.chain import AuditChainBuilder
from almoner.platform.audit.log import DEPLOYMENT
from almoner.platform.audit.verification import ChainVerification
from almoner.platform.database.transactions import Database, Tx
from almoner.platform.observability.telemetry import Telemetry

commands = typer.Typer(help="List, verify and sign audit log entries.", no_args_is_help=True)

PartnerId = Annotated[
    str | None,
    typer.Option("--partner", help="Partner ID, or `deployment` for entries that do not belong to a partner."),
]

_TO_BEGIN: Final = timedelta(hours=2)


def _scope(ids: RecordIdCodec, partner: str) -> UUID:
    scope = audit_heads.audit_scope_from_name(ids, partner)
    if scope is None:
        raise NoSuchPartner(partner)
    return scope


@commands.command("verify")
def verify_log(
    partner: PartnerId = None,
    heads: Annotated[
        Path | None,
        typer.Option(
            "--heads",
            help="Folder with the exported heads (signed hashes of the newest entries). Default: ALMONER_AUDIT_HEADS.",
        ),
    ] = None,
    without_heads: Annotated[
        bool,
        typer.Option(
            "--without-heads",
            help="Verify only the database. Entries deleted from the end of the log are then not detected.",
        ),
    ] = False,
) -> None:
    """Verify that no audit log entry has been tampered with.

    The exit status is 1 if an entry was edited, deleted, inserted or moved. The command changes nothing, so you can run
    it while the service is running.
    """
    folder = None if without_heads else heads or settings.read_settings().audit_heads_folder
    gone = folder is not None and not folder.is_dir()

    async def prove(db: Database) -> list[ChainVerification]:
        started = await _started(db)
        there = None if gone else folder
        scopes = (
            [_scope(db.deployment.ids, partner)] if partner else await audit_verification.list_audit_scopes(db, there)
        )
        scopes += [] if partner else sorted(started.difference(scopes))
        return [await _proved(db, scope, there, started_at=scope in started) for scope in scopes]

    proofs = run_with_database(prove)
    broken = sum(proof.chain_error is not None for proof in proofs)
    entries = sum(proof.entry_count for proof in proofs)
    if gone and entries:
        broken += 1
        typer.echo(
            f"No exported heads of the audit log were found in {folder}. Check that the folder is mounted. Without "
            "exported heads, entries deleted at the end of the log cannot be detected. To verify only the entries, "
            "use --without-heads."
        )
    typer.echo(f"{entries:,} entries of {len(proofs):,} chains: {f'{broken} BROKEN' if broken else 'OK'}")
    if broken:
        raise typer.Exit(1)


async def _started(db: Database) -> set[UUID]:
    """The partners that must have an audit log. The first entry of each log records the creation of the partner."""
    async with db.read() as tx:
        return {one.id for one in await partners.list_accounts(tx) if one.created_at < tx.now - _TO_BEGIN}


async def _proved(db: Database, scope: UUID, folder: Path | None, *, started_at: bool) -> ChainVerification:
    line, started = ProgressLine(), time.monotonic()
    name = audit_heads.audit_scope_name(db.deployment.ids, scope)

    def report(entries: int) -> None:
        line.show(f"{name}: {entries:,} entries, {entries / max(time.monotonic() - started, 0.001):,.0f} per second")

    proof = await audit_verification.verify_chain(db, scope, folder, report, fail_if_chain_missing=started_at)
    line.clear()
    seen = f"{proof.entry_count:,} entries, {proof.signed_head_count:,} signed heads, head {proof.head_hash.hex()[:16]}"
    waiting = f", {proof.unchained_entry_count:,} waiting" if proof.unchained_entry_count else ""
    typer.echo(f"{name}  {seen}{waiting}: " + (f"BROKEN ({proof.chain_error})" if proof.chain_error else "OK"))
    return proof


@commands.command("list")
@transaction_command
async def list_entries(
    tx: Tx,
    partner: PartnerId = None,
    limit: Annotated[int, typer.Option("--limit", min=1, max=10_000, help="Maximum number of rows to show.")] = 50,
) -> Table:
    """List audit log entries, newest first."""
    scope = _scope(tx.ids, partner) if partner else DEPLOYMENT
    rows = [
        (
            iso_timestamp(entry.at),
            f"{entry.actor.kind} {entry.actor.id}",
            entry.action,
            entry.subject,
            entry.ip_address,
            ", ".join(f"{name} {value}" for name, value in (entry.details or {}).items()) or None,
        )
        for entry in await audit.list_entries(tx, scope, limit=limit)
    ]
    return Table(("at", "actor", "action", "subject", "address", "details"), rows)


@commands.command("public-key")
@database_command
async def print_public_key(database: Database) -> str:
    """Print the public key (PEM) for verifying the log."""
    public = audit_heads.audit_head_signing_key(database.deployment.vault).public_key()
    return public.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode().removesuffix("\n")


@commands.command("sign")
@database_command
async def sign_entries(database: Database) -> str:
    """Sign and export the head of each audit log.

    A head is the hash of the newest entry in a log. The signed heads are written to the folder set in
    ALMONER_AUDIT_HEADS. A background worker also signs and exports the heads every five minutes.
    """
    folder = settings.read_settings().audit_heads_folder
    chainer = AuditChainBuilder(database, Telemetry())
    while await chainer.chain_next_entries():
        pass
    async with database.write() as tx:
        while await audit_heads.sign_heads_of_grown_chains(tx):
            pass
    exported, more = 0, 1
    while more:
        async with database.write() as tx:
            more = await audit_heads.export_signed_chain_heads(tx, folder)
        exported += more
    return f"{exported} signed heads exported to {folder}"
