"""What the checks of monetary donation verifications rest on, flags that wait for two people, and what nonprofits say.

Revision ID: 0067
Revises: 0066
"""

from alembic import op

revision = "0067"
down_revision = "0066"

UPGRADE = """
-- called: the partner asked for it, as in all that the version before writes; else it was begun when money came for
-- the nonprofit. look_again_at: until then what was seen of a pending or approved one is taken for true.
alter table monetary_donation_verification
    add column called boolean not null default true,
    add column look_again_at timestamptz;
create index monetary_donation_verification_look on monetary_donation_verification (look_again_at)
    where status in ('pending', 'approved') and look_again_at is not null;
create index monetary_donation_verification_everybody on monetary_donation_verification (organisation_id)
    where status in ('pending', 'approved');

-- What was seen of a check, by whom or what, and until when that counts; only ever added to.
create table monetary_donation_finding (
    id uuid primary key,
    verification_id uuid not null references monetary_donation_verification (id),
    type text not null check (type in ('registration', 'compliance', 'bank_details', 'organisation_confirmation')),
    outcome text not null check (outcome in ('succeeded', 'failed', 'unclear')),
    source text not null check (length(source) between 1 and 500),
    reason text check (length(reason) between 1 and 100),
    facts jsonb not null check (jsonb_typeof(facts) = 'object'),
    data_as_of timestamptz,
    seen_at timestamptz not null,
    expires_at timestamptz,
    unique (verification_id, id)
);
create index monetary_donation_finding_of on monetary_donation_finding (verification_id, type, id);

-- Something is other than it was when a check succeeded. While it is open the nonprofit is not paid; it takes two
-- people to lift it. gone: what raised it was taken back.
create table monetary_donation_flag (
    id uuid primary key,
    verification_id uuid not null,
    finding_id uuid not null,
    kind text not null check (
        kind in ('register_removed', 'register_renamed', 'new_match', 'payee_changed', 'holder_differs')
    ),
    status text not null check (status in ('open', 'lifted', 'gone')),
    raised_at timestamptz not null,
    first_by text check (length(first_by) between 1 and 255),
    first_note text check (length(first_note) between 1 and 2000),
    first_at timestamptz,
    second_by text check (length(second_by) between 1 and 255),
    second_note text check (length(second_note) between 1 and 2000),
    second_at timestamptz,
    status_changed_at timestamptz not null,
    foreign key (verification_id, finding_id) references monetary_donation_finding (verification_id, id),
    constraint monetary_donation_flag_once unique (finding_id, kind),
    constraint monetary_donation_flag_looks check (
        num_nonnulls(first_by, first_note, first_at) in (0, 3)
        and num_nonnulls(second_by, second_note, second_at) in (0, 3) and (second_by is null or first_by is not null)
    ),
    constraint monetary_donation_flag_two_people check (
        second_by <> first_by and (status = 'lifted') = (second_by is not null)
    ),
    constraint monetary_donation_flag_gone check (status <> 'gone' or first_by is not null)
);
create index monetary_donation_flag_open on monetary_donation_flag (verification_id) where status = 'open';
create index monetary_donation_flag_of on monetary_donation_flag (verification_id, id);
create index monetary_donation_flag_by_status on monetary_donation_flag (status, id);

-- The nonprofit is asked at its own address whether it wants the money. The link ends with the round of the
-- verification that it was asked in. email, name, role: null once forgotten.
create table monetary_donation_confirmation (
    id uuid primary key,
    verification_id uuid not null references monetary_donation_verification (id),
    email text check (length(email) between 1 and 255),
    source text not null check (length(source) between 1 and 500),
    language text not null check (length(language) between 2 and 35),
    asked_by text not null check (length(asked_by) between 1 and 255),
    asked_at timestamptz not null,
    expires_at timestamptz not null,
    withdrawn boolean not null default false,
    answer text check (answer in ('confirmed', 'declined')),
    name text check (length(name) between 1 and 255),
    role text check (length(role) between 1 and 255),
    shown bytea check (length(shown) = 32),
    answered_at timestamptz,
    constraint monetary_donation_confirmation_answered check (
        (answer is null) = (answered_at is null) and (answer is null) = (shown is null)
        and (answer is not null or (name is null and role is null)) and (answer is null or not withdrawn)
    )
);
comment on column monetary_donation_confirmation.shown is 'hash of what the page showed when it was answered';
create unique index monetary_donation_confirmation_open on monetary_donation_confirmation (verification_id)
    where answer is null and not withdrawn;
create unique index monetary_donation_confirmation_once on monetary_donation_confirmation (verification_id, expires_at)
    where answer is not null;
create index monetary_donation_confirmation_of on monetary_donation_confirmation (verification_id, id);
create index monetary_donation_confirmation_kept
    on monetary_donation_confirmation ((coalesce(answered_at, expires_at))) where email is not null;

create table monetary_donation_confirmation_mail (
    id uuid primary key,
    confirmation_id uuid not null references monetary_donation_confirmation (id),
    email_hash bytea not null check (length(email_hash) = 32),
    sent_at timestamptz not null
);
comment on column monetary_donation_confirmation_mail.sent_at is 'real time';
create index monetary_donation_confirmation_mail_of on monetary_donation_confirmation_mail (confirmation_id, sent_at);
create index monetary_donation_confirmation_mail_to on monetary_donation_confirmation_mail (email_hash, sent_at);

insert into lifecycle_move (resource, from_status, to_status) values
    ('monetary_donation_flag', 'open', 'lifted'),
    ('monetary_donation_flag', 'open', 'gone');
create trigger monetary_donation_flag_status before update of status on monetary_donation_flag for each row
    when (old.status is distinct from new.status) execute function guard_status('monetary_donation_flag');
create trigger monetary_donation_flag_promise before update on monetary_donation_flag for each row
    when ((old.id, old.verification_id, old.finding_id, old.kind, old.raised_at) is distinct from
              (new.id, new.verification_id, new.finding_id, new.kind, new.raised_at)
          or (old.first_by is not null and (old.first_by, old.first_note, old.first_at)
              is distinct from (new.first_by, new.first_note, new.first_at))
          or (old.second_by is not null and (old.second_by, old.second_note, old.second_at)
              is distinct from (new.second_by, new.second_note, new.second_at)))
    execute function guard_promise();
create trigger monetary_donation_confirmation_promise before update on monetary_donation_confirmation for each row
    when ((old.id, old.verification_id, old.source, old.language, old.asked_by, old.asked_at, old.expires_at)
              is distinct from
          (new.id, new.verification_id, new.source, new.language, new.asked_by, new.asked_at, new.expires_at)
          or (old.answer is not null and (old.answer, old.answered_at, old.shown)
              is distinct from (new.answer, new.answered_at, new.shown))
          or (new.email is not null and old.email is distinct from new.email)
          or (old.answer is not null and new.name is not null and (old.name, old.role) is distinct from
              (new.name, new.role))
          or (old.withdrawn and not new.withdrawn))
    execute function guard_promise();
create trigger monetary_donation_finding_append_only before update or delete or truncate on monetary_donation_finding
    for each statement execute function refuse_change();

create function is_flagged(of_partner uuid, to_organisation uuid) returns boolean language sql stable as $$
    select exists (
        select from monetary_donation_verification v join monetary_donation_flag f on f.verification_id = v.id
        where v.partner_id = of_partner and v.organisation_id = to_organisation
          and v.status in ('pending', 'approved') and f.status = 'open'
    )
$$;
-- As before, and while two people have to look at a flag.
create or replace function payout_is_held(of_partner uuid, to_organisation uuid)
returns boolean language sql stable as $$
    select exists (
        select from (
            select distinct on (partner_id) held from payout_hold
            where organisation_id = to_organisation and (partner_id is null or partner_id = of_partner)
            order by partner_id, n desc
        ) newest where held
    ) or exists (
        select from payee_account where organisation_id = to_organisation and status = 'proposed' and is_change
    ) or is_flagged(of_partner, to_organisation)
$$;

grant select, insert, update on monetary_donation_flag, monetary_donation_confirmation to almoner_app;
grant select, insert on monetary_donation_finding, monetary_donation_confirmation_mail to almoner_app;
"""


def upgrade() -> None:
    """Create the tables."""
    op.execute(UPGRADE)
