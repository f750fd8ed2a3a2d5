"""SQL for members and groups."""

from collections.abc import Sequence
from datetime import datetime
from typing import Final
from uuid import UUID

from asyncpg import Record

from almoner.access.members.domain import Group, GroupChange, GroupMember, MembershipState, OwnerStatus
from almoner.access.people import service as people
from almoner.access.people.domain import MemberRole, Profile, Realm
from almoner.platform.database.transactions import Partner, Tx

_CAN_SIGN_IN: Final = """
(
    exists (select from password c where c.person_id = p.id)
    or exists (select from passkey c where c.person_id = p.id)
    or exists (select from sign_on_identity c where c.person_id = p.id)
)
"""
_STANDING: Final = f"""
select {people.COLUMNS},
       array(select r.role from person_role r where r.person_id = p.id and r.source = 'granted') as granted,
       {_CAN_SIGN_IN} or exists (
           -- offset: looked up for each member of the page, never read whole to be hashed
           select from sign_in c where c.person_id = p.id and c.method <> 'provider' offset 0
       ) as joined,
       (
           select max(l.expires_at) from one_time_link l
           where l.person_id = p.id and l.purpose = 'invitation' and l.used_at is null and l.replaced_at is null
             and not l.revoked and l.expires_at > $2
       ) as invited_until
from person p
"""
_GROUP: Final = "g.id, g.partner_id, g.profile, g.role, g.version, g.created_at, g.updated_at"
_CALLED: Final = "coalesce(p.profile ->> 'displayName', p.profile #>> '{name,formatted}', p.profile ->> 'userName')"
_MEMBERS: Final = f"""
array(
    select row(m.person_id, {_CALLED}) from member_group_member m join person p on p.id = m.person_id
    where m.group_id = g.id order by m.person_id
) as members
"""


def _membership(row: Record) -> MembershipState:
    return MembershipState(people.person_from_row(row), frozenset(row["granted"]), row["joined"], row["invited_until"])


async def lock_realm_for_update(tx: Tx, realm: Realm) -> None:
    """Lock the partner's memberships until the transaction ends, so that role changes happen one at a time."""
    await tx.execute("select pg_advisory_xact_lock(hashtextextended('members of ' || $1::uuid::text, 0))", realm.id)


async def load_owner_status(tx: Tx, realm: Realm) -> OwnerStatus:
    """Whether the partner has an active owner who can sign in, only an invited one, or none."""
    found = await tx.fetchval(
        f"""
        select max(case when {_CAN_SIGN_IN} then {OwnerStatus.ARE_THERE} else {OwnerStatus.INVITED} end)
        from person p
        where p.active and p.id in (
            select r.person_id from person_role r where r.realm = $1 and r.role = 'owner'
            union all
            select m.person_id from member_group g join member_group_member m on m.group_id = g.id
            where g.partner_id = $1 and g.role = 'owner'
        )
        """,
        realm.id,
    )
    return OwnerStatus(found or OwnerStatus.NONE)


async def find_membership(tx: Tx, realm: Realm, person_id: UUID) -> MembershipState | None:
    """One member."""
    row = await tx.fetchrow(f"{_STANDING} where p.realm = $1 and p.id = $3", realm.id, tx.now, person_id)
    return _membership(row) if row else None


async def list_page(tx: Tx, realm: Realm, after: UUID | None, limit: int) -> list[MembershipState]:
    """Members in order of creation."""
    rows = await tx.fetch(
        f"{_STANDING} where p.realm = $1 and ($3::uuid is null or p.id > $3) order by p.id limit $4",
        realm.id,
        tx.now,
        after,
        limit,
    )
    return [_membership(row) for row in rows]


async def count_invitations_since(tx: Tx, realm: Realm, person_id: UUID, since: datetime) -> int:
    """How many invitations were sent to a member since a moment."""
    count = await tx.fetchval(
        """
        select count(*) from one_time_link l join person p on p.id = l.person_id
        where p.realm = $1 and l.person_id = $2 and l.purpose = 'invitation' and l.created_at > $3
        """,
        realm.id,
        person_id,
        since,
    )
    return int(count)


def _group(row: Record) -> Group:
    members = tuple(GroupMember(*one) for one in row["members"]) if "members" in row else None
    return Group(
        row["id"],
        row["partner_id"],
        row["profile"],
        row["role"],
        row["version"],
        row["created_at"],
        row["updated_at"],
        members,
    )


async def insert_group(tx: Tx, partner: Partner, group: Group, person_ids: Sequence[UUID]) -> None:
    """Store a new group; people who are not members of the partner are left out."""
    await tx.execute(
        """
        with known as (
            select id from person where realm = $1 and id = any($5::uuid[]) order by id for key share
        ), made as (
            insert into member_group (id, partner_id, profile, version, created_at, updated_at)
            values ($2, $1, $3, 1, $4, $4) returning id
        )
        insert into member_group_member (partner_id, group_id, person_id, added_at)
        select $1, made.id, known.id, $4 from made, known
        """,
        partner.id,
        group.id,
        group.profile,
        group.created_at,
        person_ids,
    )


async def find_group(tx: Tx, partner: Partner, group_id: UUID, *, with_members: bool) -> Group | None:
    """One group."""
    columns = f"{_GROUP}, {_MEMBERS}" if with_members else _GROUP
    row = await tx.fetchrow(
        f"select {columns} from member_group g where g.partner_id = $1 and g.id = $2", partner.id, group_id
    )
    return _group(row) if row else None


async def find_group_for_update(tx: Tx, partner: Partner, group_id: UUID) -> Group | None:
    """One group without its members, locked until the transaction ends."""
    row = await tx.fetchrow(
        f"select {_GROUP} from member_group g where g.partner_id = $1 and g.id = $2 for no key update",
        partner.id,
        group_id,
    )
    return _group(row) if row else None


async def list_groups_with_sizes(tx: Tx, partner: Partner, after: UUID | None, limit: int) -> list[tuple[Group, int]]:
    """Groups in order of creation, each with its number of members."""
    rows = await tx.fetch(
        f"""
        select {_GROUP}, (select count(*) from member_group_member m where m.group_id = g.id) as size
        from member_group g where g.partner_id = $1 and ($2::uuid is null or g.id > $2) order by g.id limit $3
        """,
        partner.id,
        after,
        limit,
    )
    return [(_group(row), row["size"]) for row in rows]


async def list_group_members(
    tx: Tx, partner: Partner, group_id: UUID, after: UUID | None, limit: int
) -> list[GroupMember]:
    """Members of a group in order of creation."""
    rows = await tx.fetch(
        f"""
        select m.person_id, {_CALLED} from member_group_member m join person p on p.id = m.person_id
        where m.partner_id = $1 and m.group_id = $2 and ($3::uuid is null or m.person_id > $3)
        order by m.person_id limit $4
        """,
        partner.id,
        group_id,
        after,
        limit,
    )
    return [GroupMember(*row) for row in rows]


async def list_groups_of_people(tx: Tx, partner: Partner, person_ids: Sequence[UUID]) -> list[tuple[UUID, Group]]:
    """Each person with each of their groups."""
    rows = await tx.fetch(
        f"""
        select m.person_id, {_GROUP} from member_group_member m join member_group g on g.id = m.group_id
        where m.partner_id = $1 and m.person_id = any($2::uuid[]) order by m.person_id, g.id
        """,
        partner.id,
        person_ids,
    )
    return [(row["person_id"], _group(row)) for row in rows]


async def update_group(
    tx: Tx,
    group: Group,
    profile: Profile | None,
    person_ids_to_add: Sequence[UUID],
    *,
    person_ids_to_remove: Sequence[UUID] | None,
) -> GroupChange | None:
    """Update a locked group: its profile and its members. ``person_ids_to_remove``: None removes all who are not added.

    People who are not members of the partner are left out. None if nothing changed.
    """
    row = await tx.fetchrow(
        f"""
        with known as (
            select id from person where realm = $1 and id = any($4::uuid[]) order by id for key share
        ), gone as (
            delete from member_group_member
            where group_id = $2
              and case when $5::uuid[] is null then person_id <> all($4::uuid[]) else person_id = any($5::uuid[]) end
            returning person_id
        ), come as (
            insert into member_group_member (partner_id, group_id, person_id, added_at)
            select $1, $2, id, $6 from known
            on conflict do nothing returning person_id
        )
        update member_group g
        set profile = coalesce($3::jsonb, g.profile), version = g.version + 1, updated_at = $6
        where g.partner_id = $1 and g.id = $2
          and (g.profile <> $3::jsonb or exists (select from gone) or exists (select from come))
        returning {_GROUP}, array(select person_id from come order by 1) as came,
                  array(select person_id from gone order by 1) as went
        """,
        group.partner_id,
        group.id,
        profile,
        person_ids_to_add,
        person_ids_to_remove,
        tx.now,
    )
    return GroupChange(_group(row), tuple(row["came"]), tuple(row["went"])) if row else None


async def map_group_to_role(tx: Tx, group: Group, role: MemberRole | None) -> Group:
    """Set the role that all members of a locked group have."""
    row = await tx.fetchrow(
        f"""
        update member_group g set role = $3 where g.partner_id = $1 and g.id = $2 returning {_GROUP}
        """,
        group.partner_id,
        group.id,
        role,
    )
    assert row is not None
    return _group(row)


async def delete_group(tx: Tx, partner: Partner, group_id: UUID) -> bool:
    """Delete a group; False if there was none."""
    gone = await tx.fetchval(
        "delete from member_group where partner_id = $1 and id = $2 returning true", partner.id, group_id
    )
    return bool(gone)
