"""Accounts of nonprofits, and the files of payments that our bank is given.

Revision ID: 0060
Revises: 0057
"""

from alembic import op

revision = "0060"
down_revision = "0057"

UPGRADE = """
-- Where a nonprofit is paid in a currency. sealed: the numbers, encrypted; shown: as people may read them; fingerprint:
-- a keyed hash, so that one account of several nonprofits is seen. is_change: it takes the place of another one.
create table payee_account (
    id uuid primary key,
    organisation_id uuid not null references organisation (id),
    currency char(3) not null check (currency ~ '^[A-Z]{3}$'),
    scheme text not null check (scheme in ('iban', 'gb', 'us', 'au', 'nz', 'ca')),
    holder text not null check (length(holder) between 1 and 70),
    sealed bytea not null,
    shown text not null check (length(shown) between 1 and 60),
    fingerprint bytea not null check (length(fingerprint) = 32),
    street text check (length(street) between 1 and 70),
    building text check (length(building) between 1 and 16),
    postcode text check (length(postcode) between 1 and 16),
    town text not null check (length(town) between 1 and 35),
    country char(3) not null check (country ~ '^[A-Z]{3}$'),
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
    constraint payee_account_looks check (
        num_nonnulls(first_by, first_note, first_at) in (0, 3)
        and num_nonnulls(second_by, second_note, second_at) in (0, 3) and (second_by is null or first_by is not null)
    ),
    -- Who proposed an account does not approve it; taking the place of another one takes two more people.
    constraint payee_account_people check (
        first_by <> proposed_by and second_by <> proposed_by and second_by <> first_by
    ),
    constraint payee_account_approved check (
        status not in ('approved', 'replaced') or (first_by is not null and (not is_change or second_by is not null))
    ),
    constraint payee_account_refused check ((status = 'refused') = (refused_by is not null)
        and (refused_by is null) = (refused_note is null))
);
create unique index payee_account_current on payee_account (organisation_id, currency) where status = 'approved';
create unique index payee_account_open on payee_account (organisation_id, currency) where status = 'proposed';
create index payee_account_by_status on payee_account (status, id);
create index payee_account_same on payee_account (fingerprint);

insert into lifecycle_move (resource, from_status, to_status) values
    ('payee_account', 'proposed', 'approved'),
    ('payee_account', 'proposed', 'refused'),
    ('payee_account', 'approved', 'replaced');
create trigger payee_account_status before update of status on payee_account for each row
    when (old.status is distinct from new.status) execute function guard_status('payee_account');
-- What was proposed stays as it was proposed, and a look as it was taken.
create trigger payee_account_promise before update on payee_account for each row
    when ((old.id, old.organisation_id, old.currency, old.scheme, old.holder, old.sealed, old.shown, old.fingerprint,
           old.street, old.building, old.postcode, old.town, old.country, old.name_score, old.is_change,
           old.proposed_by, old.proposed_note, old.proposed_at)
          is distinct from
          (new.id, new.organisation_id, new.currency, new.scheme, new.holder, new.sealed, new.shown, new.fingerprint,
           new.street, new.building, new.postcode, new.town, new.country, new.name_score, new.is_change,
           new.proposed_by, new.proposed_note, new.proposed_at)
          or (old.first_by is not null and (old.first_by, old.first_note, old.first_at)
              is distinct from (new.first_by, new.first_note, new.first_at))
          or (old.second_by is not null and (old.second_by, old.second_note, old.second_at)
              is distinct from (new.second_by, new.second_note, new.second_at)))
    execute function guard_promise();

-- An account that is to take the place of another holds payouts back until two people have looked at it.
create or replace function payout_is_held(of_partner uuid, to_organisation uuid)
returns boolean language sql stable as $$
    select exists (
        select from (
            select distinct on (partner_id) held from payout_hold
            where organisation_id = to_organisation and (partner_id is null or partner_id = of_partner)
            order by partner_id, n desc
        ) newest where held
    ) or exists (
        select from payee_account where organisation_id = to_organisation and status = 'proposed' and is_change
    )
$$;

-- A file of payments for our bank. sealed: its bytes, packed and encrypted; alone_minor: up to this one person releases
-- it. A payout is in one file at most that was not withdrawn: so it is never sent twice.
create table bank_file (
    id uuid primary key,
    message_id text not null unique check (message_id ~ '^[0-9a-z]{1,35}$'),
    currency char(3) not null check (currency ~ '^[A-Z]{3}$'),
    payments integer not null check (payments >= 1),
    amount_minor bigint not null check (amount_minor between 1 and 9007199254740991),
    alone_minor bigint not null check (alone_minor >= 0),
    execute_on date not null,
    sha256 text not null check (sha256 ~ '^[0-9a-f]{64}$'),
    sealed bytea not null,
    status text not null check (status in ('made', 'released', 'withdrawn')),
    made_by text not null check (length(made_by) between 1 and 255),
    made_at timestamptz not null,
    released_by text check (length(released_by) between 1 and 255),
    released_at timestamptz,
    withdrawn_by text check (length(withdrawn_by) between 1 and 255),
    note text check (length(note) between 1 and 2000),
    status_changed_at timestamptz not null,
    constraint bank_file_moments check (
        (status = 'released') = (released_at is not null) and (released_at is null) = (released_by is null)
        and (status = 'withdrawn') = (withdrawn_by is not null) and (withdrawn_by is null) = (note is null)
    ),
    constraint bank_file_two_people check (amount_minor <= alone_minor or released_by <> made_by)
);
create index bank_file_by_status on bank_file (status, id);

create table bank_file_payment (
    file_id uuid not null references bank_file (id),
    disbursement_id uuid not null references disbursement (id),
    payee_account_id uuid not null references payee_account (id),
    amount_minor bigint not null check (amount_minor between 1 and 9007199254740991),
    live boolean not null default true,
    primary key (file_id, disbursement_id)
);
create unique index bank_file_payment_once on bank_file_payment (disbursement_id) where live;
create index bank_file_payment_to on bank_file_payment (payee_account_id);

-- What a bank said of the payments of a file; a status file that comes again changes nothing.
create table bank_answer (
    id uuid primary key,
    file_id uuid not null references bank_file (id),
    message_id text not null check (length(message_id) between 1 and 35),
    sha256 text not null unique check (sha256 ~ '^[0-9a-f]{64}$'),
    accepted integer not null check (accepted >= 0),
    paid integer not null check (paid >= 0),
    rejected integer not null check (rejected >= 0),
    noted_by text not null check (length(noted_by) between 1 and 255),
    noted_at timestamptz not null
);
create index bank_answer_of_file on bank_answer (file_id, id);

insert into lifecycle_move (resource, from_status, to_status) values
    ('bank_file', 'made', 'released'),
    ('bank_file', 'made', 'withdrawn');
create trigger bank_file_status before update of status on bank_file for each row
    when (old.status is distinct from new.status) execute function guard_status('bank_file');
create trigger bank_file_promise before update on bank_file for each row
    when ((old.id, old.message_id, old.currency, old.payments, old.amount_minor, old.alone_minor, old.execute_on,
           old.sha256, old.sealed, old.made_by, old.made_at)
          is distinct from
          (new.id, new.message_id, new.currency, new.payments, new.amount_minor, new.alone_minor, new.execute_on,
           new.sha256, new.sealed, new.made_by, new.made_at))
    execute function guard_promise();

-- A file is what its payouts are when it is released: as many, of this sum, sent and not paid or returned before.
create function guard_bank_file() returns trigger language plpgsql as $$
begin
    if (
        select (count(*), coalesce(sum(p.amount_minor), 0)) from bank_file_payment p
        join disbursement d on d.id = p.disbursement_id
        where p.file_id = new.id and p.live and d.status = 'SENT' and d.amount_minor = p.amount_minor
          and d.currency = new.currency
    ) is distinct from (new.payments::bigint, new.amount_minor::numeric) then
        raise exception 'bank file % is not the sum of payouts that are SENT', new.id
            using errcode = 'check_violation', constraint = 'bank_file_sum';
    end if;
    return new;
end $$;
create trigger bank_file_released before update of status on bank_file for each row
    when (old.status = 'made' and new.status = 'released') execute function guard_bank_file();

grant select, insert, update on bank_file, bank_file_payment to almoner_app;
grant select, insert on bank_answer to almoner_app;
grant select, insert, update on payee_account to almoner_app;
"""


def upgrade() -> None:
    """Create the tables."""
    op.execute(UPGRADE)
