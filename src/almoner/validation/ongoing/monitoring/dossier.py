"""The dossier of a monitoring subscription."""

from uuid import UUID

from almoner.platform.database.transactions import AllPartners, Partner, Tx
from almoner.platform.evidence.dossier import Dossier, load_evaluations
from almoner.validation.ongoing.monitoring import service
from almoner.validation.ongoing.monitoring.schemas import subscription_response


async def load_dossier(tx: Tx, scope: Partner | AllPartners, subscription_id: UUID) -> Dossier:
    """The dossier of the subscription. Raises NotFound."""
    found = await service.get(tx, scope, subscription_id)
    return Dossier(
        kind="monitoring_subscription",
        id=found.id,
        id_type="monitoringsubscription",
        partner_id=found.partner_id,
        name=found.name or found.search_name,
        summary=f"Status: {found.status.replace('_', ' ')}.",
        record=subscription_response(tx, found),
        evaluations=await load_evaluations(tx, found.id),
        at=tx.now,
    )
