"""SQL for sign-ins and emailed links."""

from collections.abc import Sequence
from datetime import datetime
from typing import Final
from uuid import UUID

from asyncpg import Record

from almoner.access.people import service as people
from almoner.access.people.domain import Person, Realm
from almoner.access.sign_ins.domain import (
    MEMBER_LIFETIME,
    OPERATOR_LIFETIME,
    SEEN_INTERVAL,
    EmailLink,
    EndReason,
    Purpose,
    SignIn,
)
from almoner.platform.database.transactions import Tx

_COLUMNS: Final = (
    "id, realm, person_id, method, address, device, created_at, authenticated_at, last_seen_at, "
    "expires_at, ended_at, end_reason"
)
_LINK: Final = "id, person_id, purpose, created_at, expires_at, used_at, replaced_at, revoked"

_COUNTS: Final = "(r.source <> 'provider' or f.method = 'provider')"
"""Roles from single sign-on count only in sign-ins made through it (0030)."""

FIND: Final = f"""
with found as (
    select s.* from sign_in s join person p on p.id = s.person_id
    where s.hash = $1 and s.realm = $2 and s.ended_at is null and s.expires_at > $3 and s.last_seen_at > $4 and p.active
), seen as (
    update sign_in s set last_seen_at = $3 from found where s.id = found.id and found.last_seen_at <= $5
    and s.ended_at is null
)
select f.id as sign_in_id, f.realm as sign_in_realm, f.person_id, f.method, f.address, f.device,
    f.created_at as started_at, f.authenticated_at, greatest(f.last_seen_at, case when f.last_seen_at <= $5
    then $3 end) as last_seen_at,
    f.expires_at, {people.person_columns(_COUNTS)}
from found f join person p on p.id = f.person_id
"""


def _sign_in(row: Record) -> SignIn:
    return SignIn(**{**row, "realm": Realm(row["realm"])})


async def insert(tx: Tx, sign_in: SignIn, secret_hash: bytes) -> bool:
    """Store a new sign-in; False if the person is not active."""
    made = await tx.fetchval(
        """
        insert into sign_in (id, realm, person_id, hash, method, address, device, created_at, authenticated_at,
                             last_seen_at, expires_at)
        select $1, p.realm, p.id, $4, $5, $6, $7, $8, $10, $8, $9
        from person p where p.realm = $2 and p.id = $3 and p.active for share of p
        returning true
        """,
        sign_in.id,
        sign_in.realm.id,
        sign_in.person_id,
        secret_hash,
        sign_in.method,
        sign_in.address,
        sign_in.device,
        sign_in.created_at,
        sign_in.expires_at,
        sign_in.authenticated_at,
    )
    return bool(made)


async def find_sign_in_by_secret_hash(tx: Tx, realm: Realm, secret_hash: bytes) -> tuple[SignIn, Person] | None:
    """The live sign-in and person for a secret's hash; updates last-seen at most once a minute."""
    lasting = MEMBER_LIFETIME if realm.partner else OPERATOR_LIFETIME
    row = await tx.fetchrow(
        FIND, secret_hash, realm.id, tx.real_now, tx.real_now - lasting.idle_timeout, tx.real_now - SEEN_INTERVAL
    )
    if row is None:
        return None
    sign_in = SignIn(
        row["sign_in_id"],
        Realm(row["sign_in_realm"]),
        row["person_id"],
        row["method"],
        row["address"],
        row["device"],
        row["started_at"],
        row["authenticated_at"],
        row["last_seen_at"],
        row["expires_at"],
    )
    return sign_in, people.person_from_row(row)


async def record_reauthentication(tx: Tx, sign_in: SignIn, secret_hash: bytes) -> None:
    """Record a reauthentication and replace the sign-in's secret."""
    await tx.execute(
        "update sign_in set authenticated_at = $2, last_seen_at = $2, hash = $3 where id = $1 and ended_at is null",
        sign_in.id,
        tx.real_now,
        secret_hash,
    )


async def list_by_person(tx: Tx, person: Person, limit: int) -> list[SignIn]:
    """A person's sign-ins, newest first, including ended ones."""
    rows = await tx.fetch(
        f"select {_COLUMNS} from sign_in where person_id = $1 order by id desc limit $2", person.id, limit
    )
    return [_sign_in(row) for row in rows]


async def list_active_sign_ins(tx: Tx, realm: Realm, last_seen_after: datetime) -> list[SignIn]:
    """Sign-ins of a realm that have not ended, the one seen last first."""
    rows = await tx.fetch(
        f"""
        select s.* from person p cross join lateral (
            select {_COLUMNS} from sign_in
            where person_id = p.id and ended_at is null and expires_at > $2 and last_seen_at > $3
        ) s
        where p.realm = $1 order by s.last_seen_at desc, s.id
        """,
        realm.id,
        tx.real_now,
        last_seen_after,
    )
    return [_sign_in(row) for row in rows]


async def list_recent_ip_addresses(tx: Tx, realm: Realm, person_id: UUID, limit: int) -> list[str]:
    """Network addresses of the newest sign-ins."""
    rows = await tx.fetch(
        "select address from sign_in where realm = $1 and person_id = $2 order by id desc limit $3",
        realm.id,
        person_id,
        limit,
    )
    return [row["address"] for row in rows]


async def load_device_cookie_version(tx: Tx, realm: Realm, person_id: UUID) -> int:
    """The counter that invalidates all device cookies of a person when it is raised; 0 if there is nobody."""
    found: int | None = await tx.fetchval("select epoch from person where realm = $1 and id = $2", realm.id, person_id)
    return found or 0


async def invalidate_device_cookies(tx: Tx, person: Person) -> None:
    """Raise a person's counter, which invalidates their device cookies and tickets."""
    await tx.execute("update person set epoch = epoch + 1 where id = $1", person.id)


async def end_sign_ins(
    tx: Tx, person: Person, sign_in_ids: Sequence[UUID] | None, reason: EndReason, except_id: UUID | None
) -> list[UUID]:
    """End some sign-ins of a person, or all except ``except_id``; returns those that were active."""
    rows = await tx.fetch(
        """
        update sign_in set ended_at = $4, end_reason = $5
        where person_id = $1 and ended_at is null and expires_at > $4
            and ($2::uuid[] is null or id = any($2)) and ($3::uuid is null or id <> $3)
        returning id
        """,
        person.id,
        sign_in_ids,
        except_id,
        tx.real_now,
        reason,
    )
    return [row["id"] for row in rows]


async def end_sso_sign_ins(tx: Tx, realm: Realm, person_id: UUID | None) -> int:
    """End live sign-ins made through single sign-on, of one person or the whole realm; returns how many."""
    of = "person_id = $2" if person_id else "$2::uuid is null"
    ended = await tx.fetchval(
        f"""
        with held as (
            select id from sign_in
            where realm = $1 and method = 'provider' and ended_at is null and expires_at > $3 and {of}
            order by id for update
        ), ended as (
            update sign_in set ended_at = $3, end_reason = 'revoked' where id in (select id from held) returning 1
        )
        select count(*) from ended
        """,
        realm.id,
        person_id,
        tx.real_now,
    )
    return int(ended)


async def insert_link(tx: Tx, link: EmailLink) -> None:
    """Store a new link; it replaces an open one of the same purpose."""
    await tx.execute(
        """
        update one_time_link set replaced_at = $3
        where person_id = $1 and purpose = $2 and used_at is null and replaced_at is null and not revoked
        """,
        link.person_id,
        link.purpose,
        link.created_at,
    )
    await tx.execute(
        "insert into one_time_link (id, person_id, purpose, created_at, expires_at) values ($1, $2, $3, $4, $5)",
        link.id,
        link.person_id,
        link.purpose,
        link.created_at,
        link.expires_at,
    )


async def find_password_link_block_end(tx: Tx, person: Person) -> datetime | None:
    """Until when the person gets no links that set a password, because their address changed; None if they do."""
    until: datetime | None = await tx.fetchval("select links_withheld_until($1, $2)", person.id, tx.now)
    return until


async def find_link(tx: Tx, link_id: UUID, purpose: Purpose) -> tuple[EmailLink, Person] | None:
    """An emailed link by its ID, and its person, active or not."""
    row = await tx.fetchrow(
        f"""
        select l.id as link_id, l.person_id, l.purpose, l.created_at as link_created_at, l.expires_at, l.used_at,
            l.replaced_at, l.revoked, {people.COLUMNS}
        from one_time_link l join person p on p.id = l.person_id where l.id = $1 and l.purpose = $2
        """,
        link_id,
        purpose,
    )
    if row is None:
        return None
    link = EmailLink(
        row["link_id"],
        row["person_id"],
        row["purpose"],
        row["link_created_at"],
        row["expires_at"],
        row["used_at"],
        row["replaced_at"],
        row["revoked"],
    )
    return link, people.person_from_row(row)


async def consume_link(tx: Tx, person: Person, link: EmailLink) -> bool:
    """Use up a link; False if it was used, replaced, revoked or has expired."""
    used = await tx.fetchval(
        """
        update one_time_link set used_at = $3
        where person_id = $1 and id = $2 and used_at is null and replaced_at is null and not revoked and expires_at > $3
        returning true
        """,
        person.id,
        link.id,
        tx.now,
    )
    return bool(used)


async def revoke_links(tx: Tx, person: Person) -> None:
    """Revoke a person's open links."""
    await tx.execute("select revoke_links($1)", person.id)


async def find_newest_link(tx: Tx, person: Person, purpose: Purpose) -> EmailLink | None:
    """The newest link of a purpose, in any state."""
    row = await tx.fetchrow(
        f"""
        select {_LINK} from one_time_link where person_id = $1 and purpose = $2 order by created_at desc,
            id desc limit 1
        """,
        person.id,
        purpose,
    )
    return EmailLink(**row) if row else None


async def count_links(tx: Tx, person: Person, purpose: Purpose, since: datetime) -> int:
    """How many links of a purpose were created since a moment."""
    made = await tx.fetchval(
        "select count(*) from one_time_link where person_id = $1 and purpose = $2 and created_at > $3",
        person.id,
        purpose,
        since,
    )
    return int(made)


async def load_oldest_sign_in_and_sign_in_link_times(tx: Tx) -> tuple[datetime | None, datetime | None]:
    """When the oldest ended sign-in ended (real time) and the oldest closed link closed (business time)."""
    row = await tx.fetchrow(
        """
        select (select min(least(ended_at, expires_at)) from sign_in) as sign_in,
               (select min(expires_at) from one_time_link) as link
        """
    )
    return (row["sign_in"], row["link"]) if row else (None, None)


async def delete_expired_sign_ins_and_links(
    tx: Tx, sign_ins_ended_before: datetime, links_expired_before: datetime, limit: int
) -> int:
    """Delete sign-ins and links that ended before these times; returns how many."""
    gone = await tx.fetchval(
        """
        with old_sign_ins as materialized (
            select id from sign_in where least(ended_at, expires_at) <= $1
            order by least(ended_at, expires_at) limit $3 for update skip locked
        ), sign_ins as (
            delete from sign_in s using old_sign_ins o where s.id = o.id returning 1
        ), old_links as materialized (
            select id from one_time_link where expires_at <= $2 order by expires_at limit $3 for update skip locked
        ), links as (
            delete from one_time_link l using old_links o where l.id = o.id returning 1
        ) select (select count(*) from sign_ins) + (select count(*) from links)
        """,
        sign_ins_ended_before,
        links_expired_before,
        limit,
    )
    return int(gone)
