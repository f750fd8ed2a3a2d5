"""Sign-on at the provider of a partner (OpenID Connect).

Revision ID: 0019
Revises: 0018
"""

from alembic import op

revision = "0019"
down_revision = "0018"

UPGRADE = """
-- Where a partner's members sign in beside passwords and passkeys. version: a sign-in that was begun before the last
-- change is refused. client_secret: sealed; null for a public client, which has PKCE alone. subject_claim: only claims
-- that the provider's users cannot choose (OpenID Connect Core 5.7).
create table sign_on_provider (
    partner_id uuid primary key references partner (id),
    name text not null check (length(name) between 1 and 60),
    issuer text not null check (issuer ~ '^https?://' and length(issuer) <= 500),
    client_id text not null check (length(client_id) between 1 and 255),
    client_secret bytea,
    subject_claim text not null check (subject_claim in ('sub', 'oid')),
    groups_claim text check (length(groups_claim) between 1 and 255),
    scopes text[] not null check ('openid' = any(scopes)),
    creates_members boolean not null,
    enabled boolean not null,
    version bigint not null check (version > 0),
    created_at timestamptz not null,
    updated_at timestamptz not null
);

-- What a group at the provider is worth here. Never a role of an operator.
create table sign_on_group (
    partner_id uuid not null references sign_on_provider (partner_id) on delete cascade,
    value text not null check (length(value) between 1 and 255),
    role text not null check (role in ('owner', 'developer', 'reviewer', 'finance', 'read_only')),
    primary key (partner_id, value)
);

-- Who somebody at a provider is among this partner's members. The key has the partner first: what the provider of one
-- partner says of a subject or an e-mail means nothing to another, and a person of another realm cannot be named. One
-- subject of an issuer for each person: a second one would be somebody else who signs in as them.
create table sign_on_identity (
    partner_id uuid not null references partner (id),
    issuer text not null,
    subject text not null check (length(subject) between 1 and 255),
    person_id uuid not null,
    bound_by text not null check (bound_by in ('provisioned', 'invitation', 'created', 'account')),
    bound_at timestamptz not null,
    last_used_at timestamptz not null,
    primary key (partner_id, issuer, subject),
    constraint sign_on_identity_of_one unique (partner_id, issuer, person_id),
    foreign key (partner_id, person_id) references person (realm, id) on delete cascade
);
create index sign_on_identity_of_person on sign_on_identity (person_id);

-- Sign-ins that came back from the provider: a state, with its nonce, is taken once. Real time.
create table sign_on_return (
    partner_id uuid not null references partner (id),
    hash bytea not null check (length(hash) = 32),
    expires_at timestamptz not null,
    primary key (partner_id, hash)
);
create index sign_on_return_over on sign_on_return (partner_id, expires_at);

grant select, insert, update, delete on sign_on_provider, sign_on_group, sign_on_identity, sign_on_return
    to almoner_app;
"""


def upgrade() -> None:
    """Create the tables."""
    op.execute(UPGRADE)
