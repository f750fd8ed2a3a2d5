"""The page and downloads of a partner's audit log, for owners."""

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlencode
from uuid import UUID

import msgspec
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from almoner.access.accounts.page_guard import PageContext, Visitor, partner_of_visitor
from almoner.access.members import audit_texts
from almoner.access.members.views import PAGE_SIZE, trim_to_page_size
from almoner.access.people import service as people
from almoner.access.people.domain import member_realm
from almoner.kit.errors import NotFound
from almoner.kit.time import iso_timestamp
from almoner.platform.audit import chain as audit_chain
from almoner.platform.audit import log as audit
from almoner.platform.audit.log import Entry
from almoner.platform.database.transactions import Partner, Tx
from almoner.platform.pages.csv_files import csv_line
from almoner.platform.pages.headers import NO_PAGE

_COLUMNS: Final = ("id", "at", "actorKind", "actor", "action", "subject", "address", "requestId", "details")
_BATCH: Final = 1000


@dataclass(frozen=True, slots=True)
class AuditFilter:
    """The filters of the audit log page. ``who`` as typed; ``actor``: the ID it stands for."""

    who: str
    action: str
    actor: str | None
    before: UUID | None

    def next_page_query(self, before: UUID) -> str:
        """The query string of the next page with the same filters."""
        given = {"who": self.who, "action": self.action, "before": str(before)}
        return urlencode({name: value for name, value in given.items() if value})


class AuditPages:
    """The pages of a partner's audit log."""

    def __init__(self, desk: PageContext) -> None:
        self._context = desk

    def routes(self) -> list[Route]:
        """Starlette routes."""
        context = self._context
        return [
            context.route("/audit", self.show, "owner", methods=["GET"]),
            context.route("/audit.csv", self.download_csv, "owner", fresh=True, methods=["GET"]),
            context.route("/audit.jsonl", self.download_json_lines, "owner", fresh=True, methods=["GET"]),
        ]

    async def show(self, visitor: Visitor) -> Response:
        """Show audit entries, newest first."""
        partner = partner_of_visitor(visitor)
        async with self._context.db.read() as tx:
            wanted = await _read_filter(tx, visitor, partner)
            entries, more = trim_to_page_size(await _page(tx, partner, wanted, PAGE_SIZE + 1))
            names = await audit_texts.find_display_names(tx, partner, entries)
            head = await audit_chain.get_chain_status(tx, partner.id)
        shown = [
            {
                "at": entry.at,
                "who": audit_texts.actor_text(entry, names),
                "actor": entry.actor.id,
                "what": audit_texts.action_text(entry, names),
                "action": entry.action,
                "subject": entry.subject,
                "address": entry.address,
                "details": audit_texts.details_text(entry),
            }
            for entry in entries
        ]
        return self._context.render_page(
            visitor,
            "audit.html",
            entries=shown,
            wanted=wanted,
            actions=audit_texts.ACTION_LABELS,
            head=head,
            onward=f"{visitor.path}?{wanted.next_page_query(entries[-1].id)}" if more else None,
        )

    async def download_csv(self, visitor: Visitor) -> Response:
        """Download all entries as CSV, safe against spreadsheet formulas."""
        return await self._file(visitor, "csv", "text/csv; charset=utf-8", _csv_row, csv_line(_COLUMNS))

    async def download_json_lines(self, visitor: Visitor) -> Response:
        """Download all entries as JSON lines."""
        return await self._file(visitor, "jsonl", "application/jsonl", _json_line, b"")

    async def _file(
        self, visitor: Visitor, kind: str, media_type: str, line: Callable[[Entry], bytes], head: bytes
    ) -> Response:
        partner, by = partner_of_visitor(visitor), self._context.audit_context(visitor)
        subject = self._context.id_text("partner", partner.id)
        async with self._context.db.write() as tx:
            await audit.record_entry(
                tx, partner.id, by.actor, "audit.downloaded", subject, address=by.address, details={"format": kind}
            )
        headers = {**NO_PAGE, "Content-Disposition": f'attachment; filename="audit-{subject}.{kind}"'}
        return StreamingResponse(self._written(partner, line, head), media_type=media_type, headers=headers)

    async def _written(self, partner: Partner, line: Callable[[Entry], bytes], head: bytes) -> AsyncIterator[bytes]:
        """Batch by batch: no connection is held while somebody reads slowly."""
        yield head
        before: UUID | None = None
        while True:
            async with self._context.db.read() as tx:
                entries = await audit.list_page(tx, partner.id, before, _BATCH)
            yield b"".join(line(entry) for entry in entries)
            if len(entries) < _BATCH:
                return
            before = entries[-1].id


async def _read_filter(tx: Tx, visitor: Visitor, partner: Partner) -> AuditFilter:
    """What the address asks for: ``who`` is a user name, or an identifier as the log shows it. Raises NotFound."""
    given = {name: visitor.query.get(name, "").strip()[:255] for name in ("who", "action", "before")}
    actor = given["who"] or None
    if actor and (person := await people.find_by_user_name(tx, member_realm(partner), actor)):
        actor = tx.ids.text("member", person.id)
    try:
        before = UUID(given["before"]) if given["before"] else None
    except ValueError:
        raise NotFound from None
    return AuditFilter(given["who"], given["action"], actor, before)


async def _page(tx: Tx, partner: Partner, wanted: AuditFilter, limit: int) -> list[Entry]:
    return await audit.list_page(tx, partner.id, wanted.before, limit, actor=wanted.actor, action=wanted.action or None)


def _row(entry: Entry) -> dict[str, object]:
    values = (
        str(entry.id),
        iso_timestamp(entry.at),
        entry.actor.kind,
        entry.actor.id,
        entry.action,
        entry.subject,
        entry.address,
        entry.request_id,
        entry.details,
    )
    return dict(zip(_COLUMNS, values, strict=True))


def _json_line(entry: Entry) -> bytes:
    return msgspec.json.encode(_row(entry)) + b"\n"


def _csv_row(entry: Entry) -> bytes:
    row = _row(entry)
    row["details"] = msgspec.json.encode(entry.details).decode() if entry.details else ""
    return csv_line("" if value is None else str(value) for value in row.values())
