"""Links to applications are mailed anew; languages of agents' mails; what appeals say and whom we asked is forgotten.

Revision ID: 0054
Revises: 0053
"""

from alembic import op

revision = "0054"
down_revision = "0053"

UPGRADE = """
create table application_link (
    validation_submission_id uuid primary key,
    partner_id uuid not null references partner (id),
    mailed_at timestamptz[] not null check (cardinality(mailed_at) between 1 and 3),
    foreign key (partner_id, validation_submission_id) references validation_submission (partner_id, id)
);
comment on table application_link is 'the link to the page of an application, mailed anew to its applicant';
comment on column application_link.mailed_at is 'real time, of one day: limits go by it';
create trigger application_link_promise before update on application_link for each row
    when ((old.validation_submission_id, old.partner_id) is distinct from
              (new.validation_submission_id, new.partner_id))
    execute function guard_promise();
grant select, insert, update on application_link to almoner_app;

alter table agent_verification add column spoken text check (length(spoken) between 2 and 35);
comment on column agent_verification.spoken is 'the language that the applicant chose since; none: language';

-- What an appeal says is forgotten some time after its decision, and no sooner.
alter table appeal alter column text drop not null;
alter table appeal add constraint appeal_says check (text is not null or status <> 'open');
create index appeal_to_forget on appeal (decided_at) where text is not null and decided_at is not null;
drop trigger appeal_promise on appeal;
create trigger appeal_promise before update on appeal for each row
    when ((old.id, old.partner_id, old.validation_submission_id, old.appellant, old.first_decided_by, old.created_at,
           old.due_at) is distinct from
              (new.id, new.partner_id, new.validation_submission_id, new.appellant, new.first_decided_by,
               new.created_at, new.due_at)
          or old.text is distinct from new.text and (new.text is not null or old.status = 'open')
          or old.status <> 'open'
             and (old.status, old.overruled, old.decided_at, old.decided_by, old.status_changed_at) is distinct from
                     (new.status, new.overruled, new.decided_at, new.decided_by, new.status_changed_at))
    execute function guard_promise();

-- So is the address at which a nonprofit was asked.
alter table agent_question alter column email drop not null;
create index agent_question_to_forget on agent_question (coalesce(answered_at, expires_at)) where email is not null;
drop trigger agent_question_promise on agent_question;
create trigger agent_question_promise before update on agent_question for each row
    when ((old.id, old.verification_id, old.asked_at, old.expires_at) is distinct from
              (new.id, new.verification_id, new.asked_at, new.expires_at)
          or old.email is distinct from new.email and new.email is not null
          or old.answer is not null and (old.answer, old.answered_at) is distinct from (new.answer, new.answered_at))
    execute function guard_promise();
"""


def upgrade() -> None:
    """Create the table, the column and the indexes."""
    op.execute(UPGRADE)
