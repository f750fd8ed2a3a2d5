"""Appeals: a second look, by another operator, at what an application failed by.

Revision ID: 0039
Revises: 0038
"""

from alembic import op

revision = "0039"
down_revision = "0038"

UPGRADE = """
create table appeal (
    id uuid primary key,
    partner_id uuid not null references partner (id),
    validation_submission_id uuid not null,
    text text not null check (length(text) between 1 and 5000),
    appellant text not null check (appellant in ('partner', 'applicant')),
    first_decided_by text[] not null check (array_position(first_decided_by, null) is null),
    overruled text[] not null default '{}' check (
        overruled <@ array['validation_request', 'compliance', 'eligibility', 'agent_verification']
    ),
    status text not null check (status in ('open', 'upheld', 'reversed')),
    created_at timestamptz not null,
    due_at timestamptz not null check (due_at > created_at),
    decided_at timestamptz,
    decided_by text check (length(decided_by) between 1 and 255),
    status_changed_at timestamptz not null,
    unique (partner_id, id),
    foreign key (partner_id, validation_submission_id) references validation_submission (partner_id, id),
    constraint appeal_decided check (
        (status = 'open') = (decided_at is null) and (decided_at is null) = (decided_by is null)
    ),
    -- Nobody judges their own decision.
    constraint appeal_by_another check (decided_by <> all (first_decided_by)),
    constraint appeal_overruled check (overruled = '{}' or status = 'reversed')
);
comment on column appeal.first_decided_by is 'operators who decided what is appealed against, earlier appeals included';
comment on column appeal.overruled is 'checks that count as passed for this submission, whatever they say themselves';
create unique index appeal_open on appeal (validation_submission_id) where status = 'open';
create index appeal_of_submission on appeal (validation_submission_id, id);
create index appeal_due on appeal (due_at) where status = 'open';

-- Only what failed is appealed against.
create function guard_appeal() returns trigger language plpgsql as $$
begin
    if not exists (
        select from validation_submission where id = new.validation_submission_id and status = 'failed'
    ) then
        raise exception 'submission % has not failed', new.validation_submission_id
            using errcode = 'check_violation', constraint = 'appeal_of_a_failed_submission';
    end if;
    return new;
end $$;
create trigger appeal_of_a_failed_submission before insert on appeal for each row execute function guard_appeal();

-- A rejection is undone by an appeal alone.
create function guard_reversal() returns trigger language plpgsql as $$
begin
    if not exists (
        select from appeal a join validation_submission s on s.id = a.validation_submission_id
        where a.status = 'reversed' and new.id in (s.validation_request_id, s.agent_verification_id, s.id)
    ) then
        raise exception '% % was refused, and no appeal has reversed that', tg_table_name, new.id
            using errcode = 'check_violation', constraint = 'reversed_by_an_appeal';
    end if;
    return new;
end $$;
create trigger validation_request_reversal before update of status on validation_request for each row
    when (old.status = 'rejected' and new.status <> 'rejected') execute function guard_reversal();
create trigger agent_verification_reversal before update of status on agent_verification for each row
    when (old.status = 'rejected' and new.status <> 'rejected') execute function guard_reversal();
create trigger validation_submission_reversal before update of status on validation_submission for each row
    when (old.status = 'failed' and new.status <> 'failed') execute function guard_reversal();

insert into lifecycle_move (resource, from_status, to_status) values
    ('appeal', 'open', 'upheld'),
    ('appeal', 'open', 'reversed'),
    ('validation_request', 'rejected', 'accepted'),
    ('agent_verification', 'rejected', 'approved'),
    ('agent_verification', 'rejected', 'pending_user_verification'),
    ('monitoring_subscription', 'validation_request_failed', 'pending_validation_request'),
    ('eligibility_subscription', 'validation_request_failed', 'pending_validation_request'),
    ('validation_submission', 'failed', 'processed');
create trigger appeal_status before update of status on appeal for each row
    when (old.status is distinct from new.status) execute function guard_status('appeal');
create trigger appeal_promise before update on appeal for each row
    when ((old.id, old.partner_id, old.validation_submission_id, old.text, old.appellant, old.first_decided_by,
           old.created_at, old.due_at) is distinct from
              (new.id, new.partner_id, new.validation_submission_id, new.text, new.appellant, new.first_decided_by,
               new.created_at, new.due_at)
          or old.status <> 'open')
    execute function guard_promise();

-- What was asked never changes; nor does a decision, but for a rejection that an appeal reverses.
drop trigger validation_request_promise on validation_request;
create trigger validation_request_promise before update on validation_request for each row
    when (old.status <> 'pending' and not (old.status = 'rejected' and new.status = 'accepted')
              and (old.organisation_id, old.organisation_types, old.accepted_at, old.rejected_at,
                   old.rejection_reason_code)
                  is distinct from
                  (new.organisation_id, new.organisation_types, new.accepted_at, new.rejected_at,
                   new.rejection_reason_code)
          or (old.id, old.partner_id, old.name, old.registry_id, old.registry_name, old.registry_number, old.number_key,
              old.website, old.country_code, old.created_at)
              is distinct from
             (new.id, new.partner_id, new.name, new.registry_id, new.registry_name, new.registry_number, new.number_key,
              new.website, new.country_code, new.created_at))
    execute function guard_promise();

grant select, insert, update on appeal to almoner_app;
"""


def upgrade() -> None:
    """Create the table."""
    op.execute(UPGRADE)
