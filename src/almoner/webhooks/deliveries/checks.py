"""Self-checks of deliveries."""

from typing import Final

from almoner.platform.observability.selfcheck import ConsistencyCheck

checks: Final = (
    ConsistencyCheck(
        "deliveries.have_jobs",
        "Every delivery that is waiting for its next attempt has a job",
        "Send the event again with POST /v1/events/{id}/resend, and find out what deleted the job",
        """
        select d.id from webhook_delivery d
        where d.status = 'pending' and d.next_attempt_at < (select at from moment) - interval '15 min'
          and not exists (
            select from job where job.lane in (d.subscription_id::text, d.subscription_id || ':' || d.reason)
                              and job.dead_at is null
                              and job.payload->>'delivery' = replace(d.id::text, '-', '')
          )
        """,
        "webhookdelivery",
    ),
)
