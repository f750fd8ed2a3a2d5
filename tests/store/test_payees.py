"""What the database itself refuses of accounts and of files of payments, whoever writes to it."""

from uuid import UUID

import asyncpg
import pytest

from almoner.giving.payees import service as payees
from almoner.giving.payees.domain import PayeeRefused
from tests.support import bank, factories
from tests.support.service import Service


async def written(service: Service, statement: str, *arguments: object) -> None:
    async with service.db.write() as tx:
        await tx.execute(statement, *arguments)


async def proposed(service: Service, cause: str) -> UUID:
    async with service.db.write() as tx:
        return (await payees.propose(tx, bank.proposal(service, cause), note="letter", by="one")).id


async def test_nobody_approves_what_they_proposed(service: Service) -> None:
    cause = await factories.nonprofit(service)
    made = await proposed(service, cause)
    with pytest.raises(asyncpg.CheckViolationError, match="payee_account_people"):
        await written(
            service, "update payee_account set first_by = 'one', first_note = 'x', first_at = now() where id = $1", made
        )
    with pytest.raises(asyncpg.CheckViolationError, match="payee_account_approved"):
        await written(service, "update payee_account set status = 'approved' where id = $1", made)
    with pytest.raises(asyncpg.CheckViolationError):
        await written(service, "update payee_account set holder = 'Somebody else' where id = $1", made)


async def test_a_change_takes_two_others(service: Service) -> None:
    cause = await factories.nonprofit(service)
    await bank.account(service, cause)
    changed = await proposed(service, cause)
    await written(
        service, "update payee_account set first_by = 'two', first_note = 'x', first_at = now() where id = $1", changed
    )
    with pytest.raises(asyncpg.CheckViolationError, match="payee_account_approved"):
        await written(service, "update payee_account set status = 'approved' where id = $1", changed)


async def test_one_proposal_at_a_time(service: Service) -> None:
    cause = await factories.nonprofit(service)
    await proposed(service, cause)
    with pytest.raises(PayeeRefused, match="approve or refuse it first"):
        await proposed(service, cause)


async def test_the_numbers_are_nowhere_in_the_clear(service: Service) -> None:
    cause = await factories.nonprofit(service)
    await bank.account(service, cause)
    async with service.db.read() as tx:
        rows = await tx.fetch("select payee_account::text as whole from payee_account")
    assert rows
    assert not [row for row in rows if bank.IBAN in row["whole"]]
