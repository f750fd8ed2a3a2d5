"""Self-checks of watchlists."""

from typing import Final

from almoner.platform.observability.selfcheck import ConsistencyCheck
from almoner.screening.watchlists.domain import MAX_AGE, NEVER_OUTDATED

_NEVER_OUTDATED: Final = ", ".join(f"'{code}'" for code in NEVER_OUTDATED)

checks: Final = (
    ConsistencyCheck(
        "watchlists.imports_succeed",
        "The newest import of every watchlist succeeded",
        "Follow docs/runbooks/watchlists.md. Download the files again, or import them as they are with --force",
        """
        select l.list || ', ' || l.reasons[1] from watchlist_load l
        where l.status = 'refused' and not exists (
            select from watchlist_load newer where newer.list = l.list and newer.id > l.id
        )
        """,
    ),
    ConsistencyCheck(
        "watchlists.current",
        f"No imported watchlist is older than {MAX_AGE.days} days. If a list is older, anyone listed since then is "
        "shown as `clear`",
        "Import the newest version, add the list to the schedule, or retire the list. See docs/runbooks/watchlists.md",
        f"""
        select w.code || ', ' || to_char(coalesce(l.published_at, l.retrieved_at), 'YYYY-MM-DD')
        from watchlist w join watchlist_load l on l.id = w.current_load_id
        where l.entries > 0 and w.code not in ({_NEVER_OUTDATED})
            and coalesce(l.published_at, l.retrieved_at) < (select at from moment) - interval '{MAX_AGE.days} days'
        """,
    ),
    ConsistencyCheck(
        "watchlists.entry_counts_match",
        "Every watchlist has as many entries as its current import counted",
        "Import the list again with --force. If the check still fails, open an issue, because the import skipped "
        "entries",
        """
        select w.code from watchlist w join watchlist_load l on l.id = w.current_load_id
        where l.entries <> (select count(*) from watchlist_entry e where e.list = w.code and e.until_load_id is null)
        """,
    ),
)
