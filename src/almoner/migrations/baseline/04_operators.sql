-- Operators: their tokens, who let whom in, and decisions that take two.

-- What an operator's commands are known by. hash: of the token, which is shown once. It opens nothing once it is
-- expired or revoked, or its operator is not active.
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
create trigger operator_token_promise before update on operator_token for each row
    when ((old.id, old.person_id, old.hash, old.created_at, old.expires_at) is distinct from
              (new.id, new.person_id, new.hash, new.created_at, new.expires_at)
          or (old.revoked_at is not null and old.revoked_at is distinct from new.revoked_at))
    execute function guard_promise();
grant select, insert, update (revoked_at, last_used_at) on operator_token to almoner_app;

-- What an operator did about another that lets that one in, or lets them do more. What the machine's account did is not
-- here.
create table operator_vouch (
    id uuid primary key,
    realm uuid not null generated always as ('00000000-0000-0000-0000-000000000000'::uuid) stored,
    person_id uuid not null,
    by_id uuid not null,
    act text not null check (act in ('invited', 'granted', 'activated', 'changed', 'reset')),
    at timestamptz not null,
    foreign key (realm, person_id) references person (realm, id),
    foreign key (realm, by_id) references person (realm, id),
    constraint operator_vouch_for_another check (by_id <> person_id)
);
create index operator_vouch_of_person on operator_vouch (person_id, at);

-- Until when two operators are no two pairs of eyes: one let the other in within a week, directly or by somebody whom
-- they let in. Null: they are.
create function operators_depend(one uuid, other uuid, moment timestamptz) returns timestamptz language sql stable as $$
    with recursive vouched (first, person_id, by_id, at) as (
        select v.person_id, v.person_id, v.by_id, v.at from operator_vouch v
        where v.person_id in (one, other) and v.at > moment - interval '7 days'
        union
        select w.first, v.person_id, v.by_id, least(w.at, v.at)
        from vouched w join operator_vouch v on v.person_id = w.by_id
        where v.at > moment - interval '7 days'
    )
    select max(at) + interval '7 days' from vouched where (first, by_id) in ((one, other), (other, one))
$$;

-- An operator by the text of its identifier, as decisions bear it; null for whoever is none.
create function operator_of(named text) returns uuid language sql immutable as $$
    select string_agg(to_hex(substr(bits, 3 + 4 * i, 4)::bit(4)::integer), '' order by i)::uuid from (
        select string_agg((strpos(letters, substr(right(named, 26), n, 1)) - 1)::bit(5)::text, '' order by n) as bits
        from generate_series(1, 26) n, (values ('0123456789abcdefghjkmnpqrstvwxyz')) base (letters)
        where named ~ '^(sandbox_)?operator_[0-7][0-9a-hjkmnp-tv-z]{25}$'
    ) read, generate_series(0, 31) i where bits is not null
$$;
grant select, insert on operator_vouch to almoner_app;

-- Whether money takes two, as an administrator has set it. Without a row production does, and the sandbox does not:
-- which of them this is, the identifier of who decides tells.
create table two_people (
    one boolean primary key default true check (one),
    required boolean not null,
    set_by text not null check (length(set_by) between 1 and 255),
    set_at timestamptz not null
);

create function takes_two(decided_by text) returns boolean language sql stable as $$
    select coalesce((select required from two_people), decided_by !~ '^sandbox_')
$$;

-- One operator is not enough where it takes two.
create function guard_alone() returns trigger language plpgsql as $$
begin
    if takes_two(new.decided_by) then
        raise exception '% decides this with another operator', new.decided_by
            using errcode = 'check_violation', constraint = 'two_people';
    end if;
    return new;
end $$;
grant select, insert, update on two_people to almoner_app;

-- What two operators confirm. fingerprint: of what exactly the first one saw; a second one who sees something else
-- begins anew. outcome: approved by both; changed, withdrawn (the first may no longer decide it) or expired; null while
-- it waits for the second.
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
    constraint approval_two_people check (second_by <> first_by),
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
create index approval_waiting on approval (expires_at) where outcome is null;

-- Two of whom one let the other in lately are not the two pairs of eyes of an account, a flag or a file.
create function guard_apart() returns trigger language plpgsql as $$
declare
    is_now jsonb := to_jsonb(new);
    looked text[] := array_remove(array[
        is_now ->> 'proposed_by', is_now ->> 'made_by', is_now ->> 'first_by', is_now ->> 'second_by',
        is_now ->> 'released_by'
    ], null);
    moment timestamptz := coalesce(is_now ->> 'released_at', is_now ->> 'second_at', is_now ->> 'first_at');
begin
    if exists (
        select from unnest(looked) one, unnest(looked) other
        where one < other and operators_depend(operator_of(one), operator_of(other), moment) is not null
    ) then
        raise exception '% are no two pairs of eyes', looked
            using errcode = 'check_violation', constraint = 'looks_independent';
    end if;
    return new;
end $$;
create trigger approval_promise before update on approval for each row
    when (old.outcome is not null
          or (old.id, old.action, old.subject, old.fingerprint, old.first_by, old.first_at, old.first_note,
              old.expires_at) is distinct from
             (new.id, new.action, new.subject, new.fingerprint, new.first_by, new.first_at, new.first_note,
              new.expires_at))
    execute function guard_promise();

create function guard_pair_of_eyes() returns trigger language plpgsql as $$
begin
    if operators_depend(new.first_by, new.second_by, new.second_at) is not null then
        raise exception 'operators % and % are no two pairs of eyes', new.first_by, new.second_by
            using errcode = 'check_violation', constraint = 'approval_independent';
    end if;
    return new;
end $$;
create trigger approval_independent before insert or update on approval for each row
    when (new.second_by is not null) execute function guard_pair_of_eyes();
grant select, insert, update (second_by, second_at, second_note, outcome, ended_at) on approval to almoner_app;
