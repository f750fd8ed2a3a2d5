"""Validation submissions: one application, every configured check, one answer.

Revision ID: 0037
Revises: 0036
"""

from alembic import op

revision = "0037"
down_revision = "0036"

UPGRADE = """
create table validation_submission (
    id uuid primary key,
    partner_id uuid not null references partner (id),
    configuration_id uuid not null,
    validation_invite_id uuid,
    status text not null check (status in ('pending', 'processed', 'succeeded', 'failed')),
    checks text[] not null check (
        cardinality(checks) between 1 and 4
        and checks <@ array['validation_request', 'compliance', 'eligibility', 'agent_verification']
    ),
    organisation_id uuid references organisation (id),
    validation_request_id uuid,
    monitoring_subscription_id uuid,
    eligibility_subscription_id uuid,
    agent_verification_id uuid,
    organisation_name text not null check (length(organisation_name) between 1 and 500),
    country_code text not null check (country_code ~ '^[A-Z]{3}$'),
    search_name text collate "C" not null,
    language text not null check (length(language) between 2 and 35),
    first_name text check (length(first_name) between 1 and 255),
    last_name text check (length(last_name) between 1 and 255),
    email text check (length(email) between 3 and 255),
    metadata jsonb check (jsonb_typeof(metadata) = 'object'),
    partner_fields jsonb check (jsonb_typeof(partner_fields) = 'object'),
    failure_reasons jsonb check (jsonb_typeof(failure_reasons) = 'object'),
    created_at timestamptz not null,
    processed_at timestamptz,
    status_changed_at timestamptz not null,
    unique (partner_id, id),
    foreign key (partner_id, configuration_id) references hosted_configuration (partner_id, id),
    foreign key (partner_id, validation_invite_id) references validation_invite (partner_id, id),
    foreign key (partner_id, validation_request_id) references validation_request (partner_id, id),
    foreign key (partner_id, monitoring_subscription_id) references monitoring_subscription (partner_id, id),
    foreign key (partner_id, eligibility_subscription_id) references eligibility_subscription (partner_id, id),
    foreign key (partner_id, agent_verification_id) references agent_verification (partner_id, id),
    constraint validation_submission_of_somebody check (num_nonnulls(organisation_id, validation_request_id) > 0),
    constraint validation_submission_compliance
        check (('compliance' = any(checks)) = (monitoring_subscription_id is not null)),
    constraint validation_submission_eligibility
        check (('eligibility' = any(checks)) = (eligibility_subscription_id is not null)),
    constraint validation_submission_agent
        check (('agent_verification' = any(checks)) = (agent_verification_id is not null)),
    -- An applicant is known once: with the agent verification where there is one.
    constraint validation_submission_applicant
        check (agent_verification_id is null or num_nonnulls(first_name, last_name, email) = 0),
    constraint validation_submission_processed check ((status = 'pending') = (processed_at is null)),
    constraint validation_submission_failed check ((status = 'failed') = (failure_reasons is not null))
);
comment on column validation_submission.checks is 'those of its configuration when it was made';
comment on column validation_submission.organisation_name is 'as it was given, or that of the organisation then';
comment on column validation_submission.search_name is 'its words and the number given: ASCII, lower case, one blank';
comment on column validation_submission.email is 'of the applicant, where no agent is verified';
comment on column validation_submission.partner_fields is 'answers to the partner''s own questions, by their ids';
comment on column validation_submission.failure_reasons is 'by check, as partners see it';
-- An invite is for one submission, and a check is of one: what becomes of it is looked up by these.
create unique index validation_submission_of_invite on validation_submission (validation_invite_id);
create unique index validation_submission_of_monitoring on validation_submission (monitoring_subscription_id);
create unique index validation_submission_of_eligibility on validation_submission (eligibility_subscription_id);
create unique index validation_submission_of_agent on validation_submission (agent_verification_id);
create index validation_submission_of_request on validation_submission (validation_request_id, partner_id, id);
create index validation_submission_of_organisation on validation_submission (partner_id, organisation_id, id);
create index validation_submission_status on validation_submission (partner_id, status, id);
create index validation_submission_configuration on validation_submission (partner_id, configuration_id, id);
create index validation_submission_country on validation_submission (partner_id, country_code, id);
create index validation_submission_email on validation_submission (partner_id, lower(email)) where email is not null;
create index validation_submission_words on validation_submission using gin (search_name gin_trgm_ops);
-- Who was accepted before is not asked again.
create index validation_request_number on validation_request (partner_id, registry_id, number_key)
    where status = 'accepted';
create index validation_submission_waiting on validation_submission (created_at) where status = 'pending';

-- What an applicant handed in: of an invite until its submission is made, of the submission then.
create table validation_submission_document (
    id uuid primary key,
    partner_id uuid not null references partner (id),
    document_id uuid not null unique,
    validation_submission_id uuid,
    validation_invite_id uuid,
    type text not null check (type in ('validation_request', 'agent_verification')),
    created_at timestamptz not null,
    unique (partner_id, id),
    foreign key (partner_id, document_id) references document (partner_id, id),
    foreign key (partner_id, validation_submission_id) references validation_submission (partner_id, id),
    foreign key (partner_id, validation_invite_id) references validation_invite (partner_id, id),
    constraint validation_submission_document_of_somebody
        check (num_nonnulls(validation_submission_id, validation_invite_id) > 0)
);
create index validation_submission_document_of on validation_submission_document (validation_submission_id, id);
create index validation_submission_document_of_invite on validation_submission_document (validation_invite_id, id);

insert into lifecycle_move (resource, from_status, to_status) values
    ('validation_submission', 'pending', 'processed'),
    ('validation_submission', 'pending', 'succeeded'),
    ('validation_submission', 'pending', 'failed'),
    ('validation_submission', 'processed', 'succeeded'),
    ('validation_submission', 'processed', 'failed'),
    ('validation_submission', 'failed', 'succeeded');

create trigger validation_submission_status before update of status on validation_submission for each row
    when (old.status is distinct from new.status) execute function guard_status('validation_submission');

-- What was asked stays, and so do the checks; an organisation is filled in once.
create trigger validation_submission_promise before update on validation_submission for each row
    when ((old.id, old.partner_id, old.configuration_id, old.checks, old.organisation_name, old.country_code,
           old.language, old.created_at) is distinct from
              (new.id, new.partner_id, new.configuration_id, new.checks, new.organisation_name, new.country_code,
               new.language, new.created_at)
          or old.validation_invite_id is distinct from new.validation_invite_id
          or old.validation_request_id is distinct from new.validation_request_id
          or old.monitoring_subscription_id is distinct from new.monitoring_subscription_id
          or old.eligibility_subscription_id is distinct from new.eligibility_subscription_id
          or old.agent_verification_id is distinct from new.agent_verification_id
          or old.organisation_id is not null and old.organisation_id is distinct from new.organisation_id)
    execute function guard_promise();
create trigger validation_submission_document_promise before update on validation_submission_document for each row
    when ((old.id, old.partner_id, old.document_id, old.type, old.created_at) is distinct from
              (new.id, new.partner_id, new.document_id, new.type, new.created_at)
          or old.validation_invite_id is distinct from new.validation_invite_id
          or old.validation_submission_id is not null
             and old.validation_submission_id is distinct from new.validation_submission_id)
    execute function guard_promise();

grant select, insert, update on validation_submission, validation_submission_document to almoner_app;
"""


def upgrade() -> None:
    """Create the tables."""
    op.execute(UPGRADE)
