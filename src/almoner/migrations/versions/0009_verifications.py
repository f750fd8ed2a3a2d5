"""Monetary donation verifications.

Revision ID: 0009
Revises: 0008
"""

from alembic import op

revision = "0009"
down_revision = "0008"

UPGRADE = """
create table monetary_donation_verification (
    id uuid primary key,
    partner_id uuid not null references partner (id),
    organisation_id uuid not null references organisation (id),
    status text not null check (status in ('pending', 'approved', 'rejected', 'expired')),
    rejection_reason text check (
        rejection_reason in ('not_eligible', 'failed_compliance', 'no_response', 'declined_by_organisation', 'other')
    ),
    metadata jsonb check (jsonb_typeof(metadata) = 'object'),
    created_at timestamptz not null,
    updated_at timestamptz not null,
    expires_at timestamptz,
    processed_at timestamptz,
    status_changed_at timestamptz not null,
    unique (partner_id, id),
    constraint monetary_donation_verification_rejected check ((status = 'rejected') = (rejection_reason is not null)),
    constraint monetary_donation_verification_processed check ((status = 'pending') = (processed_at is null)),
    constraint monetary_donation_verification_expiry
        check ((status in ('pending', 'expired')) = (expires_at is not null))
);
comment on column monetary_donation_verification.expires_at is 'pending until then; null once it was decided';
-- One that counts for each organisation: who pays out must never find two answers.
create unique index monetary_donation_verification_live on monetary_donation_verification (partner_id, organisation_id)
    where status in ('pending', 'approved');
create index monetary_donation_verification_of_organisation
    on monetary_donation_verification (partner_id, organisation_id, id);
create index monetary_donation_verification_due on monetary_donation_verification (expires_at) where status = 'pending';

create table monetary_donation_check (
    id uuid primary key,
    verification_id uuid not null references monetary_donation_verification (id),
    type text not null check (type in ('registration', 'compliance', 'bank_details', 'organisation_confirmation')),
    status text not null check (status in ('pending', 'succeeded', 'failed')),
    status_changed_at timestamptz not null,
    constraint monetary_donation_check_once unique (verification_id, type)
);

-- What people decided, on what evidence; only ever added to.
create table monetary_donation_decision (
    id uuid primary key,
    verification_id uuid not null references monetary_donation_verification (id),
    decision text not null check (decision in ('approved', 'rejected', 'reopened')),
    reason text check (
        reason in ('not_eligible', 'failed_compliance', 'no_response', 'declined_by_organisation', 'other')
    ),
    note text not null check (length(note) between 1 and 2000),
    decided_by text not null check (length(decided_by) between 1 and 255),
    decided_at timestamptz not null,
    constraint monetary_donation_decision_reason check ((decision = 'rejected') = (reason is not null))
);
create index monetary_donation_decision_of on monetary_donation_decision (verification_id, id);

insert into lifecycle_move (resource, from_status, to_status) values
    ('monetary_donation_verification', 'pending', 'approved'),
    ('monetary_donation_verification', 'pending', 'rejected'),
    ('monetary_donation_verification', 'pending', 'expired'),
    ('monetary_donation_verification', 'rejected', 'pending'),
    ('monetary_donation_verification', 'expired', 'pending'),
    ('monetary_donation_check', 'pending', 'succeeded'),
    ('monetary_donation_check', 'pending', 'failed'),
    ('monetary_donation_check', 'succeeded', 'pending'),
    ('monetary_donation_check', 'failed', 'pending');

create trigger monetary_donation_verification_status
    before update of status on monetary_donation_verification for each row
    when (old.status is distinct from new.status) execute function guard_status('monetary_donation_verification');
create trigger monetary_donation_check_status before update of status on monetary_donation_check for each row
    when (old.status is distinct from new.status) execute function guard_status('monetary_donation_check');

-- Nobody is approved whose checks have not all succeeded, and no check moves but those of one that is pending.
create function guard_approval() returns trigger language plpgsql as $$
begin
    if (select count(*) from monetary_donation_check where verification_id = new.id and status = 'succeeded') < 4 then
        raise exception 'verification % has checks that have not succeeded', new.id
            using errcode = 'check_violation', constraint = 'monetary_donation_verification_checked';
    end if;
    return new;
end $$;
create trigger monetary_donation_verification_approval
    before insert or update of status on monetary_donation_verification for each row
    when (new.status = 'approved') execute function guard_approval();

create function guard_check() returns trigger language plpgsql as $$
begin
    -- The lock lets no approval pass by while its check moves.
    perform from monetary_donation_verification
        where id = new.verification_id and status = 'pending' for no key update;
    if not found then
        raise exception 'check % belongs to a verification that is not pending', new.id
            using errcode = 'check_violation', constraint = 'monetary_donation_check_pending';
    end if;
    return new;
end $$;
create trigger monetary_donation_check_move before update on monetary_donation_check for each row
    when (old.status is distinct from new.status) execute function guard_check();

-- Whose it is and for whom never changes; nor does what a check is of.
create trigger monetary_donation_verification_promise before update on monetary_donation_verification for each row
    when ((old.id, old.partner_id, old.organisation_id, old.created_at) is distinct from
              (new.id, new.partner_id, new.organisation_id, new.created_at))
    execute function guard_promise();
create trigger monetary_donation_check_promise before update on monetary_donation_check for each row
    when ((old.id, old.verification_id, old.type) is distinct from (new.id, new.verification_id, new.type))
    execute function guard_promise();

grant select, insert, update on monetary_donation_verification, monetary_donation_check to almoner_app;
grant select, insert on monetary_donation_decision to almoner_app;
"""


def upgrade() -> None:
    """Create the tables."""
    op.execute(UPGRADE)
