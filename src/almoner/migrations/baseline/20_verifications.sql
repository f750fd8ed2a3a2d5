-- Monetary donation verifications: whether a nonprofit may be paid.

-- requested: by the partner; otherwise started when money came in for the nonprofit. next_check_at: until then the
-- findings of a pending or approved verification are taken as current.
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
    requested boolean not null,
    next_check_at timestamptz,
    unique (partner_id, id),
    constraint monetary_donation_verification_rejected check ((status = 'rejected') = (rejection_reason is not null)),
    constraint monetary_donation_verification_processed check ((status = 'pending') = (processed_at is null)),
    constraint monetary_donation_verification_expiry
        check ((status in ('pending', 'expired')) = (expires_at is not null))
);
-- At most one active verification per partner and organisation, so that a disbursement finds a single answer.
create unique index monetary_donation_verification_live on monetary_donation_verification (partner_id, organisation_id)
    where status in ('pending', 'approved');
create index monetary_donation_verification_of_organisation
    on monetary_donation_verification (partner_id, organisation_id, id);
create index monetary_donation_verification_due on monetary_donation_verification (expires_at) where status = 'pending';
create index monetary_donation_verification_waiting on monetary_donation_verification (created_at, id)
    where status = 'pending';
create index monetary_donation_verification_next_check on monetary_donation_verification (next_check_at)
    where status in ('pending', 'approved') and next_check_at is not null;
create index monetary_donation_verification_any_partner on monetary_donation_verification (organisation_id)
    where status in ('pending', 'approved');
comment on column monetary_donation_verification.expires_at is 'when a pending one expires; null once decided';
insert into lifecycle_transition (resource, from_status, to_status) values
    ('monetary_donation_verification', 'pending', 'approved'),
    ('monetary_donation_verification', 'pending', 'rejected'),
    ('monetary_donation_verification', 'pending', 'expired'),
    ('monetary_donation_verification', 'rejected', 'pending'),
    ('monetary_donation_verification', 'expired', 'pending');
create trigger monetary_donation_verification_status
    before update of status on monetary_donation_verification for each row
    when (old.status is distinct from new.status) execute function guard_status('monetary_donation_verification');

-- Approval requires all checks to have succeeded, and checks change only while the verification is pending.
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
-- Owner and subject never change; nor does the subject of a check.
create trigger monetary_donation_verification_immutable before update on monetary_donation_verification for each row
    when ((old.id, old.partner_id, old.organisation_id, old.created_at) is distinct from
              (new.id, new.partner_id, new.organisation_id, new.created_at))
    execute function guard_immutable();
alter table evidence add foreign key (partner_id, monetary_donation_verification_id)
    references monetary_donation_verification (partner_id, id);
grant select, insert, update on monetary_donation_verification to almoner_app;

create table monetary_donation_check (
    id uuid primary key,
    verification_id uuid not null references monetary_donation_verification (id),
    type text not null check (type in ('registration', 'compliance', 'bank_details', 'organisation_confirmation')),
    status text not null check (status in ('pending', 'succeeded', 'failed')),
    status_changed_at timestamptz not null,
    constraint monetary_donation_check_once unique (verification_id, type)
);
insert into lifecycle_transition (resource, from_status, to_status) values
    ('monetary_donation_check', 'pending', 'succeeded'),
    ('monetary_donation_check', 'pending', 'failed'),
    ('monetary_donation_check', 'succeeded', 'pending'),
    ('monetary_donation_check', 'failed', 'pending');
create trigger monetary_donation_check_status before update of status on monetary_donation_check for each row
    when (old.status is distinct from new.status) execute function guard_status('monetary_donation_check');

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
create trigger monetary_donation_check_immutable before update on monetary_donation_check for each row
    when ((old.id, old.verification_id, old.type) is distinct from (new.id, new.verification_id, new.type))
    execute function guard_immutable();
grant select, insert, update on monetary_donation_check to almoner_app;

-- Decisions by people, with their evidence; append-only. Both names are in one row, so that no sequence of inserts
-- makes one person count twice.
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
    second_by text check (length(second_by) between 1 and 255),
    second_note text check (length(second_note) between 1 and 2000),
    constraint monetary_donation_decision_reason check ((decision = 'rejected') = (reason is not null)),
    constraint monetary_donation_decision_dual_control check (second_by <> decided_by),
    constraint monetary_donation_decision_second check (
        (second_by is null) = (second_note is null) and (second_by is null or decision = 'approved')
    )
);
create index monetary_donation_decision_of on monetary_donation_decision (verification_id, id);
create trigger monetary_donation_decision_single_operator before insert on monetary_donation_decision for each row
    when (new.decision = 'approved' and new.second_by is null and new.decided_by ~ '^(sandbox_)?operator_')
    execute function guard_dual_control();
grant select, insert on monetary_donation_decision to almoner_app;

-- Something has changed since a check succeeded. While a flag is open the nonprofit is not paid; two people have to
-- lift it. withdrawn: the cause no longer exists.
create table monetary_donation_flag (
    id uuid primary key,
    verification_id uuid not null,
    finding_id uuid not null,
    kind text not null check (
        kind in (
            'register_removed', 'register_renamed', 'new_match', 'payee_changed', 'holder_differs', 'account_denied',
            'evidence_expired'
        )
    ),
    status text not null check (status in ('open', 'lifted', 'withdrawn')),
    raised_at timestamptz not null,
    first_by text check (length(first_by) between 1 and 255),
    first_note text check (length(first_note) between 1 and 2000),
    first_at timestamptz,
    second_by text check (length(second_by) between 1 and 255),
    second_note text check (length(second_note) between 1 and 2000),
    second_at timestamptz,
    status_changed_at timestamptz not null,
    foreign key (verification_id, finding_id) references evidence (record_id, id),
    constraint monetary_donation_flag_once unique (finding_id, kind),
    constraint monetary_donation_flag_approvals check (
        num_nonnulls(first_by, first_note, first_at) in (0, 3)
        and num_nonnulls(second_by, second_note, second_at) in (0, 3) and (second_by is null or first_by is not null)
    ),
    constraint monetary_donation_flag_dual_control check (
        second_by <> first_by and (status = 'lifted') = (second_by is not null)
    ),
    constraint monetary_donation_flag_withdrawn check (status <> 'withdrawn' or first_by is not null)
);
create index monetary_donation_flag_waiting on monetary_donation_flag (raised_at, id) where status = 'open';
create index monetary_donation_flag_open on monetary_donation_flag (verification_id) where status = 'open';
create index monetary_donation_flag_of on monetary_donation_flag (verification_id, id);
create index monetary_donation_flag_by_status on monetary_donation_flag (status, id);
insert into lifecycle_transition (resource, from_status, to_status) values
    ('monetary_donation_flag', 'open', 'lifted'),
    ('monetary_donation_flag', 'open', 'withdrawn');

create function is_flagged(of_partner uuid, to_organisation uuid) returns boolean language sql stable as $$
    select exists (
        select from monetary_donation_verification v join monetary_donation_flag f on f.verification_id = v.id
        where v.partner_id = of_partner and v.organisation_id = to_organisation
          and v.status in ('pending', 'approved') and f.status = 'open'
    )
$$;
create trigger monetary_donation_flag_status before update of status on monetary_donation_flag for each row
    when (old.status is distinct from new.status) execute function guard_status('monetary_donation_flag');
create trigger monetary_donation_flag_immutable before update on monetary_donation_flag for each row
    when ((old.id, old.verification_id, old.finding_id, old.kind, old.raised_at) is distinct from
              (new.id, new.verification_id, new.finding_id, new.kind, new.raised_at)
          or (old.first_by is not null and (old.first_by, old.first_note, old.first_at)
              is distinct from (new.first_by, new.first_note, new.first_at))
          or (old.second_by is not null and (old.second_by, old.second_note, old.second_at)
              is distinct from (new.second_by, new.second_note, new.second_at)))
    execute function guard_immutable();
create trigger monetary_donation_flag_independent before update on monetary_donation_flag for each row
    when (new.status = 'lifted' and old.status = 'open') execute function guard_independent_approvers();
grant select, insert, update on monetary_donation_flag to almoner_app;

-- Asks the nonprofit, at its own email address, whether it accepts donations. The link expires with this round of the
-- verification. email, name, role: null once erased.
create table monetary_donation_confirmation (
    id uuid primary key,
    verification_id uuid not null references monetary_donation_verification (id),
    email text check (length(email) between 1 and 255),
    source text not null check (length(source) between 1 and 500),
    language text not null check (length(language) between 2 and 35),
    asked_by text not null check (length(asked_by) between 1 and 255),
    asked_at timestamptz not null,
    expires_at timestamptz not null,
    withdrawn boolean not null default false,
    answer text check (answer in ('confirmed', 'declined')),
    name text check (length(name) between 1 and 255),
    role text check (length(role) between 1 and 255),
    page_hash bytea check (length(page_hash) = 32),
    answered_at timestamptz,
    constraint monetary_donation_confirmation_answered check (
        (answer is null) = (answered_at is null) and (answer is null) = (page_hash is null)
        and (answer is not null or (name is null and role is null)) and (answer is null or not withdrawn)
    )
);
create unique index monetary_donation_confirmation_open on monetary_donation_confirmation (verification_id)
    where answer is null and not withdrawn;
create unique index monetary_donation_confirmation_once on monetary_donation_confirmation (verification_id, expires_at)
    where answer is not null;
create index monetary_donation_confirmation_of on monetary_donation_confirmation (verification_id, id);
create index monetary_donation_confirmation_to_erase
    on monetary_donation_confirmation ((coalesce(answered_at, expires_at))) where email is not null;
comment on column monetary_donation_confirmation.page_hash is 'hash of the page content that was answered';
create trigger monetary_donation_confirmation_immutable before update on monetary_donation_confirmation for each row
    when ((old.id, old.verification_id, old.source, old.language, old.asked_by, old.asked_at, old.expires_at)
              is distinct from
          (new.id, new.verification_id, new.source, new.language, new.asked_by, new.asked_at, new.expires_at)
          or (old.answer is not null and (old.answer, old.answered_at, old.page_hash)
              is distinct from (new.answer, new.answered_at, new.page_hash))
          or (new.email is not null and old.email is distinct from new.email)
          or (old.answer is not null and new.name is not null and (old.name, old.role) is distinct from
              (new.name, new.role))
          or (old.withdrawn and not new.withdrawn))
    execute function guard_immutable();
grant select, insert, update on monetary_donation_confirmation to almoner_app;

create table monetary_donation_confirmation_email (
    id uuid primary key,
    confirmation_id uuid not null references monetary_donation_confirmation (id),
    email_hash bytea not null check (length(email_hash) = 32),
    sent_at timestamptz not null
);
create index monetary_donation_confirmation_email_of on monetary_donation_confirmation_email (confirmation_id, sent_at);
create index monetary_donation_confirmation_email_to on monetary_donation_confirmation_email (email_hash, sent_at);
comment on column monetary_donation_confirmation_email.sent_at is 'real time, for rate limits';
grant select, insert on monetary_donation_confirmation_email to almoner_app;
