"""What the self-check asks of watch lists."""

from typing import Final

from almoner.platform.selfcheck import Check

checks: Final = (
    Check(
        "watchlists.none_refused",
        "No files of a watch list were refused: the newest load of every list was good",
        "Follow docs/runbooks/watchlists.md: fetch the files again, or load them as they are with --force",
        """
        select l.list || ', ' || l.reasons[1] from watchlist_load l
        where l.status = 'refused' and not exists (
            select from watchlist_load newer where newer.list = l.list and newer.id > l.id
        )
        """,
    ),
    Check(
        "watchlists.entries_are_counted",
        "Of every watch list as many entries hold as its current load counted",
        "Load the list anew with --force; if it is found again, open an issue: an import left out entries",
        """
        select w.code from watchlist w join watchlist_load l on l.id = w.current_load
        where l.entries <> (select count(*) from watchlist_entry e where e.list = w.code and e.until_load is null)
        """,
    ),
)
