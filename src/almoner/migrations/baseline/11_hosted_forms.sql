-- Hosted forms: configurations, invites and drafts.

create table hosted_configuration (
    id uuid primary key,
    partner_id uuid not null references partner (id),
    name text check (length(name) between 1 and 255),
    display_name text not null check (length(display_name) between 1 and 255),
    logo text references media (key),
    primary_color text check (primary_color ~ '^#[0-9a-f]{6}$'),
    is_default boolean not null,
    checks text[] not null check (
        cardinality(checks) between 1 and 4
        and checks <@ array['validation_request', 'compliance', 'eligibility', 'agent_verification']
    ),
    allowed_organisation_types text[] not null check (
        cardinality(allowed_organisation_types) between 1 and 3
        and allowed_organisation_types <@ array['nonprofit', 'social_impact', 'education']
    ),
    compliance_flags text[] not null check (
        compliance_flags <@ array['warning', 'sanction', 'hateSpeech', 'commercial', 'adverseMedia', 'controversial']
    ),
    allowed_activity_sub_tags text[] check (cardinality(allowed_activity_sub_tags) > 0),
    email_verification boolean not null,
    partner_fields jsonb not null default '[]' check (jsonb_typeof(partner_fields) = 'array'),
    created_at timestamptz not null,
    updated_at timestamptz not null,
    unique (partner_id, id)
);
create unique index hosted_configuration_default on hosted_configuration (partner_id) where is_default;
create index hosted_configuration_logo on hosted_configuration (logo) where logo is not null;
comment on column hosted_configuration.logo is 'key of an image in media';
comment on column hosted_configuration.allowed_activity_sub_tags is 'codes; null: all';
comment on column hosted_configuration.partner_fields is 'questions: id, kind, required, labels, choices';
create trigger hosted_configuration_immutable before update on hosted_configuration for each row
    when ((old.id, old.partner_id, old.created_at) is distinct from (new.id, new.partner_id, new.created_at))
    execute function guard_immutable();
grant select, insert, update on hosted_configuration to almoner_app;

create table validation_invite (
    id uuid primary key,
    partner_id uuid not null references partner (id),
    configuration_id uuid,
    redirect_url text check (length(redirect_url) between 8 and 2048),
    language text not null check (length(language) between 2 and 35),
    metadata jsonb check (jsonb_typeof(metadata) = 'object'),
    status text not null check (status in ('open', 'complete', 'expired')),
    created_at timestamptz not null,
    expires_at timestamptz not null,
    status_changed_at timestamptz not null,
    unique (partner_id, id),
    foreign key (partner_id, configuration_id) references hosted_configuration (partner_id, id),
    constraint validation_invite_ends check (expires_at > created_at)
);
create index validation_invite_due on validation_invite (expires_at) where status = 'open';
insert into lifecycle_transition (resource, from_status, to_status) values
    ('validation_invite', 'open', 'complete'),
    ('validation_invite', 'open', 'expired');
create trigger validation_invite_status before update of status on validation_invite for each row
    when (old.status is distinct from new.status) execute function guard_status('validation_invite');
-- The terms of an invite do not change.
create trigger validation_invite_immutable before update on validation_invite for each row
    when ((old.id, old.partner_id, old.language, old.created_at, old.expires_at) is distinct from
              (new.id, new.partner_id, new.language, new.created_at, new.expires_at)
          or old.configuration_id is distinct from new.configuration_id
          or old.redirect_url is distinct from new.redirect_url)
    execute function guard_immutable();
grant select, insert, update on validation_invite to almoner_app;

create table application_draft (
    invite_id uuid primary key,
    partner_id uuid not null,
    -- Room for 30 answers of 5,000 characters of up to four bytes, and the form's other fields.
    answers jsonb not null check (jsonb_typeof(answers) = 'object' and pg_column_size(answers) < 1000000),
    created_at timestamptz not null,
    updated_at timestamptz not null,
    expires_at timestamptz not null,
    foreign key (partner_id, invite_id) references validation_invite (partner_id, id)
);
create index application_draft_due on application_draft (expires_at);
comment on column application_draft.answers is
    'by step; deleted once the application is submitted or its invite expires';
create trigger application_draft_immutable before update on application_draft for each row
    when ((old.invite_id, old.partner_id, old.created_at, old.expires_at) is distinct from
              (new.invite_id, new.partner_id, new.created_at, new.expires_at))
    execute function guard_immutable();
grant select, insert, update, delete on application_draft to almoner_app;

create table application_handover (
    id uuid primary key,
    invite_id uuid not null references validation_invite (id),
    email text not null check (length(email) between 3 and 255),
    sent_at timestamptz not null,
    expires_at timestamptz not null
);
create index application_handover_of on application_handover (invite_id);
create index application_handover_to on application_handover (lower(email), sent_at);
create index application_handover_due on application_handover (expires_at);
comment on column application_handover.sent_at is 'real time, for rate limits';
grant select, insert, delete on application_handover to almoner_app;
