"""Eligibility subscriptions: what an organisation does, and whether its partner's configuration allows that.

Revision ID: 0034
Revises: 0033
"""

from alembic import op

revision = "0034"
down_revision = "0033"

UPGRADE = """
create table eligibility_subscription (
    id uuid primary key,
    partner_id uuid not null references partner (id),
    organisation_id uuid references organisation (id),
    validation_request_id uuid,
    configuration_id uuid,
    suggested text[] not null check (cardinality(suggested) <= 100),
    asked_for text check (asked_for in ('pass', 'fail')),
    metadata jsonb check (jsonb_typeof(metadata) = 'object'),
    status text not null check (status in (
        'pending', 'pending_validation_request', 'validation_request_failed', 'live', 'cancelled',
        'cannot_define_eligibility'
    )),
    eligibility_status text check (eligibility_status in ('pass', 'fail')),
    confirmed jsonb not null default '{}' check (jsonb_typeof(confirmed) = 'object'),
    rejected text[] not null default '{}',
    created_at timestamptz not null,
    updated_at timestamptz not null,
    cancelled_at timestamptz,
    status_changed_at timestamptz not null,
    unique (partner_id, id),
    foreign key (partner_id, validation_request_id) references validation_request (partner_id, id),
    constraint eligibility_subscription_of_somebody
        check (num_nonnulls(organisation_id, validation_request_id) > 0),
    constraint eligibility_subscription_organisation check (
        case when status in ('pending_validation_request', 'validation_request_failed')
                 then organisation_id is null and validation_request_id is not null
             when status = 'cancelled' then true else organisation_id is not null end
    ),
    constraint eligibility_subscription_results check (
        case when status = 'live' then eligibility_status is not null
             when status = 'cancelled' then true
             else eligibility_status is null and confirmed = '{}' and rejected = '{}' end
    ),
    constraint eligibility_subscription_rejected check (confirmed ?& rejected),
    constraint eligibility_subscription_test check (asked_for is null or suggested = '{}'),
    constraint eligibility_subscription_cancelled check ((status = 'cancelled') = (cancelled_at is not null))
);
comment on column eligibility_subscription.suggested is 'codes of sub-tags';
comment on column eligibility_subscription.asked_for is 'by a test value of the sandbox';
comment on column eligibility_subscription.confirmed is 'by the code of a sub-tag the rule that gave it';
create index eligibility_subscription_with_status on eligibility_subscription (partner_id, status, id);
create index eligibility_subscription_of_organisation on eligibility_subscription (organisation_id, partner_id)
    where status in ('pending', 'live', 'cannot_define_eligibility');
create index eligibility_subscription_following on eligibility_subscription (id)
    where status in ('pending', 'live', 'cannot_define_eligibility');
create index eligibility_subscription_of_request on eligibility_subscription (validation_request_id)
    where status = 'pending_validation_request';

-- Each decision that was not the one before it again, with all that it rests on; only ever added to.
create table eligibility_evaluation (
    id uuid primary key,
    subscription_id uuid not null references eligibility_subscription (id),
    occasion text not null check (
        occasion in ('created', 'organisation_changed', 'rules_changed', 'configuration_changed', 'simulated')
    ),
    organisation_id uuid not null references organisation (id),
    classification jsonb not null check (jsonb_typeof(classification) = 'object'),
    words jsonb not null check (jsonb_typeof(words) = 'object'),
    allowed text[],
    eligibility_status text check (eligibility_status in ('pass', 'fail')),
    told boolean not null,
    evaluated_at timestamptz not null
);
comment on column eligibility_evaluation.classification is 'by the code of a sub-tag the rule, as its register says';
comment on column eligibility_evaluation.words is 'the same for words of its name';
comment on column eligibility_evaluation.allowed is 'codes of sub-tags; null: every one';
comment on column eligibility_evaluation.told is 'whether the partner saw something else after it';
create index eligibility_evaluation_of on eligibility_evaluation (subscription_id, id);

-- What a decision found of each sub-tag: the rule that gave it, or that nothing did.
create table eligibility_finding (
    evaluation_id uuid not null references eligibility_evaluation (id),
    code text not null check (length(code) between 1 and 60),
    rule text check (length(rule) between 1 and 300),
    suggested boolean not null,
    verdict text not null check (verdict in ('confirmed', 'rejected', 'left_out')),
    primary key (evaluation_id, code),
    constraint eligibility_finding_names_its_rule check ((verdict = 'left_out') = (rule is null)),
    constraint eligibility_finding_left_out check (verdict <> 'left_out' or suggested)
);

insert into lifecycle_move (resource, from_status, to_status) values
    ('eligibility_subscription', 'pending', 'live'),
    ('eligibility_subscription', 'pending', 'cannot_define_eligibility'),
    ('eligibility_subscription', 'pending', 'cancelled'),
    ('eligibility_subscription', 'pending_validation_request', 'pending'),
    ('eligibility_subscription', 'pending_validation_request', 'validation_request_failed'),
    ('eligibility_subscription', 'pending_validation_request', 'cancelled'),
    ('eligibility_subscription', 'validation_request_failed', 'cancelled'),
    ('eligibility_subscription', 'live', 'cannot_define_eligibility'),
    ('eligibility_subscription', 'live', 'cancelled'),
    ('eligibility_subscription', 'cannot_define_eligibility', 'live'),
    ('eligibility_subscription', 'cannot_define_eligibility', 'cancelled');

create trigger eligibility_subscription_status before update of status on eligibility_subscription for each row
    when (old.status is distinct from new.status) execute function guard_status('eligibility_subscription');

-- What was asked stays, an organisation is filled in once, and what was cancelled keeps its last results.
create trigger eligibility_subscription_promise before update on eligibility_subscription for each row
    when ((old.id, old.partner_id, old.suggested, old.created_at) is distinct from
              (new.id, new.partner_id, new.suggested, new.created_at)
          or old.validation_request_id is distinct from new.validation_request_id
          or old.configuration_id is distinct from new.configuration_id
          or old.asked_for is distinct from new.asked_for
          or old.organisation_id is not null and old.organisation_id is distinct from new.organisation_id
          or new.status = 'cancelled' and (old.eligibility_status, old.confirmed, old.rejected) is distinct from
              (new.eligibility_status, new.confirmed, new.rejected))
    execute function guard_promise();

grant select, insert, update on eligibility_subscription to almoner_app;
grant select, insert on eligibility_evaluation, eligibility_finding to almoner_app;
"""


def upgrade() -> None:
    """Create the tables."""
    op.execute(UPGRADE)
