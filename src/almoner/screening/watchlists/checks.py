"""What the self-check asks of watch lists."""

from typing import Final

from almoner.platform.observability.selfcheck import ConsistencyCheck

checks: Final = (
    ConsistencyCheck(
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
    ConsistencyCheck(
        "watchlists.are_of_this_half_year",
        "No published watch list that is loaded is older than 180 days: who was listed since is `clear` of it",
        "Fetch the list anew and import it, put it on the schedule, or retire it: docs/runbooks/watchlists.md",
        """
        select w.code || ', ' || to_char(coalesce(l.published_at, l.retrieved_at), 'YYYY-MM-DD')
        from watchlist w join watchlist_load l on l.id = w.current_load
        where l.entries > 0 and w.code not in ('own', 'ofac-sdn-sample')
            and coalesce(l.published_at, l.retrieved_at) < (select at from moment) - interval '180 days'
        """,
    ),
    ConsistencyCheck(
        "watchlists.entries_are_counted",
        "Of every watch list as many entries hold as its current load counted",
        "Load the list anew with --force; if it is found again, open an issue: an import left out entries",
        """
        select w.code from watchlist w join watchlist_load l on l.id = w.current_load
        where l.entries <> (select count(*) from watchlist_entry e where e.list = w.code and e.until_load is null)
        """,
    ),
)
