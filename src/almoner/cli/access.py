"""``almoner partners`` and ``almoner keys``."""

from collections.abc import Iterable
from datetime import timedelta
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Final
from uuid import UUID

import typer

from almoner.access.keys import domain as keys_domain
from almoner.access.keys import service as key_service
from almoner.access.members.service import api_keys
from almoner.access.partners import service as partner_service
from almoner.access.partners.domain import PartnerAccount
from almoner.cli.caller import Caller, run_as_administrator
from almoner.cli.database import run_in_transaction
from almoner.giving.checkout.card_testing import service as card_testing
from almoner.giving.receipts import service as receipts
from almoner.giving.receipts.domain import Issuer
from almoner.kit.text import to_one_line
from almoner.kit.time import iso_timestamp, iso_timestamp_or_none
from almoner.platform.database.transactions import Partner, Tx
from almoner.platform.files import images
from almoner.platform.files.uploads.problems import FiletypeNotSupported
from almoner.validation.applications.configurations import service as configurations

partners = typer.Typer(help="Manage partners and their settings.", no_args_is_help=True)
keys = typer.Typer(help="Manage partners' API keys.", no_args_is_help=True)

LOGO_SIDE: Final = 320
"""Twice the pixels of the largest logo that the page shows."""

PartnerId = Annotated[str, typer.Option("--partner", help="Partner ID, from `almoner partners list`.")]
KeyId = Annotated[str, typer.Argument(help="Key ID, from `almoner keys list`.")]


class RequestInterval(StrEnum):
    """How often a partner receives a donation request."""

    DAY = "day"
    WEEK = "week"
    MONTH = "month"


class KeyKind(StrEnum):
    """The kinds of keys."""

    SECRET = "secret"  # noqa: S105 (the kind, not a secret)
    PUBLISHABLE = "publishable"
    SCIM = "scim"


def print_table(titles: Iterable[str], rows: Iterable[Iterable[object]]) -> None:
    """Print columns, each as wide as its widest value. What others have typed forges no rows and moves no cursor."""
    lines = [list(titles), *([("-" if cell is None else to_one_line(str(cell))) for cell in row] for row in rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(lines[0]))]
    for line in lines:
        typer.echo("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip())


def parse_id(tx: Tx, type_: str, text: str) -> UUID:
    """The UUID of an identifier. Raises BadParameter with what one looks like."""
    found = tx.ids.parse(type_, text)
    if found is None:
        raise typer.BadParameter(f"{text!r} is not a valid {type_} ID, such as {tx.ids.example(type_)}")
    return found


async def get_partner(tx: Tx, text: str) -> Partner:
    """The partner of an identifier. Raises BadParameter, NoSuchPartner."""
    return Partner((await partner_service.get(tx, Partner(parse_id(tx, "partner", text)))).id)


@partners.command("create")
def create_partner(name: Annotated[str, typer.Argument(help="The partner's name, as shown to donors.")]) -> None:
    """Create a partner with a secret and a publishable key."""

    async def use(tx: Tx, officer: Caller) -> tuple[str, str, str]:
        account = await partner_service.create(tx, name)
        await officer.record_audit_entry(tx, account.id, "partner.added", tx.ids.text("partner", account.id))
        scope = Partner(account.id)
        await configurations.create_default(tx, scope)
        _, secret = await api_keys.create(tx, scope, officer.audit_context, "secret", "first", frozenset())
        _, publishable = await api_keys.create(tx, scope, officer.audit_context, "publishable", "first", frozenset())
        return tx.ids.text("partner", account.id), secret, publishable

    partner_id, secret, publishable = run_as_administrator(use)
    typer.echo(f"partner          {partner_id}")
    typer.echo(f"secret key       {secret}")
    typer.echo(f"publishable key  {publishable}")
    typer.echo("Store the secret key now. You won't be able to see it again.")


@partners.command("list")
def list_partners() -> None:
    """List partners, oldest first.

    The `card testing until` column has a date while stolen cards are being tested on a partner's donation pages. Until
    that date, donors must enter a code sent by email.
    """

    async def use(tx: Tx) -> list[list[object]]:
        found = await partner_service.list_accounts(tx)
        tested = await card_testing.active_alerts(tx)
        return [
            [
                tx.ids.text("partner", one.id),
                one.name,
                iso_timestamp(one.created_at),
                iso_timestamp_or_none(tested.get(one.id)),
            ]
            for one in found
        ]

    print_table(("partner", "name", "created", "card testing until"), run_in_transaction(use))


@partners.command("brand")
def brand_partner(
    partner: Annotated[str, typer.Argument(help="Partner ID, from `almoner partners list`.")],
    colour: Annotated[
        str | None, typer.Option(help="A brand colour, such as #0d5c4a. Hosted pages adjust it for contrast.")
    ] = None,
    logo: Annotated[
        Path | None, typer.Option(help="A JPEG or PNG image for a white background.", exists=True, dir_okay=False)
    ] = None,
    clear: Annotated[bool, typer.Option("--clear", help="Remove the colour and the logo.")] = False,
) -> None:
    """Set a partner's colour and logo on hosted pages."""
    if clear == (colour is not None or logo is not None):
        raise typer.BadParameter("use --colour, --logo or both, or use --clear on its own")

    async def use(tx: Tx, officer: Caller) -> tuple[str, PartnerAccount]:
        scope = Partner(parse_id(tx, "partner", partner))
        await officer.record_audit_entry(tx, scope.id, "partner.branded", partner, cleared=clear)
        if clear:
            return partner, await partner_service.clear_brand(tx, scope)
        try:
            image = await images.reencode_image(logo.read_bytes(), longest_side=LOGO_SIDE) if logo else None
            return partner, await partner_service.set_brand(tx, scope, colour=colour, logo=image)
        except FiletypeNotSupported:
            raise typer.BadParameter(f"{logo} is not a readable JPEG or PNG") from None
        except ValueError as error:
            raise typer.BadParameter(str(error)) from error

    name, account = run_as_administrator(use)
    typer.echo(f"{name}  colour {account.brand_colour or '-'}  logo {'yes' if account.brand_logo else '-'}")


@partners.command("receipt-issuer")
def set_receipt_issuer(
    partner: Annotated[str, typer.Argument(help="Partner ID, from `almoner partners list`.")],
    name: Annotated[str | None, typer.Option(help='Name of the receipt issuer. Use "" for the partner itself.')] = None,
    prefix: Annotated[
        str | None, typer.Option(help='Prefix for receipt numbers, such as ACME. Use "" for no prefix.')
    ] = None,
) -> None:
    """Show or set who issues a partner's receipts.

    Receipts that were already issued do not change, and new receipts continue the numbering.
    """

    async def use(tx: Tx, officer: Caller | None = None) -> tuple[str, Issuer]:
        account = await partner_service.get(tx, Partner(parse_id(tx, "partner", partner)))
        try:
            issuer = await receipts.update_issuer(tx, Partner(account.id), name, prefix)
        except ValueError as error:
            raise typer.BadParameter(str(error)) from error
        if officer is not None:
            await officer.record_audit_entry(tx, account.id, "partner.issuer_named", partner, prefix=issuer.prefix)
        return account.name, issuer

    own, issuer = run_in_transaction(use) if name is None and prefix is None else run_as_administrator(use)
    typer.echo(f"issued by {issuer.name or own}  prefix {issuer.prefix or '-'}  last number {issuer.last_number}")


@partners.command("settings")
def set_donation_settings(
    partner: Annotated[str, typer.Argument(help="Partner ID, from `almoner partners list`.")],
    currency: Annotated[
        list[str] | None,
        typer.Option(help="A settlement currency, such as GBP. Can be repeated. Replaces the current list."),
    ] = None,
    donors: Annotated[
        bool | None,
        typer.Option("--share-donors/--no-share-donors", help="Include donor details in API responses and events."),
    ] = None,
    gift_aid: Annotated[
        bool | None, typer.Option(help="Require a Gift Aid declaration for direct GBP donations to UK charities.")
    ] = None,
    request_every: Annotated[
        RequestInterval | None,
        typer.Option("--request-interval", help="How often donation requests are sent to the partner."),
    ] = None,
    request_least: Annotated[
        int | None,
        typer.Option("--request-minimum", help="Minimum of a donation request, in minimum donations of its currency."),
    ] = None,
    request_due: Annotated[
        int | None,
        typer.Option("--request-due-days", help="Number of days that the partner has to pay a donation request."),
    ] = None,
) -> None:
    """Show or change a partner's donation settings."""
    given: dict[str, Any] = {
        "currencies": currency or None,
        "shares_donor_details": donors,
        "requires_gift_aid": gift_aid,
        "request_interval": request_every.value if request_every else None,
        "request_minimum_multiple": request_least,
        "request_due_days": request_due,
    }
    changed = {name: value for name, value in given.items() if value is not None}

    async def use(tx: Tx, officer: Caller | None = None) -> PartnerAccount:
        scope = Partner(parse_id(tx, "partner", partner))
        if officer is None:
            return await partner_service.get(tx, scope)
        try:
            account = await partner_service.update_donation_settings(tx, scope, **changed)
        except ValueError as error:
            raise typer.BadParameter(str(error)) from error
        members = ", ".join(sorted(changed))
        await officer.record_audit_entry(tx, scope.id, "partner.giving_set", partner, changed=members)
        return account

    account = run_as_administrator(use) if changed else run_in_transaction(use)
    typer.echo(
        f"settlement currencies {', '.join(account.settlement_currencies)}  "
        f"donor details {'shared' if account.shares_donor_details else 'not shared'}  "
        f"Gift Aid {'required' if account.requires_gift_aid else 'not required'}"
    )
    typer.echo(
        f"donation requests every {account.request_interval}, "
        f"at least {account.request_minimum_multiple} times the minimum donation, "
        f"due within {account.request_due_days} days"
    )


@keys.command("create")
def create_key(
    partner: PartnerId,
    name: Annotated[str, typer.Option(help="A name that says what the key is for.")],
    kind: Annotated[KeyKind, typer.Option(help="The type of key.")] = KeyKind.SECRET,
    scope: Annotated[
        list[str] | None, typer.Option(help="A scope. Can be repeated. Default: all scopes of this type of key.")
    ] = None,
) -> None:
    """Create a key. Its secret is shown only once."""

    async def use(tx: Tx, officer: Caller) -> tuple[str, str]:
        whose, scopes = await get_partner(tx, partner), frozenset(scope or ())
        key, secret = await api_keys.create(
            tx, whose, officer.audit_context, _KINDS[kind], name.strip(), scopes, by_name=True
        )
        return tx.ids.text("apikey", key.id), secret

    _show_key(*run_as_administrator(use))


def _columns(key: keys_domain.ApiKey) -> list[object]:
    moments = (key.created_at, key.expires_at, key.revoked_at, key.last_used_at)
    return [key.kind, key.name, f"...{key.hint}", ",".join(sorted(key.scopes)), *map(iso_timestamp_or_none, moments)]


@keys.command("list")
def list_keys(partner: PartnerId) -> None:
    """List a partner's keys, newest first."""

    async def use(tx: Tx) -> list[list[object]]:
        found = await key_service.list_of_partner(tx, await get_partner(tx, partner))
        return [[tx.ids.text("apikey", one.id), *_columns(one)] for one in found]

    titles = ("key", "kind", "name", "ends in", "scopes", "created", "expires", "revoked", "last used")
    print_table(titles, run_in_transaction(use))


@keys.command("rotate")
def rotate_key(
    key: KeyId,
    overlap_hours: Annotated[float, typer.Option(help="Hours until the old key expires (up to 168).")] = 24,
) -> None:
    """Replace a key with a new one that has the same scopes.

    The old key keeps working for the number of hours set with --overlap-hours.
    """

    async def use(tx: Tx, officer: Caller) -> tuple[str, str]:
        old = await key_service.get(tx, parse_id(tx, "apikey", key))
        made, secret = await api_keys.rotate(tx, officer.audit_context, old, timedelta(hours=overlap_hours))
        return tx.ids.text("apikey", made.id), secret

    _show_key(*run_as_administrator(use))


@keys.command("revoke")
def revoke_key(key: KeyId) -> None:
    """Revoke a key. It stops working within a second."""

    async def use(tx: Tx, officer: Caller) -> str:
        await api_keys.revoke(tx, officer.audit_context, await key_service.get(tx, parse_id(tx, "apikey", key)))
        return key

    typer.echo(f"{run_as_administrator(use)} has been revoked.")


_KINDS: dict[KeyKind, keys_domain.Kind] = {
    KeyKind.SECRET: "secret",
    KeyKind.PUBLISHABLE: "publishable",
    KeyKind.SCIM: "scim",
}


def _show_key(key_id: str, secret: str) -> None:
    typer.echo(f"key     {key_id}")
    typer.echo(f"secret  {secret}")
    typer.echo("Store the secret now. You won't be able to see it again.")
