"""What the self-check asks of events, jobs and the audit log."""

from typing import Final

from almoner.platform.database.identity import ADVICE
from almoner.platform.events.event_blocks import SIZE
from almoner.platform.observability.selfcheck import ConsistencyCheck

checks: Final = (
    ConsistencyCheck(
        "deployment.released",
        "The database is that of a deployment, and no copy that does nothing outside",
        f"{ADVICE[0].upper()}{ADVICE[1:]}",
        """
        select copy from moment where copy is not null
        union select copy_reason from deployment where copy_reason is not null
        """,
    ),
    ConsistencyCheck(
        "events.numbered",
        "The events of a partner are numbered without gaps, up to its counter",
        "Keep the database as it is and restore the missing events from a backup: partners rely on the numbers",
        """
        select coalesce(e.partner_id, c.partner_id)
        from (
            select partner_id, min(sequence) as lowest, max(sequence) as highest, count(*) as n
            from event where sequence is not null group by partner_id
        ) e full join event_counter c using (partner_id)
        where e.highest - e.lowest + 1 <> e.n or (e.n > 0 and e.highest is distinct from c.last_sequence)
        """,
        "partner",
    ),
    ConsistencyCheck(
        "events.blocks_count_what_is_there",
        "Blocks of events count what is there: those that lists add up, as far as they are said to reach",
        "Delete the partner's rows of event_block and set its event_counter.summarised_sequence to 0: they are "
        "counted anew",
        f"""
        with kept as (
            select c.partner_id, c.summarised_sequence, (l.lowest + {SIZE} - 2) / {SIZE} as first
            from event_counter c cross join lateral (
                select min(sequence) as lowest from event where partner_id = c.partner_id and sequence is not null
            ) l where c.summarised_sequence >= {SIZE}
        )
        select coalesce(b.partner_id, e.partner_id) || ' ' || coalesce(b.block, e.block) from (
            select b.* from event_block b join kept k on k.partner_id = b.partner_id and b.block >= k.first
        ) b full join (
            select e.partner_id, (e.sequence - 1) / {SIZE} as block, e.type, count(*) as n,
                   min(e.created_at) as first_at, max(e.created_at) as last_at
            from event e join kept k on k.partner_id = e.partner_id
            where e.sequence > k.first * {SIZE} and e.sequence <= k.summarised_sequence group by 1, 2, 3
        ) e on (e.partner_id, e.block, e.type) = (b.partner_id, b.block, b.type)
        where b.n is distinct from e.n or e.first_at < b.first_at or e.last_at > b.last_at
        """,
    ),
    ConsistencyCheck(
        "events.prompt",
        "An event is numbered within 60 seconds",
        "Look for dispatch_failed in the log, and see docs/runbooks/stuck-queue.md",
        """
        select id from event where sequence is null and created_at < (select at from moment) - interval '60 s'
        union all
        select id from internal_event where created_at < (select at from moment) - interval '60 s'
        """,
        "event",
    ),
    ConsistencyCheck(
        "jobs.alive",
        "No job was given up in the last seven days",
        "See what it was and why by docs/runbooks/stuck-queue.md, put that right and let it run again, or remove it",
        """
        select kind || ' ' || id || ': ' || coalesce(last_error, '') from job
        where dead_at > (select at from moment) - interval '7 days'
        """,
    ),
    ConsistencyCheck(
        "jobs.prompt",
        "A job that is due begins within 15 minutes, unless its lane is busy",
        "See that a worker runs: docs/runbooks/stuck-queue.md",
        """
        select kind || ' ' || id from job
        where dead_at is null and leased_until is null and due_at < (select at from moment) - interval '15 min'
          and not exists (
            select from job busy where busy.lane = job.lane and busy.leased_until > (select wall from moment)
          )
        """,
    ),
    ConsistencyCheck(
        "jobs.rescued",
        "A job whose worker died is given back within 15 minutes",
        "See that a worker runs: docs/runbooks/stuck-queue.md",
        "select kind || ' ' || id from job where leased_until < (select wall from moment) - interval '15 min'",
    ),
    ConsistencyCheck(
        "audit.prompt",
        "An audit entry has its place in the chain within 60 seconds",
        "Look for audit_chain_failed in the log, and see docs/runbooks/audit.md",
        """
        select scope || ' ' || action || ' ' || id from audit_entry
        where sequence is null and at < (select at from moment) - interval '60 s'
        """,
    ),
    ConsistencyCheck(
        "audit.chained",
        "The audit entries of a scope are numbered without gaps, up to the end of its chain",
        "Keep the database as it is and see docs/runbooks/audit.md: entries were taken out or put in",
        """
        select coalesce(e.scope, c.scope)::text
        from (
            select scope, max(sequence) as highest, count(*) as n
            from audit_entry where sequence is not null group by scope
        ) e full join audit_chain c using (scope)
        where coalesce(e.highest, 0) <> coalesce(e.n, 0) or coalesce(e.highest, 0) is distinct from c.last_sequence
        """,
    ),
    ConsistencyCheck(
        "audit.signed",
        "The head of a chain that moved is signed within half an hour, and exported",
        "See that a worker runs and may write to ALMONER_AUDIT_HEADS: docs/runbooks/audit.md",
        """
        select e.scope::text from audit_chain c cross join lateral (
            select scope, at from audit_entry where scope = c.scope and sequence = 1 + coalesce(
                (select max(sequence) from audit_head where scope = c.scope), 0)
        ) e where e.at < (select at from moment) - interval '30 min'
        union all
        select scope::text from audit_head
        where exported_at is null and signed_at < (select at from moment) - interval '30 min'
        """,
    ),
)
