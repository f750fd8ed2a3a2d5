"""Gift aid declarations, and the donations that they cover.

Revision ID: 0041
Revises: 0040
"""

from alembic import op

revision = "0041"
down_revision = "0040"

UPGRADE = """
-- A UK taxpayer's word that gifts made from covers_from on, up to covers_to if there is one, are to have gift aid.
-- cancelled_from: of gifts made from then on it holds no more. It is never changed otherwise: a change is a new one.
create table gift_aid_declaration (
    id uuid primary key,
    partner_id uuid not null references partner (id),
    user_id uuid,
    title text not null check (length(title) between 1 and 255),
    first_name text check (length(first_name) between 1 and 255),
    last_name text not null check (length(last_name) between 1 and 255),
    building_name_number text not null check (length(building_name_number) between 1 and 255),
    road_name text not null check (length(road_name) between 1 and 255),
    city text not null check (length(city) between 1 and 255),
    country text not null check (length(country) between 1 and 255),
    postcode text not null check (length(postcode) between 1 and 255),
    covers_from timestamptz not null,
    covers_to timestamptz,
    cancelled_from timestamptz,
    created_at timestamptz not null,
    deleted_at timestamptz,
    unique (partner_id, id),
    foreign key (partner_id, user_id) references giving_user (partner_id, id),
    constraint gift_aid_declaration_span check (covers_to > covers_from),
    constraint gift_aid_declaration_past check (covers_from >= created_at - interval '4 years 1 day'),
    constraint gift_aid_declaration_cancelled check ((cancelled_from is null) = (deleted_at is null))
);
comment on column gift_aid_declaration.deleted_at is 'when its cancellation was noted';
create index gift_aid_declaration_of_user on gift_aid_declaration (partner_id, user_id, id) where user_id is not null;

create trigger gift_aid_declaration_promise before update on gift_aid_declaration for each row
    when ((old.id, old.partner_id, old.title, old.last_name, old.building_name_number, old.road_name, old.city,
           old.country, old.postcode, old.covers_from, old.created_at) is distinct from
          (new.id, new.partner_id, new.title, new.last_name, new.building_name_number, new.road_name, new.city,
           new.country, new.postcode, new.covers_from, new.created_at)
          or old.user_id is distinct from new.user_id or old.first_name is distinct from new.first_name
          or old.covers_to is distinct from new.covers_to
          or (old.deleted_at is not null and (old.deleted_at, old.cancelled_from) is distinct from
                                             (new.deleted_at, new.cancelled_from)))
    execute function guard_promise();

-- Gift aid is for pounds sterling alone.
alter table donation
    add column gift_aid_id uuid,
    add constraint donation_gift_aid foreign key (partner_id, gift_aid_id)
        references gift_aid_declaration (partner_id, id),
    add constraint donation_gift_aid_sterling check (gift_aid_id is null or currency = 'GBP');
create index donation_of_gift_aid on donation (gift_aid_id, id) where gift_aid_id is not null;

-- Whether somebody with a publishable key may speak for a user: the user's donation session is open.
create index donation_session_open_of_user on donation_session (partner_id, user_id)
    where status = 'open' and user_id is not null;

-- Deleted is only what was declared for a gift that never came (V6).
grant select, insert, delete, update (cancelled_from, deleted_at) on gift_aid_declaration to almoner_app;
"""


def upgrade() -> None:
    """Create the tables."""
    op.execute(UPGRADE)
