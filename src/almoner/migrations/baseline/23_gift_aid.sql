-- Gift aid: declarations and claims.

-- A UK taxpayer's declaration for donations made from covers_from until covers_to, if set. cancelled_from: it no longer
-- applies to donations made from then on. Otherwise immutable: a change is a new declaration.
-- organisation_id: the charity that it names; set where it was made on the page for several donations, and then it covers
-- no donation to another. reminder_at: when it is recalled to its donor next.
create table gift_aid_declaration (
    id uuid primary key,
    partner_id uuid not null references partner (id),
    user_id uuid,
    title text not null check (length(title) between 1 and 255),
    first_name text check (length(first_name) between 1 and 255),
    last_name text not null check (length(last_name) between 1 and 255),
    building_name_number text not null check (length(building_name_number) between 1 and 255),
    road_name text not null check (length(road_name) between 1 and 255),
    city text not null check (length(city) between 1 and 255),
    country text not null check (length(country) between 1 and 255),
    postcode text not null check (length(postcode) between 1 and 255),
    covers_from timestamptz not null,
    covers_to timestamptz,
    cancelled_from timestamptz,
    created_at timestamptz not null,
    deleted_at timestamptz,
    organisation_id uuid references organisation (id),
    reminder_at timestamptz,
    unique (partner_id, id),
    foreign key (partner_id, user_id) references giving_user (partner_id, id),
    constraint gift_aid_declaration_span check (covers_to > covers_from),
    constraint gift_aid_declaration_past check (covers_from >= created_at - interval '4 years 1 day'),
    constraint gift_aid_declaration_cancelled check ((cancelled_from is null) = (deleted_at is null)),
    constraint gift_aid_declaration_reminder check (reminder_at is null or (organisation_id is not null and deleted_at is null))
);
create index gift_aid_declaration_to_recall on gift_aid_declaration (reminder_at) where reminder_at is not null;
create index gift_aid_declaration_of_user on gift_aid_declaration (partner_id, user_id, id) where user_id is not null;
comment on column gift_aid_declaration.deleted_at is 'when its cancellation was recorded';
create trigger gift_aid_declaration_immutable before update on gift_aid_declaration for each row
    when ((old.id, old.partner_id, old.title, old.last_name, old.building_name_number, old.road_name, old.city,
           old.country, old.postcode, old.covers_from, old.created_at) is distinct from
          (new.id, new.partner_id, new.title, new.last_name, new.building_name_number, new.road_name, new.city,
           new.country, new.postcode, new.covers_from, new.created_at)
          or old.user_id is distinct from new.user_id or old.first_name is distinct from new.first_name
          or old.covers_to is distinct from new.covers_to or old.organisation_id is distinct from new.organisation_id
          or (old.deleted_at is not null and (old.deleted_at, old.cancelled_from) is distinct from
                                             (new.deleted_at, new.cancelled_from)))
    execute function guard_immutable();
-- Only declarations for donations that were never paid are deleted (V6).
grant select, insert, update (cancelled_from, deleted_at, reminder_at), delete on gift_aid_declaration to almoner_app;

-- One charity's claim. amount_minor: total of its donations. deducted_minor: donations of earlier claims that no longer
-- qualify, whose tax is deducted from this claim.
create table gift_aid_claim (
    id uuid primary key,
    organisation_id uuid not null references organisation (id),
    cutoff_at timestamptz not null,
    status text not null check (status in ('drafted', 'submitted', 'paid', 'rejected', 'withdrawn')),
    donations integer not null check (donations between 1 and 10000),
    lines integer not null check (lines between 1 and 1000),
    amount_minor bigint not null check (amount_minor between 1 and 9007199254740991),
    deducted_minor bigint not null check (deducted_minor between 0 and amount_minor),
    drafted_at timestamptz not null,
    drafted_by text not null check (length(drafted_by) between 1 and 255),
    reference text check (length(reference) between 1 and 140),
    paid_minor bigint check (paid_minor between 0 and 9007199254740991),
    note text check (length(note) between 1 and 2000),
    decided_by text check (length(decided_by) between 1 and 255),
    status_changed_at timestamptz not null,
    unique (id, organisation_id),
    constraint gift_aid_claim_submitted check ((reference is null) = (status in ('drafted', 'withdrawn'))),
    constraint gift_aid_claim_paid check ((paid_minor is null) = (status <> 'paid')),
    constraint gift_aid_claim_has_note check (status not in ('rejected', 'withdrawn') or note is not null),
    constraint gift_aid_claim_decided check ((decided_by is null) = (status = 'drafted'))
);
create unique index gift_aid_claim_drafted on gift_aid_claim (organisation_id) where status = 'drafted';
create index gift_aid_claim_of_organisation on gift_aid_claim (organisation_id, id);
create index gift_aid_claim_by_status on gift_aid_claim (status, id);
comment on column gift_aid_claim.reference is 'HMRC''s reference';
insert into lifecycle_transition (resource, from_status, to_status) values
    ('gift_aid_claim', 'drafted', 'submitted'),
    ('gift_aid_claim', 'drafted', 'withdrawn'),
    ('gift_aid_claim', 'submitted', 'paid'),
    ('gift_aid_claim', 'submitted', 'rejected');
create trigger gift_aid_claim_immutable before update on gift_aid_claim for each row
    when ((old.id, old.organisation_id, old.cutoff_at, old.donations, old.lines, old.amount_minor, old.deducted_minor,
           old.drafted_at, old.drafted_by) is distinct from
          (new.id, new.organisation_id, new.cutoff_at, new.donations, new.lines, new.amount_minor, new.deducted_minor,
           new.drafted_at, new.drafted_by)
          or old.reference is not null and old.reference is distinct from new.reference)
    execute function guard_immutable();
create trigger gift_aid_claim_status before update of status on gift_aid_claim for each row
    when (old.status is distinct from new.status) execute function guard_status('gift_aid_claim');
grant select, insert, update (status, status_changed_at, reference, paid_minor, note, decided_by)
    on gift_aid_claim to almoner_app;

-- A claimed donation with its declaration. active: not once the claim failed or all of it was adjusted. adjusted_minor:
-- no longer claimed. organisation_id: the charity that claims; the donation may be reassigned afterwards.
create table gift_aid_claim_donation (
    claim_id uuid not null,
    organisation_id uuid not null,
    donation_id uuid not null references donation (id),
    declaration_id uuid not null references gift_aid_declaration (id),
    line integer not null check (line between 1 and 1000),
    amount_minor bigint not null check (amount_minor between 1 and 9007199254740991),
    adjusted_minor bigint not null default 0,
    active boolean not null default true,
    primary key (claim_id, donation_id),
    foreign key (claim_id, organisation_id) references gift_aid_claim (id, organisation_id),
    constraint gift_aid_claim_donation_adjusted check (adjusted_minor between 0 and amount_minor),
    constraint gift_aid_claim_donation_ended check (not active or adjusted_minor < amount_minor)
);
-- A donation is claimed once.
create unique index gift_aid_claim_donation_once on gift_aid_claim_donation (donation_id) where active;
create index gift_aid_claim_donation_of_declaration on gift_aid_claim_donation (declaration_id, donation_id);
create trigger gift_aid_claim_donation_immutable before update on gift_aid_claim_donation for each row
    when ((old.claim_id, old.organisation_id, old.donation_id, old.declaration_id, old.line, old.amount_minor)
              is distinct from
          (new.claim_id, new.organisation_id, new.donation_id, new.declaration_id, new.line, new.amount_minor)
          or new.adjusted_minor < old.adjusted_minor or (new.active and not old.active))
    execute function guard_immutable();

-- A charity claims for donations to itself, each under its own declaration.
create function guard_claimed_donation() returns trigger language plpgsql as $$
begin
    if not exists (
        select from donation where id = new.donation_id and organisation_id = new.organisation_id
          and gift_aid_id = new.declaration_id and amount_minor - refunded_minor >= new.amount_minor
    ) then
        raise exception 'donation % may not be claimed by organisation %', new.donation_id, new.organisation_id
            using errcode = 'check_violation', constraint = 'gift_aid_claim_donation_of_charity';
    end if;
    return new;
end $$;
create trigger gift_aid_claim_donation_of_charity before insert on gift_aid_claim_donation for each row
    execute function guard_claimed_donation();
grant select, insert, update (adjusted_minor, active) on gift_aid_claim_donation to almoner_app;

-- A claimed donation that no longer qualifies, in whole or in part, or was reassigned. organisation_id: the charity that
-- claimed it, from whose later claims its tax is deducted.
create table gift_aid_adjustment (
    id uuid primary key,
    organisation_id uuid not null,
    claim_id uuid not null,
    donation_id uuid not null,
    amount_minor bigint not null check (amount_minor between 1 and 9007199254740991),
    reason text not null check (reason in ('refunded', 'reassigned', 'cancelled')),
    deducted_minor bigint not null default 0,
    created_at timestamptz not null,
    unique (id, organisation_id),
    foreign key (claim_id, organisation_id) references gift_aid_claim (id, organisation_id),
    foreign key (claim_id, donation_id) references gift_aid_claim_donation (claim_id, donation_id),
    constraint gift_aid_adjustment_deducted check (deducted_minor between 0 and amount_minor)
);
create index gift_aid_adjustment_of_donation on gift_aid_adjustment (claim_id, donation_id, id);
create index gift_aid_adjustment_open on gift_aid_adjustment (claim_id, id) where deducted_minor < amount_minor;
create trigger gift_aid_adjustment_immutable before update on gift_aid_adjustment for each row
    when ((old.id, old.organisation_id, old.claim_id, old.donation_id, old.amount_minor, old.reason, old.created_at)
              is distinct from
          (new.id, new.organisation_id, new.claim_id, new.donation_id, new.amount_minor, new.reason, new.created_at))
    execute function guard_immutable();
grant select, insert, update (deducted_minor) on gift_aid_adjustment to almoner_app;

-- How much of an adjustment a later claim of the same charity deducts.
create table gift_aid_deduction (
    claim_id uuid not null,
    adjustment_id uuid not null,
    organisation_id uuid not null,
    amount_minor bigint not null check (amount_minor between 1 and 9007199254740991),
    primary key (claim_id, adjustment_id),
    foreign key (claim_id, organisation_id) references gift_aid_claim (id, organisation_id),
    foreign key (adjustment_id, organisation_id) references gift_aid_adjustment (id, organisation_id)
);
create index gift_aid_deduction_of_adjustment on gift_aid_deduction (adjustment_id);
grant select, insert on gift_aid_deduction to almoner_app;

-- Added here, as declarations are created after donations.
alter table donation add constraint donation_gift_aid foreign key (partner_id, gift_aid_id)
    references gift_aid_declaration (partner_id, id);
