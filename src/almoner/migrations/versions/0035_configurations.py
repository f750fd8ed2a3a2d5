"""Submission configurations: which checks an application runs, what fails them, and how its form looks.

Revision ID: 0035
Revises: 0034
"""

from alembic import op

revision = "0035"
down_revision = "0034"

UPGRADE = """
create table hosted_configuration (
    id uuid primary key,
    partner_id uuid not null references partner (id),
    name text check (length(name) between 1 and 255),
    display_name text not null check (length(display_name) between 1 and 255),
    logo text references media (key),
    primary_color text check (primary_color ~ '^#[0-9a-f]{6}$'),
    is_default boolean not null,
    checks text[] not null check (
        cardinality(checks) between 1 and 4
        and checks <@ array['validation_request', 'compliance', 'eligibility', 'agent_verification']
    ),
    allowed_organisation_types text[] not null check (
        cardinality(allowed_organisation_types) between 1 and 3
        and allowed_organisation_types <@ array['nonprofit', 'social_impact', 'education']
    ),
    compliance_flags text[] not null check (
        compliance_flags <@ array['warning', 'sanction', 'hateSpeech', 'commercial', 'adverseMedia', 'controversial']
    ),
    allowed_activity_sub_tags text[] check (cardinality(allowed_activity_sub_tags) > 0),
    email_verification boolean not null,
    partner_fields jsonb not null default '[]' check (jsonb_typeof(partner_fields) = 'array'),
    created_at timestamptz not null,
    updated_at timestamptz not null,
    unique (partner_id, id)
);
comment on column hosted_configuration.logo is 'key of an image in media';
comment on column hosted_configuration.allowed_activity_sub_tags is 'codes; null: every one';
comment on column hosted_configuration.partner_fields is 'questions: id, kind, required, labels, choices';
create unique index hosted_configuration_default on hosted_configuration (partner_id) where is_default;

create trigger hosted_configuration_promise before update on hosted_configuration for each row
    when ((old.id, old.partner_id, old.created_at) is distinct from (new.id, new.partner_id, new.created_at))
    execute function guard_promise();

-- Who was here before has what a new partner begins with. The identifiers are UUIDv7, as all others.
insert into hosted_configuration (
    id, partner_id, name, display_name, is_default, checks, allowed_organisation_types, compliance_flags,
    email_verification, created_at, updated_at
)
select encode(set_bit(set_bit(overlay(
           uuid_send(gen_random_uuid())
           placing substring(int8send((extract(epoch from created_at) * 1000)::bigint) from 3) from 1 for 6
       ), 52, 1), 53, 1), 'hex')::uuid,
       id, null, left(name, 255), true,
       array['validation_request', 'compliance', 'eligibility', 'agent_verification'],
       array['nonprofit', 'social_impact', 'education'], array['sanction', 'warning', 'hateSpeech'],
       true, created_at, created_at
from partner;

grant select, insert, update on hosted_configuration to almoner_app;
"""


def upgrade() -> None:
    """Create the table."""
    op.execute(UPGRADE)
