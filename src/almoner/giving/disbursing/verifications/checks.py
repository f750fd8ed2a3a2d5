"""Self-checks of monetary donation verifications: their evidence, and overdue work."""

from typing import Final

from almoner.platform.observability.selfcheck import ConsistencyCheck

checks: Final = (
    ConsistencyCheck(
        "verifications.checks_have_findings",
        "Every successful check has a finding that supports it, unless it is older than the first recorded finding",
        "Put the organisation on hold, in the console or with `almoner disbursements hold`, and find out who completed "
        "the check and how",
        """
        select v.id from monetary_donation_verification v join monetary_donation_check c on c.verification_id = v.id
        where c.status = 'succeeded'
          and c.status_changed_at >= (select min(recorded_at) from evidence where record_id = v.id)
          and not exists (
            select from evidence f
            where f.record_id = v.id and f.steps -> 0 ->> 'name' = c.type and f.steps -> 0 ->> 'verdict' <> 'fail'
        )
        """,
        "monetarydonationverification",
    ),
    ConsistencyCheck(
        "verifications.flags_reviewed_on_time",
        "Every flag that blocks disbursements is reviewed by two people within 14 days",
        "See Open reviews in the console, or `almoner verifications flags`. Clear each flag that is no reason to hold "
        "disbursements, or reassign the donations to another nonprofit",
        """
        select f.id from monetary_donation_flag f join monetary_donation_verification v on v.id = f.verification_id
        where f.status = 'open' and v.status in ('pending', 'approved')
          and f.raised_at < (select at from moment) - interval '14 days'
        """,
        "verificationflag",
    ),
)
