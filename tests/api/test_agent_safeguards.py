"""What nobody may bring about through agent verifications: approval by a mailbox nobody has shown, or a full one."""

from uuid import UUID

from almoner.kit.evidence import EvaluationStep
from almoner.platform.database.transactions import ALL_PARTNERS, Partner, Tx
from almoner.platform.evidence import store as evidence_store
from almoner.validation.agents import email_confirmation
from almoner.validation.agents import service as agents
from almoner.validation.agents.confirmation_codes import EMAILS_PER_ADDRESS, SANDBOX_LIMIT_FACTOR
from almoner.validation.agents.domain import AgentVerification, AgentVerificationInput
from tests.support import factories
from tests.support.agents import PATH, create, mail_to
from tests.support.client import Client, data
from tests.support.factories import unique
from tests.support.service import Service, Tenant

TEST = "charity.example"


def somebody(domain: str = TEST) -> str:
    return f"{unique('ada').replace(' ', '.').lower()}@{domain}"


async def evidence_steps(tx: Tx, verification_id: UUID) -> list[EvaluationStep]:
    """Every step of the evidence, oldest first."""
    return [step for one in await evidence_store.list_evaluations(tx, verification_id) for step in one.steps]


async def unchecked(service: Service, tenant: Tenant, email: str) -> AgentVerification:
    """As a configuration without the e-mail check makes it, of a nonprofit on that very domain."""
    organisation = await factories.nonprofit(service, website=f"https://www.{TEST}")
    async with service.db.write() as tx:
        agent = AgentVerificationInput("Eve", "Byron", email, organisation_id=organisation)
        made = await agents.create(tx, tenant.partner, agent, requires_email_confirmation=False)
    await service.drain()
    return made


async def test_an_address_that_nobody_confirmed_passes_by_no_domain(
    service: Service, tenant: Tenant, api: Client
) -> None:
    made = await unchecked(service, tenant, somebody())
    async with service.db.read() as tx:
        assert (await agents.get(tx, tenant.partner, made.id)).status == "pending_review"
        steps = {step.name: step for step in await evidence_steps(tx, made.id)}
        reasons = await tx.fetchval("select reasons from review where subject_id = $1", made.id)
    assert steps["domain_agreement"].verdict == "pass"
    assert (steps["email_confirmation"].verdict, steps["email_confirmation"].code) == ("unknown", "email_not_confirmed")
    assert reasons == ["email_not_confirmed"]
    checked = await create(service, api, email=somebody())
    await service.drain()
    assert data(await api.get(f"{PATH}/{checked['id']}"))["status"] == "pending_user_verification", "the rules suffice"


async def test_an_address_has_its_share_of_mails_whichever_verifications_send_them(
    service: Service, api: Client, tenant: Tenant
) -> None:
    address = somebody()
    first = await create(service, api, email=address)
    share = EMAILS_PER_ADDRESS[0][1] * SANDBOX_LIMIT_FACTOR
    first_id = service.db.deployment.ids.decode("agentverification", first["id"])
    assert first_id is not None
    await mails(service, tenant.partner, first_id, share - 1)
    await mail_to(service, api, address)
    withheld = await create(service, api, email=address.upper())
    withheld_id = service.db.deployment.ids.decode("agentverification", withheld["id"])
    assert withheld_id is not None
    async with service.db.read() as tx:
        reported = [(step.name, step.verdict, step.code) for step in await evidence_steps(tx, withheld_id)]
        assert reported[0] == ("confirmation_mail", "warn", "address_has_its_share")
    async with service.db.write() as tx:
        assert not await email_confirmation.resend_confirmation(tx, withheld_id), "nor by asking again"


async def mails(service: Service, partner: Partner, verification_id: UUID, count: int) -> None:
    async with service.db.write() as tx:
        made = await agents.get(tx, partner, verification_id)
        assert await agents.get(tx, ALL_PARTNERS, made.id) == made
        for _ in range(count):
            assert await email_confirmation.send_confirmation(tx, made)
