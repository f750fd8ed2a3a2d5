"""Actions for a partner's groups and single sign-on (SSO). Each action is also available as a CLI command."""

from collections.abc import Mapping, Sequence
from typing import Final

from almoner.access.accounts.page_guard import SignedInRequest
from almoner.access.members import service as members
from almoner.access.members.domain import Group
from almoner.access.people.domain import MEMBER_ROLES
from almoner.access.sso import service as sso
from almoner.access.sso.domain import IdentityProvider
from almoner.console.actions import ActionField, ActionPage, ConsoleAction
from almoner.console.context import ConsoleContext
from almoner.console.links import ADMINISTRATORS
from almoner.console.partner_ids import (
    PATH,
    describe_partner_owners,
    get_group_from_url,
    get_partner_from_url,
    partner_page_path,
)
from almoner.platform.database.transactions import Partner, Tx
from almoner.platform.pages.record_tables import LabelledValue

_NO_ROLE: Final = "none"


def partner_group_actions(context: ConsoleContext) -> list[ConsoleAction]:
    """All actions for a partner's groups and single sign-on."""
    return [_set_role(context), _remove_provider(context)]


def identity_provider_facts(provider: IdentityProvider, redirect_url: str) -> list[LabelledValue]:
    """The settings of a partner's identity provider, without its secret."""
    return [
        LabelledValue("Name", provider.name),
        LabelledValue("Members can sign in", provider.enabled, "yes_no"),
        LabelledValue("Issuer", provider.issuer),
        LabelledValue("Client ID", provider.client_id),
        LabelledValue("Client secret stored", provider.sealed_secret is not None, "yes_no"),
        LabelledValue("Redirect URL", redirect_url),
        LabelledValue("Scopes", " ".join(provider.scopes)),
        LabelledValue("Token claim that identifies a person", provider.subject_claim),
        LabelledValue("Token claim that lists a person's groups", provider.groups_claim),
        *(LabelledValue(f"Role of {group}", role_label(role)) for group, role in sorted(provider.roles.items())),
        LabelledValue("Creates members at their first sign-in", provider.creates_members, "yes_no"),
        LabelledValue("Changed", provider.updated_at.isoformat(), "moment"),
    ]


def role_label(role: str | None) -> str:
    """The display name of a member role."""
    return role.replace("_", " ") if role else "no role"


def _set_role(context: ConsoleContext) -> ConsoleAction:
    async def describe(tx: Tx, visitor: SignedInRequest) -> ActionPage:
        account, group = await get_partner_from_url(tx, visitor), await get_group_from_url(tx, visitor)
        choices = [(_NO_ROLE, "No role"), *((role, role_label(role).capitalize()) for role in MEMBER_ROLES)]
        return ActionPage(
            f"Role of the group {group.display_name}",
            "Save role",
            partner_page_path(tx, account),
            account.name,
            _group_sentences(group),
            fields=[ActionField("role", "Role", "choice", choices=choices, value=group.role or _NO_ROLE)],
        )

    async def perform(tx: Tx, visitor: SignedInRequest, entered_values: Mapping[str, str]) -> str:
        account, group = await get_partner_from_url(tx, visitor), await get_group_from_url(tx, visitor)
        chosen = next((role for role in MEMBER_ROLES if role == entered_values["role"]), None)
        by = context.audit_context(visitor)
        await members.map_group_to_role(tx, Partner(account.id), group.id, chosen, by)
        return partner_page_path(tx, account)

    return ConsoleAction(
        f"{PATH}/{{id}}/groups/{{group}}/role", ADMINISTRATORS, describe, perform, requires_reauthentication=True
    )


def _group_sentences(group: Group) -> Sequence[str]:
    return [
        f"All members of the group have this role while they are in the group. Current role: {role_label(group.role)}.",
        (
            "The partner's directory manages the members of the group. Roles that were granted directly to a member "
            "do not change."
        ),
    ]


def _remove_provider(context: ConsoleContext) -> ConsoleAction:
    async def describe(tx: Tx, visitor: SignedInRequest) -> ActionPage:
        account = await get_partner_from_url(tx, visitor)
        provider = await sso.find_provider(tx, Partner(account.id))
        return ActionPage(
            "Remove single sign-on",
            "Remove SSO",
            partner_page_path(tx, account),
            account.name,
            [
                "Members can no longer sign in with SSO, and they lose the roles that SSO granted them.",
                (
                    "Members who signed in with SSO are signed out. Members with a password or a passkey can still "
                    "sign in."
                ),
                f"{await describe_partner_owners(tx, account)} can set SSO up again, with a new client secret.",
            ],
            facts=identity_provider_facts(provider, sso.redirect_uri(tx, Partner(account.id))) if provider else [],
            closed=None if provider else "SSO is not set up for this partner.",
        )

    async def perform(tx: Tx, visitor: SignedInRequest, _entered_values: Mapping[str, str]) -> str:
        account = await get_partner_from_url(tx, visitor)
        await sso.remove_provider(tx, context.audit_context(visitor), Partner(account.id))
        return partner_page_path(tx, account)

    return ConsoleAction(f"{PATH}/{{id}}/sso/remove", ADMINISTRATORS, describe, perform, requires_reauthentication=True)
