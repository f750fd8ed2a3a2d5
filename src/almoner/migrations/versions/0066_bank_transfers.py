"""Donors' bank transfers: what was confirmed waits 30 days, and money that was held may be accepted as a gift.

Revision ID: 0066
Revises: 0065
"""

from alembic import op

revision = "0066"
down_revision = "0065"

UPGRADE = """
-- confirmed_at: the donor said that a bank transfer was sent; such a gift waits 30 days and not 24 hours (settled 5).
alter table donation
    add column confirmed_at timestamptz,
    add constraint donation_confirmed check (confirmed_at is null or type = 'hosted');
drop index donation_unpaid;
create index donation_unpaid on donation (created_at)
    where status = 'REQUESTED_PAYMENT' and type = 'hosted' and confirmed_at is null;
create index donation_awaited on donation (confirmed_at)
    where status = 'REQUESTED_PAYMENT' and confirmed_at is not null;

-- A line may be the transfer of a donor, or money that went back to one: both are settled by the line itself.
alter table bank_line
    drop constraint bank_line_matched_as_check,
    drop constraint bank_line_matched,
    add constraint bank_line_matched_as_check
        check (matched_as in ('request', 'settlement', 'payout', 'payout_return', 'gift', 'gift_refund')),
    add constraint bank_line_matched check (
        (matched_as is not distinct from 'request') = (request_payment_id is not null)
        and coalesce(matched_as in ('settlement', 'gift', 'gift_refund'), false) = (settlement_id is not null)
        and coalesce(matched_as in ('payout', 'payout_return'), false) = (disbursement_id is not null)
    );

-- accepted_as: the payment of the gift that a person has made of held money.
alter table held_payment
    drop constraint held_payment_status_check,
    add column accepted_as uuid references payment (id),
    add constraint held_payment_status_check
        check (status in ('held', 'refunding', 'refunded', 'dismissed', 'accepted')),
    add constraint held_payment_accepted check ((status = 'accepted') = (accepted_as is not null)),
    add constraint held_payment_accepted_once unique (accepted_as);
create index held_payment_of_transfer on held_payment (split_part(provider_payment, '/', 1))
    where provider = 'bank_transfer';
insert into lifecycle_move (resource, from_status, to_status) values ('held_payment', 'held', 'accepted');
grant update (accepted_as) on held_payment to almoner_app;
alter table held_payment_decision
    drop constraint held_payment_decision_decision_check,
    add constraint held_payment_decision_decision_check
        check (decision in ('refund', 'ask_again', 'done_by_hand', 'dismiss', 'accept'));
alter table ledger_transfer
    drop constraint ledger_transfer_kind_check,
    add constraint ledger_transfer_kind_check check (kind in (
        'payment_received', 'payment_held', 'settled', 'provider_fee', 'fee_charged', 'payout_sent', 'payout_paid',
        'payout_returned', 'payout_undone', 'reassigned', 'refund_begun', 'refund_paid', 'refund_settled',
        'held_dismissed', 'held_accepted', 'request_paid', 'request_over', 'request_covered', 'over_returned',
        'over_applied',
        'gift_refund_begun', 'gift_refund_topped_up', 'gift_refund_sent', 'gift_refund_undone', 'gift_refund_untopped',
        'dispute_drawn', 'dispute_returned', 'dispute_lost', 'dispute_borne', 'dispute_recovered', 'dispute_settled',
        'dispute_won_settled'
    ));
"""


def upgrade() -> None:
    """Change the tables."""
    op.execute(UPGRADE)
