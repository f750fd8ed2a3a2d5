"""Actions for a partner's groups and single sign-on (SSO). Each action is also available as a CLI command."""

from collections.abc import Mapping, Sequence
from typing import Final

from almoner.access.accounts.page_guard import Visitor
from almoner.access.members import service as members
from almoner.access.members.domain import Group
from almoner.access.people.domain import MEMBER_ROLES
from almoner.access.sso import service as sso
from almoner.access.sso.domain import Provider
from almoner.console.actions import ActionField, ActionPage, ConsoleAction
from almoner.console.context import ConsoleContext
from almoner.console.links import ADMINISTRATORS
from almoner.console.partner_ids import PATH, group_of_path, owners_in_words, partner_of_path, partner_path
from almoner.platform.database.transactions import Partner, Tx
from almoner.platform.pages.record_tables import Fact

_NO_ROLE: Final = "none"


def group_actions(context: ConsoleContext) -> list[ConsoleAction]:
    """All actions for a partner's groups and single sign-on."""
    return [_set_role(context), _remove_provider(context)]


def provider_facts(provider: Provider, redirect: str) -> list[Fact]:
    """The settings of a partner's identity provider, without its secret."""
    return [
        Fact("Name", provider.name),
        Fact("Members can sign in", provider.enabled, "yes_no"),
        Fact("Issuer", provider.issuer),
        Fact("Client ID", provider.client_id),
        Fact("Client secret stored", provider.sealed_secret is not None, "yes_no"),
        Fact("Redirect URL", redirect),
        Fact("Scopes", " ".join(provider.scopes)),
        Fact("Token claim that identifies a person", provider.subject_claim),
        Fact("Token claim that lists a person's groups", provider.groups_claim),
        *(Fact(f"Role of {group}", role_words(role)) for group, role in sorted(provider.roles.items())),
        Fact("Creates members at their first sign-in", provider.creates_members, "yes_no"),
        Fact("Changed", provider.updated_at.isoformat(), "moment"),
    ]


def role_words(role: str | None) -> str:
    """The display name of a member role."""
    return role.replace("_", " ") if role else "no role"


def _set_role(context: ConsoleContext) -> ConsoleAction:
    async def describe(tx: Tx, visitor: Visitor) -> ActionPage:
        account, group = await partner_of_path(tx, visitor), await group_of_path(tx, visitor)
        choices = [(_NO_ROLE, "No role"), *((role, role_words(role).capitalize()) for role in MEMBER_ROLES)]
        return ActionPage(
            f"Role of the group {group.display_name}",
            "Save role",
            partner_path(tx, account),
            account.name,
            _group_sentences(group),
            fields=[ActionField("role", "Role", "choice", choices=choices, value=group.role or _NO_ROLE)],
        )

    async def perform(tx: Tx, visitor: Visitor, entered_values: Mapping[str, str]) -> str:
        account, group = await partner_of_path(tx, visitor), await group_of_path(tx, visitor)
        chosen = next((role for role in MEMBER_ROLES if role == entered_values["role"]), None)
        by = context.audit_context(visitor)
        await members.set_role_for_group_members(tx, Partner(account.id), group.id, chosen, by)
        return partner_path(tx, account)

    return ConsoleAction(f"{PATH}/{{id}}/groups/{{group}}/role", ADMINISTRATORS, describe, perform, fresh=True)


def _group_sentences(group: Group) -> Sequence[str]:
    return [
        f"All members of the group have this role while they are in the group. Current role: {role_words(group.role)}.",
        (
            "The partner's directory manages the members of the group. Roles that were granted directly to a member "
            "do not change."
        ),
    ]


def _remove_provider(context: ConsoleContext) -> ConsoleAction:
    async def describe(tx: Tx, visitor: Visitor) -> ActionPage:
        account = await partner_of_path(tx, visitor)
        provider = await sso.find(tx, Partner(account.id))
        return ActionPage(
            "Remove single sign-on",
            "Remove SSO",
            partner_path(tx, account),
            account.name,
            [
                "Members can no longer sign in with SSO, and they lose the roles that SSO granted them.",
                (
                    "Members who signed in with SSO are signed out. Members with a password or a passkey can still "
                    "sign in."
                ),
                f"{await owners_in_words(tx, account)} can set SSO up again, with a new client secret.",
            ],
            facts=provider_facts(provider, sso.redirect_uri(tx, Partner(account.id))) if provider else [],
            closed="" if provider else "SSO is not set up for this partner.",
        )

    async def perform(tx: Tx, visitor: Visitor, _entered_values: Mapping[str, str]) -> str:
        account = await partner_of_path(tx, visitor)
        await sso.remove_provider(tx, context.audit_context(visitor), Partner(account.id))
        return partner_path(tx, account)

    return ConsoleAction(f"{PATH}/{{id}}/sso/remove", ADMINISTRATORS, describe, perform, fresh=True)
