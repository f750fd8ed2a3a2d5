-- Agent verifications: whether somebody may speak for a nonprofit; and where it is asked.

-- Spec 2.2: a verification is not editable. Another address is another verification, which takes its place (replaces).
create table agent_verification (
    id uuid primary key,
    partner_id uuid not null references partner (id),
    organisation_id uuid references organisation (id),
    validation_request_id uuid,
    organisation_website text check (length(organisation_website) between 1 and 255),
    first_name text check (length(first_name) between 1 and 255),
    last_name text check (length(last_name) between 1 and 255),
    email text check (length(email) between 1 and 255),
    title text check (length(title) <= 255),
    language text not null check (length(language) between 2 and 35),
    metadata jsonb check (jsonb_typeof(metadata) = 'object'),
    email_check boolean not null,
    status text not null check (
        status in ('pending', 'pending_user_verification', 'pending_review', 'approved', 'rejected')
    ),
    rejection_code text check (rejection_code in (
        'validation_request_failed', 'user_verification_expired', 'user_failed_percent_review', 'reapply',
        'fake_email_used', 'no_online_presence', 'nonprofit_association_expired', 'invalid_documentation',
        'fake_documentation', 'mismatched_information', 'blank_corrupted_documentation', 'suspicious_application',
        'other'
    )),
    created_at timestamptz not null,
    expires_at timestamptz,
    confirmed_at timestamptz,
    processed_at timestamptz,
    status_changed_at timestamptz not null,
    spoken text check (length(spoken) between 2 and 35),
    replaces uuid,
    asked_by text check (length(asked_by) between 1 and 255),
    unique (partner_id, id),
    foreign key (partner_id, validation_request_id) references validation_request (partner_id, id),
    constraint agent_verification_for_somebody check (num_nonnulls(organisation_id, validation_request_id) > 0),
    constraint agent_verification_rejected check ((status = 'rejected') = (rejection_code is not null)),
    constraint agent_verification_processed
        check ((status in ('approved', 'rejected')) = (processed_at is not null)),
    constraint agent_verification_expiry check (
        case when status in ('pending', 'pending_user_verification') then expires_at is not null
             when status in ('approved', 'rejected') then expires_at is null else true end
    ),
    -- Nobody is let through, or into the review, whose e-mail is to be checked and was not.
    constraint agent_verification_confirmed check (
        confirmed_at is not null or not email_check or status not in ('pending_review', 'approved')
    ),
    constraint agent_verification_unconfirmed
        check (status not in ('pending', 'pending_user_verification') or email_check and confirmed_at is null),
    constraint agent_verification_replaces_once unique (replaces),
    constraint agent_verification_replaces_fkey
        foreign key (partner_id, replaces) references agent_verification (partner_id, id),
    -- Whoever was decided about may be forgotten.
    constraint agent_verification_forgotten check (
        num_nulls(first_name, last_name, email) = 0
        or num_nonnulls(first_name, last_name, email, title) = 0 and status in ('approved', 'rejected')
    )
);
create index agent_verification_with_status on agent_verification (partner_id, status, id);
create index agent_verification_by_email on agent_verification (partner_id, lower(email), id);
create index agent_verification_by_day on agent_verification (partner_id, created_at);
create index agent_verification_due on agent_verification (expires_at) where expires_at is not null;
create index agent_verification_of_organisation on agent_verification (organisation_id)
    where status = 'pending_review';
create index agent_verification_to_forget on agent_verification (processed_at)
    where email is not null and rejection_code = 'user_verification_expired';
create index agent_verification_address on agent_verification (lower(email)) where email is not null;
create index agent_verification_replaced on agent_verification (processed_at)
    where email is not null and rejection_code = 'reapply';
create index agent_verification_ended on agent_verification (status, processed_at)
    where email is not null and status in ('approved', 'rejected');
create index agent_verification_of_request on agent_verification (validation_request_id)
    where validation_request_id is not null;
comment on column agent_verification.expires_at is
    'until then somebody outside has to act: the applicant, or in pending_review the nonprofit that was asked';
comment on column agent_verification.spoken is 'the language that the applicant chose since; none: language';
comment on column agent_verification.asked_by is 'the configuration''s name for the partner; null: the partner''s own';
insert into lifecycle_transition (resource, from_status, to_status) values
    ('agent_verification', 'pending', 'pending_review'),
    ('agent_verification', 'pending', 'pending_user_verification'),
    ('agent_verification', 'pending', 'rejected'),
    ('agent_verification', 'pending_review', 'approved'),
    ('agent_verification', 'pending_review', 'rejected'),
    ('agent_verification', 'pending_user_verification', 'approved'),
    ('agent_verification', 'pending_user_verification', 'rejected'),
    ('agent_verification', 'rejected', 'approved'),
    ('agent_verification', 'rejected', 'pending_user_verification');
create trigger agent_verification_status before update of status on agent_verification for each row
    when (old.status is distinct from new.status) execute function guard_status('agent_verification');
-- Spec 2.2: not editable once created, except for its metadata. It is forgotten, never exchanged.
create trigger agent_verification_immutable before update on agent_verification for each row
    when ((old.id, old.partner_id, old.language, old.email_check, old.created_at) is distinct from
              (new.id, new.partner_id, new.language, new.email_check, new.created_at)
          or old.validation_request_id is distinct from new.validation_request_id
          or old.organisation_website is distinct from new.organisation_website
          or old.organisation_id is not null and old.organisation_id is distinct from new.organisation_id
          or old.confirmed_at is not null and old.confirmed_at is distinct from new.confirmed_at
          or new.email is not null and (old.first_name, old.last_name, old.email, old.title) is distinct from
              (new.first_name, new.last_name, new.email, new.title))
    execute function guard_immutable();
create trigger agent_verification_reversal before update of status on agent_verification for each row
    when (old.status = 'rejected' and new.status <> 'rejected') execute function guard_reversal();

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
    when (old.replaces is distinct from new.replaces) execute function guard_immutable();
grant select, insert, update on agent_verification to almoner_app;

-- What each look at a verification saw; only ever added to.
create table agent_verification_step (
    id uuid primary key,
    verification_id uuid not null references agent_verification (id),
    name text not null check (length(name) between 1 and 60),
    verdict text not null check (verdict in ('pass', 'fail', 'warn', 'not_applicable', 'unknown')),
    code text check (length(code) between 1 and 60),
    source text check (length(source) between 1 and 200),
    data_as_of timestamptz,
    facts jsonb not null check (jsonb_typeof(facts) = 'object'),
    seen_at timestamptz not null
);
create index agent_verification_step_of on agent_verification_step (verification_id, id);
grant select, insert on agent_verification_step to almoner_app;

create table agent_verification_document (
    agent_verification_id uuid not null,
    document_id uuid not null,
    partner_id uuid not null,
    primary key (agent_verification_id, document_id),
    foreign key (partner_id, document_id) references document (partner_id, id),
    foreign key (partner_id, agent_verification_id) references agent_verification (partner_id, id)
);
create index agent_verification_document_of_file on agent_verification_document (document_id);
grant select, insert on agent_verification_document to almoner_app;

-- Each mail with a link and a code. The six digits are computed with the master key, so that no database has them.
create table agent_confirmation (
    id uuid primary key,
    verification_id uuid not null references agent_verification (id),
    sent_at timestamptz not null,
    wrong integer not null default 0 check (wrong >= 0)
);
create index agent_confirmation_of on agent_confirmation (verification_id, sent_at, id);
comment on column agent_confirmation.sent_at is 'real time';
create trigger agent_confirmation_immutable before update on agent_confirmation for each row
    when ((old.id, old.verification_id, old.sent_at) is distinct from (new.id, new.verification_id, new.sent_at)
          or new.wrong < old.wrong)
    execute function guard_immutable();
grant select, insert, update on agent_confirmation to almoner_app;

-- The nonprofit, asked at its own address whether the applicant speaks for it.
-- email: null once forgotten.
create table agent_question (
    id uuid primary key,
    verification_id uuid not null references agent_verification (id),
    email text check (length(email) between 1 and 255),
    asked_at timestamptz not null,
    expires_at timestamptz not null,
    answer text check (answer in ('confirmed', 'denied')),
    answered_at timestamptz,
    constraint agent_question_once unique (verification_id),
    constraint agent_question_answered check ((answer is null) = (answered_at is null))
);
create index agent_question_to_forget on agent_question (coalesce(answered_at, expires_at)) where email is not null;
create trigger agent_question_immutable before update on agent_question for each row
    when ((old.id, old.verification_id, old.asked_at, old.expires_at) is distinct from
              (new.id, new.verification_id, new.asked_at, new.expires_at)
          or old.email is distinct from new.email and new.email is not null
          or old.answer is not null and (old.answer, old.answered_at) is distinct from (new.answer, new.answered_at))
    execute function guard_immutable();
grant select, insert, update on agent_question to almoner_app;

-- Where a nonprofit itself can be asked: an address that its register publishes, looked up by an operator.
create table organisation_contact (
    organisation_id uuid primary key references organisation (id),
    email text not null check (length(email) between 1 and 255),
    source text not null check (length(source) between 1 and 500),
    recorded_by text not null check (length(recorded_by) between 1 and 255),
    recorded_at timestamptz not null
);

-- Who says where a nonprofit is paid does not say where it is asked whether that is so.
create function guard_payee_contact() returns trigger language plpgsql as $$
declare
    who text := case tg_table_name when 'payee_account' then to_jsonb(new) ->> 'proposed_by'
                else to_jsonb(new) ->> 'recorded_by' end;
begin
    perform pg_advisory_xact_lock(hashtextextended(new.organisation_id::text, 73));
    if (tg_table_name = 'payee_account' and exists (
        select from organisation_contact where organisation_id = new.organisation_id and recorded_by = who
    )) or (tg_table_name <> 'payee_account' and exists (
        select from payee_account
        where organisation_id = new.organisation_id and proposed_by = who and status in ('proposed', 'approved')
    )) then
        raise exception '% says both where % is paid and where it is asked', who, new.organisation_id
            using errcode = 'check_violation', constraint = 'payee_and_contact';
    end if;
    return new;
end $$;
create trigger organisation_contact_payee before insert or update on organisation_contact for each row
    execute function guard_payee_contact();

-- Where a nonprofit is asked at another address, links to the one before work no more.
create function withdraw_confirmations() returns trigger language plpgsql as $$
begin
    update monetary_donation_confirmation c set withdrawn = true
    from monetary_donation_verification v
    where v.organisation_id = new.organisation_id and v.status in ('pending', 'approved')
      and c.verification_id = v.id and c.answer is null and not c.withdrawn and c.email is distinct from new.email;
    return new;
end $$;
create trigger organisation_contact_changed after update of email on organisation_contact for each row
    when (old.email is distinct from new.email) execute function withdraw_confirmations();
grant select, insert, update on organisation_contact to almoner_app;
