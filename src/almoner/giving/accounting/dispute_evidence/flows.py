"""Submits evidence to the payment provider, outside transactions (architecture 3)."""

from dataclasses import dataclass
from typing import Final
from uuid import UUID

from almoner.giving.accounting.dispute_evidence import service
from almoner.giving.accounting.dispute_evidence.domain import Evidence
from almoner.giving.accounting.disputes.domain import Dispute
from almoner.giving.checkout.payments.domain import EvidenceRefused
from almoner.giving.checkout.payments.ports import DisputeEvidence, PaymentProvider, ProviderEvidenceFile
from almoner.platform.crypto import DecryptionFailed
from almoner.platform.database.transactions import Database, Tx
from almoner.platform.files.storage import BlobMissing, BlobStore
from almoner.platform.jobs import leases
from almoner.platform.jobs.leases import FlowDone

_LOST: Final = "The file {} is no longer stored: remove it and upload it again."


@dataclass(frozen=True, slots=True)
class EvidenceContext:
    """The dependencies of the flow. ``blobs``: the storage of the files."""

    db: Database
    provider: PaymentProvider
    blobs: BlobStore


@dataclass(frozen=True, slots=True)
class _SubmitCall:
    """Evidence to submit, with the idempotency key of the call."""

    dispute: Dispute
    evidence: Evidence
    key: str

    @property
    def leased_row_id(self) -> UUID:
        """The ID of the leased evidence row."""
        return self.evidence.id


class _SubmitEvidence:
    """Submit the evidence for a dispute."""

    name = "dispute_evidence"

    def __init__(self, work: EvidenceContext, dispute_id: UUID) -> None:
        self._work = work
        self._dispute_id = dispute_id

    async def prepare_call(self, tx: Tx) -> _SubmitCall | FlowDone[None]:
        """Lock the evidence; done if the provider's response is already recorded."""
        found = await service.find_pending_submission(tx, self._dispute_id)
        if found is None:
            return FlowDone(None)
        dispute, evidence = found
        if dispute.provider != self._work.provider.name:
            reason = f"{dispute.provider} is not the provider of this deployment any more."
            await service.mark_rejected(tx, dispute, reason)
            return FlowDone(None)
        return _SubmitCall(dispute, evidence, service.build_evidence_idempotency_key(tx, evidence))

    async def call_external_service(self, ask: _SubmitCall) -> str:
        """Submit the evidence. Returns why it was rejected, or "". Raises ProviderFailure, StorageUnavailable."""
        files = []
        for one in ask.evidence.files:
            try:
                content = b"".join([part async for part in self._work.blobs.read(one.storage_key)])
            except (BlobMissing, DecryptionFailed) as error:
                if isinstance(error, BlobMissing):
                    await self._work.blobs.ensure_mounted(ask.evidence.id)
                return _LOST.format(one.file_name)
            files.append(ProviderEvidenceFile(one.kind, one.file_name, one.media_type, content))
        sent = DisputeEvidence(ask.key, ask.evidence.product_description, ask.evidence.explanation, tuple(files))
        try:
            await self._work.provider.submit_evidence(ask.dispute.provider_dispute_id, sent)
        except EvidenceRefused as refused:
            return str(refused)
        return ""

    async def record_result(self, tx: Tx, ask: _SubmitCall, reason: str) -> FlowDone[None]:
        """Record the provider's response."""
        if reason:
            await service.mark_rejected(tx, ask.dispute, reason)
        else:
            await service.mark_submitted(tx, ask.dispute)
        return FlowDone(None)


async def submit_evidence(context: EvidenceContext, dispute_id: UUID) -> None:
    """Submit the evidence for a dispute, once. Raises ProviderFailure, StorageUnavailable."""
    await leases.run_leased_external_call_flow(context.db, _SubmitEvidence(context, dispute_id))
