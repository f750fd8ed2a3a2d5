"""Lines of bank statements: what the bank takes back, and accounts that are one however they were written.

Revision ID: 0089
Revises: 0087
"""

from alembic import op

revision = "0089"
down_revision = "0087"

STATEMENTS = """
create index if not exists bank_statement_of_account
    on bank_statement (upper(regexp_replace(account, '[[:space:]./-]+', '', 'g')), reference);
"""

LINES = """
-- reversal: the bank undoes a movement that it had told, mostly under the same name.
-- taken_back: it did so with money that had come.
alter table bank_line
    add column reversal boolean not null default false,
    drop constraint bank_line_reason_check,
    add constraint bank_line_reason_check check (reason in (
        'unknown', 'seen_before', 'other_amount', 'other_currency', 'other_state', 'ambiguous', 'matched_before',
        'refused', 'unconfirmed', 'taken_back'
    ));
-- What is undone is another movement than the one that undoes it.
drop index bank_line_booked_once;
create unique index bank_line_booked_once on bank_line (account, bank_reference, reversal)
    where status = 'matched' and decided_by = 'rule';
-- Rows of earlier versions have the account as the file had it, in any spelling.
create index bank_line_of_movement
    on bank_line (upper(regexp_replace(account, '[[:space:]./-]+', '', 'g')), bank_reference);
drop index bank_line_of_account;
create trigger bank_line_reversal before update of reversal on bank_line for each row
    when (old.reversal is distinct from new.reversal) execute function guard_promise();
"""


def upgrade() -> None:
    """Change the tables one after the other: imports write statements first, and readers look at lines first."""
    with op.get_context().autocommit_block():
        op.execute(STATEMENTS)
    op.execute(LINES)
