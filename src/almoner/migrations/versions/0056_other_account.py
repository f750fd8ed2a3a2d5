"""Money that a provider took for an account that is not ours; when a provider was asked what it has paid out.

Revision ID: 0056
Revises: 0055
"""

from alembic import op

revision = "0056"
down_revision = "0055"

UPGRADE = """
alter table held_payment drop constraint held_payment_reason_check, drop constraint held_payment_other_mode;
alter table held_payment
    add constraint held_payment_reason_check check (reason in (
        'donation_cancelled', 'session_over', 'paid_twice', 'short', 'over', 'other_currency', 'other_reference',
        'other_mode', 'other_account', 'unknown_payment'
    )),
    add constraint held_payment_none_of_ours check (
        reason not in ('other_mode', 'other_account') or status in ('held', 'dismissed')
    );

create table settlement_look (
    provider text primary key,
    looked_at timestamptz not null
);
comment on table settlement_look is 'when a provider that reports its payouts itself was last asked for them';
grant select, insert, update on settlement_look to almoner_app;
"""

DOWNGRADE = """
drop table settlement_look;
alter table held_payment drop constraint held_payment_reason_check, drop constraint held_payment_none_of_ours;
alter table held_payment
    add constraint held_payment_reason_check check (reason in (
        'donation_cancelled', 'session_over', 'paid_twice', 'short', 'over', 'other_currency', 'other_reference',
        'other_mode', 'unknown_payment'
    )) not valid,
    add constraint held_payment_other_mode check (reason <> 'other_mode' or status in ('held', 'dismissed'));
"""


def upgrade() -> None:
    """One more reason to hold money, which is none of ours either, and the hours of asking."""
    op.execute(UPGRADE)


def downgrade() -> None:
    """The reasons as they were; rows of the new one stay."""
    op.execute(DOWNGRADE)
