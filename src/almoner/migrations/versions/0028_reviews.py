"""Reviews: what people are asked to decide, and what was decided by whom and why.

Revision ID: 0028
Revises: 0026
"""

from alembic import op

revision = "0028"
down_revision = "0026"

UPGRADE = """
-- What somebody has to decide. Its subject is a record of another table, which the kind names.
create table review (
    id uuid primary key,
    kind text not null,
    subject_id uuid not null,
    partner_id uuid not null references partner (id),
    reasons text[] not null,
    asked_at timestamptz not null,
    claimed_by text check (length(claimed_by) between 1 and 255),
    claimed_until timestamptz,
    shown bytea check (length(shown) = 32),
    status text not null check (status in ('open', 'decided', 'withdrawn')),
    status_changed_at timestamptz not null,
    ended_at timestamptz,
    unique (id, kind, subject_id, partner_id),
    constraint review_kind check (kind in ('validation_request', 'agent_verification', 'match', 'appeal')),
    constraint review_has_reasons check (cardinality(reasons) > 0 and array_position(reasons, null) is null),
    constraint review_ended check ((status = 'open') = (ended_at is null) and ended_at >= asked_at),
    constraint review_claimed check (
        (claimed_by is null) = (claimed_until is null) and (claimed_by is null) = (shown is null)
    )
);
comment on column review.claimed_by is 'who was shown it last and has not let go of it';
comment on column review.claimed_until is 'real time; until then nobody else decides';
comment on column review.shown is 'fingerprint of what claimed_by was shown';
-- Nobody is asked twice about one thing at a time.
create unique index review_open on review (kind, subject_id) where status = 'open';
create index review_of_subject on review (kind, subject_id, id);
create index review_queue on review (asked_at, id) where status = 'open';
create index review_queue_of_kind on review (kind, asked_at, id) where status = 'open';
create index review_queue_of_partner on review (partner_id, asked_at, id) where status = 'open';
create index review_held on review (claimed_by, asked_at, id) where status = 'open' and claimed_by is not null;
create index review_waited on review (kind, asked_at, ended_at) where status = 'decided';

-- What was decided; only ever added to. A decision that nobody had to be asked for has no review.
create table review_decision (
    id uuid primary key,
    review_id uuid,
    kind text not null,
    subject_id uuid not null,
    partner_id uuid not null references partner (id),
    verdict text not null check (verdict in ('accepted', 'rejected')),
    reason_code text check (length(reason_code) between 1 and 100),
    note text not null check (length(note) between 1 and 2000),
    decided_by text not null check (length(decided_by) between 1 and 255),
    decided_at timestamptz not null,
    foreign key (review_id, kind, subject_id, partner_id) references review (id, kind, subject_id, partner_id),
    constraint review_decision_once unique (review_id),
    constraint review_decision_kind check (kind in ('validation_request', 'agent_verification', 'match', 'appeal')),
    constraint review_decision_reason check ((verdict = 'rejected') = (reason_code is not null))
);
create index review_decision_of_subject on review_decision (kind, subject_id, id);
create index review_decision_by on review_decision (decided_by, kind, verdict) where review_id is not null;

insert into lifecycle_move (resource, from_status, to_status) values
    ('review', 'open', 'decided'),
    ('review', 'open', 'withdrawn');
create trigger review_status before update of status on review for each row
    when (old.status is distinct from new.status) execute function guard_status('review');

-- What it is about and since when never changes; nor does anything once it has ended.
create trigger review_promise before update on review for each row
    when ((old.id, old.kind, old.subject_id, old.partner_id, old.asked_at) is distinct from
              (new.id, new.kind, new.subject_id, new.partner_id, new.asked_at)
          or old.status <> 'open')
    execute function guard_promise();

-- Who decides an open review ends it, and a review that was decided has its decision.
create function guard_review_decision() returns trigger language plpgsql as $$
begin
    if not exists (select from review where id = new.review_id and status = 'decided') then
        raise exception 'review % has a decision and was not ended by it', new.review_id
            using errcode = 'check_violation', constraint = 'review_decision_ends_review';
    end if;
    return null;
end $$;
create constraint trigger review_decision_ends_review after insert on review_decision
    deferrable initially deferred for each row when (new.review_id is not null)
    execute function guard_review_decision();
create function guard_decided_review() returns trigger language plpgsql as $$
begin
    if not exists (select from review_decision where review_id = new.id) then
        raise exception 'review % is decided and nobody decided it', new.id
            using errcode = 'check_violation', constraint = 'review_decided_has_decision';
    end if;
    return null;
end $$;
create constraint trigger review_decided_has_decision after insert or update of status on review
    deferrable initially deferred for each row when (new.status = 'decided')
    execute function guard_decided_review();

grant select, insert, update on review to almoner_app;
grant select, insert on review_decision to almoner_app;
"""


def upgrade() -> None:
    """Create the tables."""
    op.execute(UPGRADE)
