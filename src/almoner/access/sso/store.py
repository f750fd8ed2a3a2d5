"""SQL for identity providers, linked accounts and used states."""

from datetime import datetime

from asyncpg import Record

from almoner.access.people import service as people
from almoner.access.people.domain import Person
from almoner.access.sso.domain import BoundBy, IdentityProvider, LinkedAccountSummary, LinkedIdentity
from almoner.platform.database.transactions import Partner, Tx


def _provider(row: Record) -> IdentityProvider:
    return IdentityProvider(
        Partner(row["partner_id"]),
        row["name"],
        row["issuer"],
        row["client_id"],
        row["client_secret"],
        row["subject_claim"],
        row["groups_claim"],
        row["roles"],
        tuple(row["scopes"]),
        row["creates_members"],
        row["enabled"],
        row["version"],
        row["created_at"],
        row["updated_at"],
    )


async def find_provider(tx: Tx, partner: Partner) -> IdentityProvider | None:
    """The partner's identity provider."""
    row = await tx.fetchrow(
        """
        select p.*, coalesce(
            (select jsonb_object_agg(g.value, g.role) from sign_on_group g where g.partner_id = p.partner_id), '{}'
        ) as roles
        from sign_on_provider p where p.partner_id = $1
        """,
        partner.id,
    )
    return _provider(row) if row else None


async def lock_provider_if_unchanged(tx: Tx, provider: IdentityProvider) -> bool:
    """Lock the provider if it is still this version; False if it was changed or removed."""
    same = await tx.fetchval(
        "select version = $2 from sign_on_provider where partner_id = $1 for share",
        provider.partner.id,
        provider.version,
    )
    return bool(same)


async def save_provider(tx: Tx, provider: IdentityProvider) -> None:
    """Create or replace the partner's provider."""
    await tx.execute(
        """
        insert into sign_on_provider (
            partner_id, name, issuer, client_id, client_secret, subject_claim, groups_claim, scopes, creates_members,
            enabled, version, created_at, updated_at
        ) values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, 1, $11, $11)
        on conflict (partner_id) do update set
            name = excluded.name, issuer = excluded.issuer, client_id = excluded.client_id,
            client_secret = excluded.client_secret, subject_claim = excluded.subject_claim,
            groups_claim = excluded.groups_claim, scopes = excluded.scopes,
            creates_members = excluded.creates_members, enabled = excluded.enabled,
            version = sign_on_provider.version + 1, updated_at = excluded.updated_at
        """,
        provider.partner.id,
        provider.name,
        provider.issuer,
        provider.client_id,
        provider.sealed_secret,
        provider.subject_claim,
        provider.groups_claim,
        list(provider.scopes),
        provider.creates_members,
        provider.enabled,
        provider.updated_at,
    )
    await tx.execute("delete from sign_on_group where partner_id = $1", provider.partner.id)
    await tx.executemany(
        "insert into sign_on_group (partner_id, value, role) values ($1, $2, $3)",
        [(provider.partner.id, value, role) for value, role in sorted(provider.roles.items())],
    )


async def delete_provider(tx: Tx, partner: Partner) -> bool:
    """Delete the provider; False if there was none. Linked accounts stay."""
    gone = await tx.fetchval("delete from sign_on_provider where partner_id = $1 returning true", partner.id)
    return bool(gone)


async def find_identity(tx: Tx, partner: Partner, issuer: str, subject: str) -> LinkedIdentity | None:
    """The person linked to a provider's subject."""
    row = await tx.fetchrow(
        """
        select issuer, subject, person_id from sign_on_identity
        where partner_id = $1 and issuer = $2 and subject = $3
        """,
        partner.id,
        issuer,
        subject,
    )
    return LinkedIdentity(row["issuer"], row["subject"], row["person_id"]) if row else None


async def insert_identity(tx: Tx, partner: Partner, identity: LinkedIdentity, bound_by: BoundBy) -> bool:
    """Link a subject to a person; False if either is linked already."""
    made = await tx.fetchval(
        """
        insert into sign_on_identity (partner_id, issuer, subject, person_id, bound_by, bound_at, last_used_at)
        values ($1, $2, $3, $4, $5, $6, $6) on conflict do nothing returning true
        """,
        partner.id,
        identity.issuer,
        identity.subject,
        identity.person_id,
        bound_by,
        tx.now,
    )
    return bool(made)


async def list_linked_accounts(tx: Tx, person: Person) -> list[LinkedAccountSummary]:
    """The provider accounts linked to a person, oldest first."""
    rows = await tx.fetch(
        """
        select issuer, bound_at, last_used_at from sign_on_identity
        where partner_id = $1 and person_id = $2 order by bound_at, issuer
        """,
        person.realm.id,
        person.id,
    )
    return [LinkedAccountSummary(**row) for row in rows]


async def delete_identities_and_return_issuers(tx: Tx, person: Person) -> list[str]:
    """Unlink all provider accounts of a person; returns their issuers."""
    rows = await tx.fetch(
        "delete from sign_on_identity where partner_id = $1 and person_id = $2 returning issuer",
        person.realm.id,
        person.id,
    )
    return sorted(row["issuer"] for row in rows)


async def record_identity_use(tx: Tx, partner: Partner, identity: LinkedIdentity) -> None:
    """Record when a linked account was last used to sign in."""
    await tx.execute(
        "update sign_on_identity set last_used_at = $4 where partner_id = $1 and issuer = $2 and subject = $3",
        partner.id,
        identity.issuer,
        identity.subject,
        tx.now,
    )


async def consume_state(tx: Tx, partner: Partner, state_hash: bytes, expires_at: datetime) -> bool:
    """Record that a state was returned; False if it was used before. Deletes expired states."""
    taken = await tx.fetchval(
        """
        with over as (
            select hash from oidc_used_state where partner_id = $1 and expires_at <= $4
            order by expires_at limit 100 for update skip locked
        ), gone as (
            delete from oidc_used_state r using over where r.partner_id = $1 and r.hash = over.hash
        )
        insert into oidc_used_state (partner_id, hash, expires_at) values ($1, $2, $3)
        on conflict do nothing returning true
        """,
        partner.id,
        state_hash,
        expires_at,
        tx.real_now,
    )
    return bool(taken)


async def find_member_by_external_id(tx: Tx, partner: Partner, external_id: str) -> Person | None:
    """The member with this SCIM externalId; None if several have it."""
    rows = await tx.fetch(
        f"select {people.COLUMNS} from person p where p.realm = $1 and p.external_id = $2 limit 2",
        partner.id,
        external_id,
    )
    return people.person_from_row(rows[0]) if len(rows) == 1 else None
