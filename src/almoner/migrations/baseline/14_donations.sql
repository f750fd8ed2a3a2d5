-- Donations: sessions, gifts, their payments, and requests to partners for direct donations.

create table giving_user (
    id uuid primary key,
    partner_id uuid not null references partner (id),
    organisation_id uuid references organisation (id),
    created_at timestamptz not null,
    deleted_at timestamptz,
    unique (partner_id, id)
);
comment on column giving_user.organisation_id is 'default organisation of the user''s donations';
grant select, insert, update on giving_user to almoner_app;

-- A request to a partner to pay a period's direct donations in one currency. collecting: donations are still added.
-- allocating: money has come in that is yet to be allocated to donations. allocated_minor: total of the donations that
-- are paid.
create table donation_request (
    id uuid primary key,
    partner_id uuid not null references partner (id),
    currency char(3) not null check (currency ~ '^[A-Z]{3}$'),
    amount_minor bigint not null check (amount_minor between 0 and 9007199254740991),
    donations integer not null check (donations >= 0),
    paid_minor bigint not null,
    allocated_minor bigint not null,
    status text not null check (status in ('OPEN', 'PARTLY_PAID', 'PAID')),
    reference text not null unique check (reference ~ '^ALM-[0-9A-Z]{5}-[0-9A-Z]{5}$'),
    cutoff_at timestamptz not null,
    collecting boolean not null,
    allocating boolean not null,
    created_at timestamptz not null,
    due_at timestamptz not null,
    status_changed_at timestamptz not null,
    unique (partner_id, id),
    unique (id, partner_id, currency),
    constraint donation_request_paid check (
        allocated_minor between 0 and paid_minor and paid_minor <= amount_minor
        and case status when 'OPEN' then paid_minor = 0
                        when 'PAID' then paid_minor = amount_minor and paid_minor > 0
                        else paid_minor > 0 and paid_minor < amount_minor end
    ),
    constraint donation_request_collecting_state check (not collecting or (status = 'OPEN' and not allocating)),
    constraint donation_request_filled check (collecting or donations > 0)
);
create unique index donation_request_collecting on donation_request (partner_id, currency) where collecting;
create index donation_request_with_due_date on donation_request (partner_id, due_at, id);
create index donation_request_allocating on donation_request (id) where allocating;
comment on column donation_request.cutoff_at is 'donations created before then are included';
insert into lifecycle_transition (resource, from_status, to_status) values
    ('donation_request', 'OPEN', 'PARTLY_PAID'),
    ('donation_request', 'OPEN', 'PAID'),
    ('donation_request', 'PARTLY_PAID', 'PAID');
-- What was requested does not change.
create trigger donation_request_immutable before update on donation_request for each row
    when ((old.id, old.partner_id, old.currency, old.reference, old.cutoff_at, old.created_at) is distinct from
              (new.id, new.partner_id, new.currency, new.reference, new.cutoff_at, new.created_at)
          or (not old.collecting and (old.amount_minor, old.donations, old.due_at, new.collecting) is distinct from
                                    (new.amount_minor, new.donations, new.due_at, false))
          or new.paid_minor < old.paid_minor or new.allocated_minor < old.allocated_minor)
    execute function guard_immutable();
create trigger donation_request_status before update of status on donation_request for each row
    when (old.status is distinct from new.status) execute function guard_status('donation_request');
grant select, insert, update on donation_request to almoner_app;

-- A permanent page to give by, at /g/{slug}; an image of it has two public addresses beside it. Rows are never deleted
-- and a slug never changes, so that one that was printed leads nowhere else. Organisations and category have no foreign
-- key: who can be given to is decided whenever the page is opened, and again when money is to move.
create table giving_link (
    id uuid primary key,
    partner_id uuid not null references partner (id),
    slug text not null unique check (slug ~ '^[a-z0-9](-?[a-z0-9])*$' and length(slug) between 3 and 60),
    title text not null check (length(title) between 1 and 120),
    text text check (length(text) between 1 and 2000),
    image_key text,
    organisation_ids uuid[] not null check (cardinality(organisation_ids) <= 50),
    category_id uuid,
    currencies text[] not null check (cardinality(currencies) <= 20),
    frequencies text[] not null check (
        cardinality(frequencies) between 1 and 5
        and frequencies <@ array['one_time', 'weekly', 'monthly', 'quarterly', 'yearly']
    ),
    suggested_minor bigint[] not null check (cardinality(suggested_minor) <= 6 and 1 <= all (suggested_minor)),
    minimum_minor bigint check (minimum_minor >= 1),
    maximum_minor bigint check (maximum_minor >= coalesce(minimum_minor, 1)),
    designations text[] not null check (cardinality(designations) <= 20),
    goal_minor bigint check (goal_minor >= 1),
    shows_progress boolean not null,
    offers_dedication boolean not null,
    allowed_origins text[] not null check (cardinality(allowed_origins) <= 20),
    success_url text check (length(success_url) between 8 and 2048),
    metadata jsonb check (jsonb_typeof(metadata) = 'object'),
    active boolean not null,
    expires_at timestamptz,
    created_at timestamptz not null,
    updated_at timestamptz not null,
    unique (partner_id, id),
    constraint giving_link_whom check ((cardinality(organisation_ids) = 0) = (category_id is not null)),
    constraint giving_link_amounts check (
        cardinality(currencies) = 1
        or (suggested_minor = '{}' and minimum_minor is null and maximum_minor is null and goal_minor is null)
    )
);
create trigger giving_link_immutable before update on giving_link for each row
    when ((old.id, old.partner_id, old.slug, old.created_at) is distinct from
              (new.id, new.partner_id, new.slug, new.created_at))
    execute function guard_immutable();
grant select, insert, update on giving_link to almoner_app;

-- Nonprofits that do not want to be given to by giving links, as an operator was told.
create table giving_link_refusal (
    organisation_id uuid primary key references organisation (id),
    reason text not null check (length(reason) between 1 and 2000),
    refused_by text not null check (length(refused_by) between 1 and 255),
    refused_at timestamptz not null
);
grant select, insert, delete on giving_link_refusal to almoner_app;

-- Sessions and donations have no foreign key to partner: every writer of a partner would lock and dirty that row.
create table donation_session (
    id uuid primary key,
    partner_id uuid not null,
    organisation_id uuid not null references organisation (id),
    user_id uuid,
    status text not null check (status in ('open', 'completed', 'expired')),
    language text check (length(language) between 2 and 35),
    currency char(3) check (currency ~ '^[A-Z]{3}$'),
    success_url text check (length(success_url) between 8 and 2048),
    metadata jsonb check (jsonb_typeof(metadata) = 'object'),
    frequencies text[] not null default '{one_time}',
    benefits text check (length(benefits) between 1 and 250),
    benefits_minor bigint check (benefits_minor > 0),
    suggested_minor bigint[] not null default '{}' check (cardinality(suggested_minor) <= 6 and 1 <= all (suggested_minor)),
    minimum_minor bigint check (minimum_minor >= 1),
    maximum_minor bigint check (maximum_minor >= coalesce(minimum_minor, 1)),
    designations text[] not null default '{}' check (cardinality(designations) <= 20),
    offers_dedication boolean not null default false,
    giving_link_id uuid,
    donation_id uuid,
    created_at timestamptz not null,
    expires_at timestamptz not null,
    status_changed_at timestamptz not null,
    unique (partner_id, id),
    foreign key (partner_id, user_id) references giving_user (partner_id, id),
    foreign key (partner_id, giving_link_id) references giving_link (partner_id, id),
    check (expires_at > created_at),
    constraint donation_session_benefits check (
        (benefits is null) = (benefits_minor is null) and (benefits is null or currency is not null)
    ),
    constraint donation_session_frequencies check (
        frequencies <@ '{one_time,weekly,monthly,quarterly,yearly}' and cardinality(frequencies) between 1 and 5
    ),
    constraint donation_session_benefits_once check (benefits is null or frequencies = '{one_time}'),
    constraint donation_session_amounts check (
        currency is not null or (suggested_minor = '{}' and minimum_minor is null and maximum_minor is null)
    ),
    constraint donation_session_completed check ((status = 'completed') = (donation_id is not null))
);
create index donation_session_due on donation_session (expires_at) where status = 'open';
-- Whether a publishable key may act for a user: the user has an open donation session.
create index donation_session_open_of_user on donation_session (partner_id, user_id)
    where status = 'open' and user_id is not null;
insert into lifecycle_transition (resource, from_status, to_status) values
    ('donation_session', 'open', 'completed'),
    ('donation_session', 'open', 'expired'),
    ('donation_session', 'expired', 'completed');
create trigger donation_session_status before update of status on donation_session for each row
    when (old.status is distinct from new.status) execute function guard_status('donation_session');
grant select, insert, update on donation_session to almoner_app;

-- Emailed verification codes. The code itself is derived from the id with the master key and not stored (H11).
create table donation_email_code (
    id uuid primary key,
    session_id uuid not null references donation_session (id),
    address_hash bytea not null check (length(address_hash) = 16),
    email_hash bytea not null check (length(email_hash) = 16),
    encrypted_recipient bytea not null,
    sent_at timestamptz not null,
    expires_at timestamptz not null,
    failed_attempts smallint not null default 0 check (failed_attempts between 0 and 5),
    verified_at timestamptz,
    used_at timestamptz,
    check (expires_at > sent_at and expires_at <= sent_at + interval '10 minutes'),
    check (verified_at <= expires_at),
    check (used_at is null or verified_at is not null)
);
create index donation_email_code_session on donation_email_code (session_id, sent_at);
create index donation_email_code_address on donation_email_code (address_hash, sent_at);
create index donation_email_code_email on donation_email_code (email_hash, sent_at);
create index donation_email_code_sent on donation_email_code (sent_at);
grant select, insert, update, delete on donation_email_code to almoner_app;

-- Milliseconds between a donation's creation and the timestamp in its id. Ids of one process never go backwards, and a
-- transaction may be older than the one before it.
create function id_drift(id uuid, at timestamptz) returns bigint language sql immutable strict parallel safe
return abs(
    ('x' || substr(replace(id::text, '-', ''), 1, 12))::bit(48)::bigint
    - floor(extract(epoch from at at time zone 'UTC') * 1000)::bigint
);

-- The smallest id of a millisecond. Parallel unsafe: starting workers takes longer than a list may take.
create function least_id(ms bigint) returns uuid language sql immutable parallel unsafe
return case
    when ms <= 0 then '00000000-0000-0000-0000-000000000000'::uuid
    when ms >= 281474976710656 then 'ffffffff-ffff-ffff-ffff-ffffffffffff'::uuid
    else (lpad(to_hex(ms), 12, '0') || '00000000000000000000')::uuid
end;

-- cover_minor: the part of the amount that the donor added to cover the fee.
-- withdrawn_minor: what goes back, by pending and sent refunds and by dispute debits.
-- refunded_minor: what is back with the payer. disputed_at: since when the donor's bank claims it back.
-- designation: the purpose that the donor chose of those that the session names.
-- dedication: in whose honour or memory it is made.
-- receipt_delivery: what became of the email with the receipt; null: there is none.
-- last_disputed_at, dispute_status: when it was disputed last, and how that stands or ended; kept after the dispute.
-- Owed to the nonprofit is the settled amount, or else the amount, less withdrawn_minor; never less than zero.
-- transfer_confirmed_at: the donor said that a bank transfer was sent; the donation then waits 30 days instead of 24
-- hours (settled 5).
-- subscription_id: the plan whose gift it is; subscription_due_on: for which of its dates, null for the first gift.
-- Vacuumed early: index-only scans need the visibility map.
create table donation (
    id uuid primary key,
    partner_id uuid not null,
    organisation_id uuid not null references organisation (id),
    user_id uuid,
    type text not null check (type in ('hosted', 'direct')),
    session_id uuid,
    payment_id uuid,
    status text not null
        check (status in ('ACTIVE', 'REQUESTED_PAYMENT', 'RECEIVED_PAYMENT', 'DISBURSED', 'CANCELLED')),
    amount_minor bigint not null check (amount_minor between 1 and 9007199254740991),
    currency char(3) not null check (currency ~ '^[A-Z]{3}$'),
    first_name text check (length(first_name) between 1 and 255),
    last_name text check (length(last_name) between 1 and 255),
    email text check (length(email) between 3 and 255),
    consented boolean not null,
    anonymous boolean not null,
    metadata jsonb not null check (jsonb_typeof(metadata) = 'object'),
    created_at timestamptz not null,
    cancelled_at timestamptz,
    status_changed_at timestamptz not null,
    settled_at timestamptz,
    settled_minor bigint check (settled_minor between 0 and 9007199254740991),
    settled_currency char(3) check (settled_currency ~ '^[A-Z]{3}$'),
    disbursement_id uuid,
    disbursed_at timestamptz,
    reassigned_at timestamptz,
    reassigned_from uuid references organisation (id),
    cover_minor bigint not null default 0,
    message text check (length(message) between 1 and 500),
    gift_aid_id uuid,
    donation_request_id uuid,
    withdrawn_minor bigint not null default 0,
    refunded_minor bigint not null default 0,
    refunded_at timestamptz,
    disputed_at timestamptz,
    transfer_confirmed_at timestamptz,
    last_disputed_at timestamptz,
    dispute_status text check (dispute_status in ('open', 'won', 'lost')),
    receipt_delivery text check (receipt_delivery in ('pending', 'sent', 'undeliverable')),
    subscription_id uuid,
    subscription_due_on date,
    designation text check (length(designation) between 1 and 100),
    giving_link_id uuid,
    dedication text check (length(dedication) between 1 and 100),
    unique (id, session_id),
    foreign key (partner_id, user_id) references giving_user (partner_id, id),
    foreign key (partner_id, session_id) references donation_session (partner_id, id),
    foreign key (partner_id, giving_link_id) references giving_link (partner_id, id),
    constraint donation_hosted check ((type = 'hosted') = (session_id is not null)),
    constraint donation_cancelled check ((status = 'CANCELLED') = (cancelled_at is not null)),
    constraint donation_paid check (
        type = 'direct' or (status in ('RECEIVED_PAYMENT', 'DISBURSED')) = (payment_id is not null)
    ),
    constraint donation_receipt_delivery check (receipt_delivery is null or (type = 'hosted' and payment_id is not null)),
    constraint donation_cover check (cover_minor >= 0 and cover_minor < amount_minor),
    constraint donation_settled check (
        (settled_at is null) = (settled_minor is null) and (settled_at is null) = (settled_currency is null)
        and (settled_at is null or status in ('RECEIVED_PAYMENT', 'DISBURSED'))
    ),
    constraint donation_disbursed check (
        (status = 'DISBURSED') = (disbursed_at is not null)
        and (status <> 'DISBURSED' or (settled_at is not null and disbursement_id is not null))
        and (disbursement_id is null or settled_at is not null)
    ),
    constraint donation_reassigned check ((reassigned_at is null) = (reassigned_from is null)),
    -- A direct donation is ACTIVE until it is asked for; a hosted one is never (settled 5).
    constraint donation_active check (status <> 'ACTIVE' or type = 'direct'),
    -- Gift aid is for pounds sterling alone.
    constraint donation_gift_aid_sterling check (gift_aid_id is null or currency = 'GBP'),
    constraint donation_request foreign key (donation_request_id, partner_id, currency)
        references donation_request (id, partner_id, currency),
    constraint donation_requested check (
        (type = 'direct' and status in ('REQUESTED_PAYMENT', 'RECEIVED_PAYMENT', 'DISBURSED'))
            = (donation_request_id is not null)
    ),
    constraint donation_withdrawn check (
        withdrawn_minor between 0 and amount_minor
        and (withdrawn_minor = 0 or status in ('RECEIVED_PAYMENT', 'DISBURSED'))
    ),
    constraint donation_refunded check (
        refunded_minor between 0 and amount_minor and (refunded_minor = 0) = (refunded_at is null)
        and (refunded_minor = 0 or status in ('RECEIVED_PAYMENT', 'DISBURSED'))
    ),
    constraint donation_partner_id_id_key unique (partner_id, id) include (created_at),
    constraint donation_dispute check (
        (last_disputed_at is null) = (dispute_status is null)
        and (disputed_at is not null) = coalesce(dispute_status = 'open', false)
    ),
    constraint donation_confirmed check (transfer_confirmed_at is null or type = 'hosted'),
    constraint donation_designation check (designation is null or type = 'hosted'),
    constraint donation_giving_link check (giving_link_id is null or type = 'hosted'),
    constraint donation_gift_aid_own check (gift_aid_id is null or reassigned_at is null),
    constraint donation_of_date check (
        (subscription_id is null or type = 'hosted') and (subscription_due_on is null or subscription_id is not null)
    )
) with (autovacuum_vacuum_insert_scale_factor = 0.02, autovacuum_vacuum_scale_factor = 0.05);
-- At most one donation of a session is not cancelled, apart from the later gifts of its plan.
create unique index donation_one_per_session on donation (session_id)
    where status <> 'CANCELLED' and subscription_due_on is null;
-- One donation for each date of a plan, whatever became of it: a date is never charged by two.
create unique index donation_one_per_date on donation (subscription_id, subscription_due_on)
    where subscription_due_on is not null;
create index donation_of_disbursement on donation (disbursement_id, status, id) where disbursement_id is not null;
-- Personal data of donations that were never paid is erased (V6).
create index donation_to_erase on donation (cancelled_at)
    where status = 'CANCELLED' and num_nonnulls(first_name, last_name, email, message, dedication) > 0;
create index donation_of_gift_aid on donation (gift_aid_id, id) where gift_aid_id is not null;
create index donation_unrequested on donation (partner_id, currency, id) where status = 'ACTIVE';
create index donation_active_since on donation (created_at) where status = 'ACTIVE';
-- A donation is disbursed while no refund of it is pending, it is not disputed, and something is left of it. A donation
-- that a fee alone has used up is disbursed with zero.
create index donation_payable on donation (partner_id, organisation_id, settled_currency, id)
    where settled_at is not null and disbursement_id is null and disputed_at is null
      and withdrawn_minor = refunded_minor and (withdrawn_minor = 0 or withdrawn_minor < settled_minor);
create index donation_with_gift_aid on donation (organisation_id, created_at, id)
    where gift_aid_id is not null and status in ('RECEIVED_PAYMENT', 'DISBURSED');
create index donation_of_donor on donation (lower(email), partner_id, id) where email is not null;
create index donation_with_amount on donation (partner_id, currency, amount_minor, id);
-- The few ids off by more than a second; otherwise a range of ids is a range of creation times.
create index donation_drift on donation (partner_id, id_drift(id, created_at)) where id_drift(id, created_at) > 1000;
-- These serve index-only scans. Each begins with another column: of two indexes with the same leading column the
-- planner would prefer the one that looks partly sorted.
create index donation_with_status on donation (status, partner_id, id) include (created_at);
-- Donations to an organisation from all partners.
create index donation_to_organisation on donation (organisation_id, partner_id, status, id) include (created_at);
create index donation_of_user on donation (user_id, partner_id, id)
    include (organisation_id, status, donation_request_id, created_at) where user_id is not null;
create index donation_of_request on donation (donation_request_id, status, id)
    include (partner_id, organisation_id, user_id, created_at) where donation_request_id is not null;
create index donation_of_link on donation (giving_link_id, partner_id, id)
    include (organisation_id, user_id, status, donation_request_id, created_at) where giving_link_id is not null;
create index donation_unpaid on donation (created_at)
    where status = 'REQUESTED_PAYMENT' and type = 'hosted' and transfer_confirmed_at is null
      and subscription_due_on is null;
create index donation_awaiting_transfer on donation (transfer_confirmed_at)
    where status = 'REQUESTED_PAYMENT' and transfer_confirmed_at is not null;
create index donation_of_session on donation (session_id, id) where session_id is not null;
insert into lifecycle_transition (resource, from_status, to_status) values
    ('donation', 'ACTIVE', 'CANCELLED'),
    ('donation', 'ACTIVE', 'REQUESTED_PAYMENT'),
    ('donation', 'REQUESTED_PAYMENT', 'CANCELLED'),
    ('donation', 'REQUESTED_PAYMENT', 'RECEIVED_PAYMENT'),
    ('donation', 'RECEIVED_PAYMENT', 'DISBURSED'),
    ('donation', 'DISBURSED', 'RECEIVED_PAYMENT');
create trigger donation_status before update of status on donation for each row
    when (old.status is distinct from new.status) execute function guard_status('donation');
-- A donation may be changed until it is paid; its owner and type never.
create trigger donation_immutable before update on donation for each row
    when ((old.id, old.partner_id, old.type, old.created_at) is distinct from
              (new.id, new.partner_id, new.type, new.created_at)
          or (old.session_id, old.giving_link_id) is distinct from (new.session_id, new.giving_link_id)
          or old.subscription_due_on is distinct from new.subscription_due_on
          or (old.status not in ('ACTIVE', 'REQUESTED_PAYMENT')
              and (old.amount_minor, old.currency, old.payment_id, old.subscription_id) is distinct from
                  (new.amount_minor, new.currency, new.payment_id, new.subscription_id)))
    execute function guard_immutable();

-- Donations are added to a pending disbursement, removed before it is sent or after its return, and disbursed with it.
create function guard_donation_disbursement() returns trigger language plpgsql as $$
declare
    disbursement_status text;
begin
    -- The lock prevents a disbursement from being sent while a donation is added or removed.
    select status into disbursement_status from disbursement
    where id = coalesce(new.disbursement_id, old.disbursement_id) for share;
    if (old.disbursement_id is distinct from new.disbursement_id and not case
            when new.disbursement_id is null then disbursement_status in ('PENDING', 'RETURNED')
            else old.disbursement_id is null and disbursement_status = 'PENDING' end)
       or (old.status <> 'DISBURSED' and new.status = 'DISBURSED' and disbursement_status is distinct from 'PAID')
       or (old.status = 'DISBURSED' and new.status <> 'DISBURSED'
           and disbursement_status is distinct from 'RETURNED') then
        raise exception 'donation % does not match its disbursement, which is %', new.id, disbursement_status
            using errcode = 'check_violation', constraint = 'donation_disbursement_state';
    end if;
    return new;
end $$;
create trigger donation_disbursement_state before update on donation for each row
    when (old.disbursement_id is distinct from new.disbursement_id
          or (old.status = 'DISBURSED') <> (new.status = 'DISBURSED'))
    execute function guard_donation_disbursement();
-- Settlement is final. A donation is reassigned only while its money is here and in no disbursement, or before it is
-- requested. What a donor wrote with a donation that was cancelled is erased (V6), never changed.
create trigger donation_settlement before update on donation for each row
    when ((old.settled_at is not null and (old.settled_at, old.settled_minor, old.settled_currency) is distinct from
              (new.settled_at, new.settled_minor, new.settled_currency))
          or (old.organisation_id is distinct from new.organisation_id
              and not (old.status = 'ACTIVE' and new.status = 'ACTIVE')
              and (new.status <> 'RECEIVED_PAYMENT' or old.disbursement_id is not null))
          or (old.status not in ('ACTIVE', 'REQUESTED_PAYMENT')
              and ((old.cover_minor, old.designation) is distinct from (new.cover_minor, new.designation)
                   or ((old.message, old.dedication) is distinct from (new.message, new.dedication)
                       and not (old.status = 'CANCELLED' and new.message is null and new.dedication is null)))))
    execute function guard_immutable();

-- A direct donation that has been requested is final: it is cancelled from ACTIVE only.
create function guard_direct() returns trigger language plpgsql as $$
begin
    raise exception 'direct donation % has been requested and may not be changed or cancelled', new.id
        using errcode = 'check_violation', constraint = 'donation_direct';
end $$;
create trigger donation_direct before update on donation for each row
    when (old.type = 'direct' and ((old.amount_minor, old.currency) is distinct from (new.amount_minor, new.currency)
          or (old.status not in ('ACTIVE', 'CANCELLED') and new.status = 'CANCELLED')))
    execute function guard_direct();

-- Donations are added to a request while it is collecting, and stay in it.
create function guard_requested() returns trigger language plpgsql as $$
begin
    if old.donation_request_id is not null
            or not exists (select from donation_request where id = new.donation_request_id and collecting) then
        raise exception 'donation % may not be added to donation request % now', new.id, new.donation_request_id
            using errcode = 'check_violation', constraint = 'donation_request_assignable';
    end if;
    return new;
end $$;
create trigger donation_request_assignable before update on donation for each row
    when (old.donation_request_id is distinct from new.donation_request_id) execute function guard_requested();

create function guard_withdrawn() returns trigger language plpgsql as $$
begin
    raise exception 'donation % may not be refunded or disbursed in its state', new.id
        using errcode = 'check_violation', constraint = 'donation_withdrawal';
end $$;
create trigger donation_withdrawal before update on donation for each row
    when ((old.withdrawn_minor <> new.withdrawn_minor
           and (new.status <> 'RECEIVED_PAYMENT' or old.disbursement_id is not null or new.disbursement_id is not null))
          or (new.disbursement_id is not null and old.disbursement_id is distinct from new.disbursement_id
              and (new.disputed_at is not null or new.withdrawn_minor <> new.refunded_minor
                   or (new.withdrawn_minor > 0 and new.withdrawn_minor >= new.settled_minor))))
    execute function guard_withdrawn();

-- A disputed donation is not reassigned, and no refund of it is started (count_refund).
create function guard_disputed() returns trigger language plpgsql as $$
begin
    raise exception 'donation % is disputed and may not be reassigned', new.id
        using errcode = 'check_violation', constraint = 'donation_disputed';
end $$;
create trigger donation_disputed before update on donation for each row
    when (old.disputed_at is not null and new.disputed_at is not null
          and old.organisation_id is distinct from new.organisation_id)
    execute function guard_disputed();

create function tally_made() returns trigger language plpgsql as $$
begin
    insert into donation_tally_change (partner_id, organisation_id, status, day, donations)
    select partner_id, organisation_id, status, (created_at at time zone 'UTC')::date, count(*)
    from made group by 1, 2, 3, 4;
    return null;
end $$;
create trigger donation_tally_made after insert on donation referencing new table as made
    for each statement execute function tally_made();

create function tally_changed() returns trigger language plpgsql as $$
begin
    insert into donation_tally_change (partner_id, organisation_id, status, day, donations)
    select partner_id, organisation_id, status, (created_at at time zone 'UTC')::date, sum(n)
    from (
        select partner_id, organisation_id, status, created_at, -1 as n from before
        union all select partner_id, organisation_id, status, created_at, 1 from after
    ) moved group by 1, 2, 3, 4 having sum(n) <> 0;
    return null;
end $$;
create trigger donation_tally_changed after update on donation
    referencing old table as before new table as after
    for each statement execute function tally_changed();

-- Locks the declaration, so that a concurrent cancellation is either seen or waits.
create function guard_gift_aid() returns trigger language plpgsql as $$
begin
    perform from gift_aid_declaration
    where id = new.gift_aid_id and new.created_at >= covers_from
      and (covers_to is null or new.created_at < covers_to)
      and (cancelled_from is null or new.created_at < cancelled_from)
      and (organisation_id is null or organisation_id = new.organisation_id)
    for share;
    if not found then
        raise exception 'declaration % does not cover donation %', new.gift_aid_id, new.id
            using errcode = 'check_violation', constraint = 'donation_gift_aid_holds';
    end if;
    return new;
end $$;
create trigger donation_gift_aid_holds before insert on donation for each row
    when (new.gift_aid_id is not null) execute function guard_gift_aid();
create trigger donation_gift_aid_changes before update of gift_aid_id on donation for each row
    when (new.gift_aid_id is not null and new.gift_aid_id is distinct from old.gift_aid_id)
    execute function guard_gift_aid();

-- A declaration names its charity: reassigning a donation removes it.
create function drop_gift_aid() returns trigger language plpgsql as $$
begin
    new.gift_aid_id := null;
    return new;
end $$;
create trigger donation_gift_aid_reassigned before update of organisation_id on donation for each row
    when (new.reassigned_at is distinct from old.reassigned_at and new.gift_aid_id is not null)
    execute function drop_gift_aid();
grant select, insert, update on donation to almoner_app;

-- One attempt at a payment provider. The provider's idempotency key is derived from the id.
-- max_attempts: how many cards the provider may try (H6); attempts counts them.
-- off_session: it is charged to a saved payment method, without the donor. called_at: since when the provider may know it.
create table payment (
    id uuid primary key,
    donation_id uuid not null references donation (id),
    provider text not null check (provider ~ '^[a-z0-9_]{1,40}$'),
    provider_payment text,
    url text,
    status text not null check (status in ('starting', 'open', 'succeeded', 'held', 'failed', 'cancelled')),
    amount_minor bigint not null check (amount_minor between 1 and 9007199254740991),
    currency char(3) not null check (currency ~ '^[A-Z]{3}$'),
    description text not null check (length(description) between 1 and 500),
    language text not null check (length(language) between 2 and 35),
    pages_url text not null,
    api_url text not null,
    attempts smallint not null check (attempts >= 0),
    created_at timestamptz not null,
    status_changed_at timestamptz not null,
    max_attempts smallint not null check (max_attempts between 1 and 5),
    off_session boolean not null default false,
    called_at timestamptz,
    constraint payment_of_provider unique (provider, provider_payment),
    unique (id, donation_id, amount_minor, currency),
    constraint payment_known_to_provider check (status in ('starting', 'cancelled') or provider_payment is not null)
);
create unique index payment_one_live on payment (donation_id) where status in ('starting', 'open');
create unique index payment_one_counted on payment (donation_id) where status = 'succeeded';
create index payment_of_donation on payment (donation_id, id);
create index payment_live on payment (created_at) where status in ('starting', 'open');
insert into lifecycle_transition (resource, from_status, to_status) values
    ('payment', 'starting', 'open'),
    ('payment', 'starting', 'succeeded'),
    ('payment', 'starting', 'held'),
    ('payment', 'starting', 'failed'),
    ('payment', 'starting', 'cancelled'),
    ('payment', 'open', 'succeeded'),
    ('payment', 'open', 'held'),
    ('payment', 'open', 'failed'),
    ('payment', 'open', 'cancelled'),
    ('payment', 'failed', 'succeeded'),
    ('payment', 'failed', 'held'),
    ('payment', 'cancelled', 'succeeded'),
    ('payment', 'cancelled', 'held');
create trigger payment_status before update of status on payment for each row
    when (old.status is distinct from new.status) execute function guard_status('payment');
create trigger payment_immutable before update on payment for each row
    when ((old.id, old.donation_id, old.provider, old.amount_minor, old.currency) is distinct from
              (new.id, new.donation_id, new.provider, new.amount_minor, new.currency)
          or (old.provider_payment is not null and old.provider_payment is distinct from new.provider_payment))
    execute function guard_immutable();
grant select, insert, update on payment to almoner_app;

-- Provider webhooks, each recorded once.
create table provider_event (
    provider text not null,
    provider_event text not null,
    type text not null,
    provider_payment text not null,
    received_at timestamptz not null,
    constraint provider_event_once primary key (provider, provider_event)
);
grant select, insert on provider_event to almoner_app;

-- Calls to external services in progress: after a crash the row remains until its lease expires in real time.
create table provider_call_lease (
    flow text not null,
    row_id uuid not null,
    holder uuid not null,
    leased_until timestamptz not null,
    primary key (flow, row_id)
);
create index provider_call_lease_expiry on provider_call_lease (flow, leased_until);
grant select, insert, update, delete on provider_call_lease to almoner_app;

-- Number of a partner's donations by day (UTC), nonprofit and status. The nil organisation id stands for all.
create table donation_tally (
    partner_id uuid not null,
    organisation_id uuid not null,
    status text not null,
    day date not null,
    donations bigint not null,
    primary key (partner_id, organisation_id, status, day)
);
grant select, insert, update on donation_tally to almoner_app;

-- Changes not yet in donation_tally, downwards too: rows that no writer waits for. Readers add both up.
create table donation_tally_change (
    id bigint generated always as identity primary key,
    partner_id uuid not null,
    organisation_id uuid not null,
    status text not null,
    day date not null,
    donations integer not null
);
create index donation_tally_change_of_partner on donation_tally_change (partner_id);
grant select, insert, delete on donation_tally_change to almoner_app;

-- A partner's bank transfer for a request: the amount applied to it and the overpayment. An overpayment may be applied
-- to another request: that part is a row of its own (applied_from).
create table request_payment (
    id uuid primary key,
    donation_request_id uuid not null references donation_request (id),
    currency char(3) not null check (currency ~ '^[A-Z]{3}$'),
    amount_minor bigint not null check (amount_minor between 1 and 9007199254740991),
    applied_minor bigint not null check (applied_minor >= 0),
    overpaid_minor bigint not null check (overpaid_minor >= 0),
    bank_reference text not null check (length(bank_reference) between 1 and 140),
    status text not null check (status in ('booked', 'held', 'returned', 'applied')),
    received_at timestamptz not null,
    recorded_by text not null check (length(recorded_by) between 1 and 255),
    decided_at timestamptz,
    decided_by text check (length(decided_by) between 1 and 255),
    note text check (length(note) between 1 and 2000),
    status_changed_at timestamptz not null,
    applied_from uuid,
    unique (id, currency),
    foreign key (applied_from, currency) references request_payment (id, currency),
    constraint request_payment_parts check (applied_minor + overpaid_minor = amount_minor),
    constraint request_payment_overpaid check ((status = 'booked') = (overpaid_minor = 0)),
    constraint request_payment_decided check (
        (status in ('returned', 'applied')) = (decided_at is not null)
        and num_nonnulls(decided_at, decided_by, note) in (0, 3)
    ),
    constraint request_payment_pays check (applied_from is null or applied_minor > 0)
);
create index request_payment_of_request on request_payment (donation_request_id, id);
create index request_payment_held on request_payment (id) where status = 'held';
create unique index request_payment_once on request_payment (bank_reference) where applied_from is null;
create unique index request_payment_applied_once on request_payment (applied_from) where applied_from is not null;
insert into lifecycle_transition (resource, from_status, to_status) values
    ('request_payment', 'held', 'returned'),
    ('request_payment', 'held', 'applied');
create trigger request_payment_immutable before update on request_payment for each row
    when ((old.id, old.donation_request_id, old.currency, old.amount_minor, old.applied_minor, old.overpaid_minor,
           old.bank_reference, old.received_at, old.recorded_by) is distinct from
          (new.id, new.donation_request_id, new.currency, new.amount_minor, new.applied_minor, new.overpaid_minor,
           new.bank_reference, new.received_at, new.recorded_by))
    execute function guard_immutable();
create trigger request_payment_status before update of status on request_payment for each row
    when (old.status is distinct from new.status) execute function guard_status('request_payment');
create trigger request_payment_applied before update of applied_from on request_payment for each row
    when (old.applied_from is distinct from new.applied_from) execute function guard_immutable();
grant select, insert, update (status, status_changed_at, decided_at, decided_by, note)
    on request_payment to almoner_app;

-- An email that a visitor of a page has sent to an address: what limits how many an address gets.
-- recipient_hash: of the address with the partner.
create table requested_email (
    id uuid primary key,
    partner_id uuid not null references partner (id),
    purpose text not null check (purpose in ('statement', 'regular_donations', 'dedication')),
    recipient_hash bytea not null check (length(recipient_hash) = 32),
    requested_at timestamptz not null
);
create index requested_email_of_recipient on requested_email (recipient_hash, purpose, requested_at);
create index requested_email_age on requested_email (requested_at);
comment on column requested_email.requested_at is 'real time, for rate limits';
grant select, insert, delete on requested_email to almoner_app;

-- Whom an email tells that a donation is dedicated, once it is paid, and what the donor says in it. Deleted when the email
-- was sent, or nothing came of the donation.
create table donation_dedication_email (
    donation_id uuid primary key,
    partner_id uuid not null,
    recipient_name text not null check (length(recipient_name) between 1 and 100),
    recipient_email text not null check (length(recipient_email) between 3 and 255),
    message text check (length(message) between 1 and 500),
    created_at timestamptz not null,
    foreign key (partner_id, donation_id) references donation (partner_id, id)
);
create index donation_dedication_email_age on donation_dedication_email (created_at);
grant select, insert, update, delete on donation_dedication_email to almoner_app;

-- A session is completed by a donation of its own: the two tables refer to each other.
alter table donation_session add constraint donation_session_donation
    foreign key (donation_id, id) references donation (id, session_id);

-- A donation is paid in full by a payment of its own: the two tables refer to each other.
alter table donation add constraint donation_payment foreign key (payment_id, id, amount_minor, currency)
    references payment (id, donation_id, amount_minor, currency);

-- Who looked at which donor's data on the dashboard. No foreign keys: a view outlasts the person's account.
-- record_id: the donation or the regular donation that names the donor.
create table donor_view (
    partner_id uuid not null references partner (id),
    record_id uuid not null,
    person_id uuid not null,
    viewed_at timestamptz not null
);
create index donor_view_of_record on donor_view (partner_id, record_id, viewed_at);
create index donor_view_age on donor_view (viewed_at);
grant select, insert, delete on donor_view to almoner_app;
