"""The dossier of an agent verification."""

from uuid import UUID

from almoner.platform.database.transactions import AllPartners, Partner, Tx
from almoner.platform.evidence.dossier import Dossier, load_evaluations
from almoner.validation.agents import service, transitions
from almoner.validation.agents.schemas import verification_response
from almoner.validation.applications.documents import service as documents
from almoner.validation.decisions.reviews import service as reviews


async def load_dossier(tx: Tx, scope: Partner | AllPartners, verification_id: UUID) -> Dossier:
    """The dossier of the verification, without a name once its applicant's data were erased. Raises NotFound."""
    found = await service.get(tx, scope, verification_id)
    history = await reviews.load_dossier_history(tx, transitions.review_subject_for(found))
    attached = await documents.list_documents_with_ids(
        tx, scope, await service.list_document_ids_of_verification(tx, found.id)
    )
    return Dossier(
        kind="agent_verification",
        id=found.id,
        id_type="agentverification",
        partner_id=found.partner_id,
        name=" ".join(name for name in (found.first_name, found.last_name) if name) or "Erased applicant",
        summary=f"{found.nonprofit_name}. Status: {found.status.replace('_', ' ')}.",
        record=verification_response(tx, found),
        evaluations=await load_evaluations(tx, found.id),
        at=tx.now,
        reviews=history.reviews,
        decisions=history.decisions,
        documents=[documents.dossier_document_response(tx, one) for one in attached],
    )
