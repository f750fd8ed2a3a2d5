"""The dossier of a monetary donation verification."""

from uuid import UUID

from almoner.giving.disbursing.verifications import service
from almoner.giving.disbursing.verifications.domain import RecordedDecision
from almoner.giving.disbursing.verifications.findings import VerificationFlag
from almoner.giving.disbursing.verifications.schemas import verification_response
from almoner.kit.time import iso_timestamp
from almoner.nonprofits.organisations import service as organisations
from almoner.platform.database.transactions import AllPartners, Partner, Tx
from almoner.platform.evidence.dossier import (
    Dossier,
    DossierDecisionResponse,
    DossierReasonResponse,
    DossierReviewResponse,
    load_evaluations,
)


async def load_verification_dossier(tx: Tx, scope: Partner | AllPartners, verification_id: UUID) -> Dossier:
    """The dossier of a verification; its flags are listed as reviews. Raises NotFound."""
    found = await service.get(tx, scope, verification_id)
    organisation = await organisations.get(tx, Partner(found.partner_id), found.organisation_id)
    return Dossier(
        kind="monetary_donation_verification",
        id=found.id,
        id_type="monetarydonationverification",
        partner_id=found.partner_id,
        name=organisation.effective_display_name,
        summary=f"Status: {found.status}.",
        record=verification_response(tx, found),
        evaluations=await load_evaluations(tx, found.id),
        at=tx.now,
        reviews=[_flag_review(one) for one in await service.list_flags(tx, found.id)],
        decisions=[row for one in await service.list_decisions(tx, found.id) for row in _decisions(one)],
    )


def _flag_review(flag: VerificationFlag) -> DossierReviewResponse:
    last = flag.second_review or flag.first_review
    reason = DossierReasonResponse(flag.kind, f"{flag.description[:1].upper()}{flag.description[1:]}.")
    ended = iso_timestamp(last.at) if last and flag.status != "open" else None
    return DossierReviewResponse(iso_timestamp(flag.raised_at), [reason], flag.status, ended)


def _decisions(one: RecordedDecision) -> list[DossierDecisionResponse]:
    """One entry for each operator who decided; their notes are not included."""
    people = [by for by in (one.grounds.decided_by, one.grounds.second_decided_by) if by]
    return [DossierDecisionResponse(one.decision, one.reason, by, None, iso_timestamp(one.decided_at)) for by in people]
