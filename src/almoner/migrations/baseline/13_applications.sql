-- Applications: submissions of hosted forms, and appeals.

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
    overridden_checks text[] not null default '{}' constraint validation_submission_overridden_checks check (
        overridden_checks <@ array['validation_request', 'compliance', 'eligibility', 'agent_verification']
    ),
    unique (partner_id, id),
    foreign key (partner_id, configuration_id) references hosted_configuration (partner_id, id),
    foreign key (partner_id, validation_invite_id) references validation_invite (partner_id, id),
    foreign key (partner_id, validation_request_id) references validation_request (partner_id, id),
    foreign key (partner_id, monitoring_subscription_id) references monitoring_subscription (partner_id, id),
    foreign key (partner_id, eligibility_subscription_id) references eligibility_subscription (partner_id, id),
    foreign key (partner_id, agent_verification_id) references agent_verification (partner_id, id),
    constraint validation_submission_has_subject check (num_nonnulls(organisation_id, validation_request_id) > 0),
    constraint validation_submission_compliance
        check (('compliance' = any(checks)) = (monitoring_subscription_id is not null)),
    constraint validation_submission_eligibility
        check (('eligibility' = any(checks)) = (eligibility_subscription_id is not null)),
    constraint validation_submission_agent
        check (('agent_verification' = any(checks)) = (agent_verification_id is not null)),
    -- The applicant's personal data is stored once: in the agent verification where there is one.
    constraint validation_submission_applicant
        check (agent_verification_id is null or num_nonnulls(first_name, last_name, email) = 0),
    constraint validation_submission_processed check ((status = 'pending') = (processed_at is null)),
    constraint validation_submission_failed check ((status = 'failed') = (failure_reasons is not null))
);
-- An invite is used by one submission, and a check belongs to one; their outcomes are looked up by these.
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
create index validation_submission_pending on validation_submission (created_at) where status = 'pending';
create index validation_submission_to_erase on validation_submission (processed_at)
    where num_nonnulls(first_name, last_name, email, partner_fields) > 0;
-- Personal data is erased in time even where nothing could be decided.
create index validation_submission_undecided_to_erase on validation_submission (processed_at)
    where processed_at is not null and status = 'processed'
        and num_nonnulls(first_name, last_name, email, partner_fields) > 0;
comment on column validation_submission.checks is 'those of its configuration at submission';
comment on column validation_submission.organisation_name is 'as submitted, or that of the organisation then';
comment on column validation_submission.search_name is
    'words of the name, and the number: ASCII, lower case, separated by single spaces';
comment on column validation_submission.email is 'of the applicant, where no agent verification is made';
comment on column validation_submission.partner_fields is 'answers to the partner''s own questions, by question id';
comment on column validation_submission.failure_reasons is 'by check, as shown to partners';
comment on column validation_submission.overridden_checks is
    'checks that count as passed after a reversed appeal, whatever their own result';
insert into lifecycle_transition (resource, from_status, to_status) values
    ('validation_submission', 'pending', 'processed'),
    ('validation_submission', 'pending', 'succeeded'),
    ('validation_submission', 'pending', 'failed'),
    ('validation_submission', 'processed', 'succeeded'),
    ('validation_submission', 'processed', 'failed'),
    ('validation_submission', 'failed', 'succeeded'),
    ('validation_submission', 'failed', 'processed');
create trigger validation_submission_status before update of status on validation_submission for each row
    when (old.status is distinct from new.status) execute function guard_status('validation_submission');
create trigger validation_submission_reversal before update of status on validation_submission for each row
    when (old.status = 'failed' and new.status <> 'failed') execute function guard_reversal();

-- The applicant's email address may be corrected while nothing is decided; after a reversed appeal that is so again
-- until its new result.
create function guard_applicant() returns trigger language plpgsql as $$
begin
    if not (
        old.status in ('pending', 'processed') or old.status = 'failed' and exists (
            select from appeal
            where validation_submission_id = old.id and status = 'reversed' and completed_at is null
        )
    ) or not exists (
        select from agent_verification where id = new.agent_verification_id and replaces = old.agent_verification_id
    ) then
        raise exception 'the verification of % is replaced by its successor alone', old.id
            using errcode = 'check_violation', constraint = 'validation_submission_applicant_corrected';
    end if;
    return new;
end $$;
create trigger validation_submission_applicant_corrected before update on validation_submission for each row
    when (old.agent_verification_id is distinct from new.agent_verification_id) execute function guard_applicant();
-- The submission and its checks do not change; an organisation is set once.
create trigger validation_submission_immutable before update on validation_submission for each row
    when ((old.id, old.partner_id, old.configuration_id, old.checks, old.organisation_name, old.country_code,
           old.language, old.created_at) is distinct from
              (new.id, new.partner_id, new.configuration_id, new.checks, new.organisation_name, new.country_code,
               new.language, new.created_at)
          or old.validation_invite_id is distinct from new.validation_invite_id
          or old.validation_request_id is distinct from new.validation_request_id
          or old.monitoring_subscription_id is distinct from new.monitoring_subscription_id
          or old.eligibility_subscription_id is distinct from new.eligibility_subscription_id
          or old.organisation_id is not null and old.organisation_id is distinct from new.organisation_id)
    execute function guard_immutable();
grant select, insert, update on validation_submission to almoner_app;

-- Documents uploaded by an applicant: attached to the invite until submission, to the submission afterwards.
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
    constraint validation_submission_document_has_subject
        check (num_nonnulls(validation_submission_id, validation_invite_id) > 0)
);
create index validation_submission_document_of on validation_submission_document (validation_submission_id, id);
create index validation_submission_document_of_invite on validation_submission_document (validation_invite_id, id);
create trigger validation_submission_document_immutable before update on validation_submission_document for each row
    when ((old.id, old.partner_id, old.document_id, old.type, old.created_at) is distinct from
              (new.id, new.partner_id, new.document_id, new.type, new.created_at)
          or old.validation_invite_id is distinct from new.validation_invite_id
          or old.validation_submission_id is not null
             and old.validation_submission_id is distinct from new.validation_submission_id)
    execute function guard_immutable();
grant select, insert, update on validation_submission_document to almoner_app;

-- A visitor came by the form's link, which reveals nobody's address; the link in an email does.
-- The text of an appeal is erased some time after its decision, not before.
create table appeal (
    id uuid primary key,
    partner_id uuid not null references partner (id),
    validation_submission_id uuid not null,
    text text check (length(text) between 1 and 5000),
    appellant text not null check (appellant in ('partner', 'applicant', 'visitor')),
    first_decided_by text[] not null check (array_position(first_decided_by, null) is null),
    overridden_checks text[] not null default '{}' check (
        overridden_checks <@ array['validation_request', 'compliance', 'eligibility', 'agent_verification']
    ),
    status text not null check (status in ('open', 'upheld', 'reversed')),
    created_at timestamptz not null,
    due_at timestamptz not null check (due_at > created_at),
    decided_at timestamptz,
    decided_by text check (length(decided_by) between 1 and 255),
    status_changed_at timestamptz not null,
    completed_at timestamptz,
    unique (partner_id, id),
    foreign key (partner_id, validation_submission_id) references validation_submission (partner_id, id),
    constraint appeal_decided check (
        (status = 'open') = (decided_at is null) and (decided_at is null) = (decided_by is null)
    ),
    -- Nobody decides an appeal against their own decision.
    constraint appeal_by_another check (decided_by <> all (first_decided_by)),
    constraint appeal_overridden_checks check (overridden_checks = '{}' or status = 'reversed'),
    constraint appeal_has_text check (text is not null or status <> 'open'),
    constraint appeal_completed check (completed_at is null or status = 'reversed')
);
create unique index appeal_open on appeal (validation_submission_id) where status = 'open';
create index appeal_of_submission on appeal (validation_submission_id, id);
create index appeal_due on appeal (due_at) where status = 'open';
create index appeal_to_erase on appeal (decided_at) where text is not null and decided_at is not null;
comment on column appeal.first_decided_by is
    'operators who made the decisions appealed against, including earlier appeals';
comment on column appeal.overridden_checks is
    'checks that count as passed for this submission, whatever their own result';
comment on column appeal.completed_at is
    'when all checks had finished after the reversal and the submission had its new result';
insert into lifecycle_transition (resource, from_status, to_status) values
    ('appeal', 'open', 'upheld'),
    ('appeal', 'open', 'reversed');

-- Only a failed submission can be appealed.
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
create trigger appeal_status before update of status on appeal for each row
    when (old.status is distinct from new.status) execute function guard_status('appeal');
create trigger appeal_immutable before update on appeal for each row
    when ((old.id, old.partner_id, old.validation_submission_id, old.appellant, old.first_decided_by, old.created_at,
           old.due_at) is distinct from
              (new.id, new.partner_id, new.validation_submission_id, new.appellant, new.first_decided_by,
               new.created_at, new.due_at)
          or old.text is distinct from new.text and (new.text is not null or old.status = 'open')
          or old.status <> 'open'
             and (old.status, old.overridden_checks, old.decided_at, old.decided_by, old.status_changed_at)
                 is distinct from
                 (new.status, new.overridden_checks, new.decided_at, new.decided_by, new.status_changed_at))
    execute function guard_immutable();
create trigger appeal_completed before update of completed_at on appeal for each row
    when (old.completed_at is not null and old.completed_at is distinct from new.completed_at)
    execute function guard_immutable();
grant select, insert, update on appeal to almoner_app;

create table application_language (
    validation_submission_id uuid primary key,
    partner_id uuid not null references partner (id),
    language text not null check (length(language) between 2 and 35),
    updated_at timestamptz not null,
    foreign key (partner_id, validation_submission_id) references validation_submission (partner_id, id)
);
comment on table application_language is 'language of the status page and emails; no row: that of the submission';
create trigger application_language_immutable before update on application_language for each row
    when ((old.validation_submission_id, old.partner_id) is distinct from
              (new.validation_submission_id, new.partner_id))
    execute function guard_immutable();
grant select, insert, update on application_language to almoner_app;

create table application_link (
    validation_submission_id uuid primary key,
    partner_id uuid not null references partner (id),
    mailed_at timestamptz[] not null check (cardinality(mailed_at) between 1 and 3),
    foreign key (partner_id, validation_submission_id) references validation_submission (partner_id, id)
);
comment on table application_link is 'status page links, sent again to the applicant';
comment on column application_link.mailed_at is 'real time, within one day, for rate limits';
create trigger application_link_immutable before update on application_link for each row
    when ((old.validation_submission_id, old.partner_id) is distinct from
              (new.validation_submission_id, new.partner_id))
    execute function guard_immutable();
grant select, insert, update on application_link to almoner_app;

create table requested_evidence (
    validation_submission_id uuid not null,
    type text not null check (type in ('validation_request', 'agent_verification')),
    partner_id uuid not null references partner (id),
    evidence text not null check (length(evidence) between 1 and 50),
    requested_by text not null check (length(requested_by) between 1 and 255),
    requested_at timestamptz not null,
    primary key (validation_submission_id, type),
    foreign key (partner_id, validation_submission_id) references validation_submission (partner_id, id)
);
comment on table requested_evidence is 'what a reviewer asked the applicant for last, instead of rejecting a check';
create trigger requested_evidence_immutable before update on requested_evidence for each row
    when ((old.validation_submission_id, old.type, old.partner_id) is distinct from
              (new.validation_submission_id, new.type, new.partner_id))
    execute function guard_immutable();
grant select, insert, update on requested_evidence to almoner_app;
