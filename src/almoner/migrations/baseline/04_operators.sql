-- Operators: their tokens, who let whom in, and decisions that take two.

-- Tokens for operators' commands. hash: of the token, which is shown once. Rejected once expired or revoked, or while
-- its operator is inactive.
create table operator_token (
    id uuid primary key,
    realm uuid not null generated always as ('00000000-0000-0000-0000-000000000000'::uuid) stored,
    person_id uuid not null,
    hash bytea not null unique check (length(hash) = 32),
    name text not null check (length(name) between 1 and 100),
    hint text not null check (length(hint) = 4),
    created_at timestamptz not null,
    expires_at timestamptz not null,
    revoked_at timestamptz,
    last_used_at timestamptz,
    foreign key (realm, person_id) references person (realm, id),
    constraint operator_token_life check (
        expires_at > created_at and expires_at - created_at <= interval '365 days'
    )
);
create index operator_token_of_person on operator_token (person_id, id);
create trigger operator_token_immutable before update on operator_token for each row
    when ((old.id, old.person_id, old.hash, old.created_at, old.expires_at) is distinct from
              (new.id, new.person_id, new.hash, new.created_at, new.expires_at)
          or (old.revoked_at is not null and old.revoked_at is distinct from new.revoked_at))
    execute function guard_immutable();
grant select, insert, update (revoked_at, last_used_at) on operator_token to almoner_app;

-- How operators gave each other access or more rights; what the machine's account did is not recorded here.
create table operator_access_grant (
    id uuid primary key,
    realm uuid not null generated always as ('00000000-0000-0000-0000-000000000000'::uuid) stored,
    person_id uuid not null,
    granted_by uuid not null,
    action text not null check (action in ('invited', 'granted', 'activated', 'changed', 'reset')),
    granted_at timestamptz not null,
    foreign key (realm, person_id) references person (realm, id),
    foreign key (realm, granted_by) references person (realm, id),
    constraint operator_access_grant_to_another check (granted_by <> person_id)
);
create index operator_access_grant_of_person on operator_access_grant (person_id, granted_at);
create index operator_access_grant_by on operator_access_grant (granted_by);

-- Two operators are not independent while one gave the other access within the past week, directly or through others.
-- Returns until when; null: they are independent.
create function operators_dependent_until(one uuid, other uuid, moment timestamptz) returns timestamptz
language sql stable as $$
    with recursive chain (first, person_id, granted_by, at) as (
        select g.person_id, g.person_id, g.granted_by, g.granted_at from operator_access_grant g
        where g.person_id in (one, other) and g.granted_at > moment - interval '7 days'
        union
        select c.first, g.person_id, g.granted_by, least(c.at, g.granted_at)
        from chain c join operator_access_grant g on g.person_id = c.granted_by
        where g.granted_at > moment - interval '7 days'
    )
    select max(at) + interval '7 days' from chain where (first, granted_by) in ((one, other), (other, one))
$$;

-- The operator named by a text identifier in a decision; null for anybody else.
create function operator_of(named text) returns uuid language sql immutable as $$
    select string_agg(to_hex(substr(bits, 3 + 4 * i, 4)::bit(4)::integer), '' order by i)::uuid from (
        select string_agg((strpos(letters, substr(right(named, 26), n, 1)) - 1)::bit(5)::text, '' order by n) as bits
        from generate_series(1, 26) n, (values ('0123456789abcdefghjkmnpqrstvwxyz')) base (letters)
        where named ~ '^(sandbox_)?operator_[0-7][0-9a-hjkmnp-tv-z]{25}$'
    ) read, generate_series(0, 31) i where bits is not null
$$;
grant select, insert on operator_access_grant to almoner_app;

-- Whether decisions about money need two operators, as set by an administrator. Without a row production does and the
-- sandbox does not; the identifier of who decides tells them apart.
create table dual_control (
    one boolean primary key default true check (one),
    required boolean not null,
    set_by text not null check (length(set_by) between 1 and 255),
    set_at timestamptz not null
);

create function requires_dual_control(decided_by text) returns boolean language sql stable as $$
    select coalesce((select required from dual_control), decided_by !~ '^sandbox_')
$$;

-- A single operator's decision is refused where two are required.
create function guard_dual_control() returns trigger language plpgsql as $$
begin
    if requires_dual_control(new.decided_by) then
        raise exception '% may not decide this without a second operator', new.decided_by
            using errcode = 'check_violation', constraint = 'dual_control';
    end if;
    return new;
end $$;
grant select, insert, update on dual_control to almoner_app;

-- Approvals by two operators. fingerprint: of what the first one saw; if the second sees something else, the approval
-- restarts. outcome: approved by both; changed; withdrawn (the first may no longer decide); expired; null while it
-- waits for the second.
create table approval (
    id uuid primary key,
    realm uuid not null generated always as ('00000000-0000-0000-0000-000000000000'::uuid) stored,
    action text not null check (action ~ '^[a-z_]+[.][a-z_]+$'),
    subject text not null check (length(subject) between 1 and 255),
    fingerprint bytea not null check (length(fingerprint) = 32),
    first_by uuid not null,
    first_at timestamptz not null,
    first_note text not null check (length(first_note) between 1 and 2000),
    second_by uuid,
    second_at timestamptz,
    second_note text check (length(second_note) between 1 and 2000),
    expires_at timestamptz not null,
    outcome text check (outcome in ('approved', 'changed', 'withdrawn', 'expired')),
    ended_at timestamptz,
    foreign key (realm, first_by) references person (realm, id),
    foreign key (realm, second_by) references person (realm, id),
    constraint approval_dual_control check (second_by <> first_by),
    constraint approval_second check (
        num_nonnulls(second_by, second_at, second_note) in (0, 3)
        and (outcome is not distinct from 'approved') = (second_by is not null)
    ),
    constraint approval_ended check ((outcome is null) = (ended_at is null)),
    constraint approval_life check (
        expires_at > first_at and expires_at - first_at <= interval '7 days' and second_at < expires_at
    )
);
create unique index approval_open on approval (action, subject) where outcome is null;
-- Deleting a person looks for their approvals.
create index approval_first_by on approval (first_by);
create index approval_second_by on approval (second_by) where second_by is not null;
create index approval_expiry on approval (expires_at) where outcome is null;

-- Operators of whom one recently gave the other access do not count as two for an account, a flag, a payment file or a
-- donee.
create function guard_independent_approvers() returns trigger language plpgsql as $$
declare
    is_now jsonb := to_jsonb(new);
    approvers text[] := array_remove(array[
        is_now ->> 'proposed_by', is_now ->> 'created_by', is_now ->> 'first_by', is_now ->> 'second_by',
        is_now ->> 'released_by', is_now ->> 'approved_by'
    ], null);
    moment timestamptz := coalesce(
        is_now ->> 'released_at', is_now ->> 'approved_at', is_now ->> 'second_at', is_now ->> 'first_at'
    );
begin
    if exists (
        select from unnest(approvers) one, unnest(approvers) other
        where one < other and operators_dependent_until(operator_of(one), operator_of(other), moment) is not null
    ) then
        raise exception '% are not independent of each other', approvers
            using errcode = 'check_violation', constraint = 'approvers_independent';
    end if;
    return new;
end $$;
create trigger approval_immutable before update on approval for each row
    when (old.outcome is not null
          or (old.id, old.action, old.subject, old.fingerprint, old.first_by, old.first_at, old.first_note,
              old.expires_at) is distinct from
             (new.id, new.action, new.subject, new.fingerprint, new.first_by, new.first_at, new.first_note,
              new.expires_at))
    execute function guard_immutable();

create function guard_approval_independent() returns trigger language plpgsql as $$
begin
    if operators_dependent_until(new.first_by, new.second_by, new.second_at) is not null then
        raise exception 'operators % and % are not independent', new.first_by, new.second_by
            using errcode = 'check_violation', constraint = 'approval_independent';
    end if;
    return new;
end $$;
create trigger approval_independent before insert or update on approval for each row
    when (new.second_by is not null) execute function guard_approval_independent();
grant select, insert, update (second_by, second_at, second_note, outcome, ended_at) on approval to almoner_app;

-- An operator looks at a partner's pages, read only, for at most 15 minutes of real time.
create table partner_view (
    id uuid primary key,
    partner_id uuid not null references partner (id),
    realm uuid not null generated always as ('00000000-0000-0000-0000-000000000000'::uuid) stored,
    person_id uuid not null,
    reason text not null check (length(reason) between 10 and 500),
    started_at timestamptz not null,
    expires_at timestamptz not null,
    ended_at timestamptz,
    foreign key (realm, person_id) references person (realm, id),
    constraint partner_view_life check (expires_at > started_at and expires_at - started_at <= interval '15 minutes')
);
create index partner_view_of_person on partner_view (person_id, partner_id, expires_at);
create trigger partner_view_immutable before update on partner_view for each row
    when ((old.id, old.partner_id, old.person_id, old.reason, old.started_at, old.expires_at) is distinct from
              (new.id, new.partner_id, new.person_id, new.reason, new.started_at, new.expires_at)
          or old.ended_at is not null)
    execute function guard_immutable();
grant select, insert, update (ended_at) on partner_view to almoner_app;
