"""What the self-check asks of documents."""

from typing import Final

from almoner.platform.observability.selfcheck import ConsistencyCheck
from almoner.validation.applications.documents.service import TYPE

checks: Final = (
    ConsistencyCheck(
        "documents.kept",
        "The bytes of a document lie in the storage as they were received (a sample is read every night)",
        "Restore the storage of documents from its backup: docs/runbooks/documents.md",
        "select id from document where missing_at is not null and removed_at is null",
        TYPE,
    ),
    ConsistencyCheck(
        "documents.scanned",
        "A document is scanned within a day",
        "See that the scanner runs and ALMONER_SCANNER_URL leads to it: docs/runbooks/documents.md",
        """
        select id from document
        where status = 'pending_scan' and deleted_at is null
          and created_at < (select at from moment) - interval '1 day'
        """,
        TYPE,
    ),
    ConsistencyCheck(
        "documents.trash",
        "Every file in the storage of documents belongs to a document: others are removed after 30 days in the trash",
        "Nothing, where uploads broke off; after a restore bring them back: `almoner documents`, "
        "docs/runbooks/documents.md",
        "select storage_key || ' since ' || trashed_on from document_trash",
    ),
)
