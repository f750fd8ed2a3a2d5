"""SQL for the sandbox's mailbox."""

from dataclasses import dataclass
from datetime import datetime
from typing import Final, NamedTuple
from uuid import UUID

from asyncpg import Record

from almoner.platform.database.transactions import AllPartners, Partner, Tx
from almoner.platform.http.paging import RequestedPage

_COLUMNS: Final = "id, sender, recipient, subject, text, html, links, created_at"


@dataclass(frozen=True, slots=True)
class SandboxAttachment:
    """A file attached to an email; ``size`` in bytes."""

    name: str
    media_type: str
    size: int


@dataclass(frozen=True, slots=True)
class SandboxMail:
    """One email that the sandbox would have sent."""

    id: UUID
    sender: str
    recipient: str
    subject: str
    text: str
    html: str
    links: tuple[str, ...]
    created_at: datetime
    attachments: tuple[SandboxAttachment, ...]


async def _mails(tx: Tx, rows: list[Record]) -> list[SandboxMail]:
    """Mails of rows that the scope was asked for, with what they bring."""
    files: dict[UUID, list[SandboxAttachment]] = {row["id"]: [] for row in rows}
    for mail_id, *about in await tx.fetch(
        """
        select mail_id, name, media_type, length(content) from sandbox_attachment
        where mail_id = any($1) order by mail_id, name
        """,
        list(files),
    ):
        files[mail_id].append(SandboxAttachment(*about))
    return [_mail(row, tuple(files[row["id"]])) for row in rows]


def _mail(row: Record, attachments: tuple[SandboxAttachment, ...]) -> SandboxMail:
    values = {name: row[name] for name in _COLUMNS.split(", ")}
    return SandboxMail(**{**values, "links": tuple(row["links"])}, attachments=attachments)


_MAIL_PAGE: Final = f"""
with wanted as (
    select {_COLUMNS} from sandbox_mail
    where partner_id = $1 and ($2::text is null or lower(recipient) = lower($2))
      and ($3::text is null or strpos(lower(subject), lower($3)) > 0)
)
select {_COLUMNS}, total from (select count(*) as total from wanted) counted
left join lateral (
    select {_COLUMNS} from wanted where $4::uuid is null or id {{comparison}} $4 order by id {{order}} limit $5
) listed on true
order by id {{order}}
"""


async def list_mail_page(
    tx: Tx, partner: Partner, page_: RequestedPage, to: str | None, subject: str | None
) -> tuple[list[SandboxMail], int]:
    """One page of the partner's emails in reading order, and the total, from one snapshot."""
    down = page_.fetches_descending
    sql = _MAIL_PAGE.format(comparison="<" if down else ">", order="desc" if down else "asc")
    rows = await tx.fetch(sql, partner.id, to, subject, page_.after_id, page_.fetch_limit)
    return await _mails(tx, [row for row in rows if row["id"] is not None]), rows[0]["total"]


async def list_newest_mails(tx: Tx, scope: Partner | AllPartners, limit: int) -> list[SandboxMail]:
    """The newest emails of one partner, or of all."""
    partner = scope.id if isinstance(scope, Partner) else None
    rows = await tx.fetch(
        f"select {_COLUMNS} from sandbox_mail where $1::uuid is null or partner_id = $1 order by id desc limit $2",
        partner,
        limit,
    )
    return await _mails(tx, rows)


class AttachmentContent(NamedTuple):
    """The content of an attached file."""

    media_type: str
    content: bytes


async def find_attachment(tx: Tx, mail_id: UUID, name: str) -> AttachmentContent | None:
    """The content of an attachment; None if there is none."""
    row = await tx.fetchrow(
        "select media_type, content from sandbox_attachment where mail_id = $1 and name = $2", mail_id, name
    )
    return AttachmentContent(row["media_type"], row["content"]) if row else None
