"""What the database itself refuses of accounts and of files of payments, whoever writes to it."""

from pathlib import Path
from uuid import UUID

import asyncpg
import pytest

from almoner.access.operators import service as operators
from almoner.giving.banking.payment_files.domain import PaymentFileError
from almoner.giving.disbursing.payee_bank_accounts import service as payee_bank_accounts
from almoner.giving.disbursing.payee_bank_accounts.domain import PayeeAccountError
from almoner.giving.disbursing.verifications import service as verifications
from tests.support import bank, factories
from tests.support.database import TestDatabase
from tests.support.payouts import settled, uuid_of, verified
from tests.support.service import Service, serving
from tests.support.terminal import BY


async def written(service: Service, statement: str, *arguments: object) -> None:
    async with service.db.write() as tx:
        await tx.execute(statement, *arguments)


async def proposed(service: Service, cause: str) -> UUID:
    async with service.db.write() as tx:
        return (
            await payee_bank_accounts.propose_account(
                tx, bank.proposal(service, cause), note="letter", proposed_by="one"
            )
        ).id


async def test_nobody_approves_what_they_proposed(service: Service) -> None:
    cause = await factories.nonprofit(service)
    made = await proposed(service, cause)
    with pytest.raises(asyncpg.CheckViolationError, match="payee_bank_account_separation"):
        await written(
            service,
            "update payee_bank_account set first_by = 'one', first_note = 'x', first_at = now() where id = $1",
            made,
        )
    with pytest.raises(asyncpg.CheckViolationError, match="payee_bank_account_approved"):
        await written(service, "update payee_bank_account set status = 'approved' where id = $1", made)
    with pytest.raises(asyncpg.CheckViolationError):
        await written(service, "update payee_bank_account set holder = 'Somebody else' where id = $1", made)


async def test_a_change_takes_two_others(service: Service) -> None:
    cause = await factories.nonprofit(service)
    await bank.account(service, cause)
    changed = await proposed(service, cause)
    await written(
        service,
        "update payee_bank_account set first_by = 'two', first_note = 'x', first_at = now() where id = $1",
        changed,
    )
    with pytest.raises(asyncpg.CheckViolationError, match="requires two approvers who did not propose it"):
        await written(service, "update payee_bank_account set status = 'approved' where id = $1", changed)


async def test_one_proposal_at_a_time(service: Service) -> None:
    cause = await factories.nonprofit(service)
    await proposed(service, cause)
    with pytest.raises(PayeeAccountError, match="Approve or reject it first"):
        await proposed(service, cause)


async def test_the_numbers_are_nowhere_in_the_clear(service: Service) -> None:
    cause = await factories.nonprofit(service)
    await bank.account(service, cause)
    async with service.db.read() as tx:
        rows = await tx.fetch("select payee_bank_account::text as whole from payee_bank_account")
    assert rows
    assert not [row for row in rows if bank.IBAN in row["whole"]]


async def test_who_let_the_other_in_lately_approves_nothing_of_theirs(empty_database: TestDatabase) -> None:
    async with serving(empty_database) as service:
        await _approving(service)


async def dependent(service: Service) -> tuple[str, str]:
    """Two operators of which one let the other in lately."""
    ids = service.db.deployment.ids
    async with service.db.write() as tx:
        one, other = [
            await operators.add_operator(tx, BY, f"{name}@example.org", "O", ["finance"])
            for name in ("apart.one", "apart.two")
        ]
        await tx.execute(
            "insert into operator_access_grant (id, person_id, granted_by, action, granted_at) values ($1, $2, $3, "
            "'reset', $4)",
            tx.new_id(), one.id, other.id, tx.now,
        )  # fmt: skip
        for person in (one, other):
            assert await tx.fetchval("select operator_of($1)", ids.encode("operator", person.id)) == person.id
        assert await tx.fetchval("select operator_of('olive')") is None
    return ids.encode("operator", one.id), ids.encode("operator", other.id)


async def test_who_let_the_other_in_lately_releases_no_file_of_theirs(
    empty_database: TestDatabase, tmp_path: Path
) -> None:
    async with serving(empty_database) as service:
        one, other = await dependent(service)
        api = service.client((await service.tenant()).secret)
        for _ in range(5):
            cause = await factories.nonprofit(service)
            await verified(service, api, cause)
            await settled(service, api, cause)
            await bank.account(service, cause)
        await bank.sent(service)
        file = (await bank.made(service, bank.own(tmp_path, "USD"), by=one)).file
        assert file is not None
        assert file.requires_second_approval
        with pytest.raises(PaymentFileError, match="Somebody else must release it"):
            await bank.released(service, file, by=other)
        await bank.released(service, file, by=service.db.deployment.ids.encode("operator", UUID(int=7)))
        await api.close()


async def test_who_let_the_other_in_lately_lifts_no_flag_with_them(empty_database: TestDatabase) -> None:
    async with serving(empty_database) as service:
        api = service.client((await service.tenant()).secret)
        cause = await factories.nonprofit(service)
        made = await verified(service, api, cause)
        rename = "update organisation set name = name || ' Trust' where id = $1"
        await written(service, rename, uuid_of(service, "organisation", cause))
        service.clock.advance(days=91)  # what the register said counts no more
        await service.drain()
        one, other = await dependent(service)
        verification = uuid_of(service, "monetarydonationverification", made["id"])
        async with service.db.write() as tx:
            [flag] = await verifications.list_flags(tx, verification)
            await verifications.review_flag(tx, flag.id, note="seen", reviewed_by=one)
        with pytest.raises(asyncpg.CheckViolationError, match="are not independent of each other"):
            async with service.db.write() as tx:
                await verifications.review_flag(tx, flag.id, note="seen", reviewed_by=other)
        third = service.db.deployment.ids.encode("operator", UUID(int=7))
        async with service.db.write() as tx:
            assert (await verifications.review_flag(tx, flag.id, note="seen", reviewed_by=third)).status == "lifted"
        await api.close()


async def _approving(service: Service) -> None:
    cause = await factories.nonprofit(service)
    one, other = await dependent(service)
    async with service.db.write() as tx:
        made = (
            await payee_bank_accounts.propose_account(tx, bank.proposal(service, cause), note="letter", proposed_by=one)
        ).id
    approve = "update payee_bank_account set first_by = $2, first_note = 'x', first_at = $3 where id = $1"
    with pytest.raises(asyncpg.CheckViolationError, match="are not independent of each other"):
        await written(service, approve, made, other, service.clock.now())
    third = service.db.deployment.ids.encode("operator", UUID(int=7))
    await written(service, approve, made, third, service.clock.now())
