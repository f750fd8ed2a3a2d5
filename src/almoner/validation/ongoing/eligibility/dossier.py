"""The dossier of an eligibility subscription."""

from uuid import UUID

from almoner.nonprofits.activities.domain import SUB_TAGS
from almoner.platform.database.transactions import AllPartners, Partner, Tx
from almoner.platform.evidence.dossier import Dossier, load_evaluations
from almoner.validation.ongoing.eligibility import service
from almoner.validation.ongoing.eligibility.schemas import subscription_response


async def load_dossier(tx: Tx, scope: Partner | AllPartners, subscription_id: UUID) -> Dossier:
    """The dossier of the subscription. Raises NotFound."""
    found = await service.get(tx, scope, subscription_id)
    evaluations = await load_evaluations(tx, found.id)
    rules = {step.code for one in evaluations for step in one.steps if step.code}
    return Dossier(
        kind="eligibility_subscription",
        id=found.id,
        id_type="eligibilitysubscription",
        partner_id=found.partner_id,
        name=found.name,
        summary=f"Status: {found.status.replace('_', ' ')}.",
        record=subscription_response(tx, found),
        evaluations=evaluations,
        at=tx.now,
        messages={rule: f"Rule: {rule}." for rule in rules},
        titles={code: tag.name for code, tag in SUB_TAGS.items()},
    )
