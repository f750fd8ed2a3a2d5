"""The first results after a start are in memory too, not only what finds them.

Revision ID: 0057
Revises: 0056
"""

from alembic import op

revision = "0057"
down_revision = "0056"

UPGRADE = """
-- Reads what search reads into the server's memory where it has the room, else into the operating system's; then what a
-- page of results is made of, as long as all of it fits into what the server is told that the system holds of files.
-- How many bytes that were. Zero without the extension pg_prewarm, which only an administrator can add. By the owner,
-- since not every version lets others read indexes so.
create or replace function warm_search() returns bigint language plpgsql security definer
set search_path = public, pg_temp as $$
declare
    parts regclass[] := array[
        'organisation_search_words', 'organisation_search_foremost', 'organisation_word', 'organisation_word_pkey',
        'organisation_word_slips', 'organisation_word_trigrams', 'organisation_search', 'organisation_search_name'
    ];
    shown regclass[] := array[
        'organisation_pkey', 'organisation_same', 'organisation_branches', 'register_entry_standing', 'organisation'
    ];
    part regclass;
    total bigint;
    further bigint;
    room bigint := pg_size_bytes(current_setting('shared_buffers')) / 4 * 3;
begin
    if to_regprocedure('pg_prewarm(regclass, text, text, bigint, bigint)') is null then
        return 0;
    end if;
    select sum(pg_relation_size(one)) into total from unnest(parts) one;
    foreach part in array parts loop
        execute 'select pg_prewarm($1, $2)' using part, case when total <= room then 'buffer' else 'read' end;
    end loop;
    select sum(pg_relation_size(one)) into further from unnest(shown) one;
    if total + further > pg_size_bytes(current_setting('effective_cache_size')) then
        return total;
    end if;
    foreach part in array shown loop
        execute 'select pg_prewarm($1, $2)' using part, 'read';
    end loop;
    return total + further;
end $$;
"""


def upgrade() -> None:
    """Replace the function."""
    op.execute(UPGRADE)
