"""Several people at once: a flag takes two of them, and an answer counts once."""

import asyncio
from itertools import count
from uuid import UUID

from almoner.giving.disbursing.organisation_confirmations import service as organisation_confirmations
from almoner.giving.disbursing.organisation_confirmations.domain import ConfirmationPageChanged, NonprofitContact
from almoner.giving.disbursing.payee_bank_accounts import service as payee_bank_accounts
from almoner.giving.disbursing.verifications import service as verifications
from almoner.giving.disbursing.verifications.domain import InvalidState
from tests.support import bank, factories
from tests.support.client import Client
from tests.support.payouts import uuid_of
from tests.support.service import Service
from tests.support.verifications import shown, told

_numbers = count(1)


async def test_of_five_officers_at_once_two_lift_a_flag_and_one_alone_never_does(service: Service, api: Client) -> None:
    made = await factories.verification(service, api)
    await service.drain()
    await bank.account(service, made["organisationId"], holder="Any name")
    async with service.db.read() as tx:
        [flag] = await verifications.list_flags(tx, uuid_of(service, "monetarydonationverification", made["id"]))

    async def lift(by: str) -> str:
        try:
            async with service.db.write() as tx:
                return (await verifications.review_flag(tx, flag.id, note="seen", reviewed_by=by)).status
        except InvalidState as refused:
            return str(refused.reasons[0]) if refused.reasons else "refused"

    alone = await asyncio.gather(*(lift("one") for _ in range(4)))
    assert alone.count("open") == 1
    assert "lifted" not in alone
    others = await asyncio.gather(*(lift(f"officer {number}") for number in range(4)))
    assert others.count("lifted") == 1


async def test_a_nonprofit_that_answers_twice_at_once_while_its_account_changes_answers_once(
    service: Service, api: Client
) -> None:
    for _ in range(5):
        made = await factories.verification(service, api)
        await service.drain()
        verification_id = uuid_of(service, "monetarydonationverification", made["id"])
        async with service.db.write() as tx:
            contact = NonprofitContact(f"office{next(_numbers)}@flags.example", "the register")
            asked = await organisation_confirmations.request_confirmation(
                tx, verification_id, contact, requested_by="one"
            )
            page = await organisation_confirmations.load_page_content(tx, asked.id)
            proposal = bank.proposal(service, made["organisationId"])
            account = await payee_bank_accounts.propose_account(tx, proposal, note="letter", proposed_by="one")

        async def answer(given: str, confirmation: UUID = asked.id, seen: str = page.fingerprint.hex()) -> str:
            try:
                async with service.db.write() as tx:
                    await organisation_confirmations.record_answer(
                        tx,
                        confirmation,
                        "confirmed" if given == "yes" else "declined",
                        respondent_name="A",
                        respondent_role="B",
                        page_fingerprint=seen,
                    )
            except (InvalidState, ConfirmationPageChanged) as refused:
                return type(refused).__name__
            return given

        async def approve(account_id: UUID = account.id) -> str:
            async with service.db.write() as tx:
                await payee_bank_accounts.approve(
                    tx, account_id, entered_account_number=bank.IBAN, note="called", approved_by="two"
                )
            return "approved"

        stated = await asyncio.gather(answer("yes"), approve(), answer("no"), answer("yes"))
        counted = [one for one in stated if one in ("yes", "no")]
        assert len(counted) <= 1, stated
        record = await shown(api, made)
        status = {"yes": "succeeded", "no": "failed"}.get("".join(counted), "pending")
        assert record["checks"][3]["status"] == status
    moves = [record for kind, record in await told(service, api) if kind == "progressed"]
    assert len({record["id"] for record in moves}) == 5
