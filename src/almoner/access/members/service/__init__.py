"""Members, their groups, and what they may do.

What takes ``by`` records itself in the audit log. The rest, which a directory does as well, is the caller's to record.
"""

from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from uuid import UUID

from almoner.access.credentials.domain import By
from almoner.access.members import store
from almoner.access.members.domain import (
    DAY,
    INVITATIONS_A_DAY,
    LONGEST_GROUP_NAME,
    NEW_ADDRESSES_A_DAY,
    Changed,
    Group,
    GroupMember,
    LastOwner,
    MembershipState,
    NoSuchGroup,
    NotInvitable,
    Owners,
    TooManyInvitations,
)
from almoner.access.people import service as people
from almoner.access.people.domain import (
    MEMBER_ROLES,
    MemberRole,
    NoSuchPerson,
    Person,
    Profile,
    members_of,
    profile_of,
)
from almoner.access.security_emails import service as letters
from almoner.access.sign_ins.domain import Link
from almoner.access.sign_ins.service import account, links
from almoner.access.sign_on.service import identities
from almoner.kit import email as emails
from almoner.kit.errors import IncorrectParams
from almoner.platform.audit import log as audit
from almoner.platform.database.transactions import Partner, Tx


async def create_group(tx: Tx, partner: Partner, profile: Profile, people: Iterable[UUID] = ()) -> Group:
    """A new group, without a role. Whoever is nobody of the partner is left out.

    Raises IncorrectParams for a wrong displayName.
    """
    _check(profile)
    group = Group(tx.new_id(), partner.id, profile, None, 1, tx.now, tx.now)
    await store.insert_group(tx, partner, group, sorted(set(people)))
    return group


async def get_group(tx: Tx, partner: Partner, group_id: UUID, *, with_members: bool = True) -> Group:
    """One group of the partner, in one statement. Raises NoSuchGroup."""
    if (group := await store.find_group(tx, partner, group_id, with_members=with_members)) is None:
        raise NoSuchGroup(tx.ids.text("group", group_id))
    return group


async def lock_group(tx: Tx, partner: Partner, group_id: UUID) -> Group:
    """One group without its members, held until the transaction ends. Raises NoSuchGroup."""
    if (group := await store.lock_group(tx, partner, group_id)) is None:
        raise NoSuchGroup(tx.ids.text("group", group_id))
    return group


async def groups(tx: Tx, partner: Partner, after: UUID | None = None, limit: int = 100) -> list[tuple[Group, int]]:
    """Groups in the order in which they came, from after one of them, each with how many are in it."""
    return await store.page_of_groups(tx, partner, after, limit)


async def in_group(
    tx: Tx, partner: Partner, group_id: UUID, after: UUID | None = None, limit: int = 100
) -> list[GroupMember]:
    """Who is in a group, from after one of them. Nobody where there is no such group."""
    return await store.page_of_group(tx, partner, group_id, after, limit)


async def groups_of(tx: Tx, partner: Partner, people: Iterable[UUID]) -> dict[UUID, list[Group]]:
    """The groups of each of some people, in one statement, without members; whoever is in none has an empty list."""
    asked = list(people)
    found: dict[UUID, list[Group]] = {person: [] for person in asked}
    for person, group in await store.groups_of(tx, partner, asked):
        found[person].append(group)
    return found


async def change_group(
    tx: Tx, group: Group, *, profile: Profile | None = None, people: Iterable[UUID] | None = None
) -> Changed:
    """Replace a locked group's profile, the whole list of who is in it, or both, in one statement.

    Whoever is nobody of the partner is left out. ``version`` and ``updated_at`` move once, and only when something is
    different now. Raises IncorrectParams.
    """
    if profile is not None:
        _check(profile)
    if people is None:
        return await _change(tx, group, profile, (), leave=())
    return await _change(tx, group, profile, people, leave=None)


async def add_to_group(tx: Tx, group: Group, people: Iterable[UUID]) -> Changed:
    """Put people into a locked group, those who are the partner's; whoever is in it already stays once."""
    return await _change(tx, group, None, people, leave=())


async def remove_from_group(tx: Tx, group: Group, people: Iterable[UUID]) -> Changed:
    """Take people out of a locked group; whoever is not in it does not matter."""
    return await _change(tx, group, None, (), leave=sorted(set(people)))


async def map_group(tx: Tx, partner: Partner, group_id: UUID, role: MemberRole | None, by: By) -> Group:
    """Say what everybody in a group may do; None: nothing by it. Raises NoSuchGroup, IncorrectParams, LastOwner.

    An owner or an administrator says so, never the group's name: whoever may create groups in the partner's directory
    is not an owner here by that.
    """
    if role is not None and role not in MEMBER_ROLES:
        raise IncorrectParams(f"'{role}' is not a member role. Choose from: {', '.join(MEMBER_ROLES)}")
    async with _an_owner_stays(tx, partner):
        group = await lock_group(tx, partner, group_id)
        mapped = await store.set_group_role(tx, group, role)
    await _record(tx, partner, by, "group.mapped", tx.ids.text("group", group.id), was=group.role, role=role)
    return mapped


async def delete_group(tx: Tx, partner: Partner, group_id: UUID) -> None:
    """Remove a group; its people stay, without what it gave them. Raises NoSuchGroup."""
    if not await store.delete_group(tx, partner, group_id):
        raise NoSuchGroup(tx.ids.text("group", group_id))


async def page(tx: Tx, partner: Partner, after: UUID | None = None, limit: int = 100) -> list[MembershipState]:
    """Members in the order in which they came, from after one of them."""
    return await store.page(tx, members_of(partner), after, limit)


async def get(tx: Tx, partner: Partner, person_id: UUID) -> MembershipState:
    """One member. Raises NoSuchPerson."""
    if (found := await store.standing(tx, members_of(partner), person_id)) is None:
        raise NoSuchPerson(tx.ids.text("member", person_id))
    return found


async def invite(
    tx: Tx,
    partner: Partner,
    by: By,
    email: str,
    *,
    name: str | None = None,
    user_name: str | None = None,
    roles: Iterable[MemberRole] = (),
) -> tuple[Person, str]:
    """A new member, who is known by the e-mail address unless ``user_name`` is given, and the link of the invitation.

    The link is mailed; whoever shows it besides records that. Without a role a member sees the own account alone.
    Raises IncorrectParams, NameTaken, TooManyInvitations.
    """
    address = await new_address(tx, partner, by, email)
    profile = profile_of((user_name or address).strip(), email=address, name=(name or "").strip() or None)
    person = await people.create(tx, members_of(partner), profile, roles)
    await _record(tx, partner, by, "member.invited", _text(tx, person), roles=sorted(person.roles))
    return person, await _send(tx, person)


async def new_address(tx: Tx, partner: Partner, by: By, email: str) -> str:
    """An address that a member types for somebody else, and mails go to. Raises IncorrectParams, TooManyInvitations.

    Administrators of the deployment may write to as many as there are.
    """
    address = email.strip()
    if not emails.well_formed(address):
        raise IncorrectParams(f"email: {address!r} is not a valid email address")
    if by.actor.kind == "member":
        await store.hold_realm(tx, members_of(partner))
        wrote = ("member.invited", "member.changed")
        if await audit.count(tx, partner.id, wrote, tx.now - DAY, NEW_ADDRESSES_A_DAY) >= NEW_ADDRESSES_A_DAY:
            raise TooManyInvitations(
                f"email: you can invite {NEW_ADDRESSES_A_DAY} new addresses a day. Try again tomorrow, or let your "
                "directory create members"
            )
    return address


async def invite_again(tx: Tx, partner: Partner, by: By, person_id: UUID) -> tuple[Person, str]:
    """A new link for somebody who has not come yet; the old one is void.

    Raises NoSuchPerson, NotInvitable, TooManyInvitations.
    """
    realm = members_of(partner)
    await people.lock(tx, realm, person_id)
    standing = await get(tx, partner, person_id)
    if standing.joined:
        raise NotInvitable(
            f"{standing.person.shown_name} has already signed in and can reset their password on the sign-in page"
        )
    if not standing.person.active:
        raise NotInvitable(f"{standing.person.shown_name} is deactivated. Reactivate them first")
    if standing.person.email is None:
        raise NotInvitable(f"{standing.person.shown_name} has no email address and signs in with SSO")
    if await store.invitations_since(tx, realm, person_id, tx.now - DAY) >= INVITATIONS_A_DAY:
        raise TooManyInvitations(
            f"You can send {INVITATIONS_A_DAY} invitations a day to one member. Try again tomorrow"
        )
    await _record(tx, partner, by, "member.invited_again", _text(tx, standing.person))
    return standing.person, await _send(tx, standing.person)


async def change_roles(tx: Tx, partner: Partner, by: By, person_id: UUID, roles: Iterable[MemberRole]) -> Person:
    """Replace the roles granted to a member. Raises NoSuchPerson, IncorrectParams, LastOwner.

    What the provider says and what groups give stays.
    """
    async with _an_owner_stays(tx, partner):
        person = await people.lock(tx, members_of(partner), person_id)
        was = (await get(tx, partner, person_id)).granted
        changed = await people.grant(tx, person, roles)
        await letters.tell_of_change(tx, person, changed)
    granted = (await get(tx, partner, person_id)).granted
    await _record(tx, partner, by, "member.roles_changed", _text(tx, person), was=sorted(was), roles=sorted(granted))
    return changed


async def deactivate(tx: Tx, partner: Partner, by: By, person_id: UUID) -> Person:
    """End what a member may do; every sign-in ends with it. Raises NoSuchPerson, LastOwner."""
    async with _an_owner_stays(tx, partner):
        return await _set_active(tx, partner, by, person_id, active=False)


async def activate(tx: Tx, partner: Partner, by: By, person_id: UUID) -> Person:
    """Let a member in again. Raises NoSuchPerson."""
    return await _set_active(tx, partner, by, person_id, active=True)


async def remove(tx: Tx, partner: Partner, by: By, person_id: UUID) -> None:
    """Remove a member with all that opens anything to them. Raises NoSuchPerson, LastOwner."""
    async with _an_owner_stays(tx, partner):
        person = await people.get(tx, members_of(partner), person_id)
        await people.delete(tx, members_of(partner), person_id)
    await _record(tx, partner, by, "member.removed", _text(tx, person))


async def reset_second_factor(tx: Tx, partner: Partner, by: By, person_id: UUID) -> tuple[Person, str | None]:
    """Take all that a member signs in by who lost the second factor; a mailed link begins anew.

    Who has no mailbox gets the link by whoever calls: it is answered then, and then alone. Raises NoSuchPerson.
    """
    person = await people.lock(tx, members_of(partner), person_id)
    link = await account.begin_anew(tx, person, by)
    return person, None if person.email else _address(tx, person, link)


async def disconnect(tx: Tx, partner: Partner, by: By, person_id: UUID) -> Person:
    """End that a member signs in by an account at the provider, and what it said of them.

    Raises NoSuchPerson, LastOwner.
    """
    async with _an_owner_stays(tx, partner):
        person = await people.get(tx, members_of(partner), person_id)
        await identities.unbind(tx, person, by)
    return person


async def _set_active(tx: Tx, partner: Partner, by: By, person_id: UUID, *, active: bool) -> Person:
    person = await people.lock(tx, members_of(partner), person_id)
    if person.active == active:
        return person
    changed = await people.change_profile(tx, person, {**person.profile, "active": active})
    await letters.tell_of_change(tx, person, changed)
    await _record(tx, partner, by, "member.activated" if active else "member.deactivated", _text(tx, person))
    return changed


@asynccontextmanager
async def _an_owner_stays(tx: Tx, partner: Partner) -> AsyncIterator[None]:
    """Do something that must leave an active owner where there was one, and one who can sign in; one at a time.

    Raises LastOwner. The partner's directory may do it all the same: it is the master of its people, and an
    administrator can always add an owner.
    """
    realm = members_of(partner)
    await store.hold_realm(tx, realm)
    before = await store.owners(tx, realm)
    yield
    after = await store.owners(tx, realm)
    if after < before:
        who = "owner who can sign in" if after is Owners.INVITED else "owner"
        raise LastOwner(f"this is the only active {who}. Give someone else the role first")


async def _record(
    tx: Tx, partner: Partner, by: By, action: str, subject: str, **details: str | Sequence[str] | None
) -> None:
    await audit.record(tx, partner.id, by.actor, action, subject, address=by.address, details=details or None)


async def _send(tx: Tx, person: Person) -> str:
    return _address(tx, person, await links.invite(tx, person))


def _address(tx: Tx, person: Person, link: Link) -> str:
    return f"{tx.links.pages}{letters.home(tx.ids, person.realm)}/invitation?token={links.token(tx, link)}"


def _text(tx: Tx, person: Person) -> str:
    return tx.ids.text("member", person.id)


async def _change(
    tx: Tx, group: Group, profile: Profile | None, people: Iterable[UUID], *, leave: Sequence[UUID] | None
) -> Changed:
    changed = await store.change_group(tx, group, profile, sorted(set(people)), leave=leave)
    return changed or Changed(replace(group, members=None))


def _check(profile: Profile) -> None:
    name = profile.get("displayName")
    if not isinstance(name, str) or not 1 <= len(name.strip()) <= LONGEST_GROUP_NAME:
        raise IncorrectParams(f"displayName must be 1 to {LONGEST_GROUP_NAME} characters")
