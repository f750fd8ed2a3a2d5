"""Records of one kind: ``list``, ``get`` and ``create``, all made from a declaration."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import typer

from almoner_client.cli import output
from almoner_client.cli.failures import UsageError
from almoner_client.cli.fields import camel, names_of, read_fields, required_of
from almoner_client.cli.output import Column
from almoner_client.cli.raw import RawClient

Connect = Callable[[typer.Context], RawClient]
Identifier = Annotated[str, typer.Argument(metavar="ID")]
AsJson = Annotated[bool, typer.Option("--json", help="Print the API's JSON.")]
Filters = Annotated[
    list[str] | None, typer.Option("--filter", metavar="NAME=VALUE", help="A filter of the API's list.")
]
Limit = Annotated[int, typer.Option(min=1, metavar="COUNT", help="Most records to show.")]


@dataclass(frozen=True)
class Resource:
    """Records that a group of commands is about. ``attribute``: of the client; ``lists``: its method for lists."""

    command: str
    attribute: str
    help: str
    columns: Sequence[Column]
    lists: str = "list"
    creates: str = ""

    def show_list(self, records: Sequence[dict[str, Any]], *, as_json: bool) -> None:
        """Print records."""
        if as_json:
            output.print_json(list(records))
        elif records:
            output.print_table(self.columns, records)
        else:
            typer.echo("No results.")

    def show(self, record: dict[str, Any], *, as_json: bool) -> None:
        """Print a record."""
        if as_json:
            output.print_json(record)
        else:
            output.print_record(record)


EVENTS = Resource(
    "events",
    "events",
    "",
    (
        Column("SEQUENCE", "sequence"),
        Column("CREATED", "createdAt"),
        Column("EVENT", "eventType"),
        Column("RECORD", "eventData.id"),
        Column("ID", "id"),
    ),
)
RESOURCES = (
    Resource(
        "donations",
        "donations",
        "Read and create donations.",
        (
            Column("ID", "id"),
            Column("AMOUNT", "amount", "currencyCode"),
            Column("STATUS", "status"),
            Column("ORGANISATION", "organisationId"),
            Column("CREATED", "createdAt"),
        ),
        creates="Create a direct donation.",
    ),
    Resource(
        "sessions",
        "donation_sessions",
        "Read and create donation sessions.",
        (
            Column("ID", "id"),
            Column("STATUS", "status"),
            Column("ORGANISATION", "organisationId"),
            Column("DONATION", "donationId"),
            Column("CREATED", "createdAt"),
        ),
        creates="Create a donation session.",
    ),
    Resource(
        "submissions",
        "validation_submissions",
        "Read and create validation submissions.",
        (
            Column("ID", "id"),
            Column("STATUS", "status"),
            Column("ORGANISATION", "organisation.name"),
            Column("CREATED", "createdAt"),
        ),
        creates="Create a validation submission.",
    ),
    Resource(
        "organisations",
        "organisations",
        "Find nonprofits.",
        (
            Column("ID", "id"),
            Column("NAME", "name"),
            Column("COUNTRY", "countryCode"),
            Column("REGISTRY", "registryName"),
            Column("NUMBER", "registryId"),
            Column("ACTIVE", "active"),
        ),
        lists="search",
    ),
)


def add_resource(resource: Resource, connect: Connect) -> typer.Typer:
    """The group of commands."""
    group = typer.Typer(no_args_is_help=True, rich_markup_mode=None)

    def method_of(client: RawClient, name: str) -> Callable[..., Any]:
        found: Callable[..., Any] = getattr(getattr(client, resource.attribute), name)
        return found

    def show(context: typer.Context, filters: list[str] | None, limit: int, as_json: bool, **given: Any) -> None:
        method = method_of(connect(context), resource.lists)
        chosen = {**read_fields(filters or (), [method], "--filter"), **given}
        resource.show_list(method(page_size=min(limit, 100), **chosen).first(limit), as_json=as_json)

    if resource.lists == "search":

        @group.command(name="list", help="Find records by words, or list all.")
        def search_records(
            context: typer.Context,
            words: Annotated[
                list[str] | None, typer.Argument(metavar="WORDS", help="Words of the name, or a number.")
            ] = None,
            filters: Filters = None,
            limit: Limit = 20,
            as_json: AsJson = False,
        ) -> None:
            show(context, filters, limit, as_json, **({"query": " ".join(words)} if words else {}))

    else:

        @group.command(name="list", help="List records, newest first.")
        def list_records(
            context: typer.Context, filters: Filters = None, limit: Limit = 20, as_json: AsJson = False
        ) -> None:
            show(context, filters, limit, as_json)

    @group.command(name="get", help="Show a record.")
    def get_record(context: typer.Context, identifier: Identifier, as_json: AsJson = False) -> None:
        resource.show(method_of(connect(context), "get")(identifier), as_json=as_json)

    if resource.creates:

        @group.command(name="create", help=resource.creates)
        def create_record(
            context: typer.Context,
            fields: Annotated[
                list[str] | None,
                typer.Option("--set", metavar="FIELD=VALUE", help="Set a field; metadata.key=value sets one member."),
            ] = None,
            idempotency_key: Annotated[
                str | None,
                typer.Option(metavar="KEY", help="Repeating the command with the same key creates nothing more."),
            ] = None,
            as_json: AsJson = False,
        ) -> None:
            method = method_of(connect(context), "create")
            given = read_fields(fields or (), [method], "--set")
            if missing := [camel(name) for name in required_of(method) if name not in given]:
                possible = ", ".join(camel(name) for name in names_of(method))
                raise UsageError(f"Set {', '.join(missing)} by --set {missing[0]}=...", f"Possible fields: {possible}.")
            resource.show(method(**given, idempotency_key=idempotency_key), as_json=as_json)

    return group
