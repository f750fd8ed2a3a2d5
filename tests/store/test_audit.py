"""The audit log is only added to, by the role of the service and by its triggers (V8)."""

from contextlib import suppress

import asyncpg
import pytest

from almoner.platform.audit import log as audit
from almoner.platform.audit.log import Actor
from tests.support.database import TestDatabase
from tests.support.service import Service, Tenant

KEY = Actor("key", "sandbox_apikey_0")


async def test_v8_an_entry_is_there_with_its_change_or_not_at_all(service: Service, tenant: Tenant) -> None:
    async with service.db.write() as tx:
        await audit.record_entry(
            tx,
            tenant.partner.id,
            KEY,
            "member.invited",
            "member_1",
            ip_address="203.0.113.7",
            details={"role": "owner"},
        )
    with suppress(ZeroDivisionError):
        async with service.db.write() as tx:
            await audit.record_entry(tx, tenant.partner.id, KEY, "member.invited", "member_2")
            raise ZeroDivisionError
    async with service.db.read() as tx:
        [entry] = await audit.list_entries(tx, tenant.partner.id)
    assert (entry.actor, entry.action, entry.subject) == (KEY, "member.invited", "member_1")
    assert (entry.ip_address, entry.details) == ("203.0.113.7", {"role": "owner"})


@pytest.mark.parametrize(
    "change",
    ["delete from audit_entry", "truncate audit_entry", "update audit_entry set action = 'x'"],
)
async def test_v8_neither_the_service_nor_its_owner_changes_an_entry_by_accident(
    change: str, service: Service, tenant: Tenant, session_database: TestDatabase
) -> None:
    async with service.db.write() as tx:
        await audit.record_entry(tx, tenant.partner.id, KEY, "member.invited", "member_1")
    for dsn, refusal in (
        (session_database.dsn, asyncpg.InsufficientPrivilegeError),
        (session_database.owner_dsn, asyncpg.CheckViolationError),
    ):
        connection = await asyncpg.connect(dsn)
        try:
            with pytest.raises(refusal):
                await connection.execute(change)
        finally:
            await connection.close()
