"""``almoner partners`` and ``almoner keys``."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import timedelta
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any
from uuid import UUID

import typer

from almoner import settings
from almoner.access.keys import domain as keys_domain
from almoner.access.keys import service as key_service
from almoner.access.members.service import api_keys
from almoner.access.operators.service import partner_pauses
from almoner.access.partners import service as partner_service
from almoner.access.partners.domain import PartnerAccount
from almoner.cli.caller import CommandCaller, administrator_command, transaction_requiring_administrator_for_changes
from almoner.cli.database import database_command, transaction_command
from almoner.cli.tables import FieldList, Output, Table
from almoner.giving.checkout.card_testing import service as card_testing
from almoner.giving.receipts import service as receipts
from almoner.kit.rates import RequestRate
from almoner.kit.time import iso_timestamp, iso_timestamp_or_none
from almoner.platform.database.transactions import Database, Partner, Tx
from almoner.platform.files import images
from almoner.platform.files.uploads.problems import FiletypeNotSupported
from almoner.validation.applications.configurations import service as configurations

partners = typer.Typer(help="Manage partners and their settings.", no_args_is_help=True)
keys = typer.Typer(help="Manage partners' API keys.", no_args_is_help=True)

PartnerId = Annotated[str, typer.Option("--partner", help="Partner ID, from `almoner partners list`.")]
KeyId = Annotated[str, typer.Argument(help="Key ID, from `almoner keys list`.")]


class DonationRequestInterval(StrEnum):
    """How often a partner receives a donation request."""

    DAY = "day"
    WEEK = "week"
    MONTH = "month"


class ApiKeyKind(StrEnum):
    """The kinds of keys."""

    SECRET = "secret"  # noqa: S105 (the kind, not a secret)
    PUBLISHABLE = "publishable"
    SCIM = "scim"


def parse_id(tx: Tx, id_type: str, text: str) -> UUID:
    """Parse an ID such as ``org_...`` into its UUID.

    Raises BadParameter, whose message contains an example of a valid ID.
    """
    found = tx.ids.decode(id_type, text)
    if found is None:
        raise typer.BadParameter(f"{text!r} is not a valid {id_type} ID, such as {tx.ids.example_id(id_type)}")
    return found


@contextmanager
def convert_value_errors_to_bad_parameter() -> Iterator[None]:
    """Convert a ValueError into an error about an option of the command."""
    try:
        yield
    except ValueError as error:
        raise typer.BadParameter(str(error)) from error


async def get_partner(tx: Tx, id_or_name: str) -> Partner:
    """The partner with this ID. Raises BadParameter or NoSuchPartner."""
    return Partner((await partner_service.get(tx, Partner(parse_id(tx, "partner", id_or_name)))).id)


@partners.command("create")
@administrator_command
async def create_partner(
    tx: Tx, caller: CommandCaller, name: Annotated[str, typer.Argument(help="Name of the partner, as shown to donors.")]
) -> Output:
    """Create a partner, a secret key and a publishable key."""
    account = await partner_service.create(tx, name)
    await caller.record_audit_entry(tx, account.id, "partner.added", tx.ids.encode("partner", account.id))
    scope = Partner(account.id)
    await configurations.create_default(tx, scope)
    _, secret = await api_keys.create(
        tx, scope, caller.audit_context, "secret", "first", frozenset(), may_grant_donor_data=True
    )
    _, publishable = await api_keys.create(tx, scope, caller.audit_context, "publishable", "first", frozenset())
    return [
        FieldList(
            [
                ("partner", tx.ids.encode("partner", account.id)),
                ("secret key", secret),
                ("publishable key", publishable),
            ]
        ),
        "Store the secret key now. It will not be shown again.",
    ]


@partners.command("list")
@transaction_command
async def list_partners(tx: Tx) -> Table:
    """List partners, oldest first.

    During a card testing attack on a partner's donation pages, donors must enter a code that they receive by email. The
    `card testing until` column shows when this requirement ends.
    """
    found = await partner_service.list_accounts(tx)
    tested = await card_testing.load_active_alert_expiries_by_partner(tx)
    return Table(
        ("partner", "name", "created", "card testing until", "paused since"),
        [
            [
                tx.ids.encode("partner", one.id),
                one.name,
                iso_timestamp(one.created_at),
                iso_timestamp_or_none(tested.get(one.id)),
                iso_timestamp_or_none(one.paused_at),
            ]
            for one in found
        ],
    )


@partners.command("brand")
@administrator_command
async def brand_partner(
    tx: Tx,
    caller: CommandCaller,
    partner: Annotated[str, typer.Argument(help="Partner ID, from `almoner partners list`.")],
    colour: Annotated[
        str | None, typer.Option(help="Brand colour, such as #0d5c4a. Hosted pages adjust the colour for contrast.")
    ] = None,
    logo: Annotated[
        Path | None, typer.Option(help="JPEG or PNG image for use on a white background.", exists=True, dir_okay=False)
    ] = None,
    clear: Annotated[bool, typer.Option("--clear", help="Remove the colour and the logo.")] = False,
) -> Output:
    """Set a partner's colour and logo on hosted pages."""
    if clear == (colour is not None or logo is not None):
        raise typer.BadParameter("use --colour, --logo or both, or use --clear on its own")
    scope = Partner(parse_id(tx, "partner", partner))
    await caller.record_audit_entry(tx, scope.id, "partner.branded", partner, cleared=clear)
    account = await (partner_service.clear_brand(tx, scope) if clear else _set_brand(tx, scope, colour, logo))
    return f"{partner}  colour {account.brand_colour or '-'}  logo {'yes' if account.brand_logo else '-'}"


async def _set_brand(tx: Tx, scope: Partner, colour: str | None, logo: Path | None) -> PartnerAccount:
    content = _read(logo) if logo else None
    try:
        image = await images.reencode_image(content, longest_side=partner_service.LOGO_SIDE) if content else None
    except FiletypeNotSupported:
        raise typer.BadParameter(f"{logo} is not a readable JPEG or PNG") from None
    with convert_value_errors_to_bad_parameter():
        return await partner_service.set_brand(tx, scope, colour=colour, logo=image)


def _read(file: Path) -> bytes:
    return file.read_bytes()


@partners.command("receipt-issuer")
@database_command
async def set_receipt_issuer(
    database: Database,
    partner: Annotated[str, typer.Argument(help="Partner ID, from `almoner partners list`.")],
    name: Annotated[
        str | None, typer.Option(help='Name of the receipt issuer. Use "" if the partner is the issuer.')
    ] = None,
    prefix: Annotated[
        str | None, typer.Option(help='Prefix of receipt numbers, such as ACME. Use "" for no prefix.')
    ] = None,
) -> str:
    """Show or set the issuer of a partner's receipts.

    Receipts that were already issued do not change, and new receipts continue the numbering.
    """
    changes = name is not None or prefix is not None
    async with transaction_requiring_administrator_for_changes(changes, database) as (tx, officer):
        account = await partner_service.get(tx, Partner(parse_id(tx, "partner", partner)))
        with convert_value_errors_to_bad_parameter():
            issuer = await receipts.update_receipt_issuer(tx, Partner(account.id), name, prefix)
        if officer is not None:
            await officer.record_audit_entry(
                tx, account.id, "partner.receipt_issuer_changed", partner, prefix=issuer.prefix
            )
    return f"issued by {issuer.name or account.name}  prefix {issuer.prefix or '-'}  last number {issuer.last_number}"


@partners.command("links")
@database_command
async def set_public_links(
    database: Database,
    partner: Annotated[str, typer.Argument(help="Partner ID, from `almoner partners list`.")],
    website: Annotated[str | None, typer.Option(help="URL of the page that donors and applicants return to.")] = None,
    privacy: Annotated[str | None, typer.Option(help="URL of the partner's privacy notice.")] = None,
    terms: Annotated[str | None, typer.Option(help="URL of the partner's terms.")] = None,
    contact: Annotated[str | None, typer.Option(help="Email address for questions from donors and applicants.")] = None,
) -> FieldList:
    """Show or set the links on a partner's hosted pages.

    Options that you leave out keep their values. Use "" to remove a link.
    """
    given = {"website": website, "privacy": privacy, "terms": terms, "contact": contact}
    changed = {name: value.strip() for name, value in given.items() if value is not None}
    async with transaction_requiring_administrator_for_changes(bool(changed), database) as (tx, officer):
        scope = Partner(parse_id(tx, "partner", partner))
        if officer is None:
            account = await partner_service.get(tx, scope)
        else:
            with convert_value_errors_to_bad_parameter():
                account = await partner_service.set_public_links(tx, scope, **changed)
            await officer.record_audit_entry(
                tx, scope.id, "partner.links_set", partner, changed=", ".join(sorted(changed))
            )
    links = account.public_links
    return FieldList([(name, getattr(links, name)) for name in given])


@partners.command("scim")
@administrator_command
async def allow_scim(
    tx: Tx,
    caller: CommandCaller,
    partner: Annotated[str, typer.Argument(help="Partner ID, from `almoner partners list`.")],
    allowed: Annotated[bool, typer.Option("--on/--off", help="Turn the partner's SCIM keys on or off.")],
) -> str:
    """Turn SCIM (user provisioning) on or off for a partner."""
    scope = Partner(parse_id(tx, "partner", partner))
    account = await partner_service.set_scim_allowed(tx, scope, allowed=allowed)
    await caller.record_audit_entry(tx, scope.id, "partner.scim_set", partner, allowed=allowed)
    return f"SCIM is {'on' if account.scim_enabled else 'off'} for {account.name}"


@partners.command("rate-limits")
@database_command
async def set_rate_limits(
    database: Database,
    partner: Annotated[str, typer.Argument(help="Partner ID, from `almoner partners list`.")],
    secret: Annotated[str | None, typer.Option(help="Rate limit of each secret key, such as 200/400.")] = None,
    publishable: Annotated[
        str | None, typer.Option(help="Rate limit of each publishable key, across all client addresses.")
    ] = None,
    scim: Annotated[str | None, typer.Option(help="Rate limit of each SCIM key.")] = None,
) -> Table:
    """Show or set a partner's own rate limits.

    A limit consists of requests per second and a burst, such as 200/400. Options that you leave out keep their values.
    Use "" to restore the default limit from the settings of the deployment.
    """
    wanted = _parse_own_rates({"secret": secret, "publishable": publishable, "scim": scim})
    async with transaction_requiring_administrator_for_changes(bool(wanted), database) as (tx, officer):
        scope = await get_partner(tx, partner)
        if officer is not None:
            changed = await key_service.set_rate_limits(tx, scope, wanted)
            for kind, rate in changed.items():
                limit = rate.text if rate else "default"
                await officer.record_audit_entry(
                    tx, scope.id, "partner.rate_limit_set", partner, kind=kind, rate_limit=limit
                )
        own = await key_service.load_rate_limits_by_key_kind(tx, scope)
    defaults = settings.read_settings().rate_limits_by_key_kind
    return Table(
        ("kind", "rate limit", "default"),
        [[kind, own[kind].text if kind in own else None, defaults[kind].text] for kind in keys_domain.KINDS],
    )


def _parse_own_rates(given: Mapping[keys_domain.Kind, str | None]) -> dict[keys_domain.Kind, RequestRate | None]:
    found = {}
    for kind, text in given.items():
        if text is not None:
            try:
                found[kind] = keys_domain.parse_partner_rate_limit(text.strip())
            except ValueError as error:
                raise typer.BadParameter(f"--{kind} {error}") from error
    return found


@partners.command("pause")
@administrator_command
async def pause_partner(
    tx: Tx,
    caller: CommandCaller,
    partner: Annotated[str, typer.Argument(help="Partner ID, from `almoner partners list`.")],
    reason: Annotated[str, typer.Option(help="Reason, shown to the partner (10 to 500 characters).")],
) -> str:
    """Pause a partner.

    While the partner is paused, nobody can start a donation through the partner. Requests with the partner's API keys
    get 403 Forbidden, and regular donations are not charged. Payments in progress, refunds, receipts, disbursements and
    webhooks continue. The partner's owners are notified by email.
    """
    scope = await get_partner(tx, partner)
    with convert_value_errors_to_bad_parameter():
        account = await partner_pauses.pause(tx, caller.audit_context, scope, reason)
    return f"{account.name} has been paused."


@partners.command("resume")
@administrator_command
async def resume_partner(
    tx: Tx,
    caller: CommandCaller,
    partner: Annotated[str, typer.Argument(help="Partner ID, from `almoner partners list`.")],
) -> str:
    """Resume a paused partner. The partner's owners are notified by email."""
    scope = await get_partner(tx, partner)
    with convert_value_errors_to_bad_parameter():
        account = await partner_pauses.resume(tx, caller.audit_context, scope)
    return f"{account.name} has been resumed."


@partners.command("settings")
@database_command
async def set_donation_settings(
    database: Database,
    partner: Annotated[str, typer.Argument(help="Partner ID, from `almoner partners list`.")],
    currency: Annotated[
        list[str] | None,
        typer.Option(help="Settlement currency, such as GBP. Can be repeated. Replaces the current list."),
    ] = None,
    donors: Annotated[
        bool | None,
        typer.Option("--share-donors/--no-share-donors", help="Include donor details in API responses and events."),
    ] = None,
    gift_aid: Annotated[
        bool | None, typer.Option(help="Require a Gift Aid declaration for direct GBP donations to UK charities.")
    ] = None,
    request_every: Annotated[
        DonationRequestInterval | None,
        typer.Option("--request-interval", help="How often donation requests are sent to the partner."),
    ] = None,
    request_least: Annotated[
        int | None,
        typer.Option("--request-minimum", help="Minimum of a donation request, as a multiple of the minimum donation."),
    ] = None,
    request_due: Annotated[
        int | None,
        typer.Option("--request-due-days", help="Number of days within which the partner must pay a donation request."),
    ] = None,
) -> list[str]:
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
    async with transaction_requiring_administrator_for_changes(bool(changed), database) as (tx, officer):
        account = await _change_donation_settings(tx, officer, partner, changed)
    return [
        (
            f"settlement currencies {', '.join(account.settlement_currencies)}  "
            f"donor details {'shared' if account.shares_donor_details else 'not shared'}  "
            f"Gift Aid {'required' if account.requires_gift_aid else 'not required'}"
        ),
        (
            f"donation requests every {account.request_interval}, "
            f"at least {account.request_minimum_multiple} times the minimum donation, "
            f"due within {account.request_due_days} days"
        ),
    ]


async def _change_donation_settings(
    tx: Tx, officer: CommandCaller | None, partner: str, changed: dict[str, Any]
) -> PartnerAccount:
    scope = Partner(parse_id(tx, "partner", partner))
    if officer is None:
        return await partner_service.get(tx, scope)
    with convert_value_errors_to_bad_parameter():
        account = await partner_service.update_donation_settings(tx, scope, **changed)
    members = ", ".join(sorted(changed))
    await officer.record_audit_entry(tx, scope.id, "partner.giving_set", partner, changed=members)
    return account


@keys.command("create")
@administrator_command
async def create_key(
    tx: Tx,
    caller: CommandCaller,
    partner: PartnerId,
    name: Annotated[str, typer.Option(help="Name that describes the purpose of the key.")],
    kind: Annotated[ApiKeyKind, typer.Option(help="Type of key.")] = ApiKeyKind.SECRET,
    scope: Annotated[
        list[str] | None,
        typer.Option(help="Scope of the key. Can be repeated. Default: all scopes that this type of key can have."),
    ] = None,
) -> Output:
    """Create a key. The secret is shown only once."""
    whose, scopes = await get_partner(tx, partner), frozenset(scope or ())
    key, secret = await api_keys.create(
        tx, whose, caller.audit_context, _KINDS[kind], name.strip(), scopes, is_created_by_administrator=True
    )
    return _new_key(tx, key, secret)


def _columns(key: keys_domain.ApiKey) -> list[object]:
    moments = (key.created_at, key.expires_at, key.revoked_at, key.last_used_at)
    return [key.kind, key.name, f"...{key.hint}", ",".join(sorted(key.scopes)), *map(iso_timestamp_or_none, moments)]


@keys.command("list")
@transaction_command
async def list_keys(tx: Tx, partner: PartnerId) -> Table:
    """List a partner's keys, newest first."""
    found = await key_service.list_by_partner(tx, await get_partner(tx, partner))
    return Table(
        ("key", "kind", "name", "ends in", "scopes", "created", "expires", "revoked", "last used"),
        [[tx.ids.encode("apikey", one.id), *_columns(one)] for one in found],
    )


@keys.command("rotate")
@administrator_command
async def rotate_key(
    tx: Tx,
    caller: CommandCaller,
    key: KeyId,
    overlap_hours: Annotated[float, typer.Option(help="Hours until the old key expires (up to 168).")] = 24,
) -> Output:
    """Rotate a key: create a new key with the same scopes.

    The old key keeps working for the number of hours set with --overlap-hours.
    """
    old = await key_service.get(tx, parse_id(tx, "apikey", key))
    made, secret = await api_keys.rotate(
        tx, caller.audit_context, old, _overlap(overlap_hours), may_grant_donor_data=True
    )
    return _new_key(tx, made, secret)


def _overlap(hours: float) -> timedelta:
    try:
        return timedelta(hours=hours)
    except (ValueError, OverflowError):
        raise typer.BadParameter(f"--overlap-hours must be a number of hours up to 168, not {hours}") from None


@keys.command("revoke")
@administrator_command
async def revoke_key(tx: Tx, caller: CommandCaller, key: KeyId) -> Output:
    """Revoke a key. The key stops working within a second."""
    await api_keys.revoke(tx, caller.audit_context, await key_service.get(tx, parse_id(tx, "apikey", key)))
    return f"{key} has been revoked."


_KINDS: dict[ApiKeyKind, keys_domain.Kind] = {
    ApiKeyKind.SECRET: "secret",
    ApiKeyKind.PUBLISHABLE: "publishable",
    ApiKeyKind.SCIM: "scim",
}


def _new_key(tx: Tx, key: keys_domain.ApiKey, secret: str) -> Output:
    return [
        FieldList([("key", tx.ids.encode("apikey", key.id)), ("secret", secret)]),
        "Store the secret now. It will not be shown again.",
    ]
