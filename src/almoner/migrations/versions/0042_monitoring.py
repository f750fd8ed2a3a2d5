"""Monitoring subscriptions know that they have to be looked at again, and by what compliance was judged.

Revision ID: 0042
Revises: 0041
"""

from alembic import op

revision = "0042"
down_revision = "0041"

UPGRADE = """
-- From the moment that something else is known until it was looked at, its record names no newer version of a list.
alter table monitoring_subscription
    add column due_at timestamptz,
    add column matches jsonb not null default '[]' check (jsonb_typeof(matches) = 'array'),
    add foreign key (partner_id, configuration_id) references hosted_configuration (partner_id, id),
    add constraint monitoring_subscription_due check (due_at is null or status in ('pending', 'live'));
comment on column monitoring_subscription.due_at is 'since when it has to be looked at again; null: nothing is due';
comment on column monitoring_subscription.matches is
    'entries of lists that may be it: list, version, category, entry, score, and what a person decided';
create index monitoring_subscription_due on monitoring_subscription (due_at) where due_at is not null;
alter table eligibility_subscription
    add foreign key (partner_id, configuration_id) references hosted_configuration (partner_id, id);

alter table monitoring_change
    add column flags text[],
    drop constraint monitoring_change_occasion_check,
    add constraint monitoring_change_occasion_check check (occasion in (
        'created', 'request_decided', 'register_changed', 'screening_changed', 'chosen', 'configuration_changed'
    ));
comment on column monitoring_change.flags is 'the categories that counted for compliance';

-- By which configuration one is judged never changes.
create trigger monitoring_subscription_configuration before update of configuration_id on monitoring_subscription
    for each row when (old.configuration_id is distinct from new.configuration_id) execute function guard_promise();
"""


def upgrade() -> None:
    """Change the tables."""
    op.execute(UPGRADE)
