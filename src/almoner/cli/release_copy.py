"""``almoner release-copy``: activate a restored or copied database."""

from typing import Annotated

import typer

from almoner import settings
from almoner.backends import build_storage
from almoner.cli.caller import MACHINE
from almoner.cli.database import run_with_database_copy_check
from almoner.kit.time import iso_timestamp
from almoner.platform.audit.log import DEPLOYMENT
from almoner.platform.database import copy_detection
from almoner.platform.database.copy_detection import DatabaseCopyCheckResult
from almoner.platform.database.transactions import Database
from almoner.platform.jobs import queue


def release_copy(
    takes_over: Annotated[
        bool,
        typer.Option(
            "--takes-over",
            help="Replace the original and use its files. Use this option only if the original has been permanently "
            "lost.",
        ),
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Skip the confirmation prompt.")] = False,
) -> None:
    """Activate a restored or copied database.

    Until you activate it, the copy does not send emails, call other systems, make payments or delete stored files. By
    default, the copy becomes a separate deployment and does not change the original's files. With --takes-over, the
    copy replaces the original. If the original database is started again later, it is treated as the copy.
    """

    async def release(database: Database, found: DatabaseCopyCheckResult) -> str:
        if found.verdict in copy_detection.LIVE_VERDICTS:
            return "This database is not a copy, so there is nothing to activate."
        async with database.read() as tx:
            due = (await queue.queue_metrics(tx)).outstanding
        for line in _explanation_lines(found, due):
            typer.echo(line)
        if not yes:
            prompt = "Replace the original deployment?" if takes_over else "Activate the copy as a separate deployment?"
            typer.confirm(prompt, abort=True)
        if takes_over and found.claim is not None:
            await copy_detection.supersede_former_deployment(
                build_storage(settings.read_settings()), found.claim, found.stored_generation
            )
        async with database.write() as tx:
            claim = await copy_detection.release_database_copy(tx, found, takes_over_files=takes_over)
            details = {"why": found.verdict, "former": str(found.claim.id) if found.claim else None}
            await MACHINE.record_audit_entry(
                tx, DEPLOYMENT, "deployment.release_copy", str(claim.id), **details, takes_over=takes_over
            )
        return f"Released as deployment {claim.id}. Running processes start work within seconds."

    typer.echo(run_with_database_copy_check(release))


def _explanation_lines(found: DatabaseCopyCheckResult, due: int) -> list[str]:
    claim, outside = found.claim, found.stored_generation
    lines = [f"This database is treated as a copy: {found.verdict}."]
    if claim is not None:
        lines.append(f"  deployment      {claim.id}, running on its server since {iso_timestamp(claim.claimed_at)}")
        lines.append(f"  data as of      {iso_timestamp(claim.generation_at)}")
        if claim.copy_detected_at is not None:
            lines.append(f"  detected        {iso_timestamp(claim.copy_detected_at)}")
    if claim is not None and outside is not None:
        behind = (outside.at - claim.generation_at).total_seconds()
        lines.append(f"  storage as of   {iso_timestamp(outside.at)}, {max(behind, 0):,.0f} s newer than the database")
    elif found.storage_error is not None:
        lines.append("  storage         cannot be read")
    lines.append(f"  due             {due:,} jobs, such as emails and deliveries. These jobs run after the release.")
    return lines
