"""In whichever order, and however near to each other, its checks end: a submission has one answer, told once."""

import asyncio
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from itertools import permutations, product
from typing import Any, Final, Literal
from uuid import UUID

import pytest

from almoner.platform.database.transactions import ALL_PARTNERS
from almoner.platform.observability import selfcheck
from almoner.screening.screenings.service import Screener
from almoner.validation.agents import service as agents
from almoner.validation.applications.configurations.domain import CHECKS, Check
from almoner.validation.applications.submissions import checks as submissions_checks
from almoner.validation.applications.submissions import submission_evaluation
from almoner.validation.applications.submissions.domain import CheckStatus, SubmissionStatus
from almoner.validation.decisions.reviews.domain import ReviewDecision
from almoner.validation.ongoing.eligibility import eligibility_evaluation
from almoner.validation.ongoing.monitoring import monitoring_evaluation
from almoner.validation.requests import service as validation_requests
from tests.support import factories
from tests.support.client import Client
from tests.support.figures import Figures
from tests.support.service import Service, Tenant
from tests.support.submissions import CHOIRS, applied, configured, of_organisation, shown, told
from tests.support.validation import requested

OUTCOMES: Final[dict[Check, tuple[CheckStatus, ...]]] = {
    "validation_request": ("passed", "failed"),
    "compliance": ("passed", "failed"),
    "eligibility": ("passed", "failed", "undecided"),
    "agent_verification": ("passed", "failed"),
}
EVERY: Final = [
    (order, dict(zip(CHECKS, values, strict=True)))
    for order in permutations(CHECKS)
    for values in product(*(OUTCOMES[check] for check in CHECKS))
]
"""24 orders of 24 outcomes."""
YES = ReviewDecision("accepted", None, "tests", "As agreed")
NO = ReviewDecision("rejected", "other", "tests", "As agreed")


def expected(outcomes: dict[Check, CheckStatus]) -> SubmissionStatus:
    """By the words of the interface."""
    if "failed" in outcomes.values():
        return "failed"
    return "processed" if "undecided" in outcomes.values() else "succeeded"


@dataclass
class Ends:
    """What ends each check of one submission, by the same code as in life."""

    service: Service
    made: dict[str, Any]
    outcomes: dict[Check, CheckStatus]
    body: UUID

    def id(self, type_: str, member: str) -> UUID:
        found = self.service.db.deployment.ids.decode(type_, self.made[member])
        assert found is not None
        return found

    async def end(self, check: Check) -> None:
        """One check ends as it was to; one that its request has ended already does nothing."""
        named: dict[Check, Callable[[], Awaitable[None]]] = {
            "validation_request": self.decide,
            "compliance": self.look,
            "eligibility": self.judge,
            "agent_verification": self.verify,
        }
        await named[check]()

    async def decide(self) -> None:
        passes, one = (
            self.outcomes["validation_request"] == "passed",
            self.id("validationrequest", "validationRequestId"),
        )
        async with self.service.db.write() as tx:
            await (
                validation_requests.accept(tx, ALL_PARTNERS, one, YES)
                if passes
                else validation_requests.reject(tx, ALL_PARTNERS, one, NO)
            )

    async def look(self) -> None:
        one, screener = self.id("monitoringsubscription", "monitoringSubscriptionId"), Screener()
        async with self.service.db.write() as tx:
            await self._adopt(tx, "monitoring_subscription", one)
            await monitoring_evaluation.evaluate_subscription(tx, screener, one, "request_decided")

    async def judge(self) -> None:
        one = self.id("eligibilitysubscription", "eligibilitySubscriptionId")
        async with self.service.db.write() as tx:
            await self._adopt(tx, "eligibility_subscription", one)
            await eligibility_evaluation.evaluate_subscription(tx, one, "created")

    async def verify(self) -> None:
        one = self.id("agentverification", "agentVerificationId")
        action: Literal["accept", "other"] = "accept" if self.outcomes["agent_verification"] == "passed" else "other"
        async with self.service.db.write() as tx:
            await agents.apply_sandbox_action(tx, one, action)

    async def _adopt(self, tx: Any, table: str, one: UUID) -> None:
        """In life these wait for the request; here they may come before it, too."""
        await tx.execute(
            f"""
            update {table} s set status = 'pending', organisation_id = $2 where s.id = $1
                and s.status = 'pending_validation_request' and exists (
                    select from validation_request r where r.id = s.validation_request_id and r.status = 'pending'
                )
            """,
            one,
            self.body,
        )

    async def evaluate(self) -> None:
        """What the job does."""
        async with self.service.db.write() as tx:
            await submission_evaluation.evaluate_submission(tx, self.id("validationsubmission", "id"))


async def begun(service: Service, api: Client, restricted: str, outcomes: dict[Check, CheckStatus]) -> Ends:
    """A submission of a pending request, each of whose checks will end as said."""
    compliance = "pass" if outcomes["compliance"] == "passed" else "fail"
    suggested = {"passed": ["test_pass"], "failed": ["test_fail"], "undecided": []}[outcomes["eligibility"]]
    made = await applied(
        api,
        validationRequestId=f"{(await requested(api))['id']}-complianceStatus:{compliance}",
        suggestedActivitySubTags=suggested,
        configurationId=restricted,
    )
    body = service.db.deployment.ids.decode("organisation", await factories.nonprofit(service))
    assert body is not None
    return Ends(service, made, outcomes, body)


async def answered(service: Service, api: Client, made: dict[str, Any], status: SubmissionStatus) -> None:
    """It has this status, and was told so once."""
    found = await shown(api, made)
    assert found["status"] == status
    assert (found["failureReasons"] is not None) == (status == "failed")
    names = [name for name, record in await told(service, api) if record["id"] == made["id"]]
    answers = {"succeeded": ["succeeded"], "failed": ["failed"]}
    assert names == ["created", "updated", *answers.get(status, [])]


@pytest.mark.soak
async def test_every_order_of_ends_gives_one_answer_once(service: Service, figures: Figures) -> None:
    chance = random.Random(figures.seed)
    sample = EVERY if figures.soak else chance.sample(EVERY, 10)
    for order, outcomes in sample:
        api = service.client((await service.tenant()).secret)
        restricted = await configured(api, allowedActivitySubTags=[CHOIRS])
        ends = await begun(service, api, restricted, outcomes)
        for check in order:
            await ends.end(check)
            await ends.evaluate()
        await service.drain()
        await answered(service, api, ends.made, expected(outcomes))
        await api.close()
    figures.write(
        "submission-orders",
        "Every order in which the four checks of a submission can end",
        f"{len(sample)} submissions: 24 orders of 24 outcomes, each through the database, each check ended by the same "
        "code as in life",
        "Each had the status that the interface names, and was told it once",
    )


@pytest.mark.soak
async def test_checks_that_end_at_the_same_moment_in_two_workers(
    service: Service, api: Client, figures: Figures
) -> None:
    restricted = await configured(api, allowedActivitySubTags=[CHOIRS])
    chance = random.Random(figures.seed)
    for _ in range(figures.count(6, 300)):
        order, outcomes = chance.choice(EVERY)
        ends = await begun(service, api, restricted, outcomes)
        for check in order[:2]:
            await ends.end(check)
            await ends.evaluate()
        # The last two end at once, each worker looks at once, and both go on with whatever there is.
        await asyncio.gather(*(ends.end(check) for check in order[2:]), return_exceptions=False)
        await asyncio.gather(ends.evaluate(), ends.evaluate(), service.drain(), service.drain())
        await service.drain()
        await answered(service, api, ends.made, expected(outcomes))


async def test_each_check_ends_and_is_evaluated_by_a_worker_of_its_own(
    service: Service, api: Client, tenant: Tenant, figures: Figures
) -> None:
    made = [await of_organisation(service, api, firstName="test_accept") for _ in range(figures.count(8, 100))]

    async def worker() -> None:
        await service.drain()

    await asyncio.gather(*(worker() for _ in range(4)))
    await service.drain()
    for one in made:
        await answered(service, api, one, "succeeded")
    await _nothing_wrong(service, tenant)


async def test_one_invite_gives_one_submission_however_many_send_it(service: Service, api: Client) -> None:
    for _ in range(3):
        invite = (await api.post("/v1/validation-invites", {})).json()["data"]["id"]
        organisation = await factories.nonprofit(service)

        async def send(body: dict[str, Any]) -> bool:
            try:
                await applied(api, **body)
            except AssertionError as refused:
                assert "validation_invite_invalid_state" in str(refused)  # noqa: PT017 (one of eight succeeds)
                return False
            return True

        sent = await asyncio.gather(
            *(send({"organisationId": organisation, "validationInviteId": invite}) for _ in range(8))
        )
        assert sent.count(True) == 1
    assert (await api.get("/v1/validation-submissions")).json()["totalResults"] == 3


async def _nothing_wrong(service: Service, tenant: Tenant) -> None:
    outcome = await selfcheck.run_selfcheck(service.db, submissions_checks.checks)
    assert outcome.findings == (), tenant
