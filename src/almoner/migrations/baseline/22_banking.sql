-- Banking: files of payments for our bank, and its statements.

-- A pain.001 payment file for our bank. encrypted_content: compressed and encrypted; single_approval_limit_minor: up to
-- this amount its creator may release it alone. A disbursement is in at most one file that was not withdrawn, so it is
-- never paid twice.
create table payment_file (
    id uuid primary key,
    message_id text not null unique check (message_id ~ '^[0-9a-z]{1,35}$'),
    currency char(3) not null check (currency ~ '^[A-Z]{3}$'),
    payments integer not null check (payments >= 1),
    amount_minor bigint not null check (amount_minor between 1 and 9007199254740991),
    single_approval_limit_minor bigint not null check (single_approval_limit_minor >= 0),
    execution_date date not null,
    sha256 bytea not null check (length(sha256) = 32),
    encrypted_content bytea not null,
    status text not null check (status in ('created', 'released', 'withdrawn')),
    created_by text not null check (length(created_by) between 1 and 255),
    created_at timestamptz not null,
    released_by text check (length(released_by) between 1 and 255),
    released_at timestamptz,
    withdrawn_by text check (length(withdrawn_by) between 1 and 255),
    note text check (length(note) between 1 and 2000),
    status_changed_at timestamptz not null,
    constraint payment_file_moments check (
        (status = 'released') = (released_at is not null) and (released_at is null) = (released_by is null)
        and (status = 'withdrawn') = (withdrawn_by is not null) and (withdrawn_by is null) = (note is null)
    ),
    constraint payment_file_dual_control check (
        amount_minor <= single_approval_limit_minor or released_by <> created_by
    ),
    -- After its execution date a bank pays it on another day, or not at all.
    constraint payment_file_in_time check (
        released_at is null or (released_at at time zone 'UTC')::date <= execution_date
    )
);
create index payment_file_by_status on payment_file (status, id);
insert into lifecycle_transition (resource, from_status, to_status) values
    ('payment_file', 'created', 'released'),
    ('payment_file', 'created', 'withdrawn');
create trigger payment_file_status before update of status on payment_file for each row
    when (old.status is distinct from new.status) execute function guard_status('payment_file');
create trigger payment_file_immutable before update on payment_file for each row
    when ((old.id, old.message_id, old.currency, old.payments, old.amount_minor, old.single_approval_limit_minor,
           old.execution_date, old.sha256, old.encrypted_content, old.created_by, old.created_at)
          is distinct from
          (new.id, new.message_id, new.currency, new.payments, new.amount_minor, new.single_approval_limit_minor,
           new.execution_date, new.sha256, new.encrypted_content, new.created_by, new.created_at))
    execute function guard_immutable();

-- On release a file has to match its disbursements: their number and total, all sent, none paid or returned.
create function guard_payment_file() returns trigger language plpgsql as $$
begin
    if (
        select (count(*), coalesce(sum(p.amount_minor), 0)) from payment_file_transaction p
        join disbursement d on d.id = p.disbursement_id
        where p.file_id = new.id and p.active and d.status = 'SENT' and d.amount_minor = p.amount_minor
          and d.currency = new.currency
    ) is distinct from (new.payments::bigint, new.amount_minor::numeric) then
        raise exception 'payment file % is not the sum of its SENT disbursements', new.id
            using errcode = 'check_violation', constraint = 'payment_file_sum';
    end if;
    return new;
end $$;
create trigger payment_file_released before update of status on payment_file for each row
    when (old.status = 'created' and new.status = 'released') execute function guard_payment_file();

-- A released file pays each disbursement to an approved account of its nonprofit in its currency, and none that is on
-- hold.
create function guard_payment_file_payees() returns trigger language plpgsql as $$
begin
    if exists (
        select from payment_file_transaction p
        join disbursement d on d.id = p.disbursement_id join payee_bank_account a on a.id = p.payee_bank_account_id
        where p.file_id = new.id and p.active
          and (a.status <> 'approved' or (a.organisation_id, a.currency) <> (d.organisation_id, d.currency)
               or disbursement_is_held(d.partner_id, d.organisation_id))
    ) then
        raise exception 'payment file % pays to an account that is not approved for it, or is on hold', new.id
            using errcode = 'check_violation', constraint = 'payment_file_payees';
    end if;
    return new;
end $$;
create trigger payment_file_payees before update of status on payment_file for each row
    when (old.status = 'created' and new.status = 'released') execute function guard_payment_file_payees();
create trigger payment_file_independent before update on payment_file for each row
    when (old.status = 'created' and new.status = 'released' and new.amount_minor > new.single_approval_limit_minor)
    execute function guard_independent_approvers();

-- Serialises the release with returns and manual confirmations of its disbursements. Triggers fire in the order of
-- their names: this one has to come before those that read the disbursements.
create function lock_payment_file_disbursements() returns trigger language plpgsql as $$
begin
    perform from disbursement d join payment_file_transaction p on p.disbursement_id = d.id
    where p.file_id = new.id and p.active order by d.id for share of d;
    return new;
end $$;
create trigger payment_file_disbursements_locked before update of status on payment_file for each row
    when (old.status = 'created' and new.status = 'released') execute function lock_payment_file_disbursements();
grant select, insert, update on payment_file to almoner_app;

create table payment_file_transaction (
    file_id uuid not null references payment_file (id),
    disbursement_id uuid not null references disbursement (id),
    payee_bank_account_id uuid not null references payee_bank_account (id),
    amount_minor bigint not null check (amount_minor between 1 and 9007199254740991),
    active boolean not null default true,
    primary key (file_id, disbursement_id)
);
create unique index payment_file_transaction_once on payment_file_transaction (disbursement_id) where active;
create index payment_file_transaction_to on payment_file_transaction (payee_bank_account_id);
grant select, insert, update (active) on payment_file_transaction to almoner_app;

-- The bank's payment status reports (pain.002); importing one again changes nothing.
create table payment_status_report (
    id uuid primary key,
    file_id uuid not null references payment_file (id),
    message_id text not null check (length(message_id) between 1 and 35),
    sha256 bytea not null unique check (length(sha256) = 32),
    accepted integer not null check (accepted >= 0),
    paid integer not null check (paid >= 0),
    rejected integer not null check (rejected >= 0),
    recorded_by text not null check (length(recorded_by) between 1 and 255),
    recorded_at timestamptz not null
);
create index payment_status_report_of_file on payment_status_report (file_id, id);
grant select, insert on payment_status_report to almoner_app;

-- A bank may reissue a statement with more lines: each file with new lines is a part. Banks use their numbers anew, most
-- of them each year: recurrence counts the statements with one number. sequence: the bank's own count of statements.
-- begins_on, ends_on: first and last date that the statement shows. form: of the file, for all but our own statements.
-- rejected_lines: why lines of the file could not be read; the statement is incomplete. export: lines exported as CSV for
-- chosen days; part of no balance chain.
-- A long statement has several pages: the first has the opening balance, the last the closing balance.
create table bank_statement (
    id uuid primary key,
    account text not null check (length(account) between 1 and 60),
    reference text not null check (length(reference) between 1 and 60),
    currency char(3) not null check (currency ~ '^[A-Z]{3}$'),
    opening_minor bigint,
    closing_minor bigint,
    sha256 bytea not null check (length(sha256) = 32),
    lines integer not null check (lines >= 0),
    imported_by text not null check (length(imported_by) between 1 and 255),
    imported_at timestamptz not null,
    part integer not null check (part >= 1),
    begins_on date,
    ends_on date,
    export boolean not null default false,
    recurrence integer not null default 1 check (recurrence >= 1),
    sequence text check (length(sequence) between 1 and 60),
    form text check (form in ('camt.053', 'mt940', 'csv')),
    rejected_lines text[] not null default '{}',
    constraint bank_statement_once unique (account, reference, recurrence, part),
    constraint bank_statement_days check (begins_on <= ends_on),
    constraint bank_statement_export check (not export or (opening_minor is null and closing_minor is null))
);
grant select, insert on bank_statement to almoner_app;

-- One movement on an account; negative amounts are outgoing. A matched line refers to the record that it settles.
-- donation, donation_refund: a donor's transfer, or money returned to one; both are settled by the line itself.
-- booking_error: why a recognised line could not be booked.
-- unconfirmed: the transfer of a disbursement that is yet to be confirmed.
-- reversal: the bank reverses an earlier movement, mostly under the same reference.
-- reversed: it reversed money that had come in.
-- occurrence: which one it is of those with its date, amount and bank reference in one statement, or in all of them once
-- it is known to be a movement of its own.
-- possible_duplicate: another statement has a similar movement.
-- reopened: an operator undid how the line was dismissed or matched; no rule matches it again.
create table bank_statement_line (
    id uuid primary key,
    statement_id uuid not null references bank_statement (id),
    position integer not null check (position >= 1),
    account text not null check (length(account) between 1 and 60),
    booked_on date not null,
    amount_minor bigint not null check (amount_minor <> 0 and abs(amount_minor) <= 9007199254740991),
    currency char(3) not null check (currency ~ '^[A-Z]{3}$'),
    bank_reference text not null check (length(bank_reference) between 1 and 140),
    end_to_end_id text check (length(end_to_end_id) between 1 and 35),
    counterparty text check (length(counterparty) between 1 and 140),
    remittance_information text check (length(remittance_information) between 1 and 1000),
    return_reason text check (length(return_reason) between 1 and 400),
    status text not null check (status in ('open', 'matched', 'dismissed')),
    reason text check (reason in (
        'unknown', 'seen_before', 'other_amount', 'other_currency', 'other_state', 'ambiguous', 'matched_before',
        'refused', 'unconfirmed', 'reversed', 'possible_duplicate', 'reopened'
    )),
    matched_as text check (matched_as in (
        'request', 'settlement', 'disbursement', 'disbursement_return', 'donation', 'donation_refund'
    )),
    request_payment_id uuid references request_payment (id),
    settlement_id uuid references settlement (id),
    disbursement_id uuid references disbursement (id),
    decided_by text check (length(decided_by) between 1 and 255),
    note text check (length(note) between 1 and 2000),
    created_at timestamptz not null,
    status_changed_at timestamptz not null,
    booking_error text check (length(booking_error) between 1 and 1000),
    reversal boolean not null default false,
    occurrence integer not null default 1 check (occurrence >= 1),
    unique (statement_id, position),
    constraint bank_statement_line_states check (
        (status = 'open') = (reason is not null) and (status = 'matched') = (matched_as is not null)
        and (status = 'open') = (decided_by is null) and (status <> 'dismissed' or note is not null)
    ),
    constraint bank_statement_line_matched check (
        (matched_as is not distinct from 'request') = (request_payment_id is not null)
        and coalesce(matched_as in ('settlement', 'donation', 'donation_refund'), false) = (settlement_id is not null)
        and coalesce(matched_as in ('disbursement', 'disbursement_return'), false) = (disbursement_id is not null)
    )
);
create index bank_statement_line_open on bank_statement_line (id) where status = 'open';
-- Each of our records is matched by one line.
create unique index bank_statement_line_of_settlement on bank_statement_line (settlement_id)
    where settlement_id is not null;
create unique index bank_statement_line_of_payment on bank_statement_line (request_payment_id)
    where request_payment_id is not null;
create unique index bank_statement_line_of_disbursement on bank_statement_line (disbursement_id, matched_as)
    where disbursement_id is not null;
-- A movement that the bank reports twice is decided by a person: the rule books it once, however often it is imported.
-- A reversal is a movement of its own; so is each of several movements under one reference in one statement.
create unique index bank_statement_line_booked_once on bank_statement_line
    (account, bank_reference, booked_on, amount_minor, reversal, occurrence)
    where status = 'matched' and decided_by = 'rule';
create index bank_statement_line_of_movement on bank_statement_line (bank_reference);
create index bank_statement_line_of_day on bank_statement_line (account, amount_minor, booked_on);
insert into lifecycle_transition (resource, from_status, to_status) values
    ('bank_statement_line', 'open', 'matched'),
    ('bank_statement_line', 'open', 'dismissed'),
    ('bank_statement_line', 'dismissed', 'open'),
    ('bank_statement_line', 'matched', 'open');
create trigger bank_statement_line_status before update of status on bank_statement_line for each row
    when (old.status is distinct from new.status) execute function guard_status('bank_statement_line');
-- Reported values do not change. What moved money in the ledger is not undone here: only a dismissed line, and one that
-- was matched to a provider payout, can be open again.
create trigger bank_statement_line_immutable before update on bank_statement_line for each row
    when ((old.status <> 'open' and (new.status <> 'open' or coalesce(old.matched_as, 'settlement') <> 'settlement'))
          or (old.id, old.statement_id, old.position, old.account, old.booked_on, old.amount_minor, old.currency,
              old.bank_reference, old.end_to_end_id, old.return_reason, old.created_at)
          is distinct from
          (new.id, new.statement_id, new.position, new.account, new.booked_on, new.amount_minor, new.currency,
           new.bank_reference, new.end_to_end_id, new.return_reason, new.created_at))
    execute function guard_immutable();
create trigger bank_statement_line_reversal before update of reversal on bank_statement_line for each row
    when (old.reversal is distinct from new.reversal) execute function guard_immutable();
grant select, insert, update on bank_statement_line to almoner_app;

-- An operator's decision to undo how a line was dismissed or matched. status, settlement_id, decided_by, decided_note: of
-- what was undone.
create table bank_statement_line_reopening (
    id bigint generated always as identity primary key,
    line_id uuid not null references bank_statement_line (id),
    reopened_at timestamptz not null,
    reopened_by text not null check (length(reopened_by) between 1 and 255),
    note text not null check (length(note) between 1 and 2000),
    status text not null check (status in ('matched', 'dismissed')),
    settlement_id uuid references settlement (id),
    decided_by text not null check (length(decided_by) between 1 and 255),
    decided_note text check (length(decided_note) between 1 and 2000),
    constraint bank_statement_line_reopening_of check ((status = 'matched') = (settlement_id is not null))
);
create trigger bank_statement_line_reopening_append_only
    before update or delete or truncate on bank_statement_line_reopening
    for each statement execute function guard_append_only();
create index bank_statement_line_reopening_of_line on bank_statement_line_reopening (line_id);
grant select, insert on bank_statement_line_reopening to almoner_app;

-- A file that was uploaded and is neither booked nor discarded yet. encrypted_content: compressed and encrypted.
create table bank_statement_upload (
    id uuid primary key,
    file_name text not null check (length(file_name) between 1 and 255),
    sha256 bytea not null check (length(sha256) = 32),
    size_bytes integer not null check (size_bytes >= 1),
    mapping text check (length(mapping) between 1 and 20000),
    uploaded_by text not null check (length(uploaded_by) between 1 and 255),
    uploaded_at timestamptz not null,
    encrypted_content bytea not null
);
create index bank_statement_upload_age on bank_statement_upload (uploaded_at);
grant select, insert, delete on bank_statement_upload to almoner_app;

-- An officer's explanation why no statement precedes this one although none is missing.
create table bank_statement_gap_explanation (
    statement_id uuid primary key references bank_statement (id),
    note text not null check (length(note) between 1 and 2000),
    explained_by text not null check (length(explained_by) between 1 and 255),
    explained_at timestamptz not null
);
create trigger bank_statement_gap_explanation_append_only
    before update or delete or truncate on bank_statement_gap_explanation
    for each statement execute function guard_append_only();
grant select, insert on bank_statement_gap_explanation to almoner_app;

-- Statements whose opening balance is no other statement's closing balance: statements in between were not imported. An
-- account's first statement has no predecessor: of one day it is the one whose balance is opened more often than
-- closed. Equal balances are paired in any order.
create view bank_statement_gap with (security_invoker = true) as
with latest as (
    select distinct on (account, currency, reference, recurrence)
        id, account, currency, reference, opening_minor, closing_minor, coalesce(ends_on, imported_at::date) as day,
        imported_at
    from bank_statement where opening_minor is not null or closing_minor is not null
    order by account, currency, reference, recurrence, part desc
), balance as (
    select account, currency, minor, sum(one) as more from (
        select account, currency, opening_minor, 1 from latest
        union all select account, currency, closing_minor, -1 from latest
    ) as reported (account, currency, minor, one) group by 1, 2, 3
), opened as (
    select l.*, row_number() over (partition by l.account, l.currency order by l.day, b.more <= 0, l.id) as rank
    from latest l join balance b on (b.account, b.currency, b.minor) = (l.account, l.currency, l.opening_minor)
), closed as (
    select l.*, row_number() over (
        partition by l.account, l.currency
        order by l.day desc, b.more >= 0, l.closing_minor is distinct from f.opening_minor, l.id desc
    ) as rank
    from latest l join balance b on (b.account, b.currency, b.minor) = (l.account, l.currency, l.closing_minor)
    left join opened f on (f.account, f.currency, f.rank) = (l.account, l.currency, 1)
), following as (
    select o.*, row_number() over (partition by account, currency, opening_minor order by day, id) as nth
    from opened o where rank > 1
), left_open as (
    select account, currency, closing_minor, count(*) as many from closed where rank > 1 group by 1, 2, 3
)
select f.id, f.account, f.currency, f.reference, f.opening_minor, f.day, f.imported_at
from following f left join left_open c
    on (c.account, c.currency, c.closing_minor) = (f.account, f.currency, f.opening_minor)
where f.nth > coalesce(c.many, 0)
  and not exists (select from bank_statement_gap_explanation e where e.statement_id = f.id);
grant select on bank_statement_gap to almoner_app;

-- Statements with lines that could not be read, until a corrected file was imported or somebody has explained them.
create view bank_statement_incomplete with (security_invoker = true) as
select id, account, currency, reference, opening_minor, coalesce(ends_on, imported_at::date) as day, imported_at,
    rejected_lines
from bank_statement s
where rejected_lines <> '{}' and not exists (
    select from bank_statement later
    where (later.account, later.reference, later.recurrence) = (s.account, s.reference, s.recurrence)
      and later.part > s.part and later.rejected_lines = '{}'
) and not exists (select from bank_statement_gap_explanation e where e.statement_id = s.id);
grant select on bank_statement_incomplete to almoner_app;

-- Provider payouts without a bank statement line, except for simulated ones and those that come to zero.
create view unreconciled_settlement with (security_invoker = true) as
select s.id, s.provider, s.reference, s.currency, s.settled_on, s.imported_at, reported.net_minor
from settlement s, lateral (
    select sum(l.net_minor)::bigint as net_minor from settlement_line l where l.settlement_id = s.id
) reported
where s.provider <> 'bank_transfer' and s.reference not like 'simulated-%' and reported.net_minor <> 0
  and not exists (select from bank_statement_line l where l.settlement_id = s.id)
  and not exists (select from settlement_explanation e where e.settlement_id = s.id);
grant select on unreconciled_settlement to almoner_app;
