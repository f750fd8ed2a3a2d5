"""Which number an evaluation saw is the database's to say, and what rests on a request is found whatever its state.

Revision ID: 0069
Revises: 0068
"""

from alembic import op

revision = "0069"
down_revision = "0068"

UPGRADE = """
-- The version before, which may run beside, does not know the column. Whoever evaluates holds the request.
create or replace function seen_corrections() returns trigger language plpgsql as $$
begin
    new.corrections := coalesce(
        (select r.corrections from validation_request r where r.id = new.validation_request_id), 0
    );
    return new;
end $$;
create or replace trigger validation_request_evaluation_corrections before insert on validation_request_evaluation
    for each row execute function seen_corrections();
update validation_request_evaluation e set corrections = r.corrections
from validation_request r
where r.id = e.validation_request_id and e.corrections < r.corrections and e.evaluated_at >= r.corrected_at;
"""

# An applicant corrects a number while nothing else rests on the request: neither what waits nor what has ended.
OF_REQUEST = """
drop index if exists {table}_of_request;
create index {table}_of_request on {table} (validation_request_id) where validation_request_id is not null;
"""


def upgrade() -> None:
    """Change the tables: each in a transaction of its own, whose parts may be done again.

    Whoever evaluates a submission reads them in another order than whoever makes one writes them: held together, they
    would be waited for crosswise by one or the other.
    """
    with op.get_context().autocommit_block():
        op.execute(UPGRADE)
        for table in ("agent_verification", "monitoring_subscription", "eligibility_subscription"):
            op.execute(OF_REQUEST.format(table=table))
