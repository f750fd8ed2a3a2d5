-- Agent verifications: whether somebody may speak for a nonprofit; and where it is asked.

-- Verifications are not editable (spec 2.2): a corrected email address is another verification, which replaces this one
-- (replaces).
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
    preferred_language text check (length(preferred_language) between 2 and 35),
    replaces uuid,
    requester_name text check (length(requester_name) between 1 and 255),
    unique (partner_id, id),
    foreign key (partner_id, validation_request_id) references validation_request (partner_id, id),
    constraint agent_verification_has_subject check (num_nonnulls(organisation_id, validation_request_id) > 0),
    constraint agent_verification_rejected check ((status = 'rejected') = (rejection_code is not null)),
    constraint agent_verification_processed
        check ((status in ('approved', 'rejected')) = (processed_at is not null)),
    constraint agent_verification_expiry check (
        case when status in ('pending', 'pending_user_verification') then expires_at is not null
             when status in ('approved', 'rejected') then expires_at is null else true end
    ),
    -- An unconfirmed email address that has to be confirmed blocks review and approval.
    constraint agent_verification_confirmed check (
        confirmed_at is not null or not email_check or status not in ('pending_review', 'approved')
    ),
    constraint agent_verification_unconfirmed
        check (status not in ('pending', 'pending_user_verification') or email_check and confirmed_at is null),
    constraint agent_verification_replaces_once unique (replaces),
    constraint agent_verification_replaces_fkey
        foreign key (partner_id, replaces) references agent_verification (partner_id, id),
    -- Personal data may be erased once decided.
    constraint agent_verification_erased check (
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
create index agent_verification_to_erase on agent_verification (processed_at)
    where email is not null and rejection_code = 'user_verification_expired';
create index agent_verification_address on agent_verification (lower(email)) where email is not null;
create index agent_verification_replaced on agent_verification (processed_at)
    where email is not null and rejection_code = 'reapply';
create index agent_verification_ended on agent_verification (status, processed_at)
    where email is not null and status in ('approved', 'rejected');
create index agent_verification_of_request on agent_verification (validation_request_id)
    where validation_request_id is not null;
comment on column agent_verification.expires_at is
    'until then somebody has to act: the applicant, or in pending_review the nonprofit';
comment on column agent_verification.preferred_language is 'language that the applicant chose since; null: language';
comment on column agent_verification.requester_name is
    'name of the partner in the form''s configuration; null: the partner''s own';
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
-- Not editable once created, except for its metadata (spec 2.2). Personal data may be erased, but not replaced.
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
        raise exception 'verification % may not be replaced', new.replaces
            using errcode = 'check_violation', constraint = 'agent_verification_replaces_unconfirmed';
    end if;
    return new;
end $$;
create trigger agent_verification_replaces_unconfirmed before insert on agent_verification for each row
    when (new.replaces is not null) execute function guard_replacement();
create trigger agent_verification_replaces before update of replaces on agent_verification for each row
    when (old.replaces is distinct from new.replaces) execute function guard_immutable();
alter table evidence add foreign key (partner_id, agent_verification_id) references agent_verification (partner_id, id);
grant select, insert, update on agent_verification to almoner_app;

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

-- Emails with a confirmation link and code. The six digits are derived from the id with the master key, so no database
-- contains them.
create table agent_confirmation (
    id uuid primary key,
    verification_id uuid not null references agent_verification (id),
    sent_at timestamptz not null,
    failed_attempts integer not null default 0 check (failed_attempts >= 0)
);
create index agent_confirmation_of on agent_confirmation (verification_id, sent_at, id);
comment on column agent_confirmation.sent_at is 'real time';
create trigger agent_confirmation_immutable before update on agent_confirmation for each row
    when ((old.id, old.verification_id, old.sent_at) is distinct from (new.id, new.verification_id, new.sent_at)
          or new.failed_attempts < old.failed_attempts)
    execute function guard_immutable();
grant select, insert, update on agent_confirmation to almoner_app;

-- Asks the nonprofit, at its own email address, to confirm that the applicant represents it.
-- email: null once erased.
create table agent_representation_request (
    id uuid primary key,
    verification_id uuid not null references agent_verification (id),
    email text check (length(email) between 1 and 255),
    asked_at timestamptz not null,
    expires_at timestamptz not null,
    answer text check (answer in ('confirmed', 'denied')),
    answered_at timestamptz,
    constraint agent_representation_request_once unique (verification_id),
    constraint agent_representation_request_answered check ((answer is null) = (answered_at is null))
);
create index agent_representation_request_to_erase
    on agent_representation_request (coalesce(answered_at, expires_at)) where email is not null;
create trigger agent_representation_request_immutable before update on agent_representation_request for each row
    when ((old.id, old.verification_id, old.asked_at, old.expires_at) is distinct from
              (new.id, new.verification_id, new.asked_at, new.expires_at)
          or old.email is distinct from new.email and new.email is not null
          or old.answer is not null and (old.answer, old.answered_at) is distinct from (new.answer, new.answered_at))
    execute function guard_immutable();
grant select, insert, update on agent_representation_request to almoner_app;

-- Where a nonprofit itself can be reached: an address published by its register, looked up by an operator.
create table organisation_contact (
    organisation_id uuid primary key references organisation (id),
    email text not null check (length(email) between 1 and 255),
    source text not null check (length(source) between 1 and 500),
    recorded_by text not null check (length(recorded_by) between 1 and 255),
    recorded_at timestamptz not null
);

-- Who proposes a nonprofit's bank account must not also set the address at which the nonprofit confirms it.
create function guard_payee_contact() returns trigger language plpgsql as $$
declare
    who text := case tg_table_name when 'payee_bank_account' then to_jsonb(new) ->> 'proposed_by'
                else to_jsonb(new) ->> 'recorded_by' end;
begin
    perform pg_advisory_xact_lock(hashtextextended(new.organisation_id::text, 73));
    if (tg_table_name = 'payee_bank_account' and exists (
        select from organisation_contact where organisation_id = new.organisation_id and recorded_by = who
    )) or (tg_table_name <> 'payee_bank_account' and exists (
        select from payee_bank_account
        where organisation_id = new.organisation_id and proposed_by = who and status in ('proposed', 'approved')
    )) then
        raise exception '% may not set both the bank account and the contact of %', who, new.organisation_id
            using errcode = 'check_violation', constraint = 'payee_contact_separation';
    end if;
    return new;
end $$;
create trigger organisation_contact_payee before insert or update on organisation_contact for each row
    execute function guard_payee_contact();

-- When a nonprofit's contact address changes, links sent to the previous one stop working.
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
