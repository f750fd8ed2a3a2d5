"""Which deployment this database is, as its processes know it, and whether it may act outside."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

from almoner.kit.errors import ServiceUnavailable
from almoner.kit.ids import encode_uuid

KEY: Final = 26
"""Characters of a blob's key before the mark of the deployment that stored it."""
_MARK: Final = 8
_UNCLAIMED: Final = "0" * _MARK
"""The mark of a process without a claimed database, as tools and tests are."""
_PROMOTED: Final = (
    "The database server was just promoted. Almoner waits a few seconds to see whether the old one is still running"
)
ADVICE: Final = (
    "If you only read from the copy, leave it as it is. To let it send, pay and delete, run `almoner release-copy`. "
    "See docs/runbooks/backup.md"
)


class DatabaseCopyNotReleased(ServiceUnavailable):
    """The database is a copy that nobody has released: it calls nobody, sends nothing and removes nothing outside."""

    code = "service_unavailable/unreleased_copy"
    title = "Service Unavailable"
    message = (
        "This database is an unreleased copy, so it has no effect outside itself. To release it, an administrator "
        "must run `almoner release-copy`"
    )


@dataclass(frozen=True, slots=True)
class UnreleasedCopyNotice:
    """Why the database is taken for a copy of a deployment's, and since when."""

    why: str
    since: datetime

    @property
    def reported(self) -> str:
        """What it is, and what to do."""
        return f"This database seems to be a copy: {self.why}. {ADVICE}"


class DeploymentIdentity:
    """The deployment that this process belongs to. It acts until it is found to be on a copy.

    ``copy``: it is on one that was not released. ``hesitates``: its server was promoted a moment ago, and whether the
    former one still runs is being watched.
    """

    def __init__(self) -> None:
        self.id: UUID | None = None
        self.storage_marks: frozenset[str] = frozenset({_UNCLAIMED})
        self.copy: UnreleasedCopyNotice | None = None
        self.awaits_promotion = False

    def adopt_deployment(self, deployment: UUID, storage_marks: Iterable[str]) -> None:
        """Act as this deployment, which stored what bears these marks."""
        self.id, self.storage_marks, self.copy, self.awaits_promotion = (
            deployment,
            frozenset(storage_marks),
            None,
            False,
        )

    @property
    def blob_mark(self) -> str:
        """What keys of new blobs end with."""
        return _UNCLAIMED if self.id is None else blob_mark_of(self.id)

    @property
    def active(self) -> bool:
        """Whether it may act outside."""
        return self.copy is None and not self.awaits_promotion

    def ensure_active(self) -> None:
        """Raises UnreleasedCopy unless it may act outside."""
        if not self.active:
            raise DatabaseCopyNotReleased(self.copy.reported if self.copy else _PROMOTED)

    def owns_blob(self, key: str) -> bool:
        """Whether a blob is its own."""
        return key[KEY:] in self.storage_marks


def blob_mark_of(deployment: UUID) -> str:
    """The mark of a deployment on what it stores."""
    return encode_uuid(deployment)[-_MARK:]
