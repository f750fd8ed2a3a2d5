"""Self-checks of documents."""

from typing import Final

from almoner.platform.observability.selfcheck import ConsistencyCheck
from almoner.validation.applications.documents.service import TYPE

checks: Final = (
    ConsistencyCheck(
        "documents.unchanged",
        "Every stored document is identical to the uploaded file (a sample is checked every night)",
        "Restore the document storage from its backup. See docs/runbooks/documents.md",
        "select id from document where missing_at is not null and removed_at is null",
        TYPE,
    ),
    ConsistencyCheck(
        "documents.scanned_on_time",
        "Every document is scanned within one day",
        "Check that the scanner is running and that ALMONER_SCANNER_URL points to it. See docs/runbooks/documents.md",
        """
        select id from document
        where status = 'pending_scan' and deleted_at is null
          and created_at < (select at from moment) - interval '1 day'
        """,
        TYPE,
    ),
    ConsistencyCheck(
        "documents.no_orphaned_files",
        "Every file in the document storage belongs to a document. Other files are deleted after 30 days in the trash",
        "After an interrupted upload, do nothing. After a restore, restore the files with `almoner documents`. See "
        "docs/runbooks/documents.md",
        "select storage_key || ' since ' || trashed_on from document_trash",
    ),
)
