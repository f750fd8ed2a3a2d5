"""``almoner activities``: tagging what is loaded by new rules, and suggestions for a reviewer."""

from typing import Annotated

import typer

from almoner.cli.access import table
from almoner.cli.database import with_database
from almoner.cli.officer import administrator
from almoner.cli.progress import Line
from almoner.nonprofits.activities import flows, service
from almoner.nonprofits.activities.domain import SUB_TAGS, TAGS, Application
from almoner.platform.audit.log import DEPLOYMENT
from almoner.platform.database.transactions import Database, Tx

commands = typer.Typer(help="What organisations do: activity tags and sub-tags.", no_args_is_help=True)


@commands.command("apply")
def apply() -> None:
    """Tag all loaded organisations by the rules of this version.

    Loads tag what they bring; this is for what was loaded before an upgrade that changed tags or rules. Type it again
    when it was interrupted. Nobody is told of changes; the history of each organisation shows them.
    """
    line = Line()

    def report(now: Application) -> None:
        line.show(f"{now.organisations:,} organisations, {now.changed:,} changed")

    async def run(database: Database) -> Application:
        who = await administrator(database)
        async with database.write() as tx:
            await who(tx)  # refused before the minutes that it takes, and again when all is done

        async def record(tx: Tx, done: Application) -> None:
            officer = await who(tx)
            await officer.record(
                tx, DEPLOYMENT, "activities.applied", done.version, bodies=done.organisations, changed=done.changed
            )

        return await flows.apply(database, report=report, record=record)

    done = with_database(run)
    line.clear()
    typer.echo(f"{done.organisations:,} organisations by the rules of {done.version}: {done.changed:,} changed.")


@commands.command("suggest")
def suggest(
    name: Annotated[str, typer.Argument(help="The name of the organisation.")],
    activities: Annotated[str, typer.Option(help="What it says that it does.")] = "",
    objects: Annotated[str, typer.Option(help="What it says that it is for: its objects.")] = "",
) -> None:
    """Suggest sub-tags for a text, for somebody to look at: nothing is tagged by it."""
    found = service.suggest(name, activities, objects)
    if not found:
        typer.echo("Nothing to suggest for this text.")
        return
    titles = ("sub-tag", "tag", "code", "score", "because of")
    rows = []
    for one in found:
        sub = SUB_TAGS[one.code]
        rows.append((sub.name, TAGS[sub.tag_id].name, one.code, f"{one.score:.2f}", ", ".join(one.reasons)))
    table(titles, rows)
