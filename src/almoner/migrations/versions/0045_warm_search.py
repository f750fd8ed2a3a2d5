"""Search finds its indexes in memory from the first question on.

Revision ID: 0045
Revises: 0044
"""

from alembic import op

revision = "0045"
down_revision = "0044"

UPGRADE = """
-- Reads what search reads into the server's memory where it has the room, else into the operating system's; how many
-- bytes that were. Zero without the extension pg_prewarm, which only an administrator can add. By the owner, since not
-- every version lets others read indexes so.
create function warm_search() returns bigint language plpgsql security definer
set search_path = public, pg_temp as $$
declare
    parts regclass[] := array[
        'organisation_search_words', 'organisation_search_foremost', 'organisation_word', 'organisation_word_pkey',
        'organisation_word_slips', 'organisation_word_trigrams', 'organisation_search', 'organisation_search_name'
    ];
    part regclass;
    total bigint;
    room bigint := pg_size_bytes(current_setting('shared_buffers')) / 4 * 3;
begin
    if to_regprocedure('pg_prewarm(regclass, text, text, bigint, bigint)') is null then
        return 0;
    end if;
    select sum(pg_relation_size(one)) into total from unnest(parts) one;
    foreach part in array parts loop
        execute 'select pg_prewarm($1, $2)' using part, case when total <= room then 'buffer' else 'read' end;
    end loop;
    return total;
end $$;
revoke all on function warm_search() from public;
grant execute on function warm_search() to almoner_app;
"""


def upgrade() -> None:
    """Create the function."""
    op.execute(UPGRADE)
