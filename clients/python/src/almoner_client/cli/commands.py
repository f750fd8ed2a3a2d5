"""The commands."""

import json
import webbrowser
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import quote

import typer
from typer.core import TyperGroup

from almoner_client._calls import VERSION
from almoner_client._errors import AlmonerError
from almoner_client._generated.events import EVENT_RECORDS
from almoner_client._records import OMITTED
from almoner_client.cli import failures, output
from almoner_client.cli.failures import UsageError
from almoner_client.cli.feed import EventFeed, last_sequence
from almoner_client.cli.fields import closest, read_fields
from almoner_client.cli.forwarding import Forwarder, derived_secret, receiver_url
from almoner_client.cli.listening import Listener, report, show_event
from almoner_client.cli.profile import Profile, dashboard_home, read_profile
from almoner_client.cli.raw import RawClient
from almoner_client.cli.resources import EVENTS, RESOURCES, AsJson, Filters, Identifier, Limit, add_resource
from almoner_client.cli.signature_check import check_signatures
from almoner_client.cli.triggering import trigger_event


class _Commands(TyperGroup):
    """All commands; what goes wrong in one is told in sentences and by the exit status."""

    def invoke(self, ctx: Any) -> Any:
        """Run a command."""
        try:
            return super().invoke(ctx)
        except AlmonerError as error:
            lines, status = failures.explain(error)
            for line in lines:
                report(line)
            raise typer.Exit(status) from None


app = typer.Typer(
    cls=_Commands,
    name="almoner-client",
    help="Work with Almoner from a terminal: forward events to your machine, trigger them, read records.",
    epilog=failures.EXIT_STATUSES,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
events = typer.Typer(no_args_is_help=True, rich_markup_mode=None)
app.add_typer(events, name="events", help="Follow, list and resend events.")


def _complete_event(incomplete: str) -> list[str]:
    return [name for name in EVENT_RECORDS if name.startswith(incomplete)]


Set = Annotated[
    list[str] | None, typer.Option("--set", metavar="FIELD=VALUE", help="Set a field, such as amount=5000.")
]
Types = Annotated[
    list[str] | None,
    typer.Option(
        "--event", metavar="TYPE", autocompletion=_complete_event, help="Only events of this type; repeatable."
    ),
]
After = Annotated[
    int | None, typer.Option(min=0, metavar="SEQUENCE", help="Start after this sequence number instead of now.")
]
Most = Annotated[int | None, typer.Option(min=1, metavar="COUNT", help="Stop after this many events.")]


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"almoner-client {VERSION}")
        raise typer.Exit


@app.callback()
def main(
    context: typer.Context,
    config: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="JSON file with baseUrl and secretKey that only you can read, such as var/sandbox.json.",
        ),
    ] = None,
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Keys come from ALMONER_API_KEY and ALMONER_BASE_URL, or from a file."""
    del version
    context.obj = config


def _profile(context: typer.Context) -> Profile:
    return read_profile(context.find_root().obj)


def connect(context: typer.Context, *, max_retries: int = 2) -> RawClient:
    """A client of the deployment that the options, the environment or a file name."""
    client = RawClient(_profile(context), max_retries=max_retries)
    context.call_on_close(client.close)
    return client


@app.command()
def listen(
    context: typer.Context,
    forward_to: Annotated[
        str, typer.Option(metavar="URL", help="URL of your receiver, such as localhost:3000/webhooks.")
    ],
    event: Types = None,
    after: After = None,
    subscription: Annotated[
        str | None, typer.Option(metavar="ID", help="Sign with the secret of this webhook subscription.")
    ] = None,
    check: Annotated[
        bool, typer.Option("--check-signatures", help="First test whether your receiver checks signatures.")
    ] = False,
    print_secret: Annotated[bool, typer.Option("--print-secret", help="Print the signing secret and stop.")] = False,
    limit: Most = None,
    as_json: AsJson = False,
) -> None:
    """Forward events to your machine.

    Sends events to your receiver in order, signed like webhooks, and prints its response to each. No event is lost
    while the connection or the receiver is down. Keys: r resends the last event, f all that the receiver rejected, c
    checks signatures, q quits.
    """
    profile, types = _profile(context), _types(event)
    client = connect(context, max_retries=0)
    secret = _secret(profile, client, subscription)
    if print_secret:
        typer.echo(secret)
        return
    forwarder = Forwarder(receiver_url(forward_to), secret, report)
    context.call_on_close(forwarder.close)
    begin = last_sequence(client) if after is None else after
    report(f"Forwarding events of {profile.base_url} to {receiver_url(forward_to)}, from sequence {begin + 1} on.")
    if subscription is None:
        report(f"Signing secret: {secret}")
    if check:
        for line in check_signatures(forwarder).lines:
            report(line)
    Listener(EventFeed(client, begin, report), forwarder, types, as_json).run(limit)


def _secret(profile: Profile, client: RawClient, subscription: str | None) -> str:
    if subscription is None:
        return derived_secret(profile.api_key)
    found: Any = client.webhook_subscriptions.get(subscription)
    return str(found["secret"])


def _types(names: list[str] | None) -> frozenset[str]:
    """Raises UsageError for a type that there is not."""
    for name in names or ():
        if name not in EVENT_RECORDS:
            raise UsageError(f"There is no event {name}.", closest(name, list(EVENT_RECORDS), "events"))
    return frozenset(names or ())


@app.command()
def trigger(
    context: typer.Context,
    event: Annotated[
        str | None,
        typer.Argument(metavar="EVENT", autocompletion=_complete_event, help="Event type, such as donation.refunded."),
    ] = None,
    fields: Set = None,
    as_json: AsJson = False,
) -> None:
    """Trigger an event in a sandbox.

    Performs the actions that cause it on real records, and waits for the event. Without EVENT, lists all event types.
    """
    if event is None:
        for name in EVENT_RECORDS:
            typer.echo(name)
        return
    found = trigger_event(connect(context), event, fields or (), report)
    if as_json:
        output.print_json(found)
    else:
        show_event(found, None, as_json=False)


@app.command()
def mcp(context: typer.Context) -> None:
    """Serve tools to AI assistants (MCP).

    Uses the Model Context Protocol on standard input and output. The tools search nonprofits and read validations and
    donations. With the key of a sandbox, they also donate.
    """
    profile = _profile(context)
    try:
        from almoner_client.mcp_server.server import McpServer
    except ModuleNotFoundError as error:
        if error.name != "mcp":
            raise
        raise UsageError("This command needs more packages.", "Run: pip install 'almoner-client[mcp]'") from None
    McpServer(profile).run()


@app.command(name="open")
def open_page(
    context: typer.Context,
    identifier: Identifier,
    print_url: Annotated[bool, typer.Option("--print", help="Print the address instead.")] = False,
) -> None:
    """Open the dashboard's page of a record."""
    url = f"{dashboard_home(_profile(context))}/search?q={quote(identifier)}"
    if print_url or not webbrowser.open(url):
        typer.echo(url)


@events.command()
def tail(
    context: typer.Context,
    event: Types = None,
    number: Annotated[
        int,
        typer.Option("--number", "-n", min=0, max=100, metavar="COUNT", help="Number of older events to show first."),
    ] = 10,
    limit: Most = None,
    as_json: AsJson = False,
) -> None:
    """Show the newest events, then new ones."""
    types = _types(event)
    client = connect(context, max_retries=0)
    begin = max(0, last_sequence(client) - number)
    Listener(EventFeed(client, begin, report), None, types, as_json).run(limit)


@events.command()
def resend(
    context: typer.Context,
    identifier: Identifier,
    subscription: Annotated[str | None, typer.Option(metavar="ID", help="Only to this webhook subscription.")] = None,
) -> None:
    """Resend an event to its subscriptions."""
    client = connect(context)
    answer: Any = client.events.resend(identifier, webhook_subscription_id=subscription or OMITTED)
    if answer["scheduled"]:
        count = answer["scheduled"]
        typer.echo(f"Sending it again to {count} webhook subscription{'' if count == 1 else 's'}.")
        return
    event: Any = client.events.get(identifier)
    typer.echo(f"No active webhook subscription listens to {event['eventType']}.")


@events.command(name="list")
def list_events(context: typer.Context, filters: Filters = None, limit: Limit = 20, as_json: AsJson = False) -> None:
    """List events, newest first."""
    client = connect(context)
    method: Any = client.events.list
    given = {"direction": "DESC", **read_fields(filters or (), [method], "--filter")}
    EVENTS.show_list(method(page_size=min(limit, 100), **given).first(limit), as_json=as_json)


@events.command(name="get")
def get_event(context: typer.Context, identifier: Identifier) -> None:
    """Show an event as JSON."""
    found: Any = connect(context).events.get(identifier)
    typer.echo(json.dumps(found, ensure_ascii=False, indent=2))


for _resource in RESOURCES:
    app.add_typer(add_resource(_resource, connect), name=_resource.command, help=_resource.help)
