-- Monitoring and eligibility subscriptions.

-- due_at: set when something relevant has changed; until the evaluation has run, the record names no newer version of a
-- list.
create table monitoring_subscription (
    id uuid primary key,
    partner_id uuid not null references partner (id),
    organisation_id uuid references organisation (id),
    validation_request_id uuid,
    configuration_id uuid,
    status text not null check (status in (
        'pending', 'pending_validation_request', 'validation_request_failed', 'live', 'cancelled'
    )),
    search_name text collate "C" not null,
    simulated_results jsonb check (jsonb_typeof(simulated_results) = 'object'),
    compliance_status text check (compliance_status in ('pass', 'fail')),
    warning text check (warning in ('clear', 'flag')),
    sanction text check (sanction in ('clear', 'flag')),
    hate_speech text check (hate_speech in ('clear', 'flag')),
    commercial text check (commercial in ('clear', 'flag')),
    adverse_media text check (adverse_media in ('clear', 'flag')),
    controversial text check (controversial in ('clear', 'flag')),
    registration_active text check (registration_active in ('yes', 'no')),
    sources jsonb not null default '[]' check (jsonb_typeof(sources) = 'array'),
    screened_at timestamptz,
    created_at timestamptz not null,
    cancelled_at timestamptz,
    status_changed_at timestamptz not null,
    due_at timestamptz,
    matches jsonb not null default '[]' check (jsonb_typeof(matches) = 'array'),
    unique (partner_id, id),
    foreign key (partner_id, validation_request_id) references validation_request (partner_id, id),
    constraint monitoring_subscription_has_subject check (num_nonnulls(organisation_id, validation_request_id) > 0),
    constraint monitoring_subscription_organisation check (
        case when status in ('pending_validation_request', 'validation_request_failed')
                 then organisation_id is null and validation_request_id is not null
             when status = 'cancelled' then true else organisation_id is not null end
    ),
    -- A category is clear only if a list of that category was screened, and none could not be (settled 4, 11).
    constraint monitoring_subscription_warning_checked check (
        simulated_results is not null or warning is distinct from 'clear'
        or sources @> '[{"category": "warning", "status": "screened"}]'
            and not sources @> '[{"category": "warning", "status": "not_screened"}]'
    ),
    constraint monitoring_subscription_sanction_checked check (
        simulated_results is not null or sanction is distinct from 'clear'
        or sources @> '[{"category": "sanction", "status": "screened"}]'
            and not sources @> '[{"category": "sanction", "status": "not_screened"}]'
    ),
    constraint monitoring_subscription_hate_speech_checked check (
        simulated_results is not null or hate_speech is distinct from 'clear'
        or sources @> '[{"category": "hateSpeech", "status": "screened"}]'
            and not sources @> '[{"category": "hateSpeech", "status": "not_screened"}]'
    ),
    constraint monitoring_subscription_commercial_checked check (
        simulated_results is not null or commercial is distinct from 'clear'
        or sources @> '[{"category": "commercial", "status": "screened"}]'
            and not sources @> '[{"category": "commercial", "status": "not_screened"}]'
    ),
    constraint monitoring_subscription_adverse_media_checked check (
        simulated_results is not null or adverse_media is distinct from 'clear'
        or sources @> '[{"category": "adverseMedia", "status": "screened"}]'
            and not sources @> '[{"category": "adverseMedia", "status": "not_screened"}]'
    ),
    constraint monitoring_subscription_controversial_checked check (
        simulated_results is not null or controversial is distinct from 'clear'
        or sources @> '[{"category": "controversial", "status": "screened"}]'
            and not sources @> '[{"category": "controversial", "status": "not_screened"}]'
    ),
    -- No results before the first evaluation, except for those of a sandbox test value.
    constraint monitoring_subscription_known check (
        simulated_results is not null or screened_at is not null
        or num_nonnulls(
            compliance_status, warning, sanction, hate_speech, commercial, adverse_media, controversial,
            registration_active
        ) = 0 and sources = '[]'
    ),
    constraint monitoring_subscription_live check (status <> 'live' or screened_at is not null),
    constraint monitoring_subscription_cancelled check ((status = 'cancelled') = (cancelled_at is not null)),
    foreign key (partner_id, configuration_id) references hosted_configuration (partner_id, id),
    constraint monitoring_subscription_due check (due_at is null or status in ('pending', 'live'))
);
create index monitoring_subscription_with_status on monitoring_subscription (partner_id, status, id);
create index monitoring_subscription_without_organisation on monitoring_subscription (partner_id, id)
    where organisation_id is null;
create index monitoring_subscription_name on monitoring_subscription (partner_id, search_name, id);
create index monitoring_subscription_words on monitoring_subscription using gin (search_name gin_trgm_ops);
create index monitoring_subscription_of_organisation on monitoring_subscription (organisation_id, partner_id)
    where status in ('pending', 'live');
create index monitoring_subscription_live on monitoring_subscription (id) where status in ('pending', 'live');
create index monitoring_subscription_due on monitoring_subscription (due_at) where due_at is not null;
create index monitoring_subscription_of_request on monitoring_subscription (validation_request_id)
    where validation_request_id is not null;
comment on column monitoring_subscription.search_name is
    'words of the nonprofit''s name at the last evaluation: ASCII, lower case, separated by single spaces';
comment on column monitoring_subscription.simulated_results is
    'results set by a test value or a simulated step of the sandbox';
comment on column monitoring_subscription.sources is
    'lists that were consulted: list, version, category, whether the nonprofit could be screened';
comment on column monitoring_subscription.due_at is 'since when an evaluation is due; null: none is';
comment on column monitoring_subscription.matches is
    'possible list entries: list, version, category, entry, score, decision';
insert into lifecycle_transition (resource, from_status, to_status) values
    ('monitoring_subscription', 'live', 'cancelled'),
    ('monitoring_subscription', 'pending', 'cancelled'),
    ('monitoring_subscription', 'pending', 'live'),
    ('monitoring_subscription', 'pending_validation_request', 'cancelled'),
    ('monitoring_subscription', 'pending_validation_request', 'pending'),
    ('monitoring_subscription', 'pending_validation_request', 'validation_request_failed'),
    ('monitoring_subscription', 'validation_request_failed', 'cancelled'),
    ('monitoring_subscription', 'validation_request_failed', 'pending_validation_request');
create trigger monitoring_subscription_status before update of status on monitoring_subscription for each row
    when (old.status is distinct from new.status) execute function guard_status('monitoring_subscription');
-- Owner and subject never change; nor does anything once it is cancelled.
create trigger monitoring_subscription_immutable before update on monitoring_subscription for each row
    when (old.status = 'cancelled'
          or (old.id, old.partner_id, old.created_at) is distinct from (new.id, new.partner_id, new.created_at)
          or old.validation_request_id is distinct from new.validation_request_id
          or old.organisation_id is not null and old.organisation_id is distinct from new.organisation_id)
    execute function guard_immutable();
-- The configuration never changes.
create trigger monitoring_subscription_configuration before update of configuration_id on monitoring_subscription
    for each row when (old.configuration_id is distinct from new.configuration_id) execute function guard_immutable();
alter table evidence add foreign key (partner_id, monitoring_subscription_id)
    references monitoring_subscription (partner_id, id);
grant select, insert, update on monitoring_subscription to almoner_app;

-- The version of each list that all live subscriptions have been compared with. A list without a row was never loaded.
create table monitoring_list (
    list text primary key references watchlist (code),
    version text not null check (version <> ''),
    categories text[] not null,
    compared_at timestamptz not null
);
grant select, insert, update on monitoring_list to almoner_app;

create table eligibility_subscription (
    id uuid primary key,
    partner_id uuid not null references partner (id),
    organisation_id uuid references organisation (id),
    validation_request_id uuid,
    configuration_id uuid,
    suggested text[] not null check (cardinality(suggested) <= 100),
    search_name text collate "C" not null,
    simulated_status text check (simulated_status in ('pass', 'fail')),
    metadata jsonb check (jsonb_typeof(metadata) = 'object'),
    status text not null check (status in (
        'pending', 'pending_validation_request', 'validation_request_failed', 'live', 'cancelled',
        'cannot_define_eligibility'
    )),
    eligibility_status text check (eligibility_status in ('pass', 'fail')),
    confirmed jsonb not null default '{}' check (jsonb_typeof(confirmed) = 'object'),
    rejected text[] not null default '{}',
    created_at timestamptz not null,
    updated_at timestamptz not null,
    cancelled_at timestamptz,
    status_changed_at timestamptz not null,
    unique (partner_id, id),
    foreign key (partner_id, validation_request_id) references validation_request (partner_id, id),
    constraint eligibility_subscription_has_subject
        check (num_nonnulls(organisation_id, validation_request_id) > 0),
    constraint eligibility_subscription_organisation check (
        case when status in ('pending_validation_request', 'validation_request_failed')
                 then organisation_id is null and validation_request_id is not null
             when status = 'cancelled' then true else organisation_id is not null end
    ),
    constraint eligibility_subscription_results check (
        case when status = 'live' then eligibility_status is not null
             when status = 'cancelled' then true
             else eligibility_status is null and confirmed = '{}' and rejected = '{}' end
    ),
    constraint eligibility_subscription_rejected check (confirmed ?& rejected),
    constraint eligibility_subscription_test check (simulated_status is null or suggested = '{}'),
    constraint eligibility_subscription_cancelled check ((status = 'cancelled') = (cancelled_at is not null)),
    foreign key (partner_id, configuration_id) references hosted_configuration (partner_id, id)
);
create index eligibility_subscription_with_status on eligibility_subscription (partner_id, status, id);
create index eligibility_subscription_without_organisation on eligibility_subscription (partner_id, id)
    where organisation_id is null;
create index eligibility_subscription_created on eligibility_subscription (partner_id, created_at);
create index eligibility_subscription_name on eligibility_subscription (partner_id, search_name, id);
create index eligibility_subscription_words on eligibility_subscription using gin (search_name gin_trgm_ops);
create index eligibility_subscription_of_organisation on eligibility_subscription (organisation_id, partner_id)
    where status in ('pending', 'live', 'cannot_define_eligibility');
create index eligibility_subscription_following on eligibility_subscription (id)
    where status in ('pending', 'live', 'cannot_define_eligibility');
create index eligibility_subscription_of_request on eligibility_subscription (validation_request_id)
    where validation_request_id is not null;
comment on column eligibility_subscription.suggested is 'codes of sub-tags';
comment on column eligibility_subscription.search_name is
    'words of the nonprofit''s name at the last evaluation: ASCII, lower case, separated by single spaces';
comment on column eligibility_subscription.simulated_status is 'requested by a test value of the sandbox';
comment on column eligibility_subscription.confirmed is 'by sub-tag code, the rule that assigned it';
insert into lifecycle_transition (resource, from_status, to_status) values
    ('eligibility_subscription', 'pending', 'live'),
    ('eligibility_subscription', 'pending', 'cannot_define_eligibility'),
    ('eligibility_subscription', 'pending', 'cancelled'),
    ('eligibility_subscription', 'pending_validation_request', 'pending'),
    ('eligibility_subscription', 'pending_validation_request', 'validation_request_failed'),
    ('eligibility_subscription', 'pending_validation_request', 'cancelled'),
    ('eligibility_subscription', 'validation_request_failed', 'cancelled'),
    ('eligibility_subscription', 'live', 'cannot_define_eligibility'),
    ('eligibility_subscription', 'live', 'cancelled'),
    ('eligibility_subscription', 'cannot_define_eligibility', 'live'),
    ('eligibility_subscription', 'cannot_define_eligibility', 'cancelled'),
    ('eligibility_subscription', 'validation_request_failed', 'pending_validation_request');
create trigger eligibility_subscription_status before update of status on eligibility_subscription for each row
    when (old.status is distinct from new.status) execute function guard_status('eligibility_subscription');
-- What was requested is immutable, the organisation is set once, and a cancelled subscription keeps its last results.
create trigger eligibility_subscription_immutable before update on eligibility_subscription for each row
    when ((old.id, old.partner_id, old.suggested, old.created_at) is distinct from
              (new.id, new.partner_id, new.suggested, new.created_at)
          or old.validation_request_id is distinct from new.validation_request_id
          or old.configuration_id is distinct from new.configuration_id
          or old.simulated_status is distinct from new.simulated_status
          or old.organisation_id is not null and old.organisation_id is distinct from new.organisation_id
          or new.status = 'cancelled' and (old.eligibility_status, old.confirmed, old.rejected) is distinct from
              (new.eligibility_status, new.confirmed, new.rejected))
    execute function guard_immutable();
alter table evidence add foreign key (partner_id, eligibility_subscription_id)
    references eligibility_subscription (partner_id, id);
grant select, insert, update on eligibility_subscription to almoner_app;
