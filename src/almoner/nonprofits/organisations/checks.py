"""Self-checks of organisations."""

from typing import Final

from almoner.nonprofits.organisations.store_index import EXPECTED_VALUES, SEARCH_COLUMNS
from almoner.platform.observability.selfcheck import ConsistencyCheck

_WORDS_OF: Final = " + ".join(
    f"case {column} when '' then 0 else length({column}) - length(replace({column}, ' ', '')) + 1 end"
    for column in ("name", "other", "place", "described")
)

checks: Final = (
    ConsistencyCheck(
        "organisations.followers_notified",
        "Within an hour of an import, all subscriptions to the changed organisations are notified",
        "Check that a worker is running. If an `organisations.notify_followers` job is dead, its last_error shows "
        "the reason",
        """
        select l.source || ', load ' || t.load_id from organisation_change_notification t
        join register_load l on l.id = t.load_id
        where t.completed_at is null and l.loaded_at < (select at from moment) - interval '1 hour'
        """,
    ),
    ConsistencyCheck(
        "organisations.merged_on_certain_evidence",
        "Registrations are merged only if a link says that they belong together and no other link contradicts it",
        "Import the source of the links again. Every import updates the merges from its links",
        """
        select o.registry_number || ' ' || o.id from organisation o
        where o.same_as is not null and not exists (
            select from register_link l
            where l.kind = 'same' and l.valid_to is null and l.registry_id = o.registry_id
                and l.number_key = o.number_key and not is_ambiguous(l)
        ) and not exists (
            select from register_link l
            where l.kind = 'same' and l.valid_to is null and l.to_registry_id = o.registry_id
                and l.to_number_key = o.number_key and not is_ambiguous(l)
        )
        """,
    ),
    ConsistencyCheck(  # each table is read once, comparing one number per row: seconds for millions of organisations
        "organisations.search_index_matches",
        "The search index of every register matches the names, words, status and tags of its organisations",
        "Run `almoner organisations reindex`, and find out who changed these tables directly",
        f"""
        select r.code from registry r
        left join (
            select registry_id, count(*) as n, bit_xor(hash_record_extended(row({EXPECTED_VALUES}), 0)) as told
            from organisation o group by registry_id
        ) bodies on bodies.registry_id = r.id
        left join (
            select registry_id, count(*) as n, bit_xor(hash_record_extended(row({SEARCH_COLUMNS}), 0)) as told
            from organisation_search group by registry_id
        ) sought on sought.registry_id = r.id
        where (bodies.n, bodies.told) is distinct from (sought.n, sought.told)
        """,
    ),
    ConsistencyCheck(
        "organisations.search_word_counts_match",
        "For every word, the search index has the correct number of organisations that contain the word",
        "Run `almoner organisations reindex` to count the words again",
        f"""
        select known.n || ' known, ' || had.n || ' there'
        from (select coalesce(sum(occurrences), 0) as n from organisation_search_term) known
        cross join (select coalesce(sum({_WORDS_OF}), 0) as n from organisation_search) had
        where known.n <> had.n
        """,
    ),
)
