"""Corrections at rest: what takes whose place, what is kept, and which of two at the same moment wins."""

import asyncio
from typing import Any
from uuid import UUID, uuid4

import asyncpg
import pytest

from almoner.platform.database.transactions import ALL_PARTNERS
from almoner.validation.agents import service as agents
from almoner.validation.agents import store as agents_store
from almoner.validation.agents import store_mails as agents_store_mails
from almoner.validation.agents.domain import EndReason, InvalidState
from almoner.validation.requests import service as validation_requests
from almoner.validation.requests.checks import checks
from tests.support.agents import create
from tests.support.client import Client
from tests.support.service import Service
from tests.support.submissions import of_organisation
from tests.support.validation import UNHEARD_OF, requested

CORRECT = "update validation_request set number_key = 'X6244', registry_number = 'X6244', corrections = {}, {}"


def named(service: Service, type_: str, record: dict[str, Any]) -> UUID:
    """The id of a record."""
    found = service.db.deployment.ids.decode(type_, record["id"])
    assert found is not None
    return found


async def refuses(service: Service, sql: str, *args: object) -> str | None:
    """The constraint that a statement breaks."""
    with pytest.raises(asyncpg.IntegrityConstraintViolationError) as refused:
        async with service.db.write() as tx:
            await tx.execute(sql, *args)
    return refused.value.constraint_name


async def test_a_verification_takes_the_place_of_one_that_made_way_once(service: Service, api: Client) -> None:
    first = named(service, "agentverification", await create(service, api))
    copy = """
        insert into agent_verification (id, partner_id, organisation_id, first_name, last_name, email, language,
            email_check, status, created_at, expires_at, status_changed_at, replaces)
        select $2, partner_id, organisation_id, first_name, last_name, email, language, email_check, 'pending',
            created_at, created_at + interval '30 days', created_at, id
        from agent_verification where id = $1
    """
    assert await refuses(service, copy, first, uuid4()) == "agent_verification_replaces_unconfirmed"
    async with service.db.write() as tx:
        second = await agents.correct_email(tx, ALL_PARTNERS, first, "second@corrected.example")
    assert second is not None
    assert second.replaces == first
    assert await refuses(service, copy, first, uuid4()) == "agent_verification_replaces_once"
    unsaid = "update agent_verification set replaces = null where id = $1"
    assert await refuses(service, unsaid, second.id) == "agent_verification_immutable"
    with pytest.raises(InvalidState):
        async with service.db.write() as tx:
            await agents.correct_email(tx, ALL_PARTNERS, first, "third@corrected.example")


async def test_a_submission_is_of_the_applicant_it_was_made_by(service: Service, api: Client) -> None:
    made = named(service, "validationsubmission", await of_organisation(service, api))
    other = named(service, "agentverification", await create(service, api))
    swap = "update validation_submission set agent_verification_id = $2 where id = $1"
    assert await refuses(service, swap, made, other) == "validation_submission_applicant_corrected"


async def test_a_number_is_corrected_only_with_what_was_given_before(service: Service, api: Client) -> None:
    request = named(service, "validationrequest", await requested(api, **UNHEARD_OF))
    for corrections in (0, 1, 2):
        sql = CORRECT.format(corrections, "corrected_at = now() where id = $1")
        assert await refuses(service, sql, request) == "validation_request_corrected_and_kept", corrections
    async with service.db.write() as tx:
        corrected = await validation_requests.correct_registry_number(tx, ALL_PARTNERS, request, "HMRC", "X6245")
    assert (corrected.corrections, corrected.number_key) == (1, "X6245")
    for sql in (
        "update validation_request_correction set registry_number = 'x'",
        "delete from validation_request_correction",
    ):
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            async with service.db.write() as tx:
                await tx.execute(sql)


async def test_who_confirms_while_the_address_is_corrected_comes_first_or_too_late(
    service: Service, api: Client
) -> None:
    for _ in range(4):
        first = named(service, "agentverification", await create(service, api))

        async def confirm(verification_id: UUID = first) -> bool:
            async with service.db.write() as tx:
                await agents.confirm_email(tx, ALL_PARTNERS, verification_id, "link")
            return True

        async def correct(verification_id: UUID = first) -> bool:
            async with service.db.write() as tx:
                return (
                    await agents.correct_email(tx, ALL_PARTNERS, verification_id, f"{uuid4()}@corrected.example")
                    is not None
                )

        outcomes = await asyncio.gather(confirm(), correct(), return_exceptions=True)
        assert sorted(type(outcome).__name__ for outcome in outcomes) == ["InvalidState", "bool"], outcomes


async def test_v6_a_stranger_whom_a_slip_has_named_is_forgotten_after_30_days(service: Service, api: Client) -> None:
    first = named(service, "agentverification", await create(service, api))
    async with service.db.write() as tx:
        second = await agents.correct_email(tx, ALL_PARTNERS, first, "right@corrected.example")
        assert second is not None
        ended: EndReason = "replaced"
        gone = await agents_store.erase_personal_data(tx, ended, tx.now, 1_000_000)
        assert first in [verification_id for verification_id, _ in gone]
        assert second.id not in [verification_id for verification_id, _ in gone]
        # Mails of both are counted for the second one.
        assert len(await agents_store_mails.list_confirmation_send_times(tx, second.id)) == 2


async def test_the_self_check_knows_that_a_correction_is_looked_up_first(service: Service, api: Client) -> None:
    request = named(service, "validationrequest", await requested(api, **UNHEARD_OF))
    await service.drain()
    [asked] = [check for check in checks if check.name == "validation_requests.undecided_have_reviews"]
    async with service.db.write() as tx:
        await validation_requests.correct_registry_number(tx, ALL_PARTNERS, request, "HMRC", "X6247")
        found = await tx.fetch(f"with moment as (select $1::timestamptz as at) {asked.sql}", tx.now)
    assert request not in [row["id"] for row in found]
