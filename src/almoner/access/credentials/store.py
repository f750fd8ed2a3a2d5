"""SQL for credentials and failed attempts. Times are real time."""

from collections.abc import Sequence
from datetime import datetime
from typing import Final
from uuid import UUID

from asyncpg import Record

from almoner.access.credentials.domain import NO_FACTORS, AuthenticationFactors, FailedAttempts, Passkey
from almoner.access.people.domain import Person, Realm
from almoner.platform.database.transactions import Tx

AttemptCounterKey = tuple[UUID, bytes, str]
"""The key of an attempt counter: realm, keyed hash of the user name, network."""

_PASSKEY: Final = "k.id, k.person_id, k.credential, k.public_key, k.sign_count, k.name, k.created_at, k.last_used_at"


async def load_authentication_factors(tx: Tx, person: Person) -> AuthenticationFactors:
    """The authentication factors that a person has set up."""
    row = await tx.fetchrow(
        """
        select exists (select from password where person_id = $1) as password,
               exists (
                   select from one_time_password where person_id = $1 and confirmed_at is not null
               ) as authenticator,
               (select count(*)::int from passkey where person_id = $1) as passkeys,
               (select count(*)::int from recovery_code where person_id = $1 and used_at is null) as recovery_codes
        """,
        person.id,
    )
    return AuthenticationFactors(**row) if row else NO_FACTORS


async def find_password_hash(tx: Tx, realm: Realm, person_id: UUID) -> str | None:
    """A person's password hash."""
    found: str | None = await tx.fetchval(
        "select w.hash from password w join person p on p.id = w.person_id where p.realm = $1 and p.id = $2",
        realm.id,
        person_id,
    )
    return found


async def normalise_user_name(tx: Tx, name: str) -> str:
    """A user name in the form in which names are compared."""
    found: str = await tx.fetchval("select folded($1)", name)
    return found


async def set_password_hash(tx: Tx, person: Person, password_hash: str) -> None:
    """Replace a person's password hash."""
    await tx.execute(
        """
        insert into password (person_id, hash, set_at) values ($1, $2, $3)
        on conflict (person_id) do update set hash = excluded.hash, set_at = excluded.set_at
        """,
        person.id,
        password_hash,
        tx.real_now,
    )


async def replace_password_hash(tx: Tx, person: Person, old_hash: str, new_hash: str) -> None:
    """Replace the hash of the same password, unless the password was changed in the meantime."""
    await tx.execute("update password set hash = $3 where person_id = $1 and hash = $2", person.id, old_hash, new_hash)


async def delete_password(tx: Tx, person: Person) -> None:
    """Delete a person's password."""
    await tx.execute("delete from password where person_id = $1", person.id)


async def insert_authenticator(tx: Tx, person: Person, secret: bytes) -> bool:
    """Store an unconfirmed TOTP secret in place of a former unconfirmed one; False if an app is active."""
    made = await tx.fetchval(
        """
        insert into one_time_password as known (person_id, secret, created_at) values ($1, $2, $3)
        on conflict (person_id) do update set secret = excluded.secret, created_at = excluded.created_at, last_step = 0
        where known.confirmed_at is null returning true
        """,
        person.id,
        secret,
        tx.real_now,
    )
    return bool(made)


async def find_authenticator_secret(tx: Tx, person: Person, *, confirmed: bool) -> bytes | None:
    """The encrypted TOTP secret of the active app, or of the one being set up."""
    found: bytes | None = await tx.fetchval(
        "select secret from one_time_password where person_id = $1 and (confirmed_at is not null) = $2",
        person.id,
        confirmed,
    )
    return found


async def consume_time_step(tx: Tx, person: Person, secret: bytes, step: int, *, confirmed: bool) -> bool:
    """Use up a TOTP time step and all before it; False if it or a later one was used."""
    taken = await tx.fetchval(
        """
        update one_time_password set last_step = $3, confirmed_at = coalesce(confirmed_at, $5)
        where person_id = $1 and secret = $2 and last_step < $3 and (confirmed_at is not null) = $4 returning true
        """,
        person.id,
        secret,
        step,
        confirmed,
        tx.real_now,
    )
    return bool(taken)


async def delete_authenticator(tx: Tx, person: Person) -> bool:
    """Delete the authenticator app; False if none was active."""
    gone = await tx.fetchval(
        "delete from one_time_password where person_id = $1 returning confirmed_at is not null", person.id
    )
    return bool(gone)


async def replace_recovery_codes(tx: Tx, person: Person, code_hashes: Sequence[bytes]) -> None:
    """Replace all recovery codes of a person."""
    await tx.execute("delete from recovery_code where person_id = $1", person.id)
    await tx.execute(
        "insert into recovery_code (person_id, hash) select $1, hash from unnest($2::bytea[]) as hash",
        person.id,
        code_hashes,
    )


async def consume_recovery_code(tx: Tx, person: Person, code_hash: bytes) -> bool:
    """Use up a recovery code; False if it does not exist or was used."""
    used = await tx.fetchval(
        "update recovery_code set used_at = $3 where person_id = $1 and hash = $2 and used_at is null returning true",
        person.id,
        code_hash,
        tx.real_now,
    )
    return bool(used)


async def insert_passkey(tx: Tx, passkey: Passkey) -> bool:
    """Store a passkey; False if its credential is already registered."""
    made = await tx.fetchval(
        """
        insert into passkey (id, person_id, credential, public_key, sign_count, name, created_at)
        values ($1, $2, $3, $4, $5, $6, $7) on conflict (credential) do nothing returning true
        """,
        passkey.id,
        passkey.person_id,
        passkey.credential,
        passkey.public_key,
        passkey.sign_count,
        passkey.name,
        passkey.created_at,
    )
    return bool(made)


async def list_passkeys(tx: Tx, person: Person) -> list[Passkey]:
    """A person's passkeys, oldest first."""
    rows = await tx.fetch(f"select {_PASSKEY} from passkey k where k.person_id = $1 order by k.id", person.id)
    return [Passkey(**row) for row in rows]


async def find_passkey(tx: Tx, realm: Realm, credential_id: bytes) -> Passkey | None:
    """Find a passkey in the realm by its credential ID."""
    row: Record | None = await tx.fetchrow(
        f"""
        select {_PASSKEY} from passkey k join person p on p.id = k.person_id
        where p.realm = $1 and k.credential = $2
        """,
        realm.id,
        credential_id,
    )
    return Passkey(**row) if row else None


async def record_passkey_use(tx: Tx, passkey: Passkey, sign_count: int) -> None:
    """Record a use and its signature counter; the highest counter is kept."""
    await tx.execute(
        "update passkey set sign_count = greatest(sign_count, $2), last_used_at = $3 where id = $1",
        passkey.id,
        sign_count,
        tx.real_now,
    )


async def delete_passkey(tx: Tx, person: Person, passkey_id: UUID) -> None:
    """Delete a passkey."""
    await tx.execute("delete from passkey where person_id = $1 and id = $2", person.id, passkey_id)


async def consume_challenge(tx: Tx, challenge_hash: bytes, expires_at: datetime) -> bool:
    """Use up a WebAuthn challenge; False if it was used before."""
    taken = await tx.fetchval(
        "insert into passkey_challenge (hash, expires_at) values ($1, $2) on conflict do nothing returning true",
        challenge_hash,
        expires_at,
    )
    return bool(taken)


async def lock_attempt_counters(tx: Tx, counter_keys: Sequence[AttemptCounterKey]) -> None:
    """Lock some attempt counters until the transaction ends."""
    turns = [f"{realm}{hash_.hex()}{neighbourhood}" for realm, hash_, neighbourhood in counter_keys]
    await tx.execute(
        """
        select pg_advisory_xact_lock(turn)
        from (select distinct hashtextextended(slot, 0) as turn from unnest($1::text[]) as slot order by 1) sorted
        """,
        turns,
    )


async def find_failed_attempts(tx: Tx, counter_keys: Sequence[AttemptCounterKey]) -> list[FailedAttempts | None]:
    """The failed attempts of each slot."""
    rows = await tx.fetch(
        """
        select t.failures, t.last_at
        from unnest($1::uuid[], $2::bytea[], $3::text[]) with ordinality as s (realm, name_hash, network, n)
        left join login_attempt t using (realm, name_hash, network) order by s.n
        """,
        *_key_columns(counter_keys),
    )
    return [None if row["failures"] is None else FailedAttempts(row["failures"], row["last_at"]) for row in rows]


async def save_failure_counts(tx: Tx, counter_keys: Sequence[AttemptCounterKey], failure_counts: Sequence[int]) -> None:
    """Store the number of failed attempts of each slot, the last one being now."""
    await tx.execute(
        """
        insert into login_attempt (realm, name_hash, network, failures, last_at)
        select s.realm, s.name_hash, s.network, s.failures, $5
        from unnest($1::uuid[], $2::bytea[], $3::text[], $4::int[]) as s (realm, name_hash, network, failures)
        order by 1, 2, 3
        on conflict (realm, name_hash, network)
            do update set failures = excluded.failures, last_at = excluded.last_at
        """,
        *_key_columns(counter_keys),
        failure_counts,
        tx.real_now,
    )


async def reset_source_and_decrement_shared_counters(
    tx: Tx, source_counter_keys: Sequence[AttemptCounterKey], shared_counter_keys: Sequence[AttemptCounterKey]
) -> None:
    """Reset the counters of ``source_counter_keys``, and take one attempt off those of ``shared_counter_keys``."""
    await tx.execute(
        """
        with held as (
            select t.realm, t.name_hash, t.network, s.own
            from login_attempt t
            join unnest($1::uuid[], $2::bytea[], $3::text[], $4::boolean[])
                as s (realm, name_hash, network, own) using (realm, name_hash, network)
            order by 1, 2, 3 for no key update of t
        )
        update login_attempt t set failures = case when held.own then 0 else greatest(t.failures - 1, 0) end
        from held
        where (t.realm, t.name_hash, t.network) = (held.realm, held.name_hash, held.network)
        """,
        *_key_columns([*source_counter_keys, *shared_counter_keys]),
        [True] * len(source_counter_keys) + [False] * len(shared_counter_keys),
    )


async def delete_attempts(tx: Tx, realm_id: UUID, user_name_hashes: Sequence[bytes]) -> None:
    """Delete all attempts for some names in a realm, from any source."""
    await tx.execute(
        "delete from login_attempt where realm = $1 and name_hash = any($2::bytea[])", realm_id, user_name_hashes
    )


async def claim_refused_attempt_audit(tx: Tx, counter_key: AttemptCounterKey, before: datetime) -> bool:
    """Whether to audit a refusal of the slot now: True if none was audited since ``before``."""
    reported = await tx.fetchval(
        """
        insert into login_attempt as t (realm, name_hash, network, failures, last_at, audited_at)
        values ($1, $2, $3, 0, $4, $4)
        on conflict (realm, name_hash, network) do update set audited_at = excluded.audited_at
        where t.audited_at is null or t.audited_at <= $5 returning true
        """,
        *counter_key,
        tx.real_now,
        before,
    )
    return bool(reported)


async def load_oldest_attempt_and_challenge_times(tx: Tx) -> tuple[datetime | None, datetime | None]:
    """The times of the oldest attempt and of the first expired challenge."""
    row = await tx.fetchrow(
        """
        select (select min(last_at) from login_attempt) as tried,
               (select min(expires_at) from passkey_challenge) as challenge
        """
    )
    return (row["tried"], row["challenge"]) if row else (None, None)


async def delete_expired_attempts_and_challenges(tx: Tx, attempts_before: datetime, limit: int) -> int:
    """Delete attempts older than ``attempts_before`` and expired challenges; returns how many rows."""
    gone = await tx.fetchval(
        """
        with old_tries as materialized (
            select realm, name_hash, network from login_attempt where last_at <= $1
            order by last_at limit $3 for update skip locked
        ), tries as (
            delete from login_attempt a using old_tries o
            where a.realm = o.realm and a.name_hash = o.name_hash and a.network = o.network returning 1
        ), old_challenges as materialized (
            select hash from passkey_challenge where expires_at <= $2
            order by expires_at limit $3 for update skip locked
        ), challenges as (
            delete from passkey_challenge c using old_challenges o where c.hash = o.hash returning 1
        ) select (select count(*) from tries) + (select count(*) from challenges)
        """,
        attempts_before,
        tx.real_now,
        limit,
    )
    return int(gone)


def _key_columns(counter_keys: Sequence[AttemptCounterKey]) -> tuple[list[UUID], list[bytes], list[str]]:
    return [key[0] for key in counter_keys], [key[1] for key in counter_keys], [key[2] for key in counter_keys]
