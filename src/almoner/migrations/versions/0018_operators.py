"""Operators' personal tokens, and what two people decide.

Revision ID: 0018
Revises: 0017
"""

from alembic import op

revision = "0018"
down_revision = "0017"

UPGRADE = """
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

-- Operators are deactivated, never deleted: what they decided bears their identifiers.
create function guard_operator() returns trigger language plpgsql as $$
begin
    raise exception 'operator % may be deactivated, not deleted', old.id
        using errcode = 'check_violation', constraint = 'operator_stays';
end $$;
create trigger operator_stays before delete on person for each row
    when (old.realm = '00000000-0000-0000-0000-000000000000') execute function guard_operator();

-- Tokens end with what their operator signs in by, whoever takes it: a new password, none any more, deactivation. The
-- first password of all ends none: the first operator's token is older than it. Whoever ends tokens by themselves
-- writes the moment that they know; here it is that of the change, or the last sign of life where there is none.
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
create trigger password_changed after update on password for each row
    when (old.set_at is distinct from new.set_at) execute function end_operator_tokens();
create trigger password_taken after delete on password for each row execute function end_operator_tokens();
create trigger operator_deactivated after update on person for each row
    when (old.realm = '00000000-0000-0000-0000-000000000000' and old.active and not new.active)
    execute function end_operator_tokens();

-- Somebody active can always add operators, also when two are taken away at once: one waits for the other.
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
        raise exception 'somebody stays who can add operators'
            using errcode = 'check_violation', constraint = 'operator_administrator_stays';
    end if;
    return null;
end $$;
create constraint trigger operator_role_taken after delete on person_role deferrable initially deferred for each row
    when (old.realm = '00000000-0000-0000-0000-000000000000' and old.role = 'administrator')
    execute function guard_administrators();
create constraint trigger operator_gone after update on person deferrable initially deferred for each row
    when (old.realm = '00000000-0000-0000-0000-000000000000' and old.active and not new.active)
    execute function guard_administrators();

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

-- The decisions themselves bear both names, so that no way of storing them makes two of one person.
alter table monetary_donation_decision
    add column second_by text check (length(second_by) between 1 and 255),
    add column second_note text check (length(second_note) between 1 and 2000),
    add constraint monetary_donation_decision_two_people check (second_by <> decided_by),
    add constraint monetary_donation_decision_second check (
        (second_by is null) = (second_note is null) and (second_by is null or decision = 'approved')
    );
alter table payout_hold
    add column second_by text check (length(second_by) between 1 and 255),
    add column second_note text check (length(second_note) between 1 and 2000),
    add constraint payout_hold_two_people check (second_by <> decided_by),
    add constraint payout_hold_second check (
        (second_by is null) = (second_note is null) and (second_by is null or not held)
    );

-- Nor is one operator enough where it takes two.
create function guard_alone() returns trigger language plpgsql as $$
begin
    if takes_two(new.decided_by) then
        raise exception '% decides this with another operator', new.decided_by
            using errcode = 'check_violation', constraint = 'two_people';
    end if;
    return new;
end $$;
create trigger monetary_donation_decision_alone before insert on monetary_donation_decision for each row
    when (new.decision = 'approved' and new.second_by is null and new.decided_by ~ '^(sandbox_)?operator_')
    execute function guard_alone();
create trigger payout_hold_alone before insert on payout_hold for each row
    when (not new.held and new.second_by is null and new.decided_by ~ '^(sandbox_)?operator_')
    execute function guard_alone();

-- An operator who stopped payouts to a nonprofit does not let them go again alone, whatever is set.
create function guard_release() returns trigger language plpgsql as $$
begin
    if exists (
        select from payout_hold h
        where h.organisation_id = new.organisation_id and h.partner_id is not distinct from new.partner_id and h.held
            and h.decided_by = new.decided_by
            and h.n > coalesce((
                select max(r.n) from payout_hold r
                where r.organisation_id = new.organisation_id and r.partner_id is not distinct from new.partner_id
                    and not r.held
            ), 0)
    ) then
        raise exception 'payouts to % were stopped by who lets them go alone', new.organisation_id
            using errcode = 'check_violation', constraint = 'payout_hold_released_by_another';
    end if;
    return new;
end $$;
create trigger payout_hold_release before insert on payout_hold for each row
    when (not new.held and new.second_by is null and new.decided_by ~ '^(sandbox_)?operator_')
    execute function guard_release();

grant select, insert on operator_token to almoner_app;
grant update (revoked_at, last_used_at) on operator_token to almoner_app;
grant select, insert on operator_vouch to almoner_app;
grant select, insert, update on two_people to almoner_app;
grant select, insert on approval to almoner_app;
grant update (second_by, second_at, second_note, outcome, ended_at) on approval to almoner_app;
"""


def upgrade() -> None:
    """Create the tables."""
    op.execute(UPGRADE)
