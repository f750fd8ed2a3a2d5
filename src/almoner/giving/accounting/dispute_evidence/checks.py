"""Self-checks of evidence for disputes."""

from typing import Final

from almoner.platform.observability.selfcheck import ConsistencyCheck

checks: Final = (
    ConsistencyCheck(
        "dispute_evidence.sent_on_time",
        "Evidence that an operator submitted reaches the payment provider within an hour",
        "Check that a worker is running, and look for dead disputes.submit_evidence jobs. A dead job means that the "
        "provider or the document storage cannot be reached. Submit the evidence in the provider's dashboard if the "
        "deadline is near",
        """
        select id from dispute_evidence
        where status = 'submitting' and requested_at < (select at from moment) - interval '1 hour'
        """,
        "dispute",
    ),
)
