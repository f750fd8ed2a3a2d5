"""``almoner release-copy``: let a restored or copied database act."""

from typing import Annotated

import typer

from almoner import settings
from almoner.backends import storage_of
from almoner.cli.database import with_found
from almoner.cli.officer import MACHINE
from almoner.kit.time import iso
from almoner.platform.audit.log import DEPLOYMENT
from almoner.platform.database import copies
from almoner.platform.database.copies import Found
from almoner.platform.database.transactions import Database
from almoner.platform.jobs import queue


def release_copy(
    takes_over: Annotated[
        bool,
        typer.Option("--takes-over", help="What it is a copy of is gone for good: go on in its place, with its files."),
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
) -> None:
    """Let a restored or copied database act: send, call, pay and remove again. Until then it does nothing outside.

    It becomes a deployment of its own beside the one that it is a copy of, whose files it leaves alone; with
    --takes-over it goes on in its place, and the other is the copy wherever it is started again.
    """

    async def release(database: Database, found: Found) -> str:
        if found.verdict in copies.GOES_ON:
            return "This database is no copy: there is nothing to release."
        async with database.read() as tx:
            due = (await queue.figures(tx)).outstanding
        for line in _said(found, due):
            typer.echo(line)
        if not yes:
            goes_on = "in the place of" if takes_over else "beside"
            typer.confirm(f"Have it act {goes_on} the deployment that it is a copy of?", abort=True)
        if takes_over and found.claim is not None:
            await copies.end_former(storage_of(settings.read()), found.claim, found.outside)
        async with database.write() as tx:
            claim = await copies.release(tx, found, takes_over=takes_over)
            details = {"why": found.verdict, "former": str(found.claim.id) if found.claim else None}
            await MACHINE.record(
                tx, DEPLOYMENT, "deployment.release_copy", str(claim.id), **details, takes_over=takes_over
            )
        return f"Released: it acts as deployment {claim.id}; running processes begin within seconds."

    typer.echo(with_found(release))


def _said(found: Found, due: int) -> list[str]:
    claim, outside = found.claim, found.outside
    lines = [f"This database is taken for a copy: {found.verdict}."]
    if claim is not None:
        lines.append(f"  of deployment   {claim.id}, on its server since {iso(claim.claimed_at)}")
        lines.append(f"  its state is of {iso(claim.generation_at)}")
        if claim.copy_detected_at is not None:
            lines.append(f"  found           {iso(claim.copy_detected_at)}")
    if claim is not None and outside is not None:
        behind = (outside.at - claim.generation_at).total_seconds()
        lines.append(f"  the storage     says {iso(outside.at)}: the database is {max(behind, 0):,.0f} s behind")
    elif found.away is not None:
        lines.append("  the storage     cannot be read")
    lines.append(f"  due             {due:,} jobs, such as mails and deliveries: done once it is released")
    return lines
