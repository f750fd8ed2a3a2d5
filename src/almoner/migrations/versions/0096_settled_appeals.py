"""When the answer was given that followed from a reversed appeal.

Revision ID: 0096
Revises: 0095
"""

from alembic import op

revision = "0096"
down_revision = "0095"

UPGRADE = """
alter table appeal add column settled_at timestamptz,
    add constraint appeal_settled check (settled_at is null or status = 'reversed');
comment on column appeal.settled_at is 'when every check had ended since it was reversed, and the answer came anew';
create trigger appeal_settled before update of settled_at on appeal for each row
    when (old.settled_at is not null and old.settled_at is distinct from new.settled_at)
    execute function guard_promise();
update appeal a set settled_at = a.decided_at from validation_submission s
where s.id = a.validation_submission_id and s.status <> 'failed' and a.status = 'reversed';

-- An address is corrected while nothing is decided: that is so again after a reversed appeal, until its answer.
create or replace function guard_applicant() returns trigger language plpgsql as $$
begin
    if not (
        old.status in ('pending', 'processed') or old.status = 'failed' and exists (
            select from appeal
            where validation_submission_id = old.id and status = 'reversed' and settled_at is null
        )
    ) or not exists (
        select from agent_verification where id = new.agent_verification_id and replaces = old.agent_verification_id
    ) then
        raise exception 'the verification of % is replaced by its successor alone', old.id
            using errcode = 'check_violation', constraint = 'validation_submission_applicant_corrected';
    end if;
    return new;
end $$;

-- Who applied is forgotten in time where nothing could be decided, too.
create index validation_submission_undecided_to_forget on validation_submission (processed_at)
    where processed_at is not null and status = 'processed'
        and num_nonnulls(first_name, last_name, email, partner_fields) > 0;
"""


def upgrade() -> None:
    """One column and one index more, and one more moment at which an address is corrected."""
    op.execute(UPGRADE)
