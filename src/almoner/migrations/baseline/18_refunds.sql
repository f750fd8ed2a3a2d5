-- Money that goes back: held payments, refunds and disputes.

-- Money received by a provider that pays no donation, held in suspense until it is refunded, applied or written off.
-- auto_decide_at: when the rule decides unless a person has (docs/money-rules.md).
-- applied_payment_id: the payment that it became when a person applied it to its donation.
create table unallocated_payment (
    id uuid primary key,
    provider text not null check (provider ~ '^[a-z0-9_]{1,40}$'),
    provider_payment text not null,
    payment_id uuid references payment (id),
    donation_id uuid references donation (id),
    reason text not null check (reason in (
        'donation_cancelled', 'session_over', 'paid_twice', 'short', 'over', 'other_currency', 'other_reference',
        'other_mode', 'other_account', 'unknown_payment'
    )),
    amount_minor bigint not null check (amount_minor between 1 and 9007199254740991),
    currency char(3) not null check (currency ~ '^[A-Z]{3}$'),
    reference text not null,
    received_at timestamptz not null,
    status text not null check (status in ('held', 'refunding', 'refunded', 'written_off', 'applied')),
    status_changed_at timestamptz not null,
    auto_decide_at timestamptz not null,
    decided_at timestamptz,
    decided_by text check (length(decided_by) between 1 and 255),
    note text check (length(note) between 1 and 500),
    provider_refund text check (length(provider_refund) between 1 and 255),
    applied_payment_id uuid references payment (id),
    constraint unallocated_payment_once unique (provider, provider_payment),
    constraint unallocated_payment_decided check (
        (status = 'held') = (decided_at is null) and (decided_at is null) = (decided_by is null)
        and (decided_by is distinct from 'rule' and decided_by is not null) = (note is not null)
    ),
    constraint unallocated_payment_refunded check ((status = 'refunded') = (provider_refund is not null)),
    constraint unallocated_payment_refund_once unique (provider, provider_refund),
    -- Test money in production, live money in a sandbox and money sent to another account is not in the ledger, and
    -- never refunded by us (M5).
    constraint unallocated_payment_not_ours check (
        reason not in ('other_mode', 'other_account') or status in ('held', 'written_off')
    ),
    constraint unallocated_payment_applied check ((status = 'applied') = (applied_payment_id is not null)),
    constraint unallocated_payment_applied_once unique (applied_payment_id)
);
create index unallocated_payment_of_donation on unallocated_payment (donation_id);
create index unallocated_payment_by_status on unallocated_payment (status, id);
create index unallocated_payment_due on unallocated_payment (auto_decide_at, id) where status = 'held';
create index unallocated_payment_of_transfer on unallocated_payment (split_part(provider_payment, '/', 1))
    where provider = 'bank_transfer';
insert into lifecycle_transition (resource, from_status, to_status) values
    ('unallocated_payment', 'held', 'refunding'),
    ('unallocated_payment', 'held', 'written_off'),
    ('unallocated_payment', 'refunding', 'refunded'),
    ('unallocated_payment', 'held', 'applied');
create trigger unallocated_payment_status before update of status on unallocated_payment for each row
    when (old.status is distinct from new.status) execute function guard_status('unallocated_payment');
create trigger unallocated_payment_immutable before update on unallocated_payment for each row
    when ((old.id, old.provider, old.provider_payment, old.payment_id, old.donation_id, old.reason, old.amount_minor,
           old.currency, old.reference, old.received_at) is distinct from
              (new.id, new.provider, new.provider_payment, new.payment_id, new.donation_id, new.reason,
               new.amount_minor, new.currency, new.reference, new.received_at)
          or (old.decided_at is not null and (old.decided_at, old.decided_by, old.note) is distinct from
              (new.decided_at, new.decided_by, new.note)))
    execute function guard_immutable();

-- Money that the provider has paid out to our bank is ours: it cannot be written off, only refunded.
create function guard_write_off() returns trigger language plpgsql as $$
begin
    if exists (select from settlement_line where unallocated_payment_id = new.id) then
        raise exception 'unallocated payment % was settled', new.id
            using errcode = 'check_violation', constraint = 'unallocated_payment_settled';
    end if;
    return new;
end $$;
create trigger unallocated_payment_write_off before update of status on unallocated_payment for each row
    when (new.status = 'written_off') execute function guard_write_off();
grant select, insert, update (
    status, status_changed_at, decided_at, decided_by, note, provider_refund, applied_payment_id
) on unallocated_payment to almoner_app;

-- Decisions by people, with their reasons; append-only. unallocated_payment has the first decision, which may be the
-- rule's.
create table unallocated_payment_decision (
    id uuid primary key,
    unallocated_payment_id uuid not null references unallocated_payment (id),
    decision text not null check (decision in ('refund', 'retry_refund', 'record_manual_refund', 'write_off', 'apply')),
    note text not null check (length(note) between 1 and 500),
    decided_by text not null check (length(decided_by) between 1 and 255 and decided_by <> 'rule'),
    decided_at timestamptz not null,
    provider_refund text,
    constraint unallocated_payment_decision_refund
        check ((decision = 'record_manual_refund') = (provider_refund is not null))
);
create index unallocated_payment_decision_of on unallocated_payment_decision (unallocated_payment_id, id);
grant select, insert on unallocated_payment_decision to almoner_app;

-- A refund of a donation, recorded before the provider is asked. payment_id null: a direct donation, refunded to the
-- partner by bank transfer. deducted_minor: the part that reduces what the nonprofit is owed; the rest is the
-- provider's fee, which we bear. restored_minor: owed to the nonprofit again after the refund was refused. started_by
-- null: the partner.
create table refund (
    id uuid primary key,
    donation_id uuid not null references donation (id),
    payment_id uuid references payment (id),
    provider text not null check (provider ~ '^[a-z0-9_]{1,40}$'),
    amount_minor bigint not null check (amount_minor between 1 and 9007199254740991),
    currency char(3) not null check (currency ~ '^[A-Z]{3}$'),
    deducted_minor bigint not null check (deducted_minor >= 0),
    restored_minor bigint check (restored_minor >= 0),
    status text not null check (status in ('pending', 'sent', 'refused')),
    started_at timestamptz not null,
    started_by text check (length(started_by) between 1 and 255),
    note text check (length(note) between 1 and 500),
    ended_at timestamptz,
    ended_by text check (length(ended_by) between 1 and 255),
    ended_note text check (length(ended_note) between 1 and 500),
    provider_refund text check (length(provider_refund) between 1 and 255),
    status_changed_at timestamptz not null,
    constraint refund_once unique (provider, provider_refund),
    constraint refund_parts check (deducted_minor <= amount_minor and restored_minor <= amount_minor),
    constraint refund_started_by check ((started_by is null) = (note is null)),
    constraint refund_ended check (
        (status = 'pending') = (ended_at is null) and (status = 'sent') = (provider_refund is not null)
        and (status = 'refused') = (restored_minor is not null)
        and (ended_by is null or ended_at is not null) and (ended_by is null or ended_note is not null)
        and (status <> 'pending' or ended_note is null)
    )
);
create index refund_of_donation on refund (donation_id, id);
create index refund_of_payment on refund (payment_id) where payment_id is not null;
create index refund_with_status on refund (status, id);
create index refund_under_way on refund (status_changed_at) where status = 'pending';
create index refund_not_sent on refund (ended_at, id) where status = 'refused' and ended_by is null;
comment on column refund.ended_note is 'why it was refused, or the note of the officer who ended it manually';
insert into lifecycle_transition (resource, from_status, to_status) values
    ('refund', 'pending', 'sent'),
    ('refund', 'pending', 'refused');
create trigger refund_status before update of status on refund for each row
    when (old.status is distinct from new.status) execute function guard_status('refund');
create trigger refund_immutable before update on refund for each row
    when (old.status <> 'pending'
          or (old.id, old.donation_id, old.provider, old.amount_minor, old.currency, old.deducted_minor, old.started_at)
              is distinct from
             (new.id, new.donation_id, new.provider, new.amount_minor, new.currency, new.deducted_minor, new.started_at)
          or old.payment_id is distinct from new.payment_id or old.started_by is distinct from new.started_by
          or old.note is distinct from new.note)
    execute function guard_immutable();

-- Refunds are totalled on the donation, and the total never exceeds its amount. A refund goes through the payment that
-- paid the donation; a direct donation has none.
create function count_refund() returns trigger language plpgsql as $$
begin
    update donation set
        withdrawn_minor = withdrawn_minor + case when tg_op = 'INSERT' then new.amount_minor
                                                 when new.status = 'refused' then -new.amount_minor else 0 end,
        refunded_minor = refunded_minor + case new.status when 'sent' then new.amount_minor else 0 end,
        refunded_at = case new.status when 'sent' then new.ended_at else refunded_at end
    where id = new.donation_id and currency = new.currency
      and (tg_op = 'UPDATE'
           or (disputed_at is null and new.status = 'pending' and payment_id is not distinct from new.payment_id));
    if not found then
        raise exception 'refund % does not match donation %', new.id, new.donation_id
            using errcode = 'check_violation', constraint = 'refund_matches_donation';
    end if;
    return null;
end $$;
create trigger refund_counts after insert on refund for each row execute function count_refund();
create trigger refund_counts_end after update of status on refund for each row
    when (old.status is distinct from new.status) execute function count_refund();
grant select, insert, update (status, status_changed_at, ended_at, ended_by, ended_note, provider_refund,
    restored_minor)
    on refund to almoner_app;

-- A person decided not to retry a refused refund. Append-only.
create table refund_closure (
    refund_id uuid primary key references refund (id),
    note text not null check (length(note) between 1 and 500),
    decided_by text not null check (length(decided_by) between 1 and 255),
    decided_at timestamptz not null
);
create trigger refund_closure_append_only before update or delete or truncate on refund_closure
    for each statement execute function guard_append_only();
grant select, insert on refund_closure to almoner_app;

-- A sent refund that came back: the donor does not have the money, and a person takes over. Append-only.
create table refund_failure (
    refund_id uuid primary key references refund (id),
    reason text not null check (length(reason) between 1 and 500),
    reported_at timestamptz not null
);
create trigger refund_failure_append_only before update or delete or truncate on refund_failure
    for each statement execute function guard_append_only();
grant select, insert on refund_failure to almoner_app;

-- A dispute of a donation's payment or of an unallocated payment. opened_at and reason are the provider's. decided_by
-- null: the provider reported the outcome. absorbed_minor: the part of a lost dispute that no donation bears.
create table dispute (
    id uuid primary key,
    provider text not null check (provider ~ '^[a-z0-9_]{1,40}$'),
    provider_payment text not null check (length(provider_payment) between 1 and 255),
    provider_dispute text not null check (length(provider_dispute) between 1 and 255),
    donation_id uuid references donation (id),
    unallocated_payment_id uuid references unallocated_payment (id),
    amount_minor bigint not null check (amount_minor between 1 and 9007199254740991),
    currency char(3) not null check (currency ~ '^[A-Z]{3}$'),
    status text not null check (status in ('open', 'won', 'lost')),
    reason text not null check (length(reason) between 1 and 255),
    opened_at timestamptz not null,
    received_at timestamptz not null,
    checked_at timestamptz not null,
    decided_at timestamptz,
    decided_by text check (length(decided_by) between 1 and 255),
    note text check (length(note) between 1 and 2000),
    absorbed_minor bigint,
    disbursed boolean not null default false,
    recovered_minor bigint,
    evidence_due_at timestamptz,
    status_changed_at timestamptz not null,
    constraint dispute_once unique (provider, provider_dispute),
    constraint dispute_of_one check (num_nonnulls(donation_id, unallocated_payment_id) = 1),
    constraint dispute_decided check (
        (status = 'open') = (decided_at is null) and (decided_by is null) = (note is null)
        and (decided_by is null or decided_at is not null)
        and (status = 'lost') = (absorbed_minor is not null) and absorbed_minor between 0 and amount_minor
        and (not disbursed or (status = 'lost' and donation_id is not null))
        and (recovered_minor is null or (disbursed and recovered_minor between 0 and absorbed_minor))
    )
);
create index dispute_of_payment on dispute (provider, provider_payment, id);
create index dispute_of_donation on dispute (donation_id, id) where donation_id is not null;
create index dispute_with_status on dispute (status, id);
create index dispute_unchecked on dispute (checked_at) where status = 'open';
comment on column dispute.disbursed is 'the donation had been disbursed when the dispute was lost';
comment on column dispute.recovered_minor is 'recovered from a returned disbursement';
comment on column dispute.evidence_due_at is 'until when the provider accepts evidence; null: it accepts none';
insert into lifecycle_transition (resource, from_status, to_status) values
    ('dispute', 'open', 'won'),
    ('dispute', 'open', 'lost');
create trigger dispute_status before update of status on dispute for each row
    when (old.status is distinct from new.status) execute function guard_status('dispute');
create trigger dispute_immutable before update on dispute for each row
    when ((old.id, old.provider, old.provider_payment, old.provider_dispute, old.amount_minor, old.currency,
           old.opened_at, old.received_at) is distinct from
          (new.id, new.provider, new.provider_payment, new.provider_dispute, new.amount_minor, new.currency,
           new.opened_at, new.received_at)
          or (old.donation_id, old.unallocated_payment_id) is distinct from
             (new.donation_id, new.unallocated_payment_id)
          or (old.status <> 'open' and (old.decided_at, old.decided_by, old.note, old.absorbed_minor, old.disbursed)
              is distinct from (new.decided_at, new.decided_by, new.note, new.absorbed_minor, new.disbursed))
          or (old.recovered_minor is not null and old.recovered_minor is distinct from new.recovered_minor))
    execute function guard_immutable();

-- A donation is disputed while it has an open dispute. A lost one counts as refunded and reduces what is owed, unless
-- the donation was disbursed: then it does once the disbursement is returned.
create function count_dispute() returns trigger language plpgsql as $$
begin
    update donation set
        disputed_at = case when new.status = 'open' then coalesce(disputed_at, new.received_at)
            when exists (select from dispute d where d.donation_id = new.donation_id and d.status = 'open')
            then disputed_at end,
        last_disputed_at = case when new.status = 'open' and disputed_at is null then new.received_at
            else last_disputed_at end,
        dispute_status = case
            when exists (select from dispute d where d.donation_id = new.donation_id and d.status = 'open') then 'open'
            else new.status end,
        refunded_minor = refunded_minor + case new.status when 'lost' then new.amount_minor else 0 end,
        refunded_at = case new.status when 'lost' then new.decided_at else refunded_at end,
        withdrawn_minor = withdrawn_minor
            + case when new.status = 'lost' and not new.disbursed then new.amount_minor else 0 end
    where id = new.donation_id and currency = new.currency and status in ('RECEIVED_PAYMENT', 'DISBURSED');
    if not found then
        raise exception 'dispute % does not match donation %', new.id, new.donation_id
            using errcode = 'check_violation', constraint = 'dispute_matches_donation';
    end if;
    return null;
end $$;
create trigger dispute_counts after insert on dispute for each row
    when (new.donation_id is not null) execute function count_dispute();
create trigger dispute_counts_end after update of status on dispute for each row
    when (new.donation_id is not null and old.status is distinct from new.status) execute function count_dispute();

create function recover_dispute() returns trigger language plpgsql as $$
begin
    update donation set withdrawn_minor = withdrawn_minor + new.amount_minor where id = new.donation_id;
    return null;
end $$;
create trigger dispute_recovers after update of recovered_minor on dispute for each row
    when (new.donation_id is not null and old.recovered_minor is null and new.recovered_minor is not null)
    execute function recover_dispute();
grant select, insert, update (status, status_changed_at, checked_at, decided_at, decided_by, note, absorbed_minor,
    disbursed, recovered_minor, evidence_due_at)
    on dispute to almoner_app;

-- Evidence for a dispute, whose id it has: a draft until an operator submits it to the provider, once. reason: why the
-- provider rejected it; then it can be changed and submitted again.
create table dispute_evidence (
    id uuid primary key references dispute (id),
    status text not null check (status in ('draft', 'submitting', 'submitted', 'rejected')),
    product_description text check (length(product_description) between 1 and 5000),
    explanation text check (length(explanation) between 1 and 5000),
    requested_by text check (length(requested_by) between 1 and 255),
    requested_at timestamptz,
    ended_at timestamptz,
    reason text check (length(reason) between 1 and 500),
    status_changed_at timestamptz not null,
    constraint dispute_evidence_requested check (
        (status = 'draft') = (requested_by is null) and (requested_by is null) = (requested_at is null)
        and (status in ('submitted', 'rejected')) = (ended_at is not null)
        and (status = 'rejected') = (reason is not null)
    )
);
create index dispute_evidence_submitting on dispute_evidence (requested_at) where status = 'submitting';
insert into lifecycle_transition (resource, from_status, to_status) values
    ('dispute_evidence', 'draft', 'submitting'),
    ('dispute_evidence', 'submitting', 'submitted'),
    ('dispute_evidence', 'submitting', 'rejected'),
    ('dispute_evidence', 'rejected', 'draft'),
    ('dispute_evidence', 'rejected', 'submitting');
create trigger dispute_evidence_status before update of status on dispute_evidence for each row
    when (old.status is distinct from new.status) execute function guard_status('dispute_evidence');
-- What is submitted does not change.
create trigger dispute_evidence_immutable before update on dispute_evidence for each row
    when (old.id is distinct from new.id
          or (old.status in ('submitting', 'submitted')
              and (old.product_description, old.explanation, old.requested_by, old.requested_at) is distinct from
                  (new.product_description, new.explanation, new.requested_by, new.requested_at)))
    execute function guard_immutable();
grant select, insert, update on dispute_evidence to almoner_app;

-- A file of the evidence, one of each kind. Its bytes are in the document storage.
create table dispute_evidence_file (
    dispute_id uuid not null references dispute_evidence (id),
    kind text not null check (kind in (
        'receipt', 'customer_communication', 'service_documentation', 'refund_policy', 'other'
    )),
    file_name text not null check (length(file_name) between 1 and 255),
    media_type text not null check (media_type in ('image/jpeg', 'image/png', 'application/pdf')),
    size_bytes bigint not null check (size_bytes between 1 and 4500000),
    sha256 bytea not null check (length(sha256) = 32),
    storage_key text not null unique check (storage_key ~ '^[0-9a-z]{34}$'),
    uploaded_by text not null check (length(uploaded_by) between 1 and 255),
    uploaded_at timestamptz not null,
    primary key (dispute_id, kind)
);
create function guard_evidence_file() returns trigger language plpgsql as $$
begin
    if not exists (
        select from dispute_evidence
        where id = coalesce(new.dispute_id, old.dispute_id) and status in ('draft', 'rejected')
    ) then
        raise exception 'the evidence has been submitted'
            using errcode = 'check_violation', constraint = 'dispute_evidence_file_submitted';
    end if;
    return coalesce(new, old);
end $$;
create trigger dispute_evidence_file_submitted before insert or delete on dispute_evidence_file for each row
    execute function guard_evidence_file();
grant select, insert, delete on dispute_evidence_file to almoner_app;
