-- Access: keys, and people with how they sign in: passwords, passkeys, groups, and a partner's identity provider.

create table api_key (
    id uuid primary key,
    partner_id uuid not null references partner (id),
    kind text not null check (kind in ('secret', 'publishable', 'scim')),
    hash bytea not null check (length(hash) = 32),
    name text not null check (length(name) between 1 and 100),
    hint text not null check (length(hint) = 4),
    scopes text[] not null check (cardinality(scopes) > 0),
    created_at timestamptz not null,
    expires_at timestamptz,
    revoked_at timestamptz,
    replaced_by uuid,
    last_used_at timestamptz,
    last_used_address text,
    last_used_route text,
    constraint api_key_partner unique (partner_id, id),
    foreign key (partner_id, replaced_by) references api_key (partner_id, id)
);
create unique index api_key_hash on api_key (hash);
grant select, insert, update on api_key to almoner_app;

-- Requests with API keys, for the partner's developers: written in batches, without what callers typed. No foreign keys:
-- a batch is never refused, and costs each request little. request_id is a UUIDv7: it says when the request came.
create table api_request (
    partner_id uuid not null,
    request_id uuid not null,
    key_id uuid not null,
    method text not null,
    route text not null,
    path text,
    parameters text,
    status smallint not null,
    duration_ms real not null,
    error_code text,
    network text
);
create index api_request_newest on api_request (partner_id, request_id);
create index api_request_failed on api_request (partner_id, request_id) where status >= 400;
grant select, insert, delete on api_request to almoner_app;

-- Case-insensitive form for comparisons: NFC, lower case, final sigma like any other.
create function folded(text) returns text language sql immutable strict parallel safe
    return replace(lower(normalize($1)), 'ς', 'σ');

-- realm: the partner of a member, or zeros for operators of the deployment. A person belongs to one realm for good, and
-- nothing links two of them. profile: a User of RFC 7643 without id, meta, groups and password. epoch: incremented when
-- the password changes and when sign-ins are revoked; earlier known-browser and password cookies then no longer count.
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
        using errcode = 'check_violation', constraint = 'person_realm_immutable';
end $$;
create trigger person_realm_immutable before update on person for each row
    when ((old.id, old.realm, old.created_at) is distinct from (new.id, new.realm, new.created_at))
    execute function guard_person();

-- Deactivation ends sign-ins at once, and reactivation restores none. ended_at is real time, which in production equals
-- business time; in a sandbox whose clock is ahead it is the expiry.
create function end_sign_ins() returns trigger language plpgsql as $$
begin
    update sign_in set ended_at = least(new.updated_at, expires_at), end_reason = 'deactivated'
    where person_id = new.id and ended_at is null;
    return null;
end $$;
create trigger person_deactivated after update on person for each row
    when (old.active and not new.active) execute function end_sign_ins();

create function revoke_links_of_row() returns trigger language plpgsql as $$
begin
    if tg_table_name = 'person' then
        perform revoke_links(new.id);
    else
        perform revoke_links(new.person_id);
    end if;
    return null;
end $$;
create trigger person_revokes_links after update on person for each row
    when (old.email is distinct from new.email or (old.active and not new.active))
    execute function revoke_links_of_row();

-- Operators are deactivated, never deleted: their decisions refer to them.
create function guard_operator() returns trigger language plpgsql as $$
begin
    raise exception 'operator % may be deactivated, not deleted', old.id
        using errcode = 'check_violation', constraint = 'operator_not_deletable';
end $$;
create trigger operator_not_deletable before delete on person for each row
    when (old.realm = '00000000-0000-0000-0000-000000000000') execute function guard_operator();

-- An operator's tokens end with the credentials they were created under: on a new or removed password, or deactivation.
-- The first password ends none, since the first operator's token is older. Here revoked_at is the time of the change,
-- or the last use where there is none; code that revokes tokens itself sets its own.
create function end_operator_tokens() returns trigger language plpgsql as $$
declare
    whose uuid;
    at timestamptz;
begin
    if tg_table_name = 'person' then
        whose := old.id;
        at := new.updated_at;
    elsif tg_op = 'UPDATE' then
        whose := old.person_id;
        at := new.set_at;
    else
        whose := old.person_id;
    end if;
    update operator_token set revoked_at = least(coalesce(at, last_used_at, created_at), expires_at)
    where person_id = whose and revoked_at is null;
    return null;
end $$;
create trigger operator_deactivated after update on person for each row
    when (old.realm = '00000000-0000-0000-0000-000000000000' and old.active and not new.active)
    execute function end_operator_tokens();

-- At least one active administrator remains, also when two are removed concurrently: one waits for the other.
create function guard_administrators() returns trigger language plpgsql as $$
begin
    if tg_table_name = 'person' then
        if not exists (select from person_role where person_id = new.id and role = 'administrator') then
            return null;
        end if;
    end if;
    perform pg_advisory_xact_lock(hashtextextended('operators of ' || old.realm::text, 0));
    if not exists (
        select from person_role r join person p on p.id = r.person_id
        where r.realm = old.realm and r.role = 'administrator' and p.active
    ) then
        raise exception 'at least one active administrator must remain'
            using errcode = 'check_violation', constraint = 'operator_last_administrator';
    end if;
    return null;
end $$;
create constraint trigger operator_administrator_deactivated after update on person
    deferrable initially deferred for each row
    when (old.realm = '00000000-0000-0000-0000-000000000000' and old.active and not new.active)
    execute function guard_administrators();
grant select, insert, update, delete on person to almoner_app;

-- A person's own roles. source: granted by an owner or administrator, or asserted by the identity provider at the last
-- sign-in. Roles from groups are in member_group.role.
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
             else role in ('owner', 'developer', 'reviewer', 'finance', 'support', 'read_only') end
    )
);
create index person_role_by_role on person_role (realm, role);
create constraint trigger operator_administrator_removed after delete on person_role
    deferrable initially deferred for each row
    when (old.realm = '00000000-0000-0000-0000-000000000000' and old.role = 'administrator')
    execute function guard_administrators();
grant select, insert, delete on person_role to almoner_app;

create table password (
    person_id uuid primary key references person (id) on delete cascade,
    hash text not null check (hash like '$argon2id$%'),
    set_at timestamptz not null
);

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
    perform revoke_links(whose);
    return null;
end $$;
create trigger password_begins_epoch after insert or delete on password for each row execute function begin_epoch();
create trigger password_begins_another_epoch after update on password for each row
    when (old.set_at is distinct from new.set_at) execute function begin_epoch();
create trigger password_changed after update on password for each row
    when (old.set_at is distinct from new.set_at) execute function end_operator_tokens();
create trigger password_removed after delete on password for each row execute function end_operator_tokens();
grant select, insert, update, delete on password to almoner_app;

-- TOTP authenticators. confirmed_at: null until a first code has proved it. last_step: prevents replay of a code.
create table one_time_password (
    person_id uuid primary key references person (id) on delete cascade,
    secret bytea not null,
    created_at timestamptz not null,
    confirmed_at timestamptz,
    last_step bigint not null default 0
);
grant select, insert, update, delete on one_time_password to almoner_app;

create table recovery_code (
    person_id uuid not null references person (id) on delete cascade,
    hash bytea not null check (length(hash) = 32),
    used_at timestamptz,
    primary key (person_id, hash)
);
grant select, insert, update, delete on recovery_code to almoner_app;

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
grant select, insert, update, delete on passkey to almoner_app;

-- Makes passkey challenges single-use. A challenge is signed and carries its own state; only its use is stored.
create table passkey_challenge (
    hash bytea primary key check (length(hash) = 32),
    expires_at timestamptz not null
);
create index passkey_challenge_expiry on passkey_challenge (expires_at);
grant select, insert, update, delete on passkey_challenge to almoner_app;

-- A browser session. authenticated_at: when the person last authenticated; secrets and money need a recent
-- authentication. hash: of the random cookie.
create table sign_in (
    id uuid primary key,
    realm uuid not null,
    person_id uuid not null,
    hash bytea not null unique check (length(hash) = 32),
    method text not null check (method in ('password', 'password_totp', 'password_recovery', 'passkey', 'provider')),
    address text not null,
    device text not null,
    created_at timestamptz not null,
    authenticated_at timestamptz not null,
    last_seen_at timestamptz not null,
    expires_at timestamptz not null,
    ended_at timestamptz,
    end_reason text check (
        end_reason in ('signed_out', 'revoked', 'deactivated', 'password_changed')
    ),
    foreign key (realm, person_id) references person (realm, id) on delete cascade,
    constraint sign_in_ended check ((ended_at is null) = (end_reason is null))
);
create index sign_in_of_person on sign_in (person_id, id);
create index sign_in_end on sign_in (least(ended_at, expires_at));
create index sign_in_provided on sign_in (realm) where method = 'provider' and ended_at is null;
create trigger sign_in_revokes_links after insert on sign_in for each row execute function revoke_links_of_row();
grant select, insert, update, delete on sign_in to almoner_app;

-- Failed login attempts, which slow down the next ones: per name (as a keyed hash, known or not) and network or known
-- device; '*': any network; and per network for all names. Counted before the check and reset on success. Nobody is
-- ever locked out. audited_at: when a refusal was last recorded in the audit log.
create table login_attempt (
    realm uuid not null,
    name_hash bytea not null check (length(name_hash) = 32),
    network text not null,
    failures integer not null check (failures >= 0),
    last_at timestamptz not null,
    audited_at timestamptz,
    primary key (realm, name_hash, network)
);
create index login_attempt_last on login_attempt (last_at);
grant select, insert, update, delete on login_attempt to almoner_app;

-- Emailed single-use links: an invitation or a password reset. The token is derived from the id; nothing else is
-- stored. revoked: the person or their email address has changed since.
create table one_time_link (
    id uuid primary key,
    person_id uuid not null references person (id) on delete cascade,
    purpose text not null check (purpose in ('invitation', 'reset')),
    created_at timestamptz not null,
    expires_at timestamptz not null,
    used_at timestamptz,
    replaced_at timestamptz,
    revoked boolean not null default false,
    constraint one_time_link_used_once check (used_at is null or (replaced_at is null and not revoked))
);
create index one_time_link_of_person on one_time_link (person_id, purpose, created_at);
create unique index one_time_link_open on one_time_link (person_id, purpose)
    where used_at is null and replaced_at is null and not revoked;
create index one_time_link_expiry on one_time_link (expires_at);

-- A link no longer works once its person has signed in otherwise, has another password or email address, or is
-- deactivated.
create function revoke_links(whose uuid) returns void language sql as $$
    update one_time_link set revoked = true
    where person_id = whose and used_at is null and replaced_at is null and not revoked;
$$;
grant select, insert, update, delete on one_time_link to almoner_app;

-- profile: a Group of RFC 7643 without id, meta and members. role: granted to its members; null: none.
create table member_group (
    id uuid primary key,
    partner_id uuid not null references partner (id),
    profile jsonb not null check (jsonb_typeof(profile) = 'object'),
    display_name text collate "C" generated always as (folded(profile ->> 'displayName')) stored not null,
    external_id text collate "C" generated always as (normalize(profile ->> 'externalId')) stored,
    role text check (role in ('owner', 'developer', 'reviewer', 'finance', 'support', 'read_only')),
    version bigint not null default 1,
    created_at timestamptz not null,
    updated_at timestamptz not null,
    constraint member_group_partner unique (partner_id, id)
);
create index member_group_name on member_group (partner_id, display_name);
create index member_group_external_id on member_group (partner_id, external_id) where external_id is not null;
create index member_group_created on member_group (partner_id, created_at, id);
create index member_group_updated on member_group (partner_id, updated_at, id);
create index member_group_role on member_group (partner_id, role) where role is not null;
grant select, insert, update, delete on member_group to almoner_app;

-- The primary key makes adding a member idempotent.
create table member_group_member (
    partner_id uuid not null,
    group_id uuid not null,
    person_id uuid not null,
    added_at timestamptz not null,
    primary key (group_id, person_id),
    foreign key (partner_id, group_id) references member_group (partner_id, id) on delete cascade,
    foreign key (partner_id, person_id) references person (realm, id) on delete cascade
);
create index member_group_of_person on member_group_member (person_id, group_id);
grant select, insert, update, delete on member_group_member to almoner_app;

-- A partner's OpenID Connect provider, beside passwords and passkeys. version: a sign-in that started before the last
-- change is refused. client_secret: encrypted; null for a public client, which uses PKCE alone. subject_claim: only
-- claims that users cannot choose themselves (OpenID Connect Core 5.7).
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
grant select, insert, update, delete on sign_on_provider to almoner_app;

-- Maps the provider's groups to roles; never to roles of an operator.
create table sign_on_group (
    partner_id uuid not null references sign_on_provider (partner_id) on delete cascade,
    value text not null check (length(value) between 1 and 255),
    role text not null check (role in ('owner', 'developer', 'reviewer', 'finance', 'support', 'read_only')),
    primary key (partner_id, value)
);
grant select, insert, update, delete on sign_on_group to almoner_app;

-- Links a provider's subject to one of this partner's members. The key begins with the partner, so one partner's
-- provider can never sign in another's members. One subject per issuer and person: a second one would be somebody else
-- signing in as them.
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
grant select, insert, update, delete on sign_on_identity to almoner_app;

-- Makes states of returning sign-ins, with their nonces, single-use. Real time.
create table oidc_used_state (
    partner_id uuid not null references partner (id),
    hash bytea not null check (length(hash) = 32),
    expires_at timestamptz not null,
    primary key (partner_id, hash)
);
create index oidc_used_state_expiry on oidc_used_state (partner_id, expires_at);
grant select, insert, update, delete on oidc_used_state to almoner_app;

-- Emails that no mail server took, with what their job held, so that they can be sent again.
create table undeliverable_email (
    id uuid primary key,
    partner_id uuid references partner (id),
    kind text not null,
    payload jsonb not null,
    recipient text not null,
    reason text not null,
    refused boolean not null,
    created_at timestamptz not null
);
create index undeliverable_email_age on undeliverable_email (created_at);
comment on column undeliverable_email.refused is 'by the mail server, for good; otherwise it did not take it in time';
grant select, insert, delete on undeliverable_email to almoner_app;
