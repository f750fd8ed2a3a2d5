"""What becomes of documents, past all that holds them back."""

from uuid import UUID

import asyncpg

from almoner.validation.applications.documents import service as documents
from tests.support.service import Service


async def changed(service: Service, sql: str, *values: object) -> int:
    """Change documents as nothing in the service may; how large the first one was."""
    connection = await asyncpg.connect(service.database.server.superuser_url(service.database.name))
    try:
        size = await connection.fetchval("select size_bytes from document limit 1")
        await connection.execute("set session_replication_role = replica")  # no trigger holds it back
        await connection.execute(sql, *values)
    finally:
        await connection.close()
    return int(size)


async def scanned(service: Service, document: UUID, threat: str | None) -> None:
    """A document that waited for its scan had one, which found this."""
    await changed(
        service, "update document set status = 'pending_scan', threat = null, removed_at = null where id = $1", document
    )
    await again(service, document, threat)


async def again(service: Service, document: UUID, threat: str | None) -> None:
    """The scan ended once more."""
    async with service.db.write() as tx:
        await documents.record_scan_result(tx, document, threat)
