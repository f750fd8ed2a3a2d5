"""Accounts that come after a check take two people, and files pay nobody whose payouts wait.

Revision ID: 0073
Revises: 0072
"""

from alembic import op

revision = "0073"
down_revision = "0072"

UPGRADE = """
-- Whether an account takes two people beside who proposed it: it takes the place of another one, or is one more after
-- somebody's verification has relied on what there was.
create function payee_takes_two(of_organisation uuid, in_currency text) returns boolean language sql stable as $$
    select exists (
        select from payee_account
        where organisation_id = of_organisation and currency = in_currency and status in ('approved', 'replaced')
    ) or exists (
        select from payee_account where organisation_id = of_organisation and status = 'approved'
    ) and exists (
        select from monetary_donation_verification v join monetary_donation_check c on c.verification_id = v.id
        where v.organisation_id in (
            with body as materialized (select coalesce(same_as, id) as id from organisation where id = of_organisation)
            select id from body union all select o.id from body join organisation o on o.same_as = body.id
        ) and v.status in ('pending', 'approved') and c.type = 'bank_details' and c.status = 'succeeded'
    )
$$;
create function guard_payee_change() returns trigger language plpgsql as $$
begin
    if new.second_by is null and payee_takes_two(new.organisation_id, new.currency) then
        raise exception 'account % takes two people beside who proposed it', new.id
            using errcode = 'check_violation', constraint = 'payee_account_change';
    end if;
    return new;
end $$;
create trigger payee_account_change before update of status on payee_account for each row
    when (old.status = 'proposed' and new.status = 'approved') execute function guard_payee_change();

-- A file that is released pays approved accounts alone, and nobody whose payouts wait by then.
create function guard_bank_file_payees() returns trigger language plpgsql as $$
begin
    if exists (
        select from bank_file_payment p
        join disbursement d on d.id = p.disbursement_id join payee_account a on a.id = p.payee_account_id
        where p.file_id = new.id and p.live
          and (a.status <> 'approved' or payout_is_held(d.partner_id, d.organisation_id))
    ) then
        raise exception 'bank file % pays somebody whose account was changed or whose payouts wait', new.id
            using errcode = 'check_violation', constraint = 'bank_file_payees';
    end if;
    return new;
end $$;
create trigger bank_file_payees before update of status on bank_file for each row
    when (old.status = 'made' and new.status = 'released') execute function guard_bank_file_payees();

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
create trigger payee_account_contact before insert on payee_account for each row
    execute function guard_payee_contact();
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

-- An operator by the text of its identifier, as decisions bear it; null for whoever is none.
create function operator_of(named text) returns uuid language sql immutable as $$
    select string_agg(to_hex(substr(bits, 3 + 4 * i, 4)::bit(4)::integer), '' order by i)::uuid from (
        select string_agg((strpos(letters, substr(right(named, 26), n, 1)) - 1)::bit(5)::text, '' order by n) as bits
        from generate_series(1, 26) n, (values ('0123456789abcdefghjkmnpqrstvwxyz')) base (letters)
        where named ~ '^(sandbox_)?operator_[0-7][0-9a-hjkmnp-tv-z]{25}$'
    ) read, generate_series(0, 31) i where bits is not null
$$;
-- Nor are two the two pairs of eyes of an account, a flag or a file of which one let the other in lately.
create function guard_apart() returns trigger language plpgsql as $$
declare
    is_now jsonb := to_jsonb(new);
    looked text[] := array_remove(array[
        is_now ->> 'proposed_by', is_now ->> 'made_by', is_now ->> 'first_by', is_now ->> 'second_by',
        is_now ->> 'released_by'
    ], null);
    moment timestamptz := coalesce(is_now ->> 'released_at', is_now ->> 'second_at', is_now ->> 'first_at');
begin
    if exists (
        select from unnest(looked) one, unnest(looked) other
        where one < other and operators_depend(operator_of(one), operator_of(other), moment) is not null
    ) then
        raise exception '% are no two pairs of eyes', looked
            using errcode = 'check_violation', constraint = 'looks_independent';
    end if;
    return new;
end $$;
create trigger payee_account_independent before update on payee_account for each row
    when (old.status = 'proposed' and new.status = 'proposed') execute function guard_apart();
create trigger monetary_donation_flag_independent before update on monetary_donation_flag for each row
    when (new.status = 'lifted' and old.status = 'open') execute function guard_apart();
create trigger bank_file_independent before update on bank_file for each row
    when (old.status = 'made' and new.status = 'released' and new.amount_minor > new.alone_minor)
    execute function guard_apart();
"""


def upgrade() -> None:
    """Create the rules."""
    op.execute(UPGRADE)
