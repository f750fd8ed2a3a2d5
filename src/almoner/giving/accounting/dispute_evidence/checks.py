"""Self-checks of evidence for disputes."""

from typing import Final

from almoner.platform.observability.selfcheck import ConsistencyCheck

checks: Final = (
    ConsistencyCheck(
        "dispute_evidence.sent_on_time",
        "Evidence that an operator submitted reaches the payment provider within an hour",
        "Check that a worker is running. The worker retries for almost an hour, and then rejects the evidence with "
        "the last error, so that it can be submitted again. The job disputes.submit_evidence shows the last error. "
        "Submit the evidence in the provider's dashboard if the deadline is near",
        """
        select id from dispute_evidence
        where status = 'submitting' and requested_at < (select at from moment) - interval '1 hour'
        """,
        "dispute",
    ),
)
