"""Simulated results of monitoring subscriptions (settled 9)."""

from typing import Any, Final
from uuid import UUID

from pydantic import ValidationError

from almoner.kit.errors import IncorrectParams
from almoner.platform.database.transactions import Database, Partner
from almoner.platform.http.wire import In, Out
from almoner.sandbox.schemas import SimulateIn
from almoner.sandbox.simulate import Moves, needed
from almoner.screening.watchlists.domain import CATEGORIES, Category
from almoner.validation.ongoing.monitoring import service as monitoring
from almoner.validation.ongoing.monitoring.domain import Active, CategoryStatus, Compliance, InvalidState, Results

ERRORS: Final = (InvalidState,)


class MonitoringCategoryIn(In):
    """What the lists of a category are to say."""

    status: CategoryStatus | None = None


class MonitoringRegistrationIn(In):
    """What the register is to say."""

    active: Active | None = None


class MonitoringResultsIn(In):
    """The results to set, as the record shows them; what is left out or null stays as it is."""

    compliance_status: Compliance | None = None
    warning: MonitoringCategoryIn | None = None
    sanction: MonitoringCategoryIn | None = None
    hate_speech: MonitoringCategoryIn | None = None
    commercial: MonitoringCategoryIn | None = None
    adverse_media: MonitoringCategoryIn | None = None
    controversial: MonitoringCategoryIn | None = None
    registration: MonitoringRegistrationIn | None = None

    def chosen(self) -> Results:
        """What is to be said."""
        given: dict[Category, MonitoringCategoryIn | None] = {
            "warning": self.warning,
            "sanction": self.sanction,
            "hateSpeech": self.hate_speech,
            "commercial": self.commercial,
            "adverseMedia": self.adverse_media,
            "controversial": self.controversial,
        }
        said = {category: one.status for category in CATEGORIES if (one := given[category]) is not None}
        return Results(
            self.compliance_status,
            {category: status for category, status in said.items() if status is not None},
            self.registration.active if self.registration else None,
        )


def _read(results: dict[str, Any]) -> Results:
    """Raises IncorrectParams naming everything that is wrong with them."""
    try:
        chosen = MonitoringResultsIn.model_validate(results).chosen()
    except ValidationError as wrong:
        reasons = [
            f"body.results.{'.'.join(map(str, problem['loc']))}: {problem['msg']}"
            for problem in wrong.errors(include_url=False, include_context=False, include_input=False)
        ]
        raise IncorrectParams(*reasons) from None
    if chosen == Results():
        raise IncorrectParams("body.results must have a complianceStatus, a category with a status, or a registration")
    return chosen


def actions(db: Database) -> Moves:
    """What is done to a monitoring subscription; raises NotFound, InvalidState."""

    async def set_results(partner: Partner, subscription_id: UUID, body: SimulateIn) -> Out:
        needed(results=body.results)
        chosen = _read(body.results or {})
        async with db.write() as tx:
            return monitoring.record(tx, await monitoring.choose(tx, partner, subscription_id, chosen))

    return {("monitoringsubscription", "set_results"): set_results}
