"""SQL for API keys."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from asyncpg import Record

from almoner.access.keys.domain import ApiKey, Kind
from almoner.kit.rates import RequestRate
from almoner.platform.database.across_partners import across_partners
from almoner.platform.database.transactions import Partner, Tx

_COLUMNS = (
    "id, partner_id, kind, name, hint, scopes, created_at, expires_at, revoked_at, last_used_at, last_used_route, "
    "replaced_by"
)


def _key(row: Record | dict[str, Any]) -> ApiKey:
    return ApiKey(**{**row, "scopes": frozenset(row["scopes"])})


@across_partners("link")
async def find_by_secret_hash(tx: Tx, secret_hash: bytes) -> ApiKey | None:
    """The key with this keyed hash, of any partner: used to authenticate.

    A SCIM key has no scope unless SCIM is enabled for its partner (spec 5.6). The partner's own rate limit is read with
    it, so that it needs no further statement.
    """
    row = await tx.fetchrow(
        f"""
        select {_COLUMNS}, kind = 'scim' and not scim_enabled as closed, paused_at is not null as is_partner_paused,
               per_second, burst
        from api_key
        cross join lateral (select scim_enabled, paused_at from partner where partner.id = partner_id) of_partner
        left join lateral (
            select per_second, burst from partner_rate_limit own
            where own.partner_id = api_key.partner_id and own.key_kind = api_key.kind
        ) limited on true
        where hash = $1
        """,
        secret_hash,
    )
    if row is None:
        return None
    values = dict(row)
    per_second, burst = values.pop("per_second"), values.pop("burst")
    values["rate"] = None if burst is None else RequestRate(per_second, burst)
    return _key({**values, "scopes": []}) if values.pop("closed") else _key(values)


async def insert(tx: Tx, key: ApiKey, secret_hash: bytes) -> None:
    """Store a new key."""
    await tx.execute(
        """
        insert into api_key (id, partner_id, kind, hash, name, hint, scopes, created_at, expires_at)
        values ($1, $2, $3, $4, $5, $6, $7, $8, $9)
        """,
        key.id,
        key.partner_id,
        key.kind,
        secret_hash,
        key.name,
        key.hint,
        sorted(key.scopes),
        key.created_at,
        key.expires_at,
    )


async def list_by_partner(tx: Tx, partner: Partner) -> list[ApiKey]:
    """All keys of a partner, newest first."""
    rows = await tx.fetch(f"select {_COLUMNS} from api_key where partner_id = $1 order by id desc", partner.id)
    return [_key(row) for row in rows]


@across_partners("operators")
async def list_expiring(tx: Tx, after: datetime, until: datetime) -> list[ApiKey]:
    """Keys without a successor that expire within a period, soonest first."""
    rows = await tx.fetch(
        f"""
        select {_COLUMNS} from api_key
        where revoked_at is null and replaced_by is null and expires_at > $1 and expires_at <= $2
        order by expires_at, id
        """,
        after,
        until,
    )
    return [_key(row) for row in rows]


@across_partners("operators")
async def find(tx: Tx, key_id: UUID) -> ApiKey | None:
    """One key by its ID."""
    row = await tx.fetchrow(f"select {_COLUMNS} from api_key where id = $1", key_id)
    return _key(row) if row else None


async def set_expiry_and_successor(tx: Tx, key: ApiKey, at: datetime, successor_id: UUID) -> None:
    """Set when a key expires, unless it ends earlier; ``successor_id`` replaces it."""
    await tx.execute(
        "update api_key set expires_at = least(expires_at, $2), replaced_by = $3 where id = $1",
        key.id,
        at,
        successor_id,
    )


async def revoke(tx: Tx, key: ApiKey, at: datetime) -> bool:
    """Revoke a key; False if it is revoked already."""
    return bool(
        await tx.fetchval(
            "update api_key set revoked_at = $2 where id = $1 and revoked_at is null returning true", key.id, at
        )
    )


@across_partners("held")
async def record_key_uses(tx: Tx, key_uses: Sequence[tuple[UUID, datetime, str, str]]) -> None:
    """Store last uses as (key, at, address, route), unless a later one is stored."""
    await tx.execute(
        """
        update api_key k set last_used_at = u.at, last_used_address = u.address, last_used_route = u.route
        from unnest($1::uuid[], $2::timestamptz[], $3::text[], $4::text[]) as u (id, at, address, route)
        where k.id = u.id and (k.last_used_at is null or k.last_used_at < u.at)
        """,
        [use[0] for use in key_uses],
        [use[1] for use in key_uses],
        [use[2] for use in key_uses],
        [use[3] for use in key_uses],
    )


async def load_rate_limits_by_key_kind(tx: Tx, partner: Partner) -> dict[Kind, RequestRate]:
    """The partner's own rate limits by kind of key; the deployment's applies to other kinds."""
    rows = await tx.fetch(
        "select key_kind, per_second, burst from partner_rate_limit where partner_id = $1", partner.id
    )
    return {row["key_kind"]: RequestRate(row["per_second"], row["burst"]) for row in rows}


async def set_rate_limit(tx: Tx, partner: Partner, kind: Kind, rate: RequestRate | None) -> None:
    """Set the partner's own rate limit for a kind of key; None removes it."""
    if rate is None:
        await tx.execute("delete from partner_rate_limit where partner_id = $1 and key_kind = $2", partner.id, kind)
        return
    await tx.execute(
        """
        insert into partner_rate_limit (partner_id, key_kind, per_second, burst) values ($1, $2, $3, $4)
        on conflict (partner_id, key_kind) do update set per_second = excluded.per_second, burst = excluded.burst
        """,
        partner.id,
        kind,
        rate.per_second,
        rate.burst,
    )
