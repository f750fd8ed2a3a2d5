"""The records that have dossiers, by the type of their identifiers."""

from collections.abc import Mapping
from typing import Final

from almoner.giving.disbursing.verifications.dossier import load_verification_dossier as of_verification
from almoner.platform.evidence.dossier import DossierLoader
from almoner.validation.agents.dossier import load_dossier as of_agent
from almoner.validation.ongoing.eligibility.dossier import load_dossier as of_eligibility
from almoner.validation.ongoing.monitoring.dossier import load_dossier as of_monitoring
from almoner.validation.requests.dossier import load_dossier as of_request

DOSSIERS: Final[Mapping[str, DossierLoader]] = {
    "validationrequest": of_request,
    "agentverification": of_agent,
    "monitoringsubscription": of_monitoring,
    "eligibilitysubscription": of_eligibility,
    "monetarydonationverification": of_verification,
}
