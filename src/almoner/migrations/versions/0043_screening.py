"""Lists cover bodies and persons apart and refresh themselves; what was decided of a match is kept with what it was of.

Revision ID: 0043
Revises: 0042
"""

from alembic import op

revision = "0043"
down_revision = "0042"

UPGRADE = """
-- A list of persons alone clears no body, nor the other way round.
alter table watchlist_load
    add column bodies text[] not null default '{}',
    add column persons text[] not null default '{}',
    add column fetched_from text[] not null default '{}';
update watchlist_load l set
    bodies = array(
        select distinct e.category from watchlist_entry e
        where e.list = l.list and e.kind in ('organisation', 'unknown')
            and e.since_load <= l.id and (e.until_load is null or e.until_load > l.id)
    ),
    persons = array(
        select distinct e.category from watchlist_entry e
        where e.list = l.list and e.kind in ('person', 'unknown')
            and e.since_load <= l.id and (e.until_load is null or e.until_load > l.id)
    )
where l.status = 'loaded';
alter table watchlist_load
    alter column bodies drop default,
    alter column persons drop default,
    alter column fetched_from drop default,
    add constraint watchlist_load_bodies check (bodies <@ categories),
    add constraint watchlist_load_persons check (persons <@ categories);
comment on column watchlist_load.bodies is 'the categories in which it lists bodies';
comment on column watchlist_load.persons is 'the categories in which it lists persons';
comment on column watchlist_load.fetched_from is 'from which web addresses its files were fetched';

-- Lists that refresh themselves, as the schedule of the deployment says, and how the last try went.
create table watchlist_refresh (
    list text primary key,
    every interval not null check (every >= interval '1 hour'),
    due_at timestamptz not null,
    tried_at timestamptz,
    status text check (status in ('loaded', 'unchanged', 'refused', 'failed')),
    failures integer not null default 0 check (failures >= 0),
    reason text,
    check ((status = 'failed') = (failures > 0)),
    check ((tried_at is null) = (status is null))
);
insert into queue_lane (lane, cap) values ('watchlists', 1);
grant select, insert, update, delete on watchlist_refresh to almoner_app;

-- A person who decided a match decided about these two sides. While they differ from what is known now, somebody is
-- asked again: a cleared match is open until then, a confirmed one stays confirmed.
alter table screening_match
    add column waits boolean not null default false,
    add column decided_as text check (decided_as in ('confirmed', 'cleared')),
    add column decided_subject jsonb check (jsonb_typeof(decided_subject) = 'object'),
    add column decided_entry jsonb check (jsonb_typeof(decided_entry) = 'object');
update screening_match set waits = true where decision = 'open' and current;
update screening_match set decided_as = decision, decided_subject = subject_side, decided_entry = entry_side
where decision <> 'open';
update screening_match m
set entry_side = '{}', entry_key = 'forgotten ' || m.id, decided_subject = null, decided_entry = null
from screening_subject s where s.id = m.subject and s.forgotten;
update screening_subject set countries = '{}', identifiers = '{}' where forgotten;
alter table screening_match
    alter column waits drop default,
    alter column score type double precision,
    drop column difference,
    drop column subject_print,
    drop column entry_print,
    add constraint screening_match_waits check (current or not waits),
    add constraint screening_match_open check (decision <> 'open' or waits = current),
    add constraint screening_match_decided check (decision = 'open' or decided_as = decision);
alter table screening_subject drop column looks;
comment on column screening_match.waits is 'whether a person is asked about it';
comment on column screening_match.decided_as is 'what a person decided last, of the two sides as they were then';

-- Applicants who may speak for a nonprofit, or still ask to, are compared again when a list changes.
update screening_subject s set watched = true
from agent_verification a
where s.type = 'agent_verification' and a.id = s.subject_id and a.status <> 'rejected' and not s.forgotten;

-- A decision may be taken back, by whom and why.
alter table review_decision
    drop constraint review_decision_verdict_check,
    add constraint review_decision_verdict_check check (verdict in ('accepted', 'rejected', 'reopened')),
    add constraint review_decision_reopened check (verdict <> 'reopened' or review_id is null);
"""


def upgrade() -> None:
    """Change the tables."""
    op.execute(UPGRADE)
