"""Background work: submit evidence for disputes."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from almoner.giving.accounting.dispute_evidence import flows, service
from almoner.giving.accounting.dispute_evidence.flows import EvidenceContext
from almoner.giving.accounting.dispute_evidence.service import SUBMIT, SubmitEvidence
from almoner.giving.checkout.payments.domain import NoSuchPayment, ProviderFailure
from almoner.giving.checkout.payments.ports import PaymentProvider
from almoner.platform.files.storage import BlobStore, StorageUnavailable
from almoner.platform.jobs.background_tasks import JobContext, TasksWith
from almoner.platform.jobs.queue import JobDone, JobOf, JobRetry, Result

_RETRY_DELAY: Final = timedelta(minutes=1)
_MAX_ATTEMPTS: Final = 50
"""Attempts before the submission is rejected for an operator; they last almost an hour."""


@dataclass(frozen=True, slots=True)
class JobDependencies:
    """The dependencies of the job."""

    provider: PaymentProvider
    blobs: BlobStore


provider_tasks: Final = TasksWith[JobDependencies]()


@provider_tasks.job(SUBMIT)
async def submit_evidence(parts: JobDependencies, work: JobContext, job: JobOf[SubmitEvidence]) -> Result:
    """Submit the evidence for one dispute.

    After the last attempt the evidence is rejected, so that an operator can submit it again.
    """
    dispute_id = job.details.dispute
    try:
        await flows.submit_evidence(EvidenceContext(work.db, parts.provider, parts.blobs), dispute_id)
    except NoSuchPayment:
        async with work.db.write() as tx:
            await service.reject_unsent(tx, dispute_id, "The payment provider does not know this dispute.")
    except (ProviderFailure, StorageUnavailable) as failure:
        async with work.db.write() as tx:
            if job.attempt < _MAX_ATTEMPTS and not await service.is_overdue(tx, dispute_id):
                return JobRetry(_RETRY_DELAY, str(failure))
            await service.reject_unsent(tx, dispute_id, f"The evidence could not be submitted. Last error: {failure}")
    return JobDone()
