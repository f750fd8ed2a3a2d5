"""The deployment that this process acts for, and whether it may act outside its database."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

from almoner.kit.errors import ServiceUnavailable
from almoner.kit.ids import encode_uuid

KEY: Final = 26
"""The length of a blob's key before the suffix of the deployment that stored it."""
_MARK: Final = 8
_UNCLAIMED: Final = "0" * _MARK
"""The suffix used by processes without a claimed database, such as tools and tests."""
_PROMOTED: Final = (
    "The database server was just promoted. Almoner waits a few seconds to see whether the old one is still running"
)
ADVICE: Final = (
    "If you only read from the copy, leave it as it is. To let it send, pay and delete, run `almoner release-copy`. "
    "See docs/runbooks/backup.md"
)


class UnreleasedDatabaseCopy(ServiceUnavailable):
    """The database is an unreleased copy: nothing outside may be called, sent or deleted."""

    code = "service_unavailable/unreleased_copy"
    title = "Service Unavailable"
    message = (
        "This database is an unreleased copy, so it has no effect outside itself. To release it, an administrator "
        "must run `almoner release-copy`"
    )


@dataclass(frozen=True, slots=True)
class DatabaseCopyNotice:
    """Why the database is considered a copy, and since when."""

    reason: str
    detected_at: datetime

    @property
    def message(self) -> str:
        """The notice as text, with what to do."""
        return f"This database seems to be a copy: {self.reason}. {ADVICE}"


class DeploymentIdentity:
    """The deployment of this process. It is inactive if its database is found to be a copy.

    ``copy``: its database is an unreleased copy. ``awaits_promotion``: its server has just been promoted, and the
    process waits to see whether the former one still runs.
    """

    def __init__(self) -> None:
        self.id: UUID | None = None
        self.storage_marks: frozenset[str] = frozenset({_UNCLAIMED})
        self.copy: DatabaseCopyNotice | None = None
        self.awaits_promotion = False

    def act_as_deployment(self, deployment_id: UUID, blob_key_suffixes: Iterable[str]) -> None:
        """Act as this deployment, which owns blobs with these storage marks."""
        self.id, self.storage_marks, self.copy, self.awaits_promotion = (
            deployment_id,
            frozenset(blob_key_suffixes),
            None,
            False,
        )

    @property
    def blob_key_suffix(self) -> str:
        """The suffix of the keys of new blobs."""
        return _UNCLAIMED if self.id is None else deployment_blob_key_suffix(self.id)

    @property
    def is_active(self) -> bool:
        """Whether the process may act outside its database."""
        return self.copy is None and not self.awaits_promotion

    def ensure_active(self) -> None:
        """Raises UnreleasedDatabaseCopy unless the process may act outside."""
        if not self.is_active:
            raise UnreleasedDatabaseCopy(self.copy.message if self.copy else _PROMOTED)

    def owns_blob(self, key: str) -> bool:
        """Whether this deployment stored the blob."""
        return key[KEY:] in self.storage_marks


def deployment_blob_key_suffix(deployment_id: UUID) -> str:
    """The suffix of a deployment's blob keys."""
    return encode_uuid(deployment_id)[-_MARK:]
