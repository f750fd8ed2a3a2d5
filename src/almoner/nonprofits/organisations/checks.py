"""What the self-check asks of organisations."""

from typing import Final

from almoner.platform.selfcheck import Check

checks: Final = (
    Check(
        "organisations.followers_are_told",
        "An hour after a load, everybody who follows an organisation that it changed has been told",
        "See that a worker runs; a job `organisations.tell` that died says why in its last_error",
        """
        select l.source || ', load ' || t.load_id from organisation_telling t join register_load l on l.id = t.load_id
        where t.done_at is null and l.loaded_at < (select at from moment) - interval '1 hour'
        """,
    ),
    Check(
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
)
