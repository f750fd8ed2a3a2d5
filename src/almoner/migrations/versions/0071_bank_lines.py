"""Lines of bank statements: why one was refused, statements that grow, and each movement booked by rule once.

Revision ID: 0071
Revises: 0069
"""

from alembic import op

revision = "0071"
down_revision = "0069"

STATEMENTS = """
-- A bank may give a statement again with more lines, or use its number anew: what is new in a file is a part.
alter table bank_statement
    add column if not exists part integer not null default 1 check (part >= 1),
    drop constraint if exists bank_statement_account_reference_key,
    drop constraint if exists bank_statement_once,
    add constraint bank_statement_once unique (account, reference, part);
"""

LINES = """
-- refusal: what spoke against booking a line that names something of ours.
alter table bank_line
    add column refusal text check (length(refusal) between 1 and 1000),
    drop constraint bank_line_reason_check,
    add constraint bank_line_reason_check check (reason in (
        'unknown', 'seen_before', 'other_amount', 'other_currency', 'other_state', 'ambiguous', 'matched_before',
        'refused'
    ));
-- What the bank has told twice, a person decides over: no rule books it a second time, however many imports there are.
create unique index bank_line_booked_once on bank_line (account, bank_reference)
    where status = 'matched' and decided_by = 'rule';
"""


def upgrade() -> None:
    """Change the tables one after the other: imports write statements first, and readers look at lines first."""
    with op.get_context().autocommit_block():
        op.execute(STATEMENTS)
    op.execute(LINES)
