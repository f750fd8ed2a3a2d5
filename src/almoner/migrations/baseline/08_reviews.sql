-- Evidence: what was looked at, and what was found. Reviews: what people are asked to decide. Documents.

create function step_names_are_unique(steps jsonb) returns boolean language sql immutable strict parallel safe
return (select count(*) = count(distinct step ->> 'name') from jsonb_array_elements(steps) as step);

-- One evaluation of a record of the table that kind names, with what each of its steps looked at and found. Append-only.
-- The record is the partner's own, and stays as long as its evidence: foreign keys of the generated columns, which are
-- declared with the tables they refer to.
create table evidence (
    id uuid not null,
    kind text not null,
    record_id uuid not null,
    partner_id uuid not null references partner (id),
    occasion text,
    outcome text,
    reasons text[] not null check (array_position(reasons, null) is null),
    facts jsonb not null check (jsonb_typeof(facts) = 'object'),
    steps jsonb not null check (jsonb_typeof(steps) = 'array'),
    recorded_at timestamptz not null,
    validation_request_id uuid generated always as (case kind when 'validation_request' then record_id end) stored,
    agent_verification_id uuid generated always as (case kind when 'agent_verification' then record_id end) stored,
    monitoring_subscription_id uuid
        generated always as (case kind when 'monitoring_subscription' then record_id end) stored,
    eligibility_subscription_id uuid
        generated always as (case kind when 'eligibility_subscription' then record_id end) stored,
    monetary_donation_verification_id uuid
        generated always as (case kind when 'monetary_donation_verification' then record_id end) stored,
    primary key (record_id, id),
    constraint evidence_kind check (kind in (
        'validation_request', 'agent_verification', 'monitoring_subscription', 'eligibility_subscription',
        'monetary_donation_verification'
    )),
    constraint evidence_occasion check (case kind
        when 'validation_request' then occasion in ('created', 'register_loaded', 'asked', 'corrected')
        when 'monitoring_subscription' then occasion in (
            'created', 'request_decided', 'register_changed', 'screening_changed', 'chosen', 'configuration_changed'
        )
        when 'eligibility_subscription' then occasion in (
            'created', 'organisation_changed', 'rules_changed', 'configuration_changed', 'simulated'
        )
        else occasion is null
    end is true),
    constraint evidence_outcome check (case kind
        when 'validation_request' then outcome in ('accept', 'review')
        when 'agent_verification' then outcome is null or outcome in ('accept', 'review')
        when 'monetary_donation_verification' then outcome is null
        else outcome is null or outcome in ('pass', 'fail')
    end is true),
    -- "not exists" of what is in order, as a comparison that fails is neither true nor false.
    constraint evidence_steps check (not steps @? '$[*] ? (!exists(@ ? (
        @.name like_regex "." && (@.verdict == "pass" || @.verdict == "fail" || @.verdict == "warn"
            || @.verdict == "not_applicable" || @.verdict == "unknown")
    )))'),
    constraint evidence_steps_named check (
        kind not in ('validation_request', 'eligibility_subscription') or step_names_are_unique(steps)
    ),
    -- A request is accepted for no reason to doubt it, and by rules that saw something and say why.
    constraint evidence_of_request check (
        kind <> 'validation_request' or (outcome = 'accept') = (reasons = '{}') and steps <> '[]'
            and not steps @? '$[*] ? (!exists(@.code ? (@ like_regex ".")))'
    ),
    -- Every activity has the rule that assigned it, except for one that was suggested and has none.
    constraint evidence_of_eligibility check (kind <> 'eligibility_subscription' or not steps @? '$[*] ? (!exists(@ ? (
        (@.verdict == "not_applicable" && !exists(@.code ? (@ != null)) && @.facts.suggested == true)
        || ((@.verdict == "pass" || @.verdict == "fail") && @.code like_regex ".")
    )))'),
    -- One finding of a check, and where it is from.
    constraint evidence_of_verification check (
        kind <> 'monetary_donation_verification' or jsonb_array_length(steps) = 1 and steps @? '$[0] ? (
            (@.name == "registration" || @.name == "compliance" || @.name == "bank_details"
                || @.name == "organisation_confirmation")
            && (@.verdict == "pass" || @.verdict == "fail" || @.verdict == "unknown") && @.source like_regex "."
        )'
    )
);
-- For the self-check that compares changes with events.
create index evidence_of_monitoring_recorded on evidence (recorded_at) include (partner_id)
    where kind = 'monitoring_subscription';
comment on column evidence.facts is 'what the evaluation rests on besides its steps, such as scores and thresholds';
comment on column evidence.steps is 'name, verdict, code, source, version, data_as_of, facts';
create trigger evidence_append_only before update or delete or truncate on evidence
    for each statement execute function guard_append_only();
grant select, insert on evidence to almoner_app;

-- A task for a person to decide. Its subject is a record of the table that kind names.
create table review (
    id uuid primary key,
    kind text not null,
    subject_id uuid not null,
    partner_id uuid not null references partner (id),
    country_code char(3) check (country_code ~ '^[A-Z]{3}$'),
    script text check (length(script) between 1 and 50),
    reasons text[] not null,
    asked_at timestamptz not null,
    due_at timestamptz not null check (due_at >= asked_at),
    claimed_by text check (length(claimed_by) between 1 and 255),
    claimed_until timestamptz,
    claimed_fingerprint bytea check (length(claimed_fingerprint) = 32),
    status text not null check (status in ('open', 'decided', 'withdrawn')),
    status_changed_at timestamptz not null,
    ended_at timestamptz,
    unique (id, kind, subject_id, partner_id),
    constraint review_kind check (kind in ('validation_request', 'agent_verification', 'match', 'screening', 'appeal')),
    constraint review_has_reasons check (cardinality(reasons) > 0 and array_position(reasons, null) is null),
    constraint review_ended check ((status = 'open') = (ended_at is null) and ended_at >= asked_at),
    constraint review_claimed check (
        (claimed_by is null) = (claimed_until is null) and (claimed_by is null) = (claimed_fingerprint is null)
    )
);
-- At most one open review of a subject.
create unique index review_open on review (kind, subject_id) where status = 'open';
create index review_of_subject on review (kind, subject_id, id);
create index review_queue on review (asked_at, id) where status = 'open';
create index review_due on review (due_at) where status = 'open';
create index review_queue_of_kind on review (kind, asked_at, id) where status = 'open';
create index review_queue_of_partner on review (partner_id, asked_at, id) where status = 'open';
create index review_claimed_by on review (claimed_by, asked_at, id) where status = 'open' and claimed_by is not null;
create index review_queue_of_country on review (country_code, asked_at, id) where status = 'open';
create index review_queue_of_script on review (script, asked_at, id) where status = 'open';
create index review_queue_with_reason on review using gin (reasons) where status = 'open';
create index review_ended on review (ended_at) where status = 'decided';
create index review_decided_duration on review (kind, asked_at, ended_at) where status = 'decided';
comment on column review.due_at is 'by when it should be decided: two days after it was asked for, ten business days for an appeal';
comment on column review.script is 'writing system of the name that is decided about; MIXED: several';
comment on column review.claimed_by is 'who was last shown it and has not released it';
comment on column review.claimed_until is 'real time; until then nobody else may decide it';
comment on column review.claimed_fingerprint is 'fingerprint of what claimed_by was shown';
insert into lifecycle_transition (resource, from_status, to_status) values
    ('review', 'open', 'decided'),
    ('review', 'open', 'withdrawn');
create trigger review_status before update of status on review for each row
    when (old.status is distinct from new.status) execute function guard_status('review');
-- Its subject and opening time never change, and nothing changes once it has ended.
create trigger review_immutable before update on review for each row
    when ((old.id, old.kind, old.subject_id, old.partner_id, old.asked_at, old.due_at) is distinct from
              (new.id, new.kind, new.subject_id, new.partner_id, new.asked_at, new.due_at)
          or (old.country_code, old.script) is distinct from (new.country_code, new.script)
          or old.status <> 'open')
    execute function guard_immutable();

create function guard_decided_review() returns trigger language plpgsql as $$
begin
    if not exists (select from review_decision where review_id = new.id) then
        raise exception 'review % is decided without a decision', new.id
            using errcode = 'check_violation', constraint = 'review_decided_has_decision';
    end if;
    return null;
end $$;
create constraint trigger review_decided_has_decision after insert or update of status on review
    deferrable initially deferred for each row when (new.status = 'decided')
    execute function guard_decided_review();
grant select, insert, update on review to almoner_app;

-- Append-only. A decision made without a review has no review_id. reopened: a decision was withdrawn.
create table review_decision (
    id uuid primary key,
    review_id uuid,
    kind text not null,
    subject_id uuid not null,
    partner_id uuid not null references partner (id),
    verdict text not null check (verdict in ('accepted', 'rejected', 'reopened')),
    reason_code text check (length(reason_code) between 1 and 100),
    note text not null check (length(note) between 1 and 2000),
    decided_by text not null check (length(decided_by) between 1 and 255),
    decided_at timestamptz not null,
    foreign key (review_id, kind, subject_id, partner_id) references review (id, kind, subject_id, partner_id),
    constraint review_decision_once unique (review_id),
    constraint review_decision_kind check (kind in ('validation_request', 'agent_verification', 'match', 'screening', 'appeal')),
    constraint review_decision_reason check ((verdict = 'rejected') = (reason_code is not null)),
    constraint review_decision_reopened check (verdict <> 'reopened' or review_id is null)
);
create index review_decision_of_subject on review_decision (kind, subject_id, id);
create index review_decision_at on review_decision (decided_at) where review_id is not null;
create index review_decision_by on review_decision (decided_by, kind, verdict) where review_id is not null;

-- A decision ends its open review, and a decided review has a decision.
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
grant select, insert on review_decision to almoner_app;

-- What reviewers tell each other about a case. Append-only; partners never see it.
create table review_note (
    id uuid primary key,
    kind text not null,
    subject_id uuid not null,
    partner_id uuid not null references partner (id),
    text text not null check (length(text) between 1 and 2000),
    written_by text not null check (length(written_by) between 1 and 255),
    written_at timestamptz not null,
    constraint review_note_kind check (kind in ('validation_request', 'agent_verification', 'match', 'screening', 'appeal'))
);
create index review_note_of_subject on review_note (kind, subject_id, id);
grant select, insert on review_note to almoner_app;

-- Who declared to be too close to a case to decide it. Append-only: nobody takes it back.
create table review_conflict (
    kind text not null,
    subject_id uuid not null,
    partner_id uuid not null references partner (id),
    declared_by text not null check (length(declared_by) between 1 and 255),
    reason text not null check (length(reason) between 1 and 2000),
    declared_at timestamptz not null,
    primary key (kind, subject_id, declared_by),
    constraint review_conflict_kind check (kind in ('validation_request', 'agent_verification', 'match', 'screening', 'appeal'))
);
grant select, insert on review_conflict to almoner_app;
create function guard_conflict() returns trigger language plpgsql as $$
begin
    if exists (
        select from review_conflict
        where kind = new.kind and subject_id = new.subject_id and declared_by = new.decided_by
    ) then
        raise exception '% declared a conflict of interest about % %', new.decided_by, new.kind, new.subject_id
            using errcode = 'check_violation', constraint = 'review_decided_without_conflict';
    end if;
    return new;
end $$;
create trigger review_decided_without_conflict before insert on review_decision
    for each row execute function guard_conflict();

-- A decided review that somebody else decides once more without knowing the answer, which changes nothing. It is drawn
-- at random when the review is decided.
create table review_second_look (
    review_id uuid primary key,
    kind text not null,
    subject_id uuid not null,
    partner_id uuid not null references partner (id),
    first_by text not null check (length(first_by) between 1 and 255),
    first_verdict text not null check (first_verdict in ('accepted', 'rejected')),
    selected_at timestamptz not null,
    verdict text check (verdict in ('accepted', 'rejected')),
    reason_code text check (length(reason_code) between 1 and 100),
    note text check (length(note) between 1 and 2000),
    decided_by text check (length(decided_by) between 1 and 255),
    decided_at timestamptz check (decided_at >= selected_at),
    foreign key (review_id, kind, subject_id, partner_id) references review (id, kind, subject_id, partner_id),
    constraint review_second_look_kind check (kind in ('validation_request', 'agent_verification', 'match', 'screening', 'appeal')),
    constraint review_second_look_decided check (
        num_nonnulls(verdict, note, decided_by, decided_at) in (0, 4)
        and (coalesce(verdict, '') = 'rejected') = (reason_code is not null)
    ),
    constraint review_second_look_by_another check (decided_by <> first_by)
);
create index review_second_look_waiting on review_second_look (selected_at, review_id) where verdict is null;
create index review_second_look_decided on review_second_look (decided_at) where verdict is not null;
create trigger review_second_look_once before update on review_second_look for each row
    when (old.verdict is not null) execute function guard_immutable();
create trigger review_second_look_without_conflict before update on review_second_look for each row
    execute function guard_conflict();
grant select, insert, update on review_second_look to almoner_app;

-- An uploaded document. Its bytes are stored encrypted in the document storage. storage_key ends with the storage mark
-- of the deployment that wrote the blob.
create table document (
    id uuid primary key,
    partner_id uuid not null references partner (id),
    media_type text not null check (media_type in ('image/jpeg', 'image/png', 'application/pdf')),
    size_bytes integer not null check (size_bytes > 0),
    sha256 bytea not null check (length(sha256) = 32),
    storage_key text not null unique check (storage_key ~ '^[0-9a-z]{34}$'),
    file_name text check (length(file_name) between 1 and 255),
    flags text[] not null check (array_position(flags, null) is null),
    status text not null check (status in ('pending_scan', 'clean', 'rejected', 'unreadable')),
    status_changed_at timestamptz not null,
    threat text check (length(threat) between 1 and 255),
    created_at timestamptz not null,
    deleted_at timestamptz,
    removed_at timestamptz,
    verified_at timestamptz,
    missing_at timestamptz,
    next_check_at timestamptz not null,
    unique (partner_id, id),
    constraint document_name_erased check (deleted_at is null or file_name is null),
    constraint document_threat check ((status in ('rejected', 'unreadable')) = (threat is not null)),
    constraint document_removed check (
        removed_at is null or deleted_at is not null or status in ('rejected', 'unreadable')
    )
);
create index document_of_partner on document (partner_id, created_at);
create index document_pending on document (created_at) where status = 'pending_scan';
create index document_to_verify on document (verified_at nulls first) where removed_at is null;
create index document_to_check on document (next_check_at) where deleted_at is null;
comment on column document.size_bytes is 'of the stored content: images are re-encoded';
comment on column document.sha256 is 'of the stored content, before encryption';
comment on column document.file_name is 'as its sender has it; erased when the document is deleted';
comment on column document.threat is 'what the scanner found, or why it could not read the document';
comment on column document.removed_at is 'when its bytes were removed from storage';
comment on column document.verified_at is 'when its bytes were last read and matched sha256';
comment on column document.missing_at is 'when its bytes were first found missing or altered';
comment on column document.next_check_at is 'when its retention is evaluated next';
insert into lifecycle_transition (resource, from_status, to_status) values
    ('document', 'pending_scan', 'clean'),
    ('document', 'pending_scan', 'rejected'),
    ('document', 'pending_scan', 'unreadable');
create trigger document_status before update of status on document for each row
    when (old.status is distinct from new.status) execute function guard_status('document');
create trigger document_immutable before update on document for each row
    when ((old.id, old.partner_id, old.media_type, old.size_bytes, old.sha256, old.storage_key, old.flags,
           old.created_at) is distinct from
              (new.id, new.partner_id, new.media_type, new.size_bytes, new.sha256, new.storage_key, new.flags,
               new.created_at)
          or (old.deleted_at is not null and old.deleted_at is distinct from new.deleted_at))
    execute function guard_immutable();

grant select, insert, update on document to almoner_app;

create table document_trash (
    storage_key text primary key,
    trashed_on date not null
);
comment on table document_trash is 'orphaned blobs that the sweep moved to the storage''s trash';
grant select, insert, delete on document_trash to almoner_app;
