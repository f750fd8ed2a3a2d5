"""When each part of a backup last succeeded, as recorded by the backup script."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, Literal, get_args

from almoner.platform.database.transactions import Tx

BackupPart = Literal["database", "documents", "settings"]
PARTS: Final[tuple[BackupPart, ...]] = get_args(BackupPart)
LONGEST_NOTE: Final = 200

_TOO_OLD: Final = timedelta(hours=36)
"""The age at which a backup is too old: backups run every night and may take some hours."""


@dataclass(frozen=True, slots=True)
class BackupReport:
    """The last successful backup of a part; ``finished_at`` is None if none was reported."""

    part: BackupPart
    finished_at: datetime | None
    note: str

    def is_recent(self, real_now: datetime) -> bool:
        """Whether the backup is from the last two nights."""
        return self.finished_at is not None and self.finished_at > real_now - _TOO_OLD


async def record_backup(tx: Tx, part: BackupPart, note: str) -> None:
    """Store that a backup of this part has just succeeded."""
    await tx.execute(
        """
        insert into backup_report (part, finished_at, note) values ($1, $2, $3)
        on conflict (part) do update set finished_at = excluded.finished_at, note = excluded.note
        """,
        part,
        tx.real_now,
        note[:LONGEST_NOTE],
    )


async def list_backups(tx: Tx) -> list[BackupReport]:
    """Every part, with its last success."""
    rows = {row["part"]: row for row in await tx.fetch("select part, finished_at, note from backup_report")}
    return [
        BackupReport(part, rows[part]["finished_at"], rows[part]["note"])
        if part in rows
        else BackupReport(part, None, "")
        for part in PARTS
    ]


async def find_last_wal_archived_at(tx: Tx) -> datetime | None:
    """When PostgreSQL last archived WAL; None if it does not."""
    moment: datetime | None = await tx.fetchval("select last_archived_time from pg_stat_archiver")
    return moment
