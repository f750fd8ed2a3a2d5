"""Members of a partner, their groups and roles.

Functions with ``by`` write the audit log themselves. The others are also used by directories, and their callers audit.
"""

from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from uuid import UUID

from almoner.access.credentials.domain import AuditContext
from almoner.access.members import store
from almoner.access.members.domain import (
    DAY,
    LONGEST_GROUP_NAME,
    MAX_DAILY_ADDRESSES,
    MAX_DAILY_INVITATIONS,
    Group,
    GroupChange,
    GroupMember,
    LastOwnerRequired,
    MemberInvitation,
    MemberNotInvitable,
    MembershipState,
    NewMember,
    NoSuchGroup,
    OwnerStatus,
    TooManyInvitations,
)
from almoner.access.people import service as people
from almoner.access.people.domain import (
    MEMBER_ROLES,
    MemberRole,
    NoSuchPerson,
    Person,
    Profile,
    build_profile,
    clean_display_name,
    ensure_roles_unchanged,
    member_realm,
)
from almoner.access.security_emails import service as security_emails
from almoner.access.sign_ins.domain import EmailAddressRecentlyChanged, EmailLink
from almoner.access.sign_ins.service import account, links
from almoner.access.sso.service import identities
from almoner.kit.errors import IncorrectParams
from almoner.platform.audit import log as audit
from almoner.platform.database.transactions import Partner, Tx
from almoner.platform.outbound import email_addresses


async def create_group(tx: Tx, partner: Partner, profile: Profile, person_ids: Iterable[UUID] = ()) -> Group:
    """Create a group without a role. People who are not the partner's members are left out.

    Raises IncorrectParams for a wrong displayName.
    """
    _check_profile(profile)
    group = Group(tx.new_id(), partner.id, profile, None, 1, tx.now, tx.now)
    await store.insert_group(tx, partner, group, sorted(set(person_ids)))
    return group


async def get_group(tx: Tx, partner: Partner, group_id: UUID, *, with_members: bool = True) -> Group:
    """One group of the partner. Raises NoSuchGroup."""
    if (group := await store.find_group(tx, partner, group_id, with_members=with_members)) is None:
        raise NoSuchGroup(tx.ids.encode("group", group_id))
    return group


async def get_group_for_update(tx: Tx, partner: Partner, group_id: UUID) -> Group:
    """One group without its members, locked until the transaction ends. Raises NoSuchGroup."""
    if (group := await store.find_group_for_update(tx, partner, group_id)) is None:
        raise NoSuchGroup(tx.ids.encode("group", group_id))
    return group


async def list_groups_with_sizes(
    tx: Tx, partner: Partner, after: UUID | None = None, limit: int = 100
) -> list[tuple[Group, int]]:
    """Groups in order of creation, after the given one, each with its number of members."""
    return await store.list_groups_with_sizes(tx, partner, after, limit)


async def list_group_members(
    tx: Tx, partner: Partner, group_id: UUID, after: UUID | None = None, limit: int = 100
) -> list[GroupMember]:
    """Members of a group after the given one; empty if there is no such group."""
    return await store.list_group_members(tx, partner, group_id, after, limit)


async def load_groups_by_person_id(tx: Tx, partner: Partner, person_ids: Iterable[UUID]) -> dict[UUID, list[Group]]:
    """The groups of each of these people."""
    asked = list(person_ids)
    found: dict[UUID, list[Group]] = {person: [] for person in asked}
    for person, group in await store.list_groups_of_people(tx, partner, asked):
        found[person].append(group)
    return found


async def update_group(
    tx: Tx, group: Group, *, profile: Profile | None = None, member_ids: Iterable[UUID] | None = None
) -> GroupChange:
    """Replace a locked group's profile, its whole member list, or both.

    People who are not members of the partner are left out. ``version`` and ``updated_at`` change once, and only if
    something changed. Raises IncorrectParams.
    """
    if profile is not None:
        _check_profile(profile)
    if member_ids is None:
        return await _update_group(tx, group, profile, (), people_to_remove=())
    return await _update_group(tx, group, profile, member_ids, people_to_remove=None)


async def add_people_to_group(tx: Tx, group: Group, person_ids: Iterable[UUID]) -> GroupChange:
    """Add members to a locked group; those already in it stay once."""
    return await _update_group(tx, group, None, person_ids, people_to_remove=())


async def remove_people_from_group(tx: Tx, group: Group, person_ids: Iterable[UUID]) -> GroupChange:
    """Remove people from a locked group; those not in it are ignored."""
    return await _update_group(tx, group, None, (), people_to_remove=sorted(set(person_ids)))


async def map_group_to_role(
    tx: Tx, partner: Partner, group_id: UUID, role: MemberRole | None, audit_context: AuditContext
) -> Group:
    """Set the role that all members of a group have; None removes it. Raises NoSuchGroup, LastOwnerRequired.

    Only an owner or administrator sets it, never the group's name: creating groups in the directory must not make an
    owner.
    """
    if role is not None and role not in MEMBER_ROLES:
        raise IncorrectParams(f"'{role}' is not a member role. Choose from: {', '.join(MEMBER_ROLES)}")
    async with _require_owner(tx, partner):
        group = await get_group_for_update(tx, partner, group_id)
        if group.role == role:
            return group
        mapped = await store.map_group_to_role(tx, group, role)
    await _record(
        tx, partner, audit_context, "group.mapped", tx.ids.encode("group", group.id), was=group.role, role=role
    )
    return mapped


async def delete_group(tx: Tx, partner: Partner, group_id: UUID) -> None:
    """Delete a group; its members stay, without the group's role. Raises NoSuchGroup."""
    if not await store.delete_group(tx, partner, group_id):
        raise NoSuchGroup(tx.ids.encode("group", group_id))


async def list_page(tx: Tx, partner: Partner, after: UUID | None = None, limit: int = 100) -> list[MembershipState]:
    """Members in order of creation, after the given one."""
    return await store.list_page(tx, member_realm(partner), after, limit)


async def get_member(tx: Tx, partner: Partner, person_id: UUID) -> MembershipState:
    """One member. Raises NoSuchPerson."""
    if (found := await store.find_membership(tx, member_realm(partner), person_id)) is None:
        raise NoSuchPerson(tx.ids.encode("member", person_id))
    return found


async def invite_member(
    tx: Tx,
    partner: Partner,
    audit_context: AuditContext,
    email: str,
    *,
    name: str | None = None,
    user_name: str | None = None,
    roles: Iterable[MemberRole] = (),
) -> NewMember:
    """Create a member and email them an invitation link.

    The user name defaults to the email address. If the link is also shown, the caller must record that. A member
    without a role sees only their own account. Raises IncorrectParams, UserNameTaken, TooManyInvitations.
    """
    address = await validate_and_clean_invitation_email(tx, partner, audit_context, email)
    profile = build_profile((user_name or address).strip(), email=address, name=clean_display_name(name))
    person = await people.create(tx, member_realm(partner), profile, roles)
    await _record(tx, partner, audit_context, "member.invited", _text(tx, person), roles=sorted(person.roles))
    return NewMember(person, await _send_invitation(tx, person))


async def validate_and_clean_invitation_email(tx: Tx, partner: Partner, audit_context: AuditContext, email: str) -> str:
    """Check the email address for an invitation. Raises IncorrectParams, TooManyInvitations.

    Administrators of the deployment have no limit.
    """
    address = email_addresses.clean_email_address(email)
    if not email_addresses.is_email_address(address):
        raise IncorrectParams(f"email: {address!r} is not a valid email address")
    if audit_context.actor.kind == "member":
        await store.lock_realm_for_update(tx, member_realm(partner))
        wrote = ("member.invited", "member.changed")
        if await audit.count_entries(tx, partner.id, wrote, tx.now - DAY, MAX_DAILY_ADDRESSES) >= MAX_DAILY_ADDRESSES:
            raise TooManyInvitations(
                f"email: you can invite {MAX_DAILY_ADDRESSES} new addresses a day. Try again tomorrow, or let your "
                "directory create members"
            )
    return address


async def resend_invitation(tx: Tx, partner: Partner, audit_context: AuditContext, person_id: UUID) -> MemberInvitation:
    """Send a new invitation link; the old one stops working.

    The link is also returned, but only if nobody has used the account yet: otherwise, only its mailbox gets the link.
    Raises NoSuchPerson, MemberNotInvitable, TooManyInvitations.
    """
    realm = member_realm(partner)
    await people.get_for_update(tx, realm, person_id)
    member = await get_member(tx, partner, person_id)
    if member.has_joined:
        raise MemberNotInvitable(
            f"{member.person.display_name} has already signed in and can reset their password on the sign-in page"
        )
    if not member.person.active:
        raise MemberNotInvitable(f"{member.person.display_name} is deactivated. Reactivate them first")
    if member.person.email is None:
        raise MemberNotInvitable(
            f"{member.person.display_name} has no email address. Add one first, or ask them to sign in with SSO"
        )
    if await store.count_invitations_since(tx, realm, person_id, tx.now - DAY) >= MAX_DAILY_INVITATIONS:
        raise TooManyInvitations(
            f"You can send {MAX_DAILY_INVITATIONS} invitations a day to one member. Try again tomorrow"
        )
    try:
        link = await _send_invitation(tx, member.person)
    except EmailAddressRecentlyChanged as withheld:
        raise MemberNotInvitable(*withheld.reasons) from None
    await _record(tx, partner, audit_context, "member.invited_again", _text(tx, member.person))
    was_used = await people.has_had_credentials(tx, member.person)
    return MemberInvitation(member.person, None if was_used else link)


async def change_roles(
    tx: Tx,
    partner: Partner,
    audit_context: AuditContext,
    person_id: UUID,
    roles: Iterable[MemberRole],
    *,
    expected_current_roles: Iterable[str] | None = None,
) -> Person:
    """Replace the roles granted to a member. Raises NoSuchPerson, IncorrectParams, LastOwnerRequired.

    Roles from single sign-on and groups stay. ``expected_current_roles``: the granted roles that a page showed, which
    must be current.
    """
    wanted = frozenset(roles)
    async with _require_owner(tx, partner):
        person = await people.get_for_update(tx, member_realm(partner), person_id)
        was = (await get_member(tx, partner, person_id)).granted_roles
        ensure_roles_unchanged(expected_current_roles, was, wanted)
        changed = await people.set_granted_roles(tx, person, wanted)
        await security_emails.notify_of_account_changes(tx, person, changed)
    granted = (await get_member(tx, partner, person_id)).granted_roles
    if granted != was:
        told = {"was": sorted(was), "roles": sorted(granted)}
        await _record(tx, partner, audit_context, "member.roles_changed", _text(tx, person), **told)
    return changed


async def deactivate_member(tx: Tx, partner: Partner, audit_context: AuditContext, person_id: UUID) -> Person:
    """Deactivate a member, which ends all their sign-ins. Raises NoSuchPerson, LastOwnerRequired."""
    async with _require_owner(tx, partner):
        return await _set_active(tx, partner, audit_context, person_id, active=False)


async def activate_member(tx: Tx, partner: Partner, audit_context: AuditContext, person_id: UUID) -> Person:
    """Reactivate a member. Raises NoSuchPerson."""
    return await _set_active(tx, partner, audit_context, person_id, active=True)


async def remove_member(tx: Tx, partner: Partner, audit_context: AuditContext, person_id: UUID) -> None:
    """Delete a member with all credentials and sign-ins. Raises NoSuchPerson, LastOwnerRequired."""
    async with _require_owner(tx, partner):
        person = await people.get(tx, member_realm(partner), person_id)
        await people.delete(tx, member_realm(partner), person_id)
    await _record(tx, partner, audit_context, "member.removed", _text(tx, person))


async def reset_credentials_and_reinvite(
    tx: Tx, partner: Partner, audit_context: AuditContext, person_id: UUID
) -> MemberInvitation:
    """Delete the credentials of a member who lost a factor, email them a link to start again, and notify the owners.

    For a member without a mailbox, the link is returned to the caller instead. Raises NoSuchPerson,
    EmailAddressRecentlyChanged.
    """
    person = await people.get_for_update(tx, member_realm(partner), person_id)
    link = await account.reset_credentials_and_send_invitation(tx, person, audit_context)
    for owner in await people.list_with_any_role(tx, person.realm, "owner"):
        if owner.id != person.id:
            named = {"name": person.display_name}
            await security_emails.enqueue_email(tx, owner, "member_reset", placeholder_values=named)
    return MemberInvitation(person, None if person.email else _invitation_url(tx, person, link))


async def unlink_sso_account(tx: Tx, partner: Partner, audit_context: AuditContext, person_id: UUID) -> Person:
    """Disconnect a member's single sign-on account and remove the roles it gave.

    Raises NoSuchPerson, LastOwnerRequired.
    """
    async with _require_owner(tx, partner):
        person = await people.get(tx, member_realm(partner), person_id)
        await identities.unlink_accounts(tx, person, audit_context)
    return person


async def _set_active(tx: Tx, partner: Partner, by: AuditContext, person_id: UUID, *, active: bool) -> Person:
    person = await people.get_for_update(tx, member_realm(partner), person_id)
    if person.active == active:
        return person
    changed = await people.update_profile(tx, person, {**person.profile, "active": active})
    await security_emails.notify_of_account_changes(tx, person, changed)
    await _record(tx, partner, by, "member.activated" if active else "member.deactivated", _text(tx, person))
    return changed


@asynccontextmanager
async def _require_owner(tx: Tx, partner: Partner) -> AsyncIterator[None]:
    """Run a change that must not remove the last active owner, or the last who can sign in; one at a time.

    Raises LastOwnerRequired. The partner's directory may still do so: it controls its people, and an administrator can
    always add an owner.
    """
    realm = member_realm(partner)
    await store.lock_realm_for_update(tx, realm)
    before = await store.load_owner_status(tx, realm)
    yield
    after = await store.load_owner_status(tx, realm)
    if after < before:
        raise LastOwnerRequired(others_invited=after is OwnerStatus.INVITED)


async def _record(
    tx: Tx, partner: Partner, by: AuditContext, action: str, subject: str, **details: str | Sequence[str] | None
) -> None:
    await audit.record_entry(
        tx, partner.id, by.actor, action, subject, ip_address=by.ip_address, details=details or None
    )


async def _send_invitation(tx: Tx, person: Person) -> str:
    return _invitation_url(tx, person, await links.send_invitation(tx, person))


def _invitation_url(tx: Tx, person: Person, link: EmailLink) -> str:
    home = security_emails.account_path(tx.ids, person.realm)
    return f"{tx.base_urls.pages}{home}/invitation?token={links.create_link_token(tx, link)}"


def _text(tx: Tx, person: Person) -> str:
    return tx.ids.encode("member", person.id)


async def _update_group(
    tx: Tx,
    group: Group,
    profile: Profile | None,
    people_to_add: Iterable[UUID],
    *,
    people_to_remove: Sequence[UUID] | None,
) -> GroupChange:
    added = sorted(set(people_to_add))
    changed = await store.update_group(tx, group, profile, added, person_ids_to_remove=people_to_remove)
    return changed or GroupChange(replace(group, members=None))


def _check_profile(profile: Profile) -> None:
    name = profile.get("displayName")
    if not isinstance(name, str) or not 1 <= len(name.strip()) <= LONGEST_GROUP_NAME:
        raise IncorrectParams(f"displayName must be 1 to {LONGEST_GROUP_NAME} characters")
