"""Change the scan results of documents, bypassing all checks."""

from uuid import UUID

import asyncpg

from almoner.validation.applications.documents import service as documents
from tests.support.service import Service


async def changed(service: Service, sql: str, *values: object) -> int:
    """Change documents, bypassing the service; returns the size of the first one."""
    connection = await asyncpg.connect(service.database.server.superuser_url(service.database.name))
    try:
        size = await connection.fetchval("select size_bytes from document limit 1")
        await connection.execute("set session_replication_role = replica")  # without triggers
        await connection.execute(sql, *values)
    finally:
        await connection.close()
    return int(size)


async def scanned(service: Service, document: UUID, threat: str | None) -> None:
    """Record the scan of a waiting document, with its finding."""
    await changed(
        service, "update document set status = 'pending_scan', threat = null, removed_at = null where id = $1", document
    )
    await again(service, document, threat)


async def again(service: Service, document: UUID, threat: str | None) -> None:
    """Record the result of another scan."""
    async with service.db.write() as tx:
        await documents.record_scan_result(tx, document, threat)
