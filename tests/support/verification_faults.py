"""Faults of verifications and nonprofits' confirmations that the self-check must report."""

from collections.abc import Iterator

from almoner.giving.disbursing.organisation_confirmations import service as organisation_confirmations
from almoner.giving.disbursing.organisation_confirmations.domain import NonprofitContact
from tests.support import bank, factories
from tests.support.client import Client
from tests.support.payouts import uuid_of
from tests.support.service import Service
from tests.support.validation_faults import OLD, Fault


async def lived(service: Service, api: Client) -> None:
    """Create a nonprofit that has confirmed, whose account is in another name."""
    made = await factories.verification(service, api)
    await service.drain()
    contact = NonprofitContact("office@payee.example", "the register")
    async with service.db.write() as tx:
        verification_id = uuid_of(service, "monetarydonationverification", made["id"])
        asked = await organisation_confirmations.request_confirmation(tx, verification_id, contact, requested_by="one")
        page = await organisation_confirmations.load_page_content(tx, asked.id)
        await organisation_confirmations.record_answer(
            tx, asked.id, "confirmed", respondent_name="A", respondent_role="B", page_fingerprint=page.fingerprint.hex()
        )
    await bank.account(service, made["organisationId"], holder="Any name")


def of_verifications() -> Iterator[Fault]:
    """One fault of each kind."""
    yield Fault("verifications.flags_reviewed_on_time", f"update monetary_donation_flag set raised_at = {OLD}")
    yield Fault(
        "verifications.checks_have_findings",
        "delete from evidence where steps -> 0 ->> 'name' = 'organisation_confirmation'",
    )
    yield Fault(
        "organisation_confirmations.match_verifications",
        "update monetary_donation_confirmation set answer = 'declined'",
    )
