"""Appeals as partners submit them and operators decide them."""

from typing import Any
from uuid import UUID, uuid4

from almoner.platform.database.transactions import ALL_PARTNERS
from almoner.review_cases import REVIEW_HANDLERS
from almoner.validation.decisions.reviews import service as reviews
from almoner.validation.decisions.reviews.domain import ReviewDecision, Verdict
from tests.support.client import Client, data
from tests.support.service import Service
from tests.support.submissions import PATH


async def made(api: Client, submission: dict[str, Any], text: str = "We are on the register.") -> dict[str, Any]:
    """Create an appeal against a failed submission."""
    answer: dict[str, Any] = data(await api.post(f"{PATH}/{submission['id']}/appeals", {"text": text}))
    return answer


def operator() -> str:
    """An operator's ID for a decision."""
    return f"sandbox_operator_{uuid4().hex}"


def id_of(service: Service, appeal: dict[str, Any]) -> UUID:
    """The appeal's UUID."""
    found = service.db.deployment.ids.decode("appeal", appeal["id"])
    assert found is not None
    return found


async def decide(service: Service, appeal: dict[str, Any], verdict: Verdict, by: str | None = None) -> None:
    """Claim and decide an appeal. ``accepted`` reverses the decision appealed against."""
    who, reason = by or operator(), None if verdict == "accepted" else "decision_stands"
    async with service.db.write() as tx:
        await reviews.claim_for_review(tx, REVIEW_HANDLERS["appeal"], id_of(service, appeal), who)
    async with service.db.write() as tx:
        decision = ReviewDecision(verdict, reason, who, "I have seen the certificate.")
        await reviews.decide_review(tx, REVIEW_HANDLERS["appeal"], id_of(service, appeal), decision)


async def release(service: Service, appeal: dict[str, Any], by: str) -> None:
    """Release a claimed appeal."""
    async with service.db.write() as tx:
        await reviews.release_claim(tx, REVIEW_HANDLERS["appeal"], id_of(service, appeal), by)


async def reject_first(service: Service, kind: str, type_: str, text: str, reason: str, by: str) -> None:
    """Reject a validation request or an agent verification as an operator."""
    subject = service.db.deployment.ids.decode(type_, text)
    assert subject is not None
    case = REVIEW_HANDLERS["validation_request" if kind == "validation_request" else "agent_verification"]
    async with service.db.write() as tx:
        await case.reject_subject(
            tx, ALL_PARTNERS, subject, ReviewDecision("rejected", reason, by, "The number is another body's.")
        )


async def documents_shown(service: Service, appeal: dict[str, Any]) -> list[UUID]:
    """The IDs of the documents that reviewers see."""
    async with service.db.read() as tx:
        return list((await REVIEW_HANDLERS["appeal"].load_evidence(tx, id_of(service, appeal))).document_ids)


async def shown(api: Client, appeal: dict[str, Any]) -> dict[str, Any]:
    """The appeal as its GET returns it now."""
    found: dict[str, Any] = data(await api.get(f"/v1/appeals/{appeal['id']}"))
    return found
