"""Background work: submit evidence for disputes."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from almoner.giving.accounting.dispute_evidence import flows
from almoner.giving.accounting.dispute_evidence.flows import EvidenceContext
from almoner.giving.accounting.dispute_evidence.service import SUBMIT, SubmitEvidence
from almoner.giving.checkout.payments.domain import ProviderFailure
from almoner.giving.checkout.payments.ports import PaymentProvider
from almoner.platform.files.storage import BlobStore, StorageUnavailable
from almoner.platform.jobs.background_tasks import JobContext, TasksWith
from almoner.platform.jobs.queue import JobDone, JobOf, JobRetry, Result

_RETRY_DELAY: Final = timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class JobDependencies:
    """What submitting evidence needs."""

    provider: PaymentProvider
    blobs: BlobStore


provider_tasks: Final = TasksWith[JobDependencies]()


@provider_tasks.job(SUBMIT)
async def submit_evidence(parts: JobDependencies, work: JobContext, job: JobOf[SubmitEvidence]) -> Result:
    """Submit the evidence for one dispute."""
    try:
        await flows.submit_evidence(EvidenceContext(work.db, parts.provider, parts.blobs), job.details.dispute)
    except (ProviderFailure, StorageUnavailable) as failure:
        return JobRetry(_RETRY_DELAY, str(failure))
    return JobDone()
