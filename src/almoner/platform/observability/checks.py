"""Self-checks of events, jobs and the audit log."""

from typing import Final

from almoner.platform.events.event_blocks import SIZE
from almoner.platform.observability.selfcheck import ConsistencyCheck

checks: Final = (
    ConsistencyCheck(
        "deployment.released",
        "The database is not an inactive copy",
        "If you only read from the copy, leave it as it is. To activate the copy, run `almoner release-copy`. See "
        "docs/runbooks/backup.md",
        """
        select copy from moment where copy is not null
        union select copy_reason from deployment where copy_reason is not null
        """,
    ),
    ConsistencyCheck(
        "events.numbered",
        "Each partner's events are numbered without gaps, and the highest number equals the partner's counter",
        "Keep the database as it is, and restore the missing events from a backup. Partners rely on the numbers",
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
        "events.block_totals_match",
        "Each block of event totals matches the events that it covers",
        "Delete the partner's rows of event_block, and set its event_counter.summarised_sequence to 0. The service "
        "counts the events again within minutes",
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
        where b.events is distinct from e.n or e.first_at < b.first_at or e.last_at > b.last_at
        """,
    ),
    ConsistencyCheck(
        "events.numbered_on_time",
        "Every event is numbered within 60 seconds",
        "Look for dispatch_failed in the log, and see docs/runbooks/stuck-queue.md",
        """
        select id from event where sequence is null and created_at < (select at from moment) - interval '60 s'
        union all
        select id from internal_event where created_at < (select at from moment) - interval '60 s'
        """,
        "event",
    ),
    ConsistencyCheck(
        "jobs.none_dead",
        "No job has died in the last seven days",
        "Find the cause with docs/runbooks/stuck-queue.md. Fix the cause and retry the job, or delete the job",
        """
        select kind || ' ' || id || ': ' || coalesce(last_error, '') from job
        where dead_at > (select at from moment) - interval '7 days'
        """,
    ),
    ConsistencyCheck(
        "jobs.started_on_time",
        "Every job starts within 15 minutes of its due time, unless its lane is busy",
        "Check that a worker is running. See docs/runbooks/stuck-queue.md",
        """
        select kind || ' ' || id from job
        where dead_at is null and leased_until is null and due_at < (select at from moment) - interval '15 min'
          and not exists (
            select from job busy where busy.lane = job.lane and busy.leased_until > (select wall from moment)
          )
        """,
    ),
    ConsistencyCheck(
        "jobs.requeued_on_time",
        "If a worker dies, its jobs return to the queue within 15 minutes",
        "Check that a worker is running. See docs/runbooks/stuck-queue.md",
        "select kind || ' ' || id from job where leased_until < (select wall from moment) - interval '15 min'",
    ),
    ConsistencyCheck(
        "audit.chained_on_time",
        "Every audit log entry is added to its chain within 60 seconds",
        "Look for audit_chain_failed in the log, and see docs/runbooks/audit.md",
        """
        select scope || ' ' || action || ' ' || id from audit_entry
        where sequence is null and at < (select at from moment) - interval '60 s'
        """,
    ),
    ConsistencyCheck(
        "audit.chained",
        "The entries of each audit log chain are numbered without gaps, up to the end of the chain",
        "Keep the database as it is, and see docs/runbooks/audit.md. Somebody deleted or inserted entries",
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
        "The head of each audit log chain is signed within 30 minutes of a new entry, and exported within 30 minutes "
        "of signing",
        "Check that a worker is running and can write to ALMONER_AUDIT_HEADS. See docs/runbooks/audit.md",
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
