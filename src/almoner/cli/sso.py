"""``almoner members sso``: single sign-on at the partner's identity provider."""

import sys
from typing import Annotated

import typer

from almoner.access.people import service as people
from almoner.access.people.domain import member_realm
from almoner.access.sso import service as sso
from almoner.access.sso.domain import DEFAULT_SCOPES, Provider, ProviderMetadata, ProviderSettings, SsoRefused
from almoner.access.sso.service import identities
from almoner.access.sso.service.oidc_flow import OidcFlow
from almoner.cli.access import get_partner
from almoner.cli.caller import Caller, run_as_administrator
from almoner.cli.database import run_in_transaction, run_with_database
from almoner.cli.named_members import Member, get_member_id
from almoner.kit.text import to_one_line
from almoner.kit.time import iso_timestamp
from almoner.platform.database.transactions import Database, Tx
from almoner.platform.outbound.client import OutboundClient

commands = typer.Typer(help="Manage single sign-on (SSO) for partners.", no_args_is_help=True)

PartnerId = Annotated[str, typer.Argument(metavar="PARTNER", help="Partner ID, from `almoner partners list`.")]


@commands.command("set")
def set_provider(
    partner: PartnerId,
    name: Annotated[str, typer.Option(help="Name shown on the sign-in button, after `Continue with`.")],
    issuer: Annotated[str, typer.Option(help="Issuer, exactly as in the identity provider's metadata.")],
    client_id: Annotated[str, typer.Option(help="Client ID at the identity provider.")],
    public: Annotated[bool, typer.Option("--public-client", help="Use a public client, which has no secret.")] = False,
    keep_secret: Annotated[bool, typer.Option("--keep-secret", help="Keep the current client secret.")] = False,
    subject_claim: Annotated[
        str, typer.Option(help="Claim that identifies a person. Use oid for Microsoft Entra, otherwise sub.")
    ] = "sub",
    groups_claim: Annotated[str | None, typer.Option(help="Claim that lists the person's groups.")] = None,
    role: Annotated[
        list[str] | None, typer.Option(help="Map a group to a role, as GROUP=ROLE. Can be repeated.")
    ] = None,
    scopes: Annotated[str, typer.Option(help="Scopes to request, separated by spaces.")] = " ".join(DEFAULT_SCOPES),
    creates_members: Annotated[
        bool,
        typer.Option(
            "--create-members", help="Create a member at the first sign-in of a person whose groups give them a role."
        ),
    ] = False,
    disabled: Annotated[
        bool, typer.Option("--disabled", help="Save the settings, but do not let members sign in with SSO.")
    ] = False,
) -> None:
    """Set up SSO for a partner, or replace its settings.

    Enter the client secret when prompted, or pipe it to standard input.
    """
    if public and keep_secret:
        raise typer.BadParameter("use either --public-client or --keep-secret: a public client has no secret")
    secret = "" if public else None if keep_secret else _secret()
    wanted = ProviderSettings(
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

    async def use(tx: Tx, officer: Caller) -> tuple[Provider, str]:
        scope = await get_partner(tx, partner)
        return await sso.save_provider(tx, officer.audit_context, scope, wanted), sso.redirect_uri(tx, scope)

    _show(*run_as_administrator(use))


@commands.command("show")
def show_provider(partner: PartnerId) -> None:
    """Show a partner's SSO settings and redirect URL."""

    async def use(tx: Tx) -> tuple[Provider | None, str]:
        scope = await get_partner(tx, partner)
        return await sso.find(tx, scope), sso.redirect_uri(tx, scope)

    _show(*run_in_transaction(use))


@commands.command("test")
def test_provider(partner: PartnerId) -> None:
    """Fetch and check the identity provider's metadata."""

    async def use(database: Database) -> ProviderMetadata | SsoRefused:
        async with database.read() as tx:
            scope = await get_partner(tx, partner)
        outbound = OutboundClient(database.deployment.receivers, identity=database.deployment.identity)
        try:
            return await OidcFlow(database, outbound).fetch_metadata(scope)
        except SsoRefused as refused:
            return refused
        finally:
            await outbound.close()

    found = run_with_database(use)
    if isinstance(found, SsoRefused):
        typer.echo(to_one_line(f"{found.text} {found.reported or ''}".strip()), err=True)
        raise typer.Exit(1)
    typer.echo(to_one_line(f"issuer          {found.issuer}"))
    typer.echo(to_one_line(f"sign-in         {found.authorization_endpoint}"))
    typer.echo(to_one_line(f"codes           {found.token_endpoint}"))
    typer.echo(to_one_line(f"keys            {found.jwks_uri}"))
    typer.echo("The provider's metadata is valid.")


@commands.command("remove")
def remove_provider(partner: PartnerId) -> None:
    """Remove SSO for a partner.

    Members can no longer sign in with SSO, and roles granted by SSO are removed.
    """

    async def use(tx: Tx, officer: Caller) -> None:
        await sso.remove(tx, officer.audit_context, await get_partner(tx, partner))

    run_as_administrator(use)
    typer.echo("SSO has been removed.")


@commands.command("unlink")
def unlink_member(partner: PartnerId, member: Member) -> None:
    """Unlink a member from the identity provider.

    The member can no longer sign in with SSO, and roles granted by SSO are removed.
    """

    async def use(tx: Tx, officer: Caller) -> str:
        scope = await get_partner(tx, partner)
        person = await people.get(tx, member_realm(scope), await get_member_id(tx, scope, member))
        issuers = [one.issuer for one in await identities.list_of_person(tx, person)]
        await identities.unlink_accounts(tx, person, officer.audit_context)
        gone = f"can no longer sign in with {', '.join(issuers)}" if issuers else "is not linked to a provider"
        return f"{person.user_name} {gone}."

    typer.echo(to_one_line(run_as_administrator(use)))


def _secret() -> str:
    if sys.stdin.isatty():
        return str(typer.prompt("Client secret", hide_input=True, err=True)).strip()
    return sys.stdin.readline().strip()


def _pair(text: str) -> tuple[str, str]:
    group, sign, role = text.rpartition("=")
    if not sign or not group.strip():
        raise typer.BadParameter(f"{text!r} is not GROUP=ROLE")
    return group.strip(), role.strip()


def _show(provider: Provider | None, redirect: str) -> None:
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
    for title, value in rows:
        typer.echo(to_one_line(f"{title:<12}  {value}"))
