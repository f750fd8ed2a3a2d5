"""Indexes of the texts of watch lists and of unmatched settlement lines, and totals of earlier reports.

Revision ID: r0008
Revises: r0007
"""

from alembic import op

revision = "r0008"
down_revision = "r0007"

# Each outside of a transaction, so that nobody waits for it. An interruption leaves an index invalid, so all are
# repeated.
STATEMENTS = (
    "drop index concurrently if exists watchlist_entry_text",
    """
create index concurrently watchlist_entry_text on watchlist_entry
    using gin (watchlist_entry_text(entry_key, names, identifiers, note) gin_trgm_ops) where until_load_id is null
""",
    "drop index concurrently if exists settlement_line_unmatched",
    """
create index concurrently settlement_line_unmatched on settlement_line (settlement_id) where status <> 'matched'
""",
    "alter table settlement validate constraint settlement_totals",
    # One report for each transaction; one whose lines are not all stored gets its totals with its last line.
    """
do $$
declare
    report uuid;
begin
    for report in select id from settlement where fee_minor is null loop
        update settlement s set fee_minor = added.fee_minor, net_minor = added.net_minor
        from (
            select count(*) as lines, sum(fee_minor) as fee_minor, sum(net_minor) as net_minor
            from settlement_line where settlement_id = report
        ) added
        where s.id = report and s.fee_minor is null and added.lines = s.lines;
        commit;
    end loop;
end $$
""",
)


def upgrade() -> None:
    with op.get_context().autocommit_block():
        for statement in STATEMENTS:
            op.execute(statement)


def downgrade() -> None:
    raise NotImplementedError("Revisions go forwards only: restore a backup to go back.")
