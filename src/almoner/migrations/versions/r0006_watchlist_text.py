"""Search watch list entries for text, whatever their kind and script.

Revision ID: r0006
Revises: r0005
"""

from alembic import op

revision = "r0006"
down_revision = "r0005"

UPGRADE = """
-- The letters and digits of a text, without case, accents and separators. Lines stay apart.
create function watchlist_text(text) returns text language sql immutable strict parallel safe
    return regexp_replace(upper(normalize($1, nfkd)), E'[^[:alnum:]\\n]+', '', 'g');
create function watchlist_entry_text(entry_key text, names jsonb, identifiers text[], note text) returns text
    language sql immutable parallel safe
    return watchlist_text(array_to_string(array[entry_key] || array(
        select one ->> 'text' from jsonb_array_elements(names) as one
    ) || identifiers || note, E'\\n'));
"""


def upgrade() -> None:
    op.execute(UPGRADE)


def downgrade() -> None:
    raise NotImplementedError("Revisions go forwards only: restore a backup to go back.")
