"""What the self-check asks of organisations."""

from typing import Final

from almoner.nonprofits.organisations.store_index import EXPECTED_VALUES, SEARCH_COLUMNS
from almoner.platform.observability.selfcheck import ConsistencyCheck

_WORDS_OF: Final = " + ".join(
    f"case {column} when '' then 0 else length({column}) - length(replace({column}, ' ', '')) + 1 end"
    for column in ("name", "other", "place", "described")
)

checks: Final = (
    ConsistencyCheck(
        "organisations.followers_are_told",
        "An hour after a load, everybody who follows an organisation that it changed has been told",
        "See that a worker runs; a job `organisations.tell` that died says why in its last_error",
        """
        select l.source || ', load ' || t.load_id from organisation_change_notification t
        join register_load l on l.id = t.load_id
        where t.completed_at is null and l.loaded_at < (select at from moment) - interval '1 hour'
        """,
    ),
    ConsistencyCheck(
        "organisations.joined_on_certain_evidence",
        "A record answers for another only where a link says so that no other link contradicts",
        "Load the source of the links again: every load joins and parts anew what links say",
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
    ConsistencyCheck(  # each table is read once, and one number of it compared: seconds for millions of bodies
        "organisations.found_as_they_are",
        "What search reads of the bodies of a register is what they are: names, words, state, tags",
        "Mend it with almoner organisations reindex, and find out who wrote past the service to these tables",
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
        "organisations.words_are_counted",
        "Every word of a body is known to search, as often as bodies have it",
        "Count them anew with almoner organisations reindex",
        f"""
        select known.n || ' known, ' || had.n || ' there'
        from (select coalesce(sum(n), 0) as n from organisation_search_term) known
        cross join (select coalesce(sum({_WORDS_OF}), 0) as n from organisation_search) had
        where known.n <> had.n
        """,
    ),
)
