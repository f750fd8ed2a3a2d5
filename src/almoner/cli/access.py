"""``almoner partners`` and ``almoner keys``."""

from collections.abc import Iterable
from datetime import timedelta
from enum import StrEnum
from typing import Annotated
from uuid import UUID

import typer

from almoner.access.keys import domain
from almoner.access.keys import service as key_service
from almoner.access.partners import service as partner_service
from almoner.cli.database import in_transaction
from almoner.kit.time import iso, iso_or_none
from almoner.platform.db import Partner, Tx

partners = typer.Typer(help="The products that use this deployment.", no_args_is_help=True)
keys = typer.Typer(help="The keys of partners; a secret is shown once, when it is made.", no_args_is_help=True)

PartnerId = Annotated[str, typer.Option("--partner", help="Identifier, as `almoner partners list` shows it.")]
KeyId = Annotated[str, typer.Argument(help="Identifier, as `almoner keys list` shows it.")]


class KeyKind(StrEnum):
    """What a key may be."""

    SECRET = "secret"  # noqa: S105 (the kind, not a secret)
    PUBLISHABLE = "publishable"
    SCIM = "scim"


def table(titles: Iterable[str], rows: Iterable[Iterable[object]]) -> None:
    """Print columns, each as wide as its widest value."""
    lines = [list(titles), *([("-" if cell is None else str(cell)) for cell in row] for row in rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(lines[0]))]
    for line in lines:
        typer.echo("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip())


def _read_id(tx: Tx, type_: str, text: str) -> UUID:
    found = tx.ids.parse(type_, text)
    if found is None:
        raise typer.BadParameter(f"{text!r} is not the identifier of a {type_}, such as {tx.ids.example(type_)}")
    return found


@partners.command("add")
def add_partner(name: Annotated[str, typer.Argument(help="Its name, as people know it.")]) -> None:
    """Add a partner with one secret and one publishable key."""

    async def use(tx: Tx) -> tuple[str, str, str]:
        account = await partner_service.create(tx, name)
        _, secret = await key_service.create(tx, Partner(account.id), "secret", "first")
        _, publishable = await key_service.create(tx, Partner(account.id), "publishable", "first")
        return tx.ids.text("partner", account.id), secret, publishable

    partner_id, secret, publishable = in_transaction(use)
    typer.echo(f"partner          {partner_id}")
    typer.echo(f"secret key       {secret}")
    typer.echo(f"publishable key  {publishable}")
    typer.echo("Keep the secret key now: it is not shown again.")


@partners.command("list")
def list_partners() -> None:
    """List all partners, oldest first."""

    async def use(tx: Tx) -> list[list[object]]:
        found = await partner_service.all_accounts(tx)
        return [[tx.ids.text("partner", one.id), one.name, iso(one.created_at)] for one in found]

    table(("partner", "name", "created"), in_transaction(use))


@keys.command("add")
def add_key(
    partner: PartnerId,
    name: Annotated[str, typer.Option(help="What the key is for.")],
    kind: Annotated[KeyKind, typer.Option(help="What it opens.")] = KeyKind.SECRET,
    scope: Annotated[list[str] | None, typer.Option(help="A scope; repeat for more. Default: all of its kind.")] = None,
) -> None:
    """Make a key and show its secret, this once."""

    async def use(tx: Tx) -> tuple[str, str]:
        account = await partner_service.get(tx, Partner(_read_id(tx, "partner", partner)))
        try:
            key, secret = await key_service.create(tx, Partner(account.id), _KINDS[kind], name, frozenset(scope or ()))
        except ValueError as error:
            raise typer.BadParameter(str(error)) from error
        return tx.ids.text("apikey", key.id), secret

    _show_key(*in_transaction(use))


def _columns(key: domain.Key) -> list[object]:
    moments = (key.created_at, key.expires_at, key.revoked_at, key.last_used_at)
    return [key.kind, key.name, f"...{key.hint}", ",".join(sorted(key.scopes)), *map(iso_or_none, moments)]


@keys.command("list")
def list_keys(partner: PartnerId) -> None:
    """List a partner's keys, newest first, without their secrets."""

    async def use(tx: Tx) -> list[list[object]]:
        account = await partner_service.get(tx, Partner(_read_id(tx, "partner", partner)))
        found = await key_service.of_partner(tx, Partner(account.id))
        return [[tx.ids.text("apikey", one.id), *_columns(one)] for one in found]

    titles = ("key", "kind", "name", "ends in", "scopes", "created", "expires", "revoked", "last used")
    table(titles, in_transaction(use))


@keys.command("rotate")
def rotate_key(
    key: KeyId,
    overlap_hours: Annotated[float, typer.Option(help="How long the old key still works, at most 168.")] = 24,
) -> None:
    """Make a successor with the same scopes; the old key works until the overlap ends."""

    async def use(tx: Tx) -> tuple[str, str]:
        made, secret = await key_service.rotate(tx, _read_id(tx, "apikey", key), timedelta(hours=overlap_hours))
        return tx.ids.text("apikey", made.id), secret

    _show_key(*in_transaction(use))


@keys.command("revoke")
def revoke_key(key: KeyId) -> None:
    """End a key at once, everywhere within a second."""

    async def use(tx: Tx) -> str:
        return tx.ids.text("apikey", (await key_service.revoke(tx, _read_id(tx, "apikey", key))).id)

    typer.echo(f"{in_transaction(use)} is revoked.")


_KINDS: dict[KeyKind, domain.Kind] = {
    KeyKind.SECRET: "secret",
    KeyKind.PUBLISHABLE: "publishable",
    KeyKind.SCIM: "scim",
}


def _show_key(key_id: str, secret: str) -> None:
    typer.echo(f"key     {key_id}")
    typer.echo(f"secret  {secret}")
    typer.echo("Keep the secret now: it is not shown again.")
