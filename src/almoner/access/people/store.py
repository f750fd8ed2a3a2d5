"""SQL for people and their roles."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final
from uuid import UUID

import asyncpg
from asyncpg import Record

from almoner.access.people.domain import Person, Profile, Realm, Role
from almoner.platform.database.across_partners import across_partners
from almoner.platform.database.transactions import AllPartners, Tx

_NAME: Final = "person_name"


def person_columns_sql(role_condition: str = "true") -> str:
    """The SQL select list for a person; ``role_condition`` is the SQL condition for role rows that count."""
    return f"""
        p.id, p.realm, p.profile, p.active, p.version, p.created_at, p.updated_at,
        array(
            select r.role from person_role r where r.person_id = p.id and {role_condition}
            union
            select g.role from member_group_member m join member_group g on g.id = m.group_id
            where m.person_id = p.id and g.role is not null
        ) as roles
    """


COLUMNS: Final = person_columns_sql()


def person_from_row(row: Record) -> Person:
    """Build a person from a row with ``COLUMNS``."""
    return Person(
        row["id"],
        Realm(row["realm"]),
        row["profile"],
        row["active"],
        row["version"],
        row["created_at"],
        row["updated_at"],
        frozenset(row["roles"]),
    )


async def insert(tx: Tx, person: Person) -> bool:
    """Store a new person with granted roles; False if the userName is taken."""
    made = await tx.fetchval(
        """
        with made as (
            insert into person (id, realm, profile, version, created_at, updated_at) values ($1, $2, $3, 1, $4, $4)
            on conflict on constraint person_name do nothing returning id, realm
        ), granted as (
            insert into person_role (realm, person_id, role, source)
            select realm, id, role, 'granted' from made, unnest($5::text[]) as role
        )
        select exists (select from made)
        """,
        person.id,
        person.realm.id,
        person.profile,
        person.created_at,
        sorted(person.roles),
    )
    return bool(made)


async def find(tx: Tx, scope: Realm | AllPartners, person_id: UUID) -> Person | None:
    """One person."""
    realm = scope.id if isinstance(scope, Realm) else None
    row = await tx.fetchrow(
        f"select {COLUMNS} from person p where p.id = $1 and ($2::uuid is null or p.realm = $2)", person_id, realm
    )
    return person_from_row(row) if row else None


async def list_people_with_ids(tx: Tx, realm: Realm, person_ids: Sequence[UUID]) -> list[Person]:
    """Those of the people who belong to the realm."""
    rows = await tx.fetch(
        f"select {COLUMNS} from person p where p.realm = $1 and p.id = any($2::uuid[])", realm.id, person_ids
    )
    return [person_from_row(row) for row in rows]


async def find_by_user_name(tx: Tx, realm: Realm, user_name: str) -> Person | None:
    """The person with this user name (case-insensitive)."""
    row = await tx.fetchrow(
        f"select {COLUMNS} from person p where p.realm = $1 and p.user_name = folded($2)", realm.id, user_name
    )
    return person_from_row(row) if row else None


async def find_by_external_id(tx: Tx, realm: Realm, external_id: str) -> Person | None:
    """The person with this SCIM externalId; the oldest if there are several."""
    row = await tx.fetchrow(
        f"select {COLUMNS} from person p where p.realm = $1 and p.external_id = normalize($2) order by p.id limit 1",
        realm.id,
        external_id,
    )
    return person_from_row(row) if row else None


_PARTNERS_WITH_EMAIL: Final = """
select distinct partner_id from person where email = lower($1) and active and partner_id is not null order by partner_id
"""


@across_partners("link")
async def list_partner_ids_with_email(tx: Tx, email: str) -> list[UUID]:
    """The partners that have an active member with this email address (case-insensitive)."""
    return [row["partner_id"] for row in await tx.fetch(_PARTNERS_WITH_EMAIL, email)]


async def find_for_update(tx: Tx, realm: Realm, person_id: UUID) -> Person | None:
    """One person, locked until the transaction ends."""
    row = await tx.fetchrow(
        f"select {COLUMNS} from person p where p.realm = $1 and p.id = $2 for no key update of p", realm.id, person_id
    )
    return person_from_row(row) if row else None


async def list_page(tx: Tx, realm: Realm, after: UUID | None, limit: int) -> list[Person]:
    """People in order of creation."""
    rows = await tx.fetch(
        f"""
        select {COLUMNS} from person p where p.realm = $1 and ($2::uuid is null or p.id > $2) order by p.id limit $3
        """,
        realm.id,
        after,
        limit,
    )
    return [person_from_row(row) for row in rows]


async def update_profile(tx: Tx, person: Person, profile: Profile) -> Person | None:
    """Replace a locked person's profile; None if the new userName is taken."""
    try:
        row = await tx.fetchrow(
            f"""
            update person p set profile = $3, version = version + 1, updated_at = $4
            where p.realm = $1 and p.id = $2 returning {COLUMNS}
            """,
            person.realm.id,
            person.id,
            profile,
            tx.now,
        )
    except asyncpg.UniqueViolationError as error:
        if error.constraint_name != _NAME:
            raise
        return None
    assert row is not None
    return person_from_row(row)


async def set_roles(tx: Tx, person: Person, roles: Iterable[Role], source: str) -> None:
    """Replace a locked person's roles from one source."""
    await tx.execute(
        """
        with gone as (
            delete from person_role where realm = $1 and person_id = $2 and source = $4 and role <> all($3::text[])
        )
        insert into person_role (realm, person_id, role, source)
        select $1, $2, role, $4 from unnest($3::text[]) as role on conflict do nothing
        """,
        person.realm.id,
        person.id,
        sorted(roles),
        source,
    )


async def clear_sso_roles(tx: Tx, realm: Realm) -> None:
    """Delete all roles given by single sign-on."""
    await tx.execute("delete from person_role where realm = $1 and source = 'provider'", realm.id)


async def load_roles_by_source(tx: Tx, realm: Realm, person_id: UUID) -> Mapping[str, frozenset[str]]:
    """A person's roles by source: ``granted`` or ``provider``."""
    rows = await tx.fetch(
        "select source, array_agg(role) as roles from person_role where realm = $1 and person_id = $2 group by source",
        realm.id,
        person_id,
    )
    return {row["source"]: frozenset(row["roles"]) for row in rows}


async def has_had_credentials(tx: Tx, realm: Realm, person_id: UUID) -> bool:
    """Whether a person has or once had a password or passkey."""
    return bool(
        await tx.fetchval("select had_credentials from person where realm = $1 and id = $2", realm.id, person_id)
    )


async def delete(tx: Tx, realm: Realm, person_id: UUID) -> bool:
    """Delete a person; False if there was none.

    Their groups change too and are locked first, as in every membership change.
    """
    gone = await tx.fetchval(
        """
        with held as (
            select g.id from member_group g join member_group_member m on m.group_id = g.id
            where m.partner_id = $1 and m.person_id = $2 order by g.id for no key update of g
        ), changed as (
            update member_group set version = version + 1, updated_at = $3 where id in (select id from held)
        )
        delete from person where realm = $1 and id = $2 and (select count(*) from held) >= 0 returning true
        """,
        realm.id,
        person_id,
        tx.now,
    )
    return bool(gone)
