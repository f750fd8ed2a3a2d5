"""A changed email address opens no account that somebody else has used.

Revision ID: r0011
Revises: r0010
"""

from alembic import op

revision = "r0011"
down_revision = "r0010"

UPGRADE = """
alter table person
    add column had_credentials boolean not null default false,
    add column email_changed_at timestamptz;
comment on column person.had_credentials is 'has or once had a password or passkey: the account is somebody''s';
comment on column person.email_changed_at is 'of a member: when emails were last directed to another address';

-- As before, and a password marks the account as somebody's.
create or replace function begin_epoch() returns trigger language plpgsql as $$
declare
    whose uuid;
begin
    if tg_op = 'DELETE' then
        whose := old.person_id;
    else
        whose := new.person_id;
    end if;
    update person set epoch = epoch + 1, had_credentials = true where id = whose;
    perform revoke_links(whose);
    return null;
end $$;

create function record_passkey_owner() returns trigger language plpgsql as $$
begin
    update person set had_credentials = true where id = new.person_id and not had_credentials;
    return null;
end $$;
create trigger passkey_owner_recorded after insert on passkey for each row execute function record_passkey_owner();

-- Whoever changes the address, a directory included.
create function record_email_change() returns trigger language plpgsql as $$
begin
    update person set email_changed_at = new.updated_at where id = new.id;
    return null;
end $$;
create trigger person_email_change_recorded after update on person for each row
    when (new.realm <> '00000000-0000-0000-0000-000000000000' and old.email is distinct from new.email)
    execute function record_email_change();

-- Until when a person gets no link that sets a password: a week after their address changed, if the account is
-- somebody's. The previous address was notified, and its owner can object. null: links are sent.
create function links_withheld_until(whose uuid, moment timestamptz) returns timestamptz language sql stable as $$
    select p.email_changed_at + interval '7 days' from person p
    where p.id = whose and p.email_changed_at > moment - interval '7 days' and (
        p.had_credentials
        or exists (select from sign_on_identity i where i.person_id = p.id)
        or exists (select from sign_in s where s.person_id = p.id)
    )
$$;
create function guard_link_address() returns trigger language plpgsql as $$
begin
    if links_withheld_until(new.person_id, new.created_at) is not null then
        raise exception 'the email address of person % has just changed', new.person_id
            using errcode = 'check_violation', constraint = 'one_time_link_address';
    end if;
    return new;
end $$;
create trigger one_time_link_address before insert on one_time_link for each row execute function guard_link_address();

-- The address of an operator who has used the account changes by two administrators, in the transaction of the second
-- approval. The fingerprint is of the new address, without regard to the case of ASCII letters.
create function guard_operator_email() returns trigger language plpgsql as $$
begin
    if not exists (
        select from approval a
        where a.action = 'operator.email' and a.outcome = 'approved' and a.ended_at = new.updated_at
            and operator_of(a.subject) = new.id
            and 2 = (
                select count(*) from person_role r
                where r.person_id in (a.first_by, a.second_by) and r.role = 'administrator' and r.source = 'granted'
            )
            and a.fingerprint = sha256(convert_to(
                translate(new.profile ->> 'userName', 'ABCDEFGHIJKLMNOPQRSTUVWXYZ', 'abcdefghijklmnopqrstuvwxyz'),
                'UTF8'
            ))
    ) or new.email is distinct from lower(new.profile ->> 'userName') then
        raise exception 'two administrators must change the address of operator %', new.id
            using errcode = 'check_violation', constraint = 'operator_email_dual_control';
    end if;
    return null;
end $$;
create trigger operator_email_dual_control after update on person for each row
    when (
        old.realm = '00000000-0000-0000-0000-000000000000' and old.had_credentials
        and (old.user_name, old.email) is distinct from (new.user_name, new.email)
    )
    execute function guard_operator_email();

-- An earlier password leaves its mark in the epoch.
update person p set had_credentials = true
where epoch > 0 or exists (select from passkey k where k.person_id = p.id);
"""


def upgrade() -> None:
    op.execute(UPGRADE)


def downgrade() -> None:
    raise NotImplementedError("Revisions go forwards only: restore a backup to go back.")
