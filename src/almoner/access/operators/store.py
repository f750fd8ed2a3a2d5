"""SQL for operators' tokens, approvals and access grants between operators."""

from collections.abc import Sequence
from datetime import datetime
from typing import Final
from uuid import UUID

from asyncpg import Record

from almoner.access.operators.domain import (
    AccessGrantKind,
    Approval,
    ApprovalOutcome,
    ApprovalReview,
    OperatorAccount,
    OperatorToken,
    PendingApproval,
)
from almoner.access.people import service as people
from almoner.access.people.domain import Realm
from almoner.platform.database.transactions import Tx

_KNOWN_BY: Final = "id, person_id, name, hint, created_at, expires_at, revoked_at, last_used_at"
_APPROVAL: Final = """
    a.id as approval_id, a.action, a.subject, a.fingerprint, a.first_by, a.first_at, a.first_note, a.expires_at,
    a.second_by, a.second_at, a.second_note, a.outcome
"""


async def insert_token(tx: Tx, token: OperatorToken, secret_hash: bytes) -> None:
    """Store a new token."""
    await tx.execute(
        """
        insert into operator_token (id, person_id, hash, name, hint, created_at, expires_at)
        values ($1, $2, $3, $4, $5, $6, $7)
        """,
        token.id,
        token.person_id,
        secret_hash,
        token.name,
        token.hint,
        token.created_at,
        token.expires_at,
    )


async def find_token_by_secret_hash(tx: Tx, realm: Realm, secret_hash: bytes) -> OperatorToken | None:
    """The token with this keyed hash, valid or not."""
    row = await tx.fetchrow(
        f"select {_KNOWN_BY} from operator_token where realm = $1 and hash = $2", realm.id, secret_hash
    )
    return OperatorToken(*row) if row else None


async def find_token(tx: Tx, realm: Realm, token_id: UUID) -> OperatorToken | None:
    """One token."""
    row = await tx.fetchrow(f"select {_KNOWN_BY} from operator_token where realm = $1 and id = $2", realm.id, token_id)
    return OperatorToken(*row) if row else None


async def list_tokens(tx: Tx, realm: Realm, person_id: UUID | None) -> list[OperatorToken]:
    """Tokens of one operator, or of all, newest first."""
    rows = await tx.fetch(
        f"""
        select {_KNOWN_BY} from operator_token where realm = $1 and ($2::uuid is null or person_id = $2)
        order by id desc
        """,
        realm.id,
        person_id,
    )
    return [OperatorToken(*row) for row in rows]


async def revoke_tokens(
    tx: Tx, realm: Realm, at: datetime, *, token_id: UUID | None = None, person_id: UUID | None = None
) -> bool:
    """Revoke one token, or all tokens of an operator; False if none was left to revoke."""
    revoked = await tx.fetch(
        """
        update operator_token set revoked_at = $2
        where realm = $1 and revoked_at is null and (id = $3 or person_id = $4) returning id
        """,
        realm.id,
        at,
        token_id,
        person_id,
    )
    return bool(revoked)


async def record_token_use(tx: Tx, realm: Realm, token_id: UUID, at: datetime) -> None:
    """Record the last use."""
    await tx.execute("update operator_token set last_used_at = $3 where realm = $1 and id = $2", realm.id, token_id, at)


async def count_valid_tokens(tx: Tx, realm: Realm, person_id: UUID, real_now: datetime) -> int:
    """How many tokens of an operator are valid now."""
    found = await tx.fetchval(
        """
        select count(*) from operator_token
        where realm = $1 and person_id = $2 and revoked_at is null and expires_at > $3
        """,
        realm.id,
        person_id,
        real_now,
    )
    return int(found)


async def list_operators(tx: Tx, realm: Realm) -> list[OperatorAccount]:
    """All operators, oldest first."""
    rows = await tx.fetch(
        f"""
        select {people.COLUMNS}, exists (select from password w where w.person_id = p.id)
            or exists (select from passkey k where k.person_id = p.id) as joined
        from person p where p.realm = $1 order by p.id
        """,
        realm.id,
    )
    return [OperatorAccount(people.person_from_row(row), row["joined"]) for row in rows]


async def count_invitations_since(tx: Tx, realm: Realm, person_id: UUID, since: datetime) -> int:
    """How many invitations were sent to an operator since a moment."""
    found = await tx.fetchval(
        """
        select count(*) from one_time_link l join person p on p.id = l.person_id
        where p.realm = $1 and l.person_id = $2 and l.purpose = 'invitation' and l.created_at > $3
        """,
        realm.id,
        person_id,
        since,
    )
    return int(found)


async def record_access_granted_by_operator(tx: Tx, person_id: UUID, granted_by: UUID, kind: AccessGrantKind) -> None:
    """Record that one operator gave another access, so that the two are not independent for a while."""
    await tx.execute(
        "insert into operator_access_grant (id, person_id, granted_by, action, granted_at) values ($1, $2, $3, $4, $5)",
        tx.new_id(),
        person_id,
        granted_by,
        kind,
        tx.now,
    )


async def find_time_when_operators_become_independent(
    tx: Tx, operator_id: UUID, other_operator_id: UUID
) -> datetime | None:
    """Until when two operators are not independent of each other; None if they are."""
    until: datetime | None = await tx.fetchval(
        "select operators_dependent_until($1, $2, $3)", operator_id, other_operator_id, tx.now
    )
    return until


async def find_two_person_approval_setting(tx: Tx) -> bool | None:
    """Whether two operators are required, if an administrator has set it."""
    required: bool | None = await tx.fetchval("select required from dual_control")
    return required


async def set_two_person_approval(tx: Tx, set_by: str, *, required: bool) -> None:
    """Store whether two operators are required."""
    await tx.execute(
        """
        insert into dual_control (required, set_by, set_at) values ($1, $2, $3)
        on conflict (one) do update set required = excluded.required, set_by = excluded.set_by, set_at = excluded.set_at
        """,
        required,
        set_by,
        tx.now,
    )


async def has_any_operator(tx: Tx, realm: Realm) -> bool:
    """Whether any operator exists, active or not."""
    return bool(await tx.fetchval("select exists (select from person where realm = $1)", realm.id))


async def lock_realm_for_update(tx: Tx, realm: Realm) -> None:
    """Lock the operators until the transaction ends, so that role changes happen one at a time."""
    await tx.execute("select pg_advisory_xact_lock(hashtextextended('operators of ' || $1::uuid::text, 0))", realm.id)


def _approval(row: Record) -> Approval:
    second = ApprovalReview(row["second_by"], row["second_at"], row["second_note"]) if row["second_by"] else None
    return Approval(
        row["approval_id"],
        row["action"],
        row["subject"],
        row["fingerprint"],
        ApprovalReview(row["first_by"], row["first_at"], row["first_note"]),
        row["expires_at"],
        second,
        row["outcome"],
    )


async def insert_approval(tx: Tx, approval: Approval) -> bool:
    """Store a first approval; False if one is pending already."""
    made = await tx.fetchval(
        """
        insert into approval (id, action, subject, fingerprint, first_by, first_at, first_note, expires_at)
        values ($1, $2, $3, $4, $5, $6, $7, $8)
        on conflict (action, subject) where outcome is null do nothing returning true
        """,
        approval.id,
        approval.action,
        approval.subject,
        approval.fingerprint,
        approval.first.by,
        approval.first.at,
        approval.first.note,
        approval.expires_at,
    )
    return bool(made)


async def find_pending_approval_for_update(tx: Tx, realm: Realm, action: str, subject: str) -> Approval | None:
    """The approval that waits for a second operator, locked until the transaction ends."""
    row = await tx.fetchrow(
        f"""
        select {_APPROVAL} from approval a
        where a.realm = $1 and a.action = $2 and a.subject = $3 and a.outcome is null for no key update
        """,
        realm.id,
        action,
        subject,
    )
    return _approval(row) if row else None


async def close_approval(
    tx: Tx,
    realm: Realm,
    approval: Approval,
    outcome: ApprovalOutcome,
    second_review: ApprovalReview | None,
    at: datetime,
) -> None:
    """Complete or cancel a pending approval."""
    await tx.execute(
        """
        update approval set outcome = $3, ended_at = $4, second_by = $5, second_at = $6, second_note = $7
        where realm = $1 and id = $2
        """,
        realm.id,
        approval.id,
        outcome,
        at,
        second_review.by if second_review else None,
        second_review.at if second_review else None,
        second_review.note if second_review else None,
    )


async def list_pending_approvals(
    tx: Tx, realm: Realm, now: datetime, action: str | None, subjects: Sequence[str] | None
) -> list[PendingApproval]:
    """Approvals that wait for a second operator, with the first one, oldest first."""
    rows = await tx.fetch(
        f"""
        select {_APPROVAL}, {people.COLUMNS} from approval a join person p on p.id = a.first_by and p.realm = a.realm
        where a.realm = $1 and a.outcome is null and a.expires_at > $2
            and ($3::text is null or a.action = $3) and ($4::text[] is null or a.subject = any($4))
        order by a.expires_at
        """,
        realm.id,
        now,
        action,
        subjects,
    )
    return [PendingApproval(_approval(row), people.person_from_row(row)) for row in rows]
