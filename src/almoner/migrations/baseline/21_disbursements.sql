-- Disbursements: nonprofits' bank accounts, holds, payouts, and gifts that are given to another nonprofit.

-- A nonprofit's bank account for a currency. encrypted_number: the account numbers, encrypted; masked_number: for
-- display; fingerprint: a keyed hash that finds one account used by several nonprofits. is_change: it replaces another
-- account.
create table payee_bank_account (
    id uuid primary key,
    organisation_id uuid not null references organisation (id),
    currency char(3) not null check (currency ~ '^[A-Z]{3}$'),
    scheme text not null check (scheme in ('iban', 'gb', 'us', 'au', 'nz', 'ca')),
    holder text not null check (length(holder) between 1 and 70),
    encrypted_number bytea not null,
    masked_number text not null check (length(masked_number) between 1 and 60),
    fingerprint bytea not null check (length(fingerprint) = 32),
    street text check (length(street) between 1 and 70),
    building text check (length(building) between 1 and 16),
    postcode text check (length(postcode) between 1 and 16),
    town text not null check (length(town) between 1 and 35),
    country_code char(3) not null check (country_code ~ '^[A-Z]{3}$'),
    name_score integer not null check (name_score between 0 and 100),
    is_change boolean not null,
    status text not null check (status in ('proposed', 'approved', 'refused', 'replaced')),
    proposed_by text not null check (length(proposed_by) between 1 and 255),
    proposed_note text not null check (length(proposed_note) between 1 and 2000),
    proposed_at timestamptz not null,
    first_by text check (length(first_by) between 1 and 255),
    first_note text check (length(first_note) between 1 and 2000),
    first_at timestamptz,
    second_by text check (length(second_by) between 1 and 255),
    second_note text check (length(second_note) between 1 and 2000),
    second_at timestamptz,
    refused_by text check (length(refused_by) between 1 and 255),
    refused_note text check (length(refused_note) between 1 and 2000),
    status_changed_at timestamptz not null,
    denied_at timestamptz,
    constraint payee_bank_account_approvals check (
        num_nonnulls(first_by, first_note, first_at) in (0, 3)
        and num_nonnulls(second_by, second_note, second_at) in (0, 3) and (second_by is null or first_by is not null)
    ),
    -- Whoever proposed an account does not approve it; replacing another account takes two approvers.
    constraint payee_bank_account_separation check (
        first_by <> proposed_by and second_by <> proposed_by and second_by <> first_by
    ),
    constraint payee_bank_account_approved check (
        status not in ('approved', 'replaced') or (first_by is not null and (not is_change or second_by is not null))
    ),
    constraint payee_bank_account_refused check ((status = 'refused') = (refused_by is not null)
        and (refused_by is null) = (refused_note is null)),
    constraint payee_bank_account_denied check (denied_at is null or status <> 'proposed')
);
create unique index payee_bank_account_current on payee_bank_account (organisation_id, currency)
    where status = 'approved';
create unique index payee_bank_account_open on payee_bank_account (organisation_id, currency) where status = 'proposed';
create index payee_bank_account_by_status on payee_bank_account (status, id);
create index payee_bank_account_fingerprint on payee_bank_account (fingerprint);
comment on column payee_bank_account.denied_at is 'when the nonprofit said that it is not its account';
insert into lifecycle_transition (resource, from_status, to_status) values
    ('payee_bank_account', 'proposed', 'approved'),
    ('payee_bank_account', 'proposed', 'refused'),
    ('payee_bank_account', 'approved', 'replaced');

-- Whether an account takes two approvers: it replaces another one, or is added after a verification relied on the
-- existing ones.
create function payee_requires_second_approval(of_organisation uuid, in_currency text) returns boolean
language sql stable as $$
    select exists (
        select from payee_bank_account
        where organisation_id = of_organisation and currency = in_currency and status in ('approved', 'replaced')
    ) or exists (
        select from payee_bank_account where organisation_id = of_organisation and status = 'approved'
    ) and exists (
        select from monetary_donation_verification v join monetary_donation_check c on c.verification_id = v.id
        where v.organisation_id in (
            with body as materialized (select coalesce(same_as, id) as id from organisation where id = of_organisation)
            select id from body union all select o.id from body join organisation o on o.same_as = body.id
        ) and v.status in ('pending', 'approved') and c.type = 'bank_details' and c.status = 'succeeded'
    )
$$;
create trigger payee_bank_account_status before update of status on payee_bank_account for each row
    when (old.status is distinct from new.status) execute function guard_status('payee_bank_account');
-- A proposal and its approvals do not change.
create trigger payee_bank_account_immutable before update on payee_bank_account for each row
    when ((old.id, old.organisation_id, old.currency, old.scheme, old.holder, old.encrypted_number, old.masked_number,
           old.fingerprint, old.street, old.building, old.postcode, old.town, old.country_code, old.name_score,
           old.is_change, old.proposed_by, old.proposed_note, old.proposed_at)
          is distinct from
          (new.id, new.organisation_id, new.currency, new.scheme, new.holder, new.encrypted_number, new.masked_number,
           new.fingerprint, new.street, new.building, new.postcode, new.town, new.country_code, new.name_score,
           new.is_change, new.proposed_by, new.proposed_note, new.proposed_at)
          or (old.first_by is not null and (old.first_by, old.first_note, old.first_at)
              is distinct from (new.first_by, new.first_note, new.first_at))
          or (old.second_by is not null and (old.second_by, old.second_note, old.second_at)
              is distinct from (new.second_by, new.second_note, new.second_at)))
    execute function guard_immutable();

create function guard_payee_change() returns trigger language plpgsql as $$
begin
    if new.second_by is null and payee_requires_second_approval(new.organisation_id, new.currency) then
        raise exception 'account % requires two approvers who did not propose it', new.id
            using errcode = 'check_violation', constraint = 'payee_bank_account_change';
    end if;
    return new;
end $$;
create trigger payee_bank_account_change before update of status on payee_bank_account for each row
    when (old.status = 'proposed' and new.status = 'approved') execute function guard_payee_change();
create trigger payee_bank_account_contact before insert on payee_bank_account for each row
    execute function guard_payee_contact();
create trigger payee_bank_account_independent before update on payee_bank_account for each row
    when (old.status = 'proposed' and new.status = 'proposed') execute function guard_independent_approvers();
create trigger payee_bank_account_denied before update of denied_at on payee_bank_account for each row
    when (old.denied_at is not null and old.denied_at is distinct from new.denied_at)
    execute function guard_immutable();
grant select, insert, update on payee_bank_account to almoner_app;

create table payee_bank_account_notice (
    account_id uuid primary key references payee_bank_account (id),
    partner_id uuid not null references partner (id),
    language text not null check (length(language) between 2 and 35),
    notified_at timestamptz not null
);
grant select, insert on payee_bank_account_notice to almoner_app;

-- Holds and releases of a nonprofit's disbursements, with their reasons; without a partner they apply to all partners.
-- The newest row counts. Append-only.
create table disbursement_hold (
    id bigint generated always as identity primary key,
    partner_id uuid references partner (id),
    organisation_id uuid not null references organisation (id),
    held boolean not null,
    note text not null check (length(note) between 1 and 2000),
    decided_by text not null check (length(decided_by) between 1 and 255),
    decided_at timestamptz not null,
    second_by text check (length(second_by) between 1 and 255),
    second_note text check (length(second_note) between 1 and 2000),
    constraint disbursement_hold_dual_control check (second_by <> decided_by),
    constraint disbursement_hold_second check (
        (second_by is null) = (second_note is null) and (second_by is null or not held)
    )
);
create index disbursement_hold_of_organisation on disbursement_hold (organisation_id, partner_id, id);

-- Whether disbursements are on hold: by a person's decision, by a pending change of the bank account, or by an open
-- flag.
create function disbursement_is_held(of_partner uuid, to_organisation uuid)
returns boolean language sql stable as $$
    select exists (
        select from (
            select distinct on (partner_id) held from disbursement_hold
            where organisation_id = to_organisation and (partner_id is null or partner_id = of_partner)
            order by partner_id, id desc
        ) newest where held
    ) or exists (
        select from payee_bank_account where organisation_id = to_organisation and status = 'proposed' and is_change
    ) or is_flagged(of_partner, to_organisation)
$$;
create trigger disbursement_hold_append_only before update or delete or truncate on disbursement_hold
    for each statement execute function guard_append_only();
create trigger disbursement_hold_single_operator before insert on disbursement_hold for each row
    when (not new.held and new.second_by is null and new.decided_by ~ '^(sandbox_)?operator_')
    execute function guard_dual_control();

-- An operator who placed a hold cannot release it alone, whatever the dual control setting.
create function guard_release() returns trigger language plpgsql as $$
begin
    if exists (
        select from disbursement_hold h
        where h.organisation_id = new.organisation_id and h.partner_id is not distinct from new.partner_id and h.held
            and h.decided_by = new.decided_by
            and h.id > coalesce((
                select max(r.id) from disbursement_hold r
                where r.organisation_id = new.organisation_id and r.partner_id is not distinct from new.partner_id
                    and not r.held
            ), 0)
    ) then
        raise exception 'the operator who held disbursements to % may not release them alone', new.organisation_id
            using errcode = 'check_violation', constraint = 'disbursement_hold_released_by_another';
    end if;
    return new;
end $$;
create trigger disbursement_hold_release before insert on disbursement_hold for each row
    when (not new.held and new.second_by is null and new.decided_by ~ '^(sandbox_)?operator_')
    execute function guard_release();
grant select, insert on disbursement_hold to almoner_app;

-- One bank transfer to one nonprofit. While PENDING it collects settled donations. propagating: its donations do not
-- have its status yet.
create table disbursement (
    id uuid primary key,
    partner_id uuid not null references partner (id),
    organisation_id uuid not null references organisation (id),
    currency char(3) not null check (currency ~ '^[A-Z]{3}$'),
    amount_minor bigint not null check (amount_minor between 0 and 9007199254740991),
    donations integer not null check (donations >= 0),
    status text not null check (status in ('PENDING', 'SENT', 'PAID', 'RETURNED')),
    waiting_reason text check (waiting_reason in (
        'verification_missing', 'verification_pending', 'verification_rejected', 'verification_expired',
        'organisation_inactive', 'below_threshold', 'on_hold'
    )),
    end_to_end_id text not null unique check (end_to_end_id ~ '^[0-9a-z]{1,35}$'),
    created_at timestamptz not null,
    ready_at timestamptz,
    sent_at timestamptz,
    paid_at timestamptz,
    returned_at timestamptz,
    return_reason text check (length(return_reason) between 1 and 500),
    propagating boolean not null default false,
    status_changed_at timestamptz not null,
    unique (id, partner_id, organisation_id, currency),
    constraint disbursement_moments check (
        (status = 'PENDING') = (sent_at is null)
        and (paid_at is null or sent_at is not null) and (status <> 'PAID' or paid_at is not null)
        and (status in ('PAID', 'RETURNED') or paid_at is null)
        and (status = 'RETURNED') = (returned_at is not null) and (status = 'RETURNED') = (return_reason is not null)
    ),
    constraint disbursement_waiting check (
        (waiting_reason is null or status = 'PENDING')
        and (waiting_reason is not null or (amount_minor > 0 and ready_at is not null))
    ),
    constraint disbursement_propagating check (not propagating or status in ('PAID', 'RETURNED'))
);
create unique index disbursement_open on disbursement (partner_id, organisation_id, currency)
    where status = 'PENDING';
create index disbursement_of_partner on disbursement (partner_id, id);
create index disbursement_of_organisation on disbursement (partner_id, organisation_id, id);
create index disbursement_with_status on disbursement (partner_id, status, id);
create index disbursement_by_status on disbursement (status, id);
create index disbursement_propagating on disbursement (id) where propagating;
insert into lifecycle_transition (resource, from_status, to_status) values
    ('disbursement', 'PENDING', 'SENT'),
    ('disbursement', 'SENT', 'PAID'),
    ('disbursement', 'SENT', 'RETURNED'),
    ('disbursement', 'PAID', 'RETURNED');
create trigger disbursement_status before update of status on disbursement for each row
    when (old.status is distinct from new.status) execute function guard_status('disbursement');
-- A sent disbursement does not change.
create trigger disbursement_immutable before update on disbursement for each row
    when ((old.id, old.partner_id, old.organisation_id, old.currency, old.end_to_end_id, old.created_at)
              is distinct from
          (new.id, new.partner_id, new.organisation_id, new.currency, new.end_to_end_id, new.created_at)
          or (old.status <> 'PENDING' and (old.amount_minor, old.donations) is distinct from
                                          (new.amount_minor, new.donations)))
    execute function guard_immutable();

-- A disbursement starts as PENDING. It is sent for exactly what is owed of its donations, to a nonprofit that is
-- verified (settled 5) and not on hold.
create function guard_disbursement_sent() returns trigger language plpgsql as $$
begin
    if tg_op = 'INSERT' then
        raise exception 'disbursement % must begin as PENDING', new.id
            using errcode = 'check_violation', constraint = 'disbursement_starts_pending';
    end if;
    if (select (count(*), coalesce(sum(greatest(0, settled_minor - withdrawn_minor)), 0)) from donation
        where disbursement_id = new.id) is distinct from (new.donations::bigint, new.amount_minor::numeric) then
        raise exception 'disbursement % is not the sum of its donations', new.id
            using errcode = 'check_violation', constraint = 'disbursement_sum';
    end if;
    if not exists (
        select from monetary_donation_verification
        where partner_id = new.partner_id and organisation_id = new.organisation_id and status = 'approved'
    ) then
        raise exception 'disbursement % is for an organisation that is not verified', new.id
            using errcode = 'check_violation', constraint = 'disbursement_verified';
    end if;
    if disbursement_is_held(new.partner_id, new.organisation_id) then
        raise exception 'disbursement % is for an organisation whose disbursements are on hold', new.id
            using errcode = 'check_violation', constraint = 'disbursement_not_held';
    end if;
    return new;
end $$;
create trigger disbursement_starts_pending before insert on disbursement for each row
    when (new.status <> 'PENDING') execute function guard_disbursement_sent();
create trigger disbursement_sent before update of status on disbursement for each row
    when (old.status = 'PENDING' and new.status = 'SENT') execute function guard_disbursement_sent();

-- Nothing becomes PAID on one person's word or an imported file alone: it was in a released payment file, or its exact
-- amount was confirmed.
create function guard_disbursement_paid() returns trigger language plpgsql as $$
begin
    if not exists (
        select from payment_file_transaction p join payment_file f on f.id = p.file_id
        where p.disbursement_id = new.id and p.active and f.status = 'released'
    ) and not exists (
        select from disbursement_confirmation where disbursement_id = new.id and amount_minor = new.amount_minor
    ) then
        raise exception 'nothing confirms that disbursement % was paid', new.id
            using errcode = 'check_violation', constraint = 'disbursement_confirmed';
    end if;
    return new;
end $$;
create trigger disbursement_confirmed before update of status on disbursement for each row
    when (old.status = 'SENT' and new.status = 'PAID') execute function guard_disbursement_paid();

-- A transfer on our bank statement is only returned by a line of the bank statement.
create function guard_disbursement_returned() returns trigger language plpgsql as $$
begin
    if exists (select from bank_statement_line where disbursement_id = new.id and matched_as = 'disbursement')
       and not exists (
           select from bank_statement_line where disbursement_id = new.id and matched_as = 'disbursement_return'
       ) then
        raise exception 'disbursement % is on a bank statement, and no statement line reports its return', new.id
            using errcode = 'check_violation', constraint = 'disbursement_return_on_statement';
    end if;
    return new;
end $$;
create trigger disbursement_return_on_statement before update of status on disbursement for each row
    when (old.status <> 'RETURNED' and new.status = 'RETURNED') execute function guard_disbursement_returned();
grant select, insert, update on disbursement to almoner_app;

-- Confirms that our bank paid a disbursement that is in none of our payment files and on no bank statement.
-- single_approval_limit_minor: up to this amount one person suffices. In the sandbox the simulated run confirms.
-- Append-only.
create table disbursement_confirmation (
    disbursement_id uuid primary key references disbursement (id),
    amount_minor bigint not null check (amount_minor between 1 and 9007199254740991),
    single_approval_limit_minor bigint not null check (single_approval_limit_minor >= 0),
    confirmed_by text not null check (length(confirmed_by) between 1 and 255),
    note text check (length(note) between 1 and 2000),
    second_by text check (length(second_by) between 1 and 255),
    second_note text check (length(second_note) between 1 and 2000),
    confirmed_at timestamptz not null,
    constraint disbursement_confirmation_seconded check (num_nonnulls(second_by, second_note) in (0, 2)),
    constraint disbursement_confirmation_dual_control check (
        second_by <> confirmed_by
        and (second_by is not null or confirmed_by = 'sandbox' or amount_minor <= single_approval_limit_minor)
    )
);
create trigger disbursement_confirmation_append_only before update or delete or truncate on disbursement_confirmation
    for each statement execute function guard_append_only();
grant select, insert on disbursement_confirmation to almoner_app;

-- The donations of a returned disbursement, which are added to other disbursements. Append-only.
-- amount_minor: what was owed of each when it was sent; it may have been refunded since.
create table returned_disbursement_donation (
    disbursement_id uuid not null references disbursement (id),
    donation_id uuid not null references donation (id),
    amount_minor bigint not null,
    primary key (disbursement_id, donation_id),
    constraint returned_disbursement_donation_amount check (amount_minor between 0 and 9007199254740991)
);
-- The donor's page shows when a disbursement of the donation was returned.
create index returned_disbursement_donation_of_donation on returned_disbursement_donation (donation_id);
create trigger returned_disbursement_donation_append_only
    before update or delete or truncate on returned_disbursement_donation
    for each statement execute function guard_append_only();
grant select, insert on returned_disbursement_donation to almoner_app;

-- Donations that were reassigned to another nonprofit, and why; append-only.
create table reassignment (
    id uuid primary key,
    donation_id uuid not null references donation (id),
    from_organisation_id uuid not null references organisation (id),
    to_organisation_id uuid not null references organisation (id),
    amount_minor bigint not null check (amount_minor between 0 and 9007199254740991),
    currency char(3) not null check (currency ~ '^[A-Z]{3}$'),
    reason text not null check (length(reason) between 1 and 500),
    reassigned_by text not null check (length(reassigned_by) between 1 and 255),
    reassigned_at timestamptz not null,
    ground text check (ground in ('failed_compliance', 'payment_impossible', 'merged')),
    check (from_organisation_id <> to_organisation_id)
);
create index reassignment_of_donation on reassignment (donation_id, id);
comment on column reassignment.ground is 'the reason given to the donor; null: not recorded';
create trigger reassignment_append_only before update or delete or truncate on reassignment
    for each statement execute function guard_append_only();
grant select, insert on reassignment to almoner_app;

-- A disbursement contains donations of its own partner, nonprofit and currency only. Added here, as it is created after
-- donation.
alter table donation add constraint donation_disbursement
    foreign key (disbursement_id, partner_id, organisation_id, settled_currency)
    references disbursement (id, partner_id, organisation_id, currency);

-- A partner's reports of a month, summed from the ledger; what they say is in their lines. A closed one stays.
create table monthly_report (
    id uuid primary key,
    partner_id uuid not null references partner (id),
    month date not null check (extract(day from month) = 1),
    time_zone text not null check (length(time_zone) between 1 and 100),
    begins_at timestamptz not null,
    ends_at timestamptz not null check (ends_at > begins_at),
    status text not null check (status in ('pending', 'ready', 'closed')),
    made_at timestamptz,
    closed_at timestamptz,
    closed_by text check (length(closed_by) between 1 and 255),
    constraint monthly_report_once unique (partner_id, month),
    constraint monthly_report_made check ((status = 'pending') = (made_at is null)),
    constraint monthly_report_closed check (
        (status = 'closed') = (closed_at is not null) and (closed_at is null) = (closed_by is null)
        and (closed_at is null or made_at >= ends_at)
    )
);
create trigger monthly_report_immutable before update or delete on monthly_report for each row
    when (old.status = 'closed') execute function guard_immutable();
grant select, insert, update on monthly_report to almoner_app;

create table monthly_report_line (
    report_id uuid not null references monthly_report (id),
    organisation_id uuid not null references organisation (id),
    currency char(3) not null check (currency ~ '^[A-Z]{3}$'),
    kind text not null check (length(kind) between 1 and 40),
    transfers integer not null check (transfers >= 0),
    amount_minor bigint not null check (amount_minor >= 0 or kind = 'opening_balance'),
    primary key (report_id, currency, organisation_id, kind)
);
create function guard_report_line() returns trigger language plpgsql as $$
begin
    if exists (select from monthly_report where id = coalesce(new.report_id, old.report_id) and status = 'closed') then
        raise exception 'report % is closed', coalesce(new.report_id, old.report_id)
            using errcode = 'check_violation', constraint = 'monthly_report_line_immutable';
    end if;
    return coalesce(new, old);
end $$;
create trigger monthly_report_line_immutable before insert or update or delete on monthly_report_line
    for each row execute function guard_report_line();
grant select, insert, delete on monthly_report_line to almoner_app;

-- Who is sent a link when a month is over, and of which month they were notified last.
create table monthly_report_reader (
    partner_id uuid not null,
    person_id uuid not null,
    notified_month date not null check (extract(day from notified_month) = 1),
    primary key (partner_id, person_id),
    foreign key (partner_id, person_id) references person (realm, id) on delete cascade
);
grant select, insert, update, delete on monthly_report_reader to almoner_app;
