"""Simulated results of monitoring subscriptions (settled 9)."""

from typing import Any, Final
from uuid import UUID

from almoner.kit.errors import IncorrectParams
from almoner.platform.database.transactions import Database, Partner
from almoner.platform.http.wire import RequestBody, ResponseRecord
from almoner.sandbox.schemas import SimulateBody
from almoner.sandbox.simulate import SimulatedActions, ensure_required_fields, parse_simulated_results
from almoner.screening.watchlists.domain import CATEGORIES, Category
from almoner.validation.ongoing.monitoring import service as monitoring
from almoner.validation.ongoing.monitoring.domain import (
    CategoryStatus,
    Compliance,
    InvalidState,
    MonitoringResults,
    RegistrationActive,
)

ERRORS: Final = (InvalidState,)


class SimulatedCategoryBody(RequestBody):
    """The simulated results of a watchlist category."""

    status: CategoryStatus | None = None


class SimulatedRegistrationBody(RequestBody):
    """The simulated result of the register."""

    active: RegistrationActive | None = None


class SimulatedMonitoringResultsBody(RequestBody):
    """The results to set, in the format of the record; values that are left out or null do not change."""

    compliance_status: Compliance | None = None
    warning: SimulatedCategoryBody | None = None
    sanction: SimulatedCategoryBody | None = None
    hate_speech: SimulatedCategoryBody | None = None
    commercial: SimulatedCategoryBody | None = None
    adverse_media: SimulatedCategoryBody | None = None
    controversial: SimulatedCategoryBody | None = None
    registration: SimulatedRegistrationBody | None = None

    def to_results(self) -> MonitoringResults:
        """Convert to monitoring results."""
        given: dict[Category, SimulatedCategoryBody | None] = {
            "warning": self.warning,
            "sanction": self.sanction,
            "hateSpeech": self.hate_speech,
            "commercial": self.commercial,
            "adverseMedia": self.adverse_media,
            "controversial": self.controversial,
        }
        stated = {category: one.status for category in CATEGORIES if (one := given[category]) is not None}
        return MonitoringResults(
            self.compliance_status,
            {category: status for category, status in stated.items() if status is not None},
            self.registration.active if self.registration else None,
        )


def _read_results(results: dict[str, Any]) -> MonitoringResults:
    """Raises IncorrectParams naming everything that is wrong with them."""
    chosen = parse_simulated_results(
        SimulatedMonitoringResultsBody, results, monitoring.MonitoringResultsResponse
    ).to_results()
    if chosen == MonitoringResults():
        raise IncorrectParams("body.results must have a complianceStatus, a category with a status, or a registration")
    return chosen


def simulated_monitoring_actions(db: Database) -> SimulatedActions:
    """Simulated actions on a monitoring subscription."""

    async def set_results(partner: Partner, subscription_id: UUID, body: SimulateBody) -> ResponseRecord:
        ensure_required_fields(results=body.results)
        chosen = _read_results(body.results or {})
        async with db.write() as tx:
            return monitoring.serialise_for_api(
                tx, await monitoring.simulate_results(tx, partner, subscription_id, chosen)
            )

    return {("monitoringsubscription", "set_results"): set_results}
