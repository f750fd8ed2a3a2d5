"""What decisions rested on is kept for a term, and no longer: documents, and who applied.

Revision ID: 0065
Revises: 0064
"""

from alembic import op

revision = "0065"
down_revision = "0064"

UPGRADE = """
alter table document add column look_at timestamptz;
update document set look_at = created_at + interval '30 days';
alter table document alter column look_at set not null;
-- The version before, which may run beside, does not know the column.
create function look_at_document() returns trigger language plpgsql as $$
begin
    new.look_at := new.created_at + interval '30 days';
    return new;
end $$;
create trigger document_look_at before insert on document for each row when (new.look_at is null)
execute function look_at_document();
comment on column document.look_at is 'when it is looked next for how long it is kept';
create index document_to_look_at on document (look_at) where deleted_at is null;

-- Whoever was decided about may be forgotten.
alter table agent_verification
    drop constraint agent_verification_forgotten,
    add constraint agent_verification_forgotten check (
        num_nulls(first_name, last_name, email) = 0
        or num_nonnulls(first_name, last_name, email, title) = 0 and status in ('approved', 'rejected')
    );
create index agent_verification_ended on agent_verification (status, processed_at)
    where email is not null and status in ('approved', 'rejected');
"""


def upgrade() -> None:
    """Change the tables."""
    op.execute(UPGRADE)
