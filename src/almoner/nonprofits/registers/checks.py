"""What the self-check asks of registers."""

from typing import Final

from almoner.platform.observability.selfcheck import ConsistencyCheck

checks: Final = (
    ConsistencyCheck(
        "registers.young_enough",
        "The data of every register is younger than the greatest age that the deployment allows",
        "Load a newer file: almoner registers import. If it refreshes itself, follow docs/runbooks/registers.md",
        """
        select code from register_source where data_as_of < (select at from moment) - max_age
        """,
    ),
    ConsistencyCheck(
        "registers.none_put_aside",
        "No load waits in quarantine: the newest of every source was good",
        "Follow docs/runbooks/registers.md: fetch the files again, or load what holds rows as it is with --force",
        """
        select l.source || ', data of ' || to_char(l.data_as_of, 'YYYY-MM-DD') from register_load l
        where l.status = 'quarantined' and not exists (
            select from register_load newer where newer.source = l.source and newer.id > l.id
        )
        """,
    ),
    ConsistencyCheck(
        "registers.none_kept_in_doubt",
        "The newest load of every source could read the rows of all numbers that it was compared with",
        "Show it: almoner registers show LOAD. Fetch corrected files; or, where no rejected row is of a number that is "
        "missing, load the files again with --force",
        """
        select l.source || ', ' || l.carried_over || ' kept, data of ' || to_char(l.data_as_of, 'YYYY-MM-DD')
        from register_load l
        where l.status = 'loaded' and l.carried_over > 0 and not exists (
            select from register_load newer
            where newer.source = l.source and newer.id > l.id and newer.status = 'loaded'
        )
        """,
    ),
    ConsistencyCheck(
        "registers.refresh",
        "Every register that refreshes itself could be fetched",
        "Follow docs/runbooks/registers.md: what its publisher answers is said here, and in the log (register_refresh)",
        """
        select source || ', ' || failures || ' times: ' || reason from register_refresh where failures >= 3
        """,
    ),
)
