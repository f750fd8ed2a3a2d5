"""``almoner members sso``: single sign-on at the partner's identity provider."""

import sys
from typing import Annotated

import typer

from almoner.access.people import service as people
from almoner.access.people.domain import member_realm
from almoner.access.sso import service as sso
from almoner.access.sso.domain import DEFAULT_SCOPES, IdentityProvider, IdentityProviderSettings, SsoRefused
from almoner.access.sso.service import identities
from almoner.access.sso.service.oidc_flow import OidcFlow
from almoner.cli.access import get_partner
from almoner.cli.caller import CommandCaller, administrator_command, administrator_transaction
from almoner.cli.database import database_command, transaction_command
from almoner.cli.named_members import Member, get_member_id
from almoner.cli.tables import ErrorOutput, FieldList, Output
from almoner.kit.text import sanitise_for_terminal
from almoner.kit.time import iso_timestamp
from almoner.platform.database.transactions import Database, Tx
from almoner.platform.outbound.client import OutboundClient

commands = typer.Typer(help="Manage single sign-on (SSO) for partners.", no_args_is_help=True)

PartnerId = Annotated[str, typer.Argument(metavar="PARTNER", help="Partner ID, from `almoner partners list`.")]


@commands.command("set")
@database_command
async def set_provider(
    database: Database,
    partner: PartnerId,
    name: Annotated[str, typer.Option(help="Name shown on the sign-in button after `Continue with`.")],
    issuer: Annotated[str, typer.Option(help="Issuer, exactly as in the identity provider's metadata.")],
    client_id: Annotated[str, typer.Option(help="Client ID at the identity provider.")],
    public: Annotated[bool, typer.Option("--public-client", help="Use a public client, which has no secret.")] = False,
    keep_secret: Annotated[bool, typer.Option("--keep-secret", help="Keep the current client secret.")] = False,
    subject_claim: Annotated[
        str, typer.Option(help="Token claim that identifies a person. Use oid for Microsoft Entra, otherwise sub.")
    ] = "sub",
    groups_claim: Annotated[str | None, typer.Option(help="Token claim that lists the person's groups.")] = None,
    role: Annotated[
        list[str] | None, typer.Option(help="Map an SSO group to a role, as GROUP=ROLE. Can be repeated.")
    ] = None,
    scopes: Annotated[str, typer.Option(help="Scopes to request, separated by spaces.")] = " ".join(DEFAULT_SCOPES),
    creates_members: Annotated[
        bool,
        typer.Option(
            "--create-members",
            help="Create a member when a person signs in for the first time and is in a group that is mapped to a "
            "role.",
        ),
    ] = False,
    disabled: Annotated[
        bool, typer.Option("--disabled", help="Save the settings but do not let members sign in with SSO.")
    ] = False,
) -> Output:
    """Set up SSO for a partner, or replace its SSO settings.

    Enter the client secret when prompted, or pipe it to standard input.
    """
    if public and keep_secret:
        raise typer.BadParameter("use either --public-client or --keep-secret: a public client has no secret")
    secret = "" if public else None if keep_secret else _secret()
    wanted = IdentityProviderSettings(
        name,
        issuer,
        client_id,
        secret,
        subject_claim,
        groups_claim,
        dict(_pair(text) for text in role or ()),
        tuple(scopes.split()),
        creates_members,
        not disabled,
    )
    async with administrator_transaction(database) as (tx, officer):
        scope = await get_partner(tx, partner)
        provider = await sso.save_provider(tx, officer.audit_context, scope, wanted)
        return _provider_fields(provider, sso.redirect_uri(tx, scope))


@commands.command("show")
@transaction_command
async def show_provider(tx: Tx, partner: PartnerId) -> Output:
    """Show a partner's SSO settings and redirect URL."""
    scope = await get_partner(tx, partner)
    return _provider_fields(await sso.find_provider(tx, scope), sso.redirect_uri(tx, scope))


@commands.command("test")
@database_command
async def test_provider(database: Database, partner: PartnerId) -> Output:
    """Fetch and validate the identity provider's metadata."""
    async with database.read() as tx:
        scope = await get_partner(tx, partner)
    outbound = OutboundClient(database.deployment.outbound_address_policy, identity=database.deployment.identity)
    try:
        found = await OidcFlow(database, outbound).fetch_provider_metadata(scope)
    except SsoRefused as refused:
        return ErrorOutput(f"{refused.text} {refused.reported or ''}".strip())
    finally:
        await outbound.close()
    endpoints = [
        ("issuer", found.issuer),
        ("sign-in", found.authorization_endpoint),
        ("codes", found.token_endpoint),
        ("keys", found.jwks_uri),
    ]
    return [FieldList(endpoints), "The metadata of the identity provider is valid."]


@commands.command("remove")
@administrator_command
async def remove_provider(tx: Tx, caller: CommandCaller, partner: PartnerId) -> str:
    """Remove SSO for a partner.

    Members can no longer sign in with SSO, and roles granted by SSO are removed.
    """
    await sso.remove_provider(tx, caller.audit_context, await get_partner(tx, partner))
    return "SSO has been removed."


@commands.command("unlink")
@administrator_command
async def unlink_member(tx: Tx, caller: CommandCaller, partner: PartnerId, member: Member) -> str:
    """Unlink a member from their account at the identity provider.

    The member can no longer sign in with SSO, and roles granted by SSO are removed.
    """
    scope = await get_partner(tx, partner)
    person = await people.get(tx, member_realm(scope), await get_member_id(tx, scope, member))
    issuers = [one.issuer for one in await identities.list_linked_accounts(tx, person)]
    await identities.unlink_accounts(tx, person, caller.audit_context)
    gone = f"can no longer sign in with {', '.join(issuers)}" if issuers else "is not linked to a provider"
    return sanitise_for_terminal(f"{person.user_name} {gone}.")


def _secret() -> str:
    """The typed or piped client secret. Raises BadParameter if there is none: only --public-client means that."""
    if sys.stdin.isatty():
        entered = str(typer.prompt("Client secret", hide_input=True, err=True)).strip()
    else:
        entered = sys.stdin.readline().strip()
    if not entered:
        raise typer.BadParameter(
            "no client secret was entered: enter it when prompted, pipe it to standard input, or use --public-client "
            "or --keep-secret"
        )
    return entered


def _pair(text: str) -> tuple[str, str]:
    group, sign, role = text.rpartition("=")
    if not sign or not group.strip():
        raise typer.BadParameter(f"{text!r} is not GROUP=ROLE")
    return group.strip(), role.strip()


def _provider_fields(provider: IdentityProvider | None, redirect: str) -> FieldList:
    rows: list[tuple[str, object]] = [("redirect", redirect)]
    if provider is None:
        rows.append(("provider", "-"))
    else:
        rows += [
            ("provider", provider.name),
            ("issuer", provider.issuer),
            ("client", provider.client_id),
            ("secret", "encrypted" if provider.sealed_secret else "none"),
            ("person", provider.subject_claim),
            ("groups", provider.groups_claim or "-"),
            *(("role", f"{value} = {role}") for value, role in sorted(provider.roles.items())),
            ("scopes", " ".join(provider.scopes)),
            ("new members", "yes" if provider.creates_members else "no"),
            ("enabled", "yes" if provider.enabled else "no"),
            ("changed", iso_timestamp(provider.updated_at)),
        ]
    return FieldList(rows)
