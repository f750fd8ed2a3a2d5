"""Background work: submit evidence for disputes."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from almoner.giving.accounting.dispute_evidence import flows, service
from almoner.giving.accounting.dispute_evidence.flows import EvidenceContext
from almoner.giving.accounting.dispute_evidence.service import SUBMIT, SubmitEvidenceJob
from almoner.giving.checkout.payments.domain import NoSuchPayment, ProviderFailure
from almoner.giving.checkout.payments.ports import PaymentProvider
from almoner.platform.files.storage import BlobStore, StorageUnavailable
from almoner.platform.jobs.background_tasks import DependentTaskRegistry, JobContext
from almoner.platform.jobs.queue import DecodedJob, JobDone, JobRetry, Result

_RETRY_DELAY: Final = timedelta(minutes=1)
_MAX_ATTEMPTS: Final = 50
"""Attempts before the submission is rejected for an operator; they last almost an hour."""


@dataclass(frozen=True, slots=True)
class EvidenceJobDependencies:
    """The dependencies of the job."""

    provider: PaymentProvider
    blobs: BlobStore


provider_tasks: Final = DependentTaskRegistry[EvidenceJobDependencies]()


@provider_tasks.job(SUBMIT)
async def submit_evidence(
    dependencies: EvidenceJobDependencies, context: JobContext, job: DecodedJob[SubmitEvidenceJob]
) -> Result:
    """Submit the evidence for one dispute.

    After the last attempt the evidence is rejected, so that an operator can submit it again.
    """
    dispute_id = job.details.dispute
    try:
        await flows.submit_evidence(EvidenceContext(context.db, dependencies.provider, dependencies.blobs), dispute_id)
    except NoSuchPayment:
        async with context.db.write() as tx:
            await service.reject_unsent_evidence(tx, dispute_id, "The payment provider does not know this dispute.")
    except (ProviderFailure, StorageUnavailable) as failure:
        async with context.db.write() as tx:
            if job.attempt < _MAX_ATTEMPTS and not await service.has_evidence_deadline_passed(tx, dispute_id):
                return JobRetry(_RETRY_DELAY, str(failure))
            await service.reject_unsent_evidence(
                tx, dispute_id, f"The evidence could not be submitted. Last error: {failure}"
            )
    return JobDone()
