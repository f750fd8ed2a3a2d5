"""A nonprofit is told of an account that came after it was asked, and can say that it is not its own.

Revision ID: 0095
Revises: 0094
"""

from alembic import op

revision = "0095"
down_revision = "0094"

UPGRADE = """
alter table payee_account add column denied_at timestamptz,
    add constraint payee_account_denied check (denied_at is null or status <> 'proposed');
comment on column payee_account.denied_at is 'when the nonprofit said that the account is not its own';
create trigger payee_account_denied before update of denied_at on payee_account for each row
    when (old.denied_at is not null and old.denied_at is distinct from new.denied_at) execute function guard_promise();

create table payee_notice (
    account_id uuid primary key references payee_account (id),
    partner_id uuid not null references partner (id),
    language text not null check (length(language) between 2 and 35),
    told_at timestamptz not null
);
grant select, insert on payee_notice to almoner_app;

alter table monetary_donation_flag drop constraint monetary_donation_flag_kind_check,
    add constraint monetary_donation_flag_kind_check check (
        kind in (
            'register_removed', 'register_renamed', 'new_match', 'payee_changed', 'holder_differs', 'account_denied',
            'evidence_expired'
        )
    );
"""


def upgrade() -> None:
    """One table and one kind of flag more."""
    op.execute(UPGRADE)
