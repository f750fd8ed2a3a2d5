"""The language that an applicant chose on the page of the application, and appeals by who only has the form's link.

Revision ID: 0048
Revises: 0047
"""

from alembic import op

revision = "0048"
down_revision = "0047"

UPGRADE = """
create table application_language (
    validation_submission_id uuid primary key,
    partner_id uuid not null references partner (id),
    language text not null check (length(language) between 2 and 35),
    updated_at timestamptz not null,
    foreign key (partner_id, validation_submission_id) references validation_submission (partner_id, id)
);
comment on table application_language is 'of its page and mails; none: the language of the submission';
create trigger application_language_promise before update on application_language for each row
    when ((old.validation_submission_id, old.partner_id) is distinct from
              (new.validation_submission_id, new.partner_id))
    execute function guard_promise();
grant select, insert, update on application_language to almoner_app;

-- A visitor came by the link of the form: that shows nobody's address, the link of a mail does.
alter table appeal drop constraint appeal_appellant_check;
alter table appeal add constraint appeal_appellant_check check (appellant in ('partner', 'applicant', 'visitor'));
"""

DOWNGRADE = """
alter table appeal drop constraint appeal_appellant_check;
alter table appeal add constraint appeal_appellant_check check (appellant in ('partner', 'applicant')) not valid;
drop table application_language;
"""


def upgrade() -> None:
    """Create the table, and let visitors appeal."""
    op.execute(UPGRADE)


def downgrade() -> None:
    """Drop the table; appeals that visitors made stay as they are."""
    op.execute(DOWNGRADE)
