"""What the self-check asks of monetary donation verifications: what they rest on, and what waits."""

from typing import Final

from almoner.platform.observability.selfcheck import ConsistencyCheck

checks: Final = (
    ConsistencyCheck(
        "verifications.rest_on_findings",
        "A check that has succeeded since findings are kept has one that says so",
        "Hold the organisation (`almoner disbursements hold`), and find out who ended the check and how",
        """
        select v.id from monetary_donation_verification v join monetary_donation_check c on c.verification_id = v.id
        where c.status = 'succeeded'
          and c.status_changed_at >= (select min(checked_at) from monetary_donation_finding
          where verification_id = v.id)
          and not exists (
            select from monetary_donation_finding f
            where f.verification_id = v.id and f.type = c.type and f.outcome <> 'failed'
        )
        """,
        "monetarydonationverification",
    ),
    ConsistencyCheck(
        "verifications.flags_are_young",
        "What holds a nonprofit's payouts back is looked at by two people within 14 days",
        "Look at `almoner verifications flags`: lift what is no reason to wait, or give its gifts to another nonprofit",
        """
        select f.id from monetary_donation_flag f join monetary_donation_verification v on v.id = f.verification_id
        where f.status = 'open' and v.status in ('pending', 'approved')
          and f.raised_at < (select at from moment) - interval '14 days'
        """,
        "verificationflag",
    ),
)
