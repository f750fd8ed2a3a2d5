"""``almoner activities``: apply activity rules to loaded organisations, and suggest sub-tags to reviewers."""

from typing import Annotated

import typer

from almoner.cli.caller import build_administrator_check
from almoner.cli.database import run_with_database
from almoner.cli.progress import ProgressLine
from almoner.cli.tables import Table, print_output
from almoner.nonprofits.activities import flows as activities_flows
from almoner.nonprofits.activities import service
from almoner.nonprofits.activities.domain import SUB_TAGS, TAGS, RetaggingRun
from almoner.platform.audit.log import DEPLOYMENT
from almoner.platform.database.transactions import Database, Tx

commands = typer.Typer(help="Tag organisations by their activities.", no_args_is_help=True)


@commands.command("apply")
def tag_all_organisations() -> None:
    """Tag all organisations with the rules of this version.

    Imports tag organisations automatically. Run this command after an upgrade that changed the tags or the rules. If
    the command is interrupted, run it again. No events are sent, but each organisation's history shows the changes.
    """
    line = ProgressLine()

    def report(now: RetaggingRun) -> None:
        line.show(f"{now.organisations:,} organisations, {now.changed:,} changed")

    async def run(database: Database) -> RetaggingRun:
        who = await build_administrator_check(database)
        async with database.write() as tx:
            await who(tx)  # check the operator before the minutes of work, and again at the end

        async def record(tx: Tx, done: RetaggingRun) -> None:
            officer = await who(tx)
            await officer.record_audit_entry(
                tx, DEPLOYMENT, "activities.applied", done.version, bodies=done.organisations, changed=done.changed
            )

        return await activities_flows.retag_organisations(database, on_progress=report, record_audit=record)

    done = run_with_database(run)
    line.clear()
    typer.echo(f"{done.organisations:,} organisations tagged with rules {done.version}: {done.changed:,} changed.")


@commands.command("suggest")
def suggest_sub_tags(
    name: Annotated[str, typer.Argument(help="Name of the organisation.")],
    activities: Annotated[str, typer.Option(help="Organisation's own description of its activities.")] = "",
    objects: Annotated[str, typer.Option(help="Charitable objects (purposes) of the organisation.")] = "",
) -> None:
    """Suggest activity sub-tags for a description. This command does not change any data."""
    found = service.suggest_sub_tags(name, activities, objects)
    if not found:
        typer.echo("There are no suggestions for this text.")
        return
    titles = ("sub-tag", "tag", "code", "score", "reasons")
    rows = []
    for one in found:
        sub = SUB_TAGS[one.code]
        rows.append((sub.name, TAGS[sub.tag_id].name, one.code, f"{one.score:.2f}", ", ".join(one.reasons)))
    print_output(Table(titles, rows))
