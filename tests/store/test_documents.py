"""Documents in the database: what it refuses, and from which indexes it answers."""

from typing import Any, cast

import asyncpg
import pytest

from almoner.platform.database.transactions import ALL_PARTNERS, Tx
from almoner.validation.applications.documents import store as documents_store
from almoner.validation.applications.documents.domain import SCAN
from almoner.validation.applications.submission_documents import store as submission_documents_store
from tests.support.database import TestDatabase
from tests.support.plans import Explaining
from tests.support.service import Service, Tenant, serving

INSERT = """
insert into document (id, partner_id, media_type, size_bytes, sha256, storage_key, flags, status, status_changed_at,
                      threat, created_at, deleted_at, removed_at, next_check_at)
values (gen_random_uuid(), $1, $2, $3, decode($4, 'hex'), $5, $6, $7, now(), $8, now(), null, $9, now()) returning id
"""
GOOD: dict[str, Any] = {
    "media_type": "image/png",
    "size": 1,
    "sha256": "00" * 32,
    "key": "0" * 34,
    "flags": [],
    "status": "pending_scan",
    "threat": None,
    "removed_at": None,
}


@pytest.mark.parametrize(
    "changed",
    [
        {"media_type": "text/html"},
        {"size": 0},
        {"sha256": "00"},
        {"key": "../../etc/passwd"},
        {"key": "A" * 34},
        {"flags": [None]},
        {"status": "scanned"},
        {"status": "rejected"},
        {"threat": "Eicar"},
    ],
    ids=str,
)
async def test_u4_u5_rows_that_cannot_be(service: Service, tenant: Tenant, changed: dict[str, Any]) -> None:
    async with service.db.write() as tx:
        with pytest.raises(asyncpg.IntegrityConstraintViolationError):
            await tx.execute(INSERT, tenant.partner.id, *{**GOOD, **changed}.values())


async def test_u5_a_scan_ends_once_and_what_was_received_stays(service: Service, tenant: Tenant) -> None:
    assert set(SCAN.transitions()) == {("pending_scan", one) for one in ("clean", "rejected", "unreadable")}
    async with service.db.write() as tx:
        document = await tx.fetchval(INSERT, tenant.partner.id, *GOOD.values())
        assert await documents_store.record_scan_result(tx, document, "clean", None) is not None
        assert await documents_store.record_scan_result(tx, document, "rejected", "Eicar") is None
        for change in (
            "status = 'rejected', threat = 'x'",
            "status = 'pending_scan'",
            "sha256 = decode(repeat('11', 32), 'hex')",
            "storage_key = repeat('1', 34)",
            "flags = '{pdf_active}'",
            "size_bytes = 2",
            "removed_at = now()",
        ):
            with pytest.raises(asyncpg.CheckViolationError):
                async with tx.savepoint():
                    await tx.execute(f"update document set {change} where id = $1", document)
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            async with tx.savepoint():
                await tx.execute("delete from document where id = $1", document)


async def test_what_is_asked_of_documents_comes_from_indexes(service: Service, tenant: Tenant) -> None:
    async with service.db.write() as inner:
        await inner.execute("set local enable_seqscan = off")
        asked = Explaining(inner)
        tx = cast("Tx", asked)
        await documents_store.find(tx, tenant.partner, tenant.partner.id)
        await documents_store.list_documents_with_ids(tx, ALL_PARTNERS, [tenant.partner.id])
        await documents_store.count_uploaded_bytes(tx, tenant.partner, tx.now)
        await documents_store.filter_referenced_blob_keys(tx, ["0" * 26])
        await documents_store.list_least_recently_verified_documents(tx, 10)
        assert asked.scans() == set()
        assert asked.sorts_before_limit() == []
        wanted = {"document_pkey", "document_of_partner", "document_to_verify"}
        assert wanted <= asked.indexes()


async def test_which_document_is_looked_at_next_is_read_from_an_index(empty_database: TestDatabase) -> None:
    async with serving(empty_database) as service:
        partner = (await service.tenant()).partner.id
        async with service.db.write() as tx:
            await tx.execute(
                """
                insert into document (id, partner_id, media_type, size_bytes, sha256, storage_key, flags, status,
                                      status_changed_at, created_at, next_check_at)
                select gen_random_uuid(), $1, 'image/png', 1, decode(repeat('00', 32), 'hex'), lpad(to_hex(n), 34, '0'),
                    '{}', 'clean', $2, $2, $2::timestamptz + n * interval '1 minute'
                from generate_series(1, 20000) n
                """,
                partner,
                tx.now,
            )
        connection = await asyncpg.connect(empty_database.owner_dsn)
        await connection.execute("vacuum analyze document")
        await connection.close()
        service.clock.advance(minutes=10)
        async with service.db.write() as tx:
            asking: Any = Explaining(tx)
            assert await documents_store.next_retention_check_at(asking) is not None
            due = await documents_store.lock_documents_due_for_retention_check(asking, 100)
            await documents_store.set_next_retention_checks(asking, {one.id: tx.now for one in due})
            assert (
                await submission_documents_store.load_evidence_outcomes_by_document_id(asking, [one.id for one in due])
                == {}
            )
        assert 9 <= len(due) <= 10
        assert "document" not in asking.scans()
        assert "document_to_check" in asking.indexes()
