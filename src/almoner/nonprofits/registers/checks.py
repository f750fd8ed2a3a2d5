"""Self-checks of registers."""

from typing import Final

from almoner.platform.observability.selfcheck import ConsistencyCheck

checks: Final = (
    ConsistencyCheck(
        "registers.current",
        "The data of every register is younger than its maximum age",
        "Import newer files under Register imports in the console, or with `almoner registers import`. If the register "
        "refreshes automatically, follow docs/runbooks/registers.md",
        """
        select code from register_source where data_as_of < (select at from moment) - max_age
        """,
    ),
    ConsistencyCheck(
        "registers.no_quarantined_imports",
        "The newest import of every source is not in quarantine",
        "Follow docs/runbooks/registers.md. Download the files again. If they contain rows, you can also import them "
        "as they are with --force",
        """
        select l.source || ', data of ' || to_char(l.data_as_of, 'YYYY-MM-DD') from register_load l
        where l.status = 'quarantined' and not exists (
            select from register_load newer where newer.source = l.source and newer.id > l.id
        ) and not exists (select from register_load_decision where load_id = l.id and decision = 'refused')
        """,
    ),
    ConsistencyCheck(
        "registers.no_numbers_left_unchanged",
        "The newest import of every source left no registration numbers unchanged because of rejected rows",
        "Open the import under Register imports in the console, or run `almoner registers show` with its ID, and "
        "download corrected files. If no rejected row belongs to a missing number, import the files again with --force",
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
        "registers.refreshed",
        "Every register that refreshes automatically could be downloaded",
        "Follow docs/runbooks/registers.md. The example and the log (register_refresh) show the publisher's response",
        """
        select source || ', ' || failures || ' times: ' || reason from register_refresh where failures >= 3
        """,
    ),
)
