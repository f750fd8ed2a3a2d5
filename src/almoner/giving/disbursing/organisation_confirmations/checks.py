"""Self-checks of organisation confirmations."""

from typing import Final

from almoner.platform.observability.selfcheck import ConsistencyCheck

checks: Final = (
    ConsistencyCheck(
        "organisation_confirmations.match_verifications",
        "Every answer from a nonprofit is recorded in its verification with the same outcome",
        "Ask the nonprofit again, on the page of the verification or with `almoner verifications "
        "request-confirmation`, and find out who recorded the answer and how",
        """
        select c.id::text from monetary_donation_confirmation c
        where c.answer is not null and not exists (
            select from evidence f
            where f.record_id = c.verification_id and f.steps -> 0 ->> 'name' = 'organisation_confirmation'
              and f.recorded_at = c.answered_at
              and f.steps -> 0 ->> 'verdict' = case c.answer when 'confirmed' then 'pass' else 'fail' end
        )
        """,
    ),
)
