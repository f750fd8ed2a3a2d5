"""SQL for the documents attached to agent verifications."""

from collections.abc import Sequence
from uuid import UUID

from almoner.platform.database.across_partners import across_partners
from almoner.platform.database.transactions import Partner, Tx


async def attach_documents(tx: Tx, partner: Partner, verification_id: UUID, document_ids: Sequence[UUID]) -> None:
    """Attach documents to a verification of the same partner."""
    await tx.execute(
        """
        insert into agent_verification_document (agent_verification_id, document_id, partner_id)
        select $1, unnest($2::uuid[]), $3
        """,
        verification_id,
        list(document_ids),
        partner.id,
    )


@across_partners("held")
async def has_usable_document(tx: Tx, verification_id: UUID) -> bool:
    """Whether a document is attached that is neither rejected nor deleted."""
    return bool(
        await tx.fetchval(
            """
            select exists (
                select from agent_verification_document a join document d on d.id = a.document_id
                where a.agent_verification_id = $1 and d.deleted_at is null and d.status <> 'rejected'
            )
            """,
            verification_id,
        )
    )


@across_partners("followers")
async def list_verification_ids_of_document(tx: Tx, document_id: UUID) -> list[UUID]:
    """The verifications that a document is attached to."""
    rows = await tx.fetch(
        """
        select agent_verification_id from agent_verification_document where document_id = $1
        order by agent_verification_id
        """,
        document_id,
    )
    return [row["agent_verification_id"] for row in rows]


@across_partners("held")
async def list_document_ids_of_verification(tx: Tx, verification_id: UUID) -> list[UUID]:
    """The documents of a verification, oldest first."""
    rows = await tx.fetch(
        """
        select document_id from agent_verification_document where agent_verification_id = $1 order by document_id
        """,
        verification_id,
    )
    return [row["document_id"] for row in rows]
