"""People: members of partners and operators of the deployment, with what they sign in by.

Revision ID: 0016
Revises: 0015
"""

from alembic import op

revision = "0016"
down_revision = "0015"

UPGRADE = """
-- In what form texts are compared without regard to case: composed (NFC), in small letters, a final sigma as any other.
create function folded(text) returns text language sql immutable strict parallel safe
    return replace(lower(normalize($1)), 'ς', 'σ');

-- realm: the partner whose member somebody is, or zeros for the operators of the deployment. A person belongs to one
-- realm for good, and nothing ever links two of them. profile: a User of RFC 7643 without id, meta, groups, password.
-- epoch: moves with the password, and when sign-ins are ended; what browsers were given before (that they are known,
-- that a password was right) counts no more.
create table person (
    id uuid primary key,
    realm uuid not null,
    partner_id uuid generated always as (nullif(realm, '00000000-0000-0000-0000-000000000000')) stored
        references partner (id),
    profile jsonb not null check (jsonb_typeof(profile) = 'object'),
    user_name text collate "C" generated always as (folded(profile ->> 'userName')) stored not null,
    external_id text collate "C" generated always as (normalize(profile ->> 'externalId')) stored,
    email text generated always as (lower(coalesce(
        jsonb_path_query_first(profile, '$.emails[*] ? (@.primary == true && @.value != "").value'),
        jsonb_path_query_first(profile, '$.emails[*] ? (@.value != "").value')
    ) #>> '{}')) stored,
    active boolean generated always as (coalesce((profile ->> 'active')::boolean, true)) stored not null,
    version bigint not null default 1,
    epoch bigint not null default 0,
    created_at timestamptz not null,
    updated_at timestamptz not null,
    constraint person_user_name check (length(user_name) between 1 and 1020),
    constraint person_name unique (realm, user_name),
    constraint person_realm unique (realm, id)
);
create index person_external_id on person (realm, external_id) where external_id is not null;
create index person_email on person (email) where email is not null;
create index person_created on person (realm, created_at, id);
create index person_updated on person (realm, updated_at, id);
create index person_family on person (realm, (folded(profile -> 'name' ->> 'familyName')) collate "C", id);
create index person_inactive on person (realm, id) where not active;
create function guard_person() returns trigger language plpgsql as $$
begin
    raise exception 'person % belongs to one realm for good', old.id
        using errcode = 'check_violation', constraint = 'person_stays';
end $$;
create trigger person_stays before update on person for each row
    when ((old.id, old.realm, old.created_at) is distinct from (new.id, new.realm, new.created_at))
    execute function guard_person();

-- What a person may do. source: an owner or administrator granted it, or the provider at which the person signs in
-- said so at the last sign-in. What groups give is not here (member_group.role).
create table person_role (
    realm uuid not null,
    person_id uuid not null,
    role text not null,
    source text not null check (source in ('granted', 'provider')),
    primary key (person_id, role, source),
    foreign key (realm, person_id) references person (realm, id) on delete cascade,
    constraint person_role_of_realm check (
        case when realm = '00000000-0000-0000-0000-000000000000'
             then role in ('reviewer', 'finance', 'administrator')
             else role in ('owner', 'developer', 'reviewer', 'finance', 'read_only') end
    )
);

create table password (
    person_id uuid primary key references person (id) on delete cascade,
    hash text not null check (hash like '$argon2id$%'),
    set_at timestamptz not null
);

-- An authenticator app. confirmed_at: null until a first code has proved it. last_step: a code is taken once.
create table one_time_password (
    person_id uuid primary key references person (id) on delete cascade,
    secret bytea not null,
    created_at timestamptz not null,
    confirmed_at timestamptz,
    last_step bigint not null default 0
);

create table recovery_code (
    person_id uuid not null references person (id) on delete cascade,
    hash bytea not null check (length(hash) = 32),
    used_at timestamptz,
    primary key (person_id, hash)
);

create table passkey (
    id uuid primary key,
    person_id uuid not null references person (id) on delete cascade,
    credential bytea not null unique check (length(credential) between 16 and 1023),
    public_key bytea not null,
    sign_count bigint not null check (sign_count >= 0),
    name text not null check (length(name) between 1 and 100),
    created_at timestamptz not null,
    last_used_at timestamptz
);
create index passkey_of_person on passkey (person_id, id);

-- A browser in which somebody is signed in. proved_at: when the person last proved who they are; secrets and money ask
-- for a recent proof. hash: of the random cookie.
create table sign_in (
    id uuid primary key,
    realm uuid not null,
    person_id uuid not null,
    hash bytea not null unique check (length(hash) = 32),
    method text not null check (method in ('password', 'password_totp', 'password_recovery', 'passkey', 'provider')),
    address text not null,
    device text not null,
    created_at timestamptz not null,
    proved_at timestamptz not null,
    seen_at timestamptz not null,
    expires_at timestamptz not null,
    ended_at timestamptz,
    ended_because text check (
        ended_because in ('signed_out', 'revoked', 'deactivated', 'password_changed')
    ),
    foreign key (realm, person_id) references person (realm, id) on delete cascade,
    constraint sign_in_ended check ((ended_at is null) = (ended_because is null))
);
create index sign_in_of_person on sign_in (person_id, id);
create index sign_in_over on sign_in (least(ended_at, expires_at));

-- Deactivation ends sign-ins at once, whoever deactivates: being activated again brings none of them back. ended_at is
-- real time, which in production business time is; in a sandbox that was moved ahead it is the moment of expiry.
create function end_sign_ins() returns trigger language plpgsql as $$
begin
    update sign_in set ended_at = least(new.updated_at, expires_at), ended_because = 'deactivated'
    where person_id = new.id and ended_at is null;
    return null;
end $$;
create trigger person_deactivated after update on person for each row
    when (old.active and not new.active) execute function end_sign_ins();

-- A mailed link, used once: an invitation, or a new password. Its token is made from its id; nothing else is stored.
-- void: what it was mailed for, or where to, is not so any more.
create table person_link (
    id uuid primary key,
    person_id uuid not null references person (id) on delete cascade,
    purpose text not null check (purpose in ('invitation', 'reset')),
    created_at timestamptz not null,
    expires_at timestamptz not null,
    used_at timestamptz,
    replaced_at timestamptz,
    void boolean not null default false,
    constraint person_link_end check (used_at is null or (replaced_at is null and not void))
);
create index person_link_of_person on person_link (person_id, purpose, created_at);
create unique index person_link_open on person_link (person_id, purpose)
    where used_at is null and replaced_at is null and not void;
create index person_link_over on person_link (expires_at);

-- A link opens nothing any more once its person has come in otherwise, has another password or mailbox, or may not sign
-- in: whoever does it, and whoever has the link.
create function void_links(whose uuid) returns void language sql as $$
    update person_link set void = true
    where person_id = whose and used_at is null and replaced_at is null and not void;
$$;
create function void_links_of_row() returns trigger language plpgsql as $$
begin
    if tg_table_name = 'person' then
        perform void_links(new.id);
    else
        perform void_links(new.person_id);
    end if;
    return null;
end $$;
create trigger sign_in_voids_links after insert on sign_in for each row execute function void_links_of_row();
create trigger person_voids_links after update on person for each row
    when (old.email is distinct from new.email or (old.active and not new.active))
    execute function void_links_of_row();
create function begin_epoch() returns trigger language plpgsql as $$
declare
    whose uuid;
begin
    if tg_op = 'DELETE' then
        whose := old.person_id;
    else
        whose := new.person_id;
    end if;
    update person set epoch = epoch + 1 where id = whose;
    perform void_links(whose);
    return null;
end $$;
create trigger password_begins_epoch after insert or delete on password for each row execute function begin_epoch();
create trigger password_begins_another_epoch after update on password for each row
    when (old.set_at is distinct from new.set_at) execute function begin_epoch();

-- A passkey's challenge is taken once. All that is true of one is in itself, signed; what is kept is that it was taken.
create table passkey_challenge (
    hash bytea primary key check (length(hash) = 32),
    expires_at timestamptz not null
);
create index passkey_challenge_over on passkey_challenge (expires_at);

-- Tries at signing in, which slow the next ones: of a name (as a keyed hash, known or not) from a neighbourhood of the
-- network or from a device that signed in before; '*': from anywhere; and of all names from one neighbourhood. Counted
-- before they are checked, and taken back when they were right. Nobody is ever locked out. told_at: when a refusal was
-- last recorded in the audit log.
create table sign_in_try (
    realm uuid not null,
    name_hash bytea not null check (length(name_hash) = 32),
    neighbourhood text not null,
    failures integer not null check (failures >= 0),
    last_at timestamptz not null,
    told_at timestamptz,
    primary key (realm, name_hash, neighbourhood)
);
create index sign_in_try_over on sign_in_try (last_at);

grant select, insert, update, delete on person, password, one_time_password, recovery_code, passkey, sign_in,
    person_link, passkey_challenge, sign_in_try to almoner_app;
grant select, insert, delete on person_role to almoner_app;
"""


def upgrade() -> None:
    """Create the tables."""
    op.execute(UPGRADE)
