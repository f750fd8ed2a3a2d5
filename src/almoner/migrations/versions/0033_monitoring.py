"""Monitoring subscriptions: what watch lists and registers say of an organisation, and each change of it.

Revision ID: 0033
Revises: 0032
"""

from alembic import op

revision = "0033"
down_revision = "0032"

CATEGORIES = {
    "warning": "warning",
    "sanction": "sanction",
    "hate_speech": "hateSpeech",
    "commercial": "commercial",
    "adverse_media": "adverseMedia",
    "controversial": "controversial",
}

_COLUMNS = "".join(f"    {column} text check ({column} in ('clear', 'flag')),\n" for column in CATEGORIES)
_CHECKED = "".join(
    f"    constraint monitoring_subscription_{column}_checked check (\n"
    f"        chosen is not null or {column} is distinct from 'clear'\n"
    f'        or sources @> \'[{{"category": "{category}"}}]\'\n'
    "    ),\n"
    for column, category in CATEGORIES.items()
)

UPGRADE = f"""
create table monitoring_subscription (
    id uuid primary key,
    partner_id uuid not null references partner (id),
    organisation_id uuid references organisation (id),
    validation_request_id uuid,
    configuration_id uuid,
    status text not null check (status in (
        'pending', 'pending_validation_request', 'validation_request_failed', 'live', 'cancelled'
    )),
    search_name text collate "C" not null,
    chosen jsonb check (jsonb_typeof(chosen) = 'object'),
    compliance_status text check (compliance_status in ('pass', 'fail')),
{_COLUMNS}    registration_active text check (registration_active in ('yes', 'no')),
    sources jsonb not null default '[]' check (jsonb_typeof(sources) = 'array'),
    screened_at timestamptz,
    created_at timestamptz not null,
    cancelled_at timestamptz,
    status_changed_at timestamptz not null,
    unique (partner_id, id),
    foreign key (partner_id, validation_request_id) references validation_request (partner_id, id),
    constraint monitoring_subscription_of_somebody check (num_nonnulls(organisation_id, validation_request_id) > 0),
    constraint monitoring_subscription_organisation check (
        case when status in ('pending_validation_request', 'validation_request_failed')
                 then organisation_id is null and validation_request_id is not null
             when status = 'cancelled' then true else organisation_id is not null end
    ),
    -- Silence means that something was checked: clear only by a list of that category (settled 4).
{_CHECKED}    -- Nothing is known before it was looked at, but for what a test value of the sandbox says.
    constraint monitoring_subscription_known check (
        chosen is not null or screened_at is not null
        or num_nonnulls(
            compliance_status, {", ".join(CATEGORIES)}, registration_active
        ) = 0 and sources = '[]'
    ),
    constraint monitoring_subscription_live check (status <> 'live' or screened_at is not null),
    constraint monitoring_subscription_cancelled check ((status = 'cancelled') = (cancelled_at is not null))
);
comment on column monitoring_subscription.search_name is
    'words of the nonprofit''s name when it was looked at last: ASCII, lower case, one blank between';
comment on column monitoring_subscription.chosen is 'results that a test value or a simulated step of the sandbox said';
comment on column monitoring_subscription.sources is 'the lists that were looked into: list, version, category';
create index monitoring_subscription_with_status on monitoring_subscription (partner_id, status, id);
create index monitoring_subscription_without_organisation on monitoring_subscription (partner_id, id)
    where organisation_id is null;
create index monitoring_subscription_name on monitoring_subscription (partner_id, search_name, id);
create index monitoring_subscription_words on monitoring_subscription using gin (search_name gin_trgm_ops);
create index monitoring_subscription_of_organisation on monitoring_subscription (organisation_id, partner_id)
    where status in ('pending', 'live');
create index monitoring_subscription_of_request on monitoring_subscription (validation_request_id)
    where status = 'pending_validation_request';
create index monitoring_subscription_live on monitoring_subscription (id) where status in ('pending', 'live');

-- Each change of results and what it rests on: matches with their list, version, score and decision. Only added to.
create table monitoring_change (
    id uuid primary key,
    subscription_id uuid not null references monitoring_subscription (id),
    occasion text not null check (occasion in (
        'created', 'request_decided', 'register_changed', 'screening_changed', 'chosen'
    )),
    results jsonb not null check (jsonb_typeof(results) = 'object'),
    sources jsonb not null check (jsonb_typeof(sources) = 'array'),
    matches jsonb not null check (jsonb_typeof(matches) = 'array'),
    changed_at timestamptz not null
);
create index monitoring_change_of on monitoring_change (subscription_id, id);

-- Up to which version of each list all live subscriptions are compared. What is not named here was never loaded.
create table monitoring_list (
    list text primary key references watchlist (code),
    version text not null check (version <> ''),
    categories text[] not null,
    compared_at timestamptz not null
);

insert into lifecycle_move (resource, from_status, to_status) values
    ('monitoring_subscription', 'live', 'cancelled'),
    ('monitoring_subscription', 'pending', 'cancelled'),
    ('monitoring_subscription', 'pending', 'live'),
    ('monitoring_subscription', 'pending_validation_request', 'cancelled'),
    ('monitoring_subscription', 'pending_validation_request', 'pending'),
    ('monitoring_subscription', 'pending_validation_request', 'validation_request_failed'),
    ('monitoring_subscription', 'validation_request_failed', 'cancelled');

create trigger monitoring_subscription_status before update of status on monitoring_subscription for each row
    when (old.status is distinct from new.status) execute function guard_status('monitoring_subscription');

-- Whose it is and whom it is about never changes; nor does anything of one that is cancelled.
create trigger monitoring_subscription_promise before update on monitoring_subscription for each row
    when (old.status = 'cancelled'
          or (old.id, old.partner_id, old.created_at) is distinct from (new.id, new.partner_id, new.created_at)
          or old.validation_request_id is distinct from new.validation_request_id
          or old.organisation_id is not null and old.organisation_id is distinct from new.organisation_id)
    execute function guard_promise();

grant select, insert, update on monitoring_subscription, monitoring_list to almoner_app;
grant select, insert on monitoring_change to almoner_app;
"""


def upgrade() -> None:
    """Create the tables."""
    op.execute(UPGRADE)
