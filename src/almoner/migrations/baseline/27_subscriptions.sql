-- Regular gifts: plans, what their donors agreed to, and each date once it is due.

-- All days are days in the time zone of the receipts' issuer. anchor_on: the day of the first gift, from which all dates
-- are counted. next_due_on: the first date that has no row in donation_subscription_charge. wake_at: when the scheduler
-- looks at the plan next. chargeable: the saved payment method may be tried. card_announced_at: of which end of a card the
-- donor was told.
create table donation_subscription (
    id uuid primary key,
    partner_id uuid not null,
    organisation_id uuid not null references organisation (id),
    user_id uuid,
    session_id uuid not null,
    status text not null check (status in ('pending', 'active', 'past_due', 'paused', 'cancelled')),
    amount_minor bigint not null check (amount_minor between 1 and 9007199254740991),
    currency char(3) not null check (currency ~ '^[A-Z]{3}$'),
    cover_minor bigint not null,
    frequency text not null check (frequency in ('weekly', 'monthly', 'quarterly', 'yearly')),
    first_name text check (length(first_name) between 1 and 255),
    last_name text check (length(last_name) between 1 and 255),
    email text check (length(email) between 3 and 255),
    consented boolean not null,
    anonymous boolean not null,
    message text check (length(message) between 1 and 500),
    language text check (length(language) between 2 and 35),
    metadata jsonb check (jsonb_typeof(metadata) = 'object'),
    created_at timestamptz not null,
    updated_at timestamptz not null,
    status_changed_at timestamptz not null,
    started_at timestamptz,
    anchor_on date,
    charge_time time,
    next_due_on date,
    next_donation_at timestamptz,
    wake_at timestamptz,
    reminded_on date,
    paused_until timestamptz,
    pause_reason text check (pause_reason in ('donor', 'partner', 'organisation_cannot_receive')),
    cancelled_at timestamptz,
    cancellation_reason text check (cancellation_reason in (
        'donor', 'partner', 'payment_failed', 'revoked', 'not_started', 'payment_method_not_saved', 'donor_erased'
    )),
    past_due_since timestamptz,
    pending_minor bigint check (pending_minor between 1 and 9007199254740991),
    pending_frequency text check (pending_frequency in ('weekly', 'monthly', 'quarterly', 'yearly')),
    pending_since timestamptz,
    proposed_organisation_id uuid references organisation (id),
    provider text,
    provider_customer text,
    provider_payment_method text,
    payment_method_type text,
    card_brand text,
    card_last4 text check (card_last4 ~ '^[0-9]{4}$'),
    card_expires_at timestamptz,
    chargeable boolean not null,
    card_announced_at timestamptz,
    first_payment_id uuid references payment (id),
    donations_count integer not null check (donations_count >= 0),
    total_minor bigint not null check (total_minor between 0 and 9007199254740991),
    last_charged_on date,
    unique (partner_id, id),
    foreign key (partner_id, user_id) references giving_user (partner_id, id),
    foreign key (partner_id, session_id) references donation_session (partner_id, id),
    constraint donation_subscription_cover check (cover_minor >= 0 and cover_minor < amount_minor),
    constraint donation_subscription_cancelled check (
        (status = 'cancelled') = (cancelled_at is not null) and (cancelled_at is null) = (cancellation_reason is null)
    ),
    constraint donation_subscription_begun check (
        (started_at is null) = (anchor_on is null) and (started_at is null) = (charge_time is null)
        and (started_at is null) = (first_payment_id is null)
        and (started_at is not null or status in ('pending', 'cancelled'))
    ),
    constraint donation_subscription_next check (
        (status in ('active', 'past_due', 'paused')) = (next_due_on is not null)
        and (status in ('active', 'past_due')) <= (next_donation_at is not null)
        and (status in ('pending', 'cancelled')) <= (next_donation_at is null)
    ),
    constraint donation_subscription_paused check (
        (status = 'paused') = (pause_reason is not null) and (status = 'paused' or paused_until is null)
    ),
    constraint donation_subscription_past_due check ((status = 'past_due') = (past_due_since is not null)),
    constraint donation_subscription_change check (num_nonnulls(pending_minor, pending_frequency, pending_since) in (0, 3)),
    constraint donation_subscription_payment_method check (
        num_nonnulls(provider, provider_customer, provider_payment_method, payment_method_type) in (0, 4)
        and (not chargeable or provider is not null)
    )
);
-- A session has at most one plan; a choice that the donor took back is none.
create unique index donation_subscription_one_per_session on donation_subscription (session_id)
    where cancellation_reason is distinct from 'not_started';
create index donation_subscription_due on donation_subscription (wake_at) where wake_at is not null;
create index donation_subscription_of_donor on donation_subscription (lower(email), partner_id, id)
    where email is not null;
-- A saved payment method is one plan's: a donor who agreed to one is not charged for another.
create unique index donation_subscription_one_per_method on donation_subscription (provider, provider_payment_method)
    where provider_payment_method is not null;
create index donation_subscription_of_user on donation_subscription (user_id, id) where user_id is not null;
create index donation_subscription_to_organisation on donation_subscription (organisation_id, partner_id, id);
create index donation_subscription_with_status on donation_subscription (partner_id, status, id);
create index donation_subscription_with_next_donation
    on donation_subscription (partner_id, coalesce(next_donation_at, 'infinity'), id);
create index donation_subscription_to_erase on donation_subscription (cancelled_at)
    where cancellation_reason = 'not_started' and email is not null;
insert into lifecycle_transition (resource, from_status, to_status) values
    ('donation_subscription', 'pending', 'active'),
    ('donation_subscription', 'pending', 'cancelled'),
    ('donation_subscription', 'active', 'past_due'),
    ('donation_subscription', 'active', 'paused'),
    ('donation_subscription', 'active', 'cancelled'),
    ('donation_subscription', 'past_due', 'active'),
    ('donation_subscription', 'past_due', 'paused'),
    ('donation_subscription', 'past_due', 'cancelled'),
    ('donation_subscription', 'paused', 'active'),
    ('donation_subscription', 'paused', 'cancelled');
create trigger donation_subscription_status before update of status on donation_subscription for each row
    when (old.status is distinct from new.status) execute function guard_status('donation_subscription');
-- Whose plan it is never changes, its currency not once it has begun, and what was charged is only added to.
create trigger donation_subscription_immutable before update on donation_subscription for each row
    when ((old.id, old.partner_id, old.session_id, old.created_at) is distinct from
              (new.id, new.partner_id, new.session_id, new.created_at)
          or old.user_id is distinct from new.user_id
          or (old.started_at is not null
              and (old.currency, old.started_at, old.first_payment_id) is distinct from
                  (new.currency, new.started_at, new.first_payment_id))
          or new.donations_count < old.donations_count or new.total_minor < old.total_minor)
    execute function guard_immutable();
grant select, insert, update on donation_subscription to almoner_app;

-- Whoever erases a user, the scheduler looks at the user's plans next, whatever their state, and forgets the donor.
create function wake_plans_of_erased_user() returns trigger language plpgsql as $$
begin
    update donation_subscription set wake_at = new.deleted_at where user_id = new.id and email is not null;
    return null;
end $$;
create trigger giving_user_erased after update of deleted_at on giving_user for each row
    when (old.deleted_at is null and new.deleted_at is not null) execute function wake_plans_of_erased_user();

-- What a donor agreed to, as it was shown. Append-only.
create table donation_subscription_agreement (
    id uuid primary key,
    subscription_id uuid not null references donation_subscription (id),
    agreed_at timestamptz not null,
    amount_minor bigint not null check (amount_minor between 1 and 9007199254740991),
    currency char(3) not null check (currency ~ '^[A-Z]{3}$'),
    frequency text not null check (frequency in ('weekly', 'monthly', 'quarterly', 'yearly')),
    organisation_id uuid not null references organisation (id),
    text_version text not null check (length(text_version) between 1 and 40),
    language text not null check (length(language) between 2 and 35),
    shown_text text not null check (length(shown_text) between 1 and 4000)
);
create index donation_subscription_agreement_of on donation_subscription_agreement (subscription_id, id);
grant select, insert on donation_subscription_agreement to almoner_app;

-- One date of a plan, once it is due. open: to be charged, or being charged. A date is settled once.
-- charged_on: the day on which it was paid; a plan is charged for one date a day at most.
create table donation_subscription_charge (
    subscription_id uuid not null references donation_subscription (id),
    due_on date not null,
    status text not null check (status in ('open', 'paid', 'failed', 'skipped')),
    donation_id uuid unique references donation (id),
    attempts smallint not null check (attempts >= 0),
    next_attempt_at timestamptz,
    skip_reason text check (skip_reason in (
        'donor', 'partner', 'paused', 'too_late', 'missed_date', 'organisation_cannot_receive', 'cancelled'
    )),
    decline_code text check (length(decline_code) between 1 and 100),
    charged_on date,
    created_at timestamptz not null,
    status_changed_at timestamptz not null,
    primary key (subscription_id, due_on),
    constraint donation_subscription_charge_skipped check ((status = 'skipped') = (skip_reason is not null)),
    constraint donation_subscription_charge_paid check (
        (status = 'paid') = (charged_on is not null) and (status <> 'paid' or donation_id is not null)
    ),
    constraint donation_subscription_charge_tried check (status = 'open' or next_attempt_at is null),
    constraint donation_subscription_charge_window check (charged_on between due_on and due_on + 8)
);
create unique index donation_subscription_one_open on donation_subscription_charge (subscription_id)
    where status = 'open';
create unique index donation_subscription_one_a_day on donation_subscription_charge (subscription_id, charged_on)
    where status = 'paid';
-- A date is paid by its own donation.
create function guard_charged_donation() returns trigger language plpgsql as $$
begin
    if not exists (
        select from donation
        where id = new.donation_id and subscription_id = new.subscription_id and subscription_due_on = new.due_on
    ) then
        raise exception 'donation % is not of the date % of plan %', new.donation_id, new.due_on, new.subscription_id
            using errcode = 'check_violation', constraint = 'donation_subscription_charge_donation';
    end if;
    return new;
end $$;
create trigger donation_subscription_charge_donation
    before insert or update of donation_id on donation_subscription_charge for each row
    when (new.donation_id is not null) execute function guard_charged_donation();
create trigger donation_subscription_charge_settled before update on donation_subscription_charge for each row
    when (old.status <> 'open' or (old.subscription_id, old.due_on) is distinct from (new.subscription_id, new.due_on)
          or (old.donation_id is not null and old.donation_id is distinct from new.donation_id))
    execute function guard_immutable();
grant select, insert, update on donation_subscription_charge to almoner_app;

-- A donation belongs to the plan whose first or later gift it is: the two tables refer to each other.
alter table donation add constraint donation_subscription_of foreign key (partner_id, subscription_id)
    references donation_subscription (partner_id, id);

-- A donor goes to the provider to save another card. Stored before the provider is asked: the idempotency key and the
-- reference there are made from the id. provider_setup: what the provider calls the page. saved_at: since when the plan is
-- charged to what was saved there; that happens once, however often the provider tells of it.
create table donation_subscription_setup (
    id uuid primary key,
    partner_id uuid not null,
    subscription_id uuid not null,
    provider_setup text,
    started_at timestamptz not null,
    saved_at timestamptz,
    foreign key (partner_id, subscription_id) references donation_subscription (partner_id, id)
);
create index donation_subscription_setup_of on donation_subscription_setup (subscription_id, started_at);
comment on column donation_subscription_setup.started_at is 'real time, for rate limits';
grant select, insert, update (provider_setup, saved_at) on donation_subscription_setup to almoner_app;
