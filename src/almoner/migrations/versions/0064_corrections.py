"""Applicants correct an e-mail address that nobody has confirmed, and a number that their register does not list.

Revision ID: 0064
Revises: 0063
"""

from alembic import op

revision = "0064"
down_revision = "0063"

UPGRADE = """
-- Spec 2.2: a verification is not editable. Another address is another verification, which takes its place.
alter table agent_verification
    add column replaces uuid,
    add constraint agent_verification_replaces_once unique (replaces),
    add constraint agent_verification_replaces_fkey
        foreign key (partner_id, replaces) references agent_verification (partner_id, id);
create index agent_verification_replaced on agent_verification (processed_at)
    where email is not null and rejection_code = 'reapply';
create function guard_replacement() returns trigger language plpgsql as $$
begin
    if not exists (
        select from agent_verification
        where id = new.replaces and partner_id = new.partner_id and status = 'rejected'
            and rejection_code = 'reapply' and confirmed_at is null
    ) then
        raise exception 'verification % does not make way for another', new.replaces
            using errcode = 'check_violation', constraint = 'agent_verification_replaces_unconfirmed';
    end if;
    return new;
end $$;
create trigger agent_verification_replaces_unconfirmed before insert on agent_verification for each row
    when (new.replaces is not null) execute function guard_replacement();
create trigger agent_verification_replaces before update of replaces on agent_verification for each row
    when (old.replaces is distinct from new.replaces) execute function guard_promise();

-- What was given of a nonprofit's registration before it was corrected; only ever added to.
create table validation_request_correction (
    id uuid primary key,
    validation_request_id uuid not null references validation_request (id),
    position smallint not null check (position between 1 and 5),
    registry_id uuid not null references registry (id),
    registry_name text not null check (length(registry_name) between 1 and 255),
    registry_number text not null check (length(registry_number) between 1 and 100),
    number_key text collate "C" not null check (number_key <> ''),
    corrected_at timestamptz not null,
    constraint validation_request_correction_once unique (validation_request_id, position)
);
grant select, insert on validation_request_correction to almoner_app;

alter table validation_request
    add column corrections smallint not null default 0,
    add column corrected_at timestamptz,
    add constraint validation_request_corrections check (corrections between 0 and 5),
    add constraint validation_request_corrected check ((corrections = 0) = (corrected_at is null));
alter table validation_request_evaluation
    drop constraint validation_request_evaluation_occasion_check,
    add column corrections smallint not null default 0,
    add constraint validation_request_evaluation_occasion_check
        check (occasion in ('created', 'register_loaded', 'asked', 'corrected'));
comment on column validation_request_evaluation.corrections is 'how many corrections of the request it has seen';

-- What was asked never changes, but for register and number while nobody has decided: what was given before is kept.
create function guard_number() returns trigger language plpgsql as $$
begin
    if old.status <> 'pending' or new.status <> 'pending' or new.corrections <> old.corrections + 1
        or not exists (
            select from validation_request_correction c
            where c.validation_request_id = old.id and c.position = new.corrections
                and (c.registry_id, c.registry_name, c.registry_number, c.number_key)
                    = (old.registry_id, old.registry_name, old.registry_number, old.number_key)
        )
    then
        raise exception 'register and number of % are corrected while nobody has decided, and kept', old.id
            using errcode = 'check_violation', constraint = 'validation_request_corrected_and_kept';
    end if;
    return new;
end $$;
create trigger validation_request_corrected_and_kept before update on validation_request for each row
    when ((old.registry_id, old.registry_name, old.registry_number, old.number_key, old.corrections, old.corrected_at)
        is distinct from
        (new.registry_id, new.registry_name, new.registry_number, new.number_key, new.corrections, new.corrected_at))
    execute function guard_number();
drop trigger validation_request_promise on validation_request;
create trigger validation_request_promise before update on validation_request for each row
    when (old.status <> 'pending' and not (old.status = 'rejected' and new.status = 'accepted')
              and (old.organisation_id, old.organisation_types, old.accepted_at, old.rejected_at,
                   old.rejection_reason_code)
                  is distinct from
                  (new.organisation_id, new.organisation_types, new.accepted_at, new.rejected_at,
                   new.rejection_reason_code)
          or (old.id, old.partner_id, old.name, old.website, old.country_code, old.created_at)
              is distinct from
             (new.id, new.partner_id, new.name, new.website, new.country_code, new.created_at))
    execute function guard_promise();

-- What was asked of a submission stays, and so do the checks; its applicant's address may be corrected.
create function guard_applicant() returns trigger language plpgsql as $$
begin
    if old.status not in ('pending', 'processed') or not exists (
        select from agent_verification where id = new.agent_verification_id and replaces = old.agent_verification_id
    ) then
        raise exception 'the verification of % is replaced by its successor alone', old.id
            using errcode = 'check_violation', constraint = 'validation_submission_applicant_corrected';
    end if;
    return new;
end $$;
create trigger validation_submission_applicant_corrected before update on validation_submission for each row
    when (old.agent_verification_id is distinct from new.agent_verification_id) execute function guard_applicant();
drop trigger validation_submission_promise on validation_submission;
create trigger validation_submission_promise before update on validation_submission for each row
    when ((old.id, old.partner_id, old.configuration_id, old.checks, old.organisation_name, old.country_code,
           old.language, old.created_at) is distinct from
              (new.id, new.partner_id, new.configuration_id, new.checks, new.organisation_name, new.country_code,
               new.language, new.created_at)
          or old.validation_invite_id is distinct from new.validation_invite_id
          or old.validation_request_id is distinct from new.validation_request_id
          or old.monitoring_subscription_id is distinct from new.monitoring_subscription_id
          or old.eligibility_subscription_id is distinct from new.eligibility_subscription_id
          or old.organisation_id is not null and old.organisation_id is distinct from new.organisation_id)
    execute function guard_promise();
"""


def upgrade() -> None:
    """Change the tables."""
    op.execute(UPGRADE)
