"""The page and downloads of a partner's audit log, for owners."""

from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from typing import Final
from urllib.parse import urlencode
from uuid import UUID

import msgspec
from starlette.responses import Response
from starlette.routing import Route

from almoner.access.accounts.page_guard import PageContext, SignedInRequest, partner_from_request
from almoner.access.accounts.page_texts import PageTexts, build_page_texts
from almoner.access.members import audit_texts
from almoner.access.members.audit_texts import AuditTexts
from almoner.access.members.views import PAGE_SIZE, trim_to_page_and_check_for_more
from almoner.kit.errors import NotFound
from almoner.kit.ids import lowest_id_at
from almoner.kit.time import iso_timestamp
from almoner.platform.audit import chain as audit_chain
from almoner.platform.audit import log as audit
from almoner.platform.audit.log import AuditEntry
from almoner.platform.database.transactions import Partner
from almoner.platform.pages.csv_files import csv_header_line, csv_line, stream_file_download

_COLUMNS: Final = ("id", "at", "actorKind", "actor", "action", "subject", "address", "requestId", "details")
_BATCH: Final = 1000
_MOST_CHOICES: Final = 500
"""The maximum number of people or actions in a filter."""


@dataclass(frozen=True, slots=True)
class AuditFilter:
    """The filters of the audit log page, from its query string; empty: not filtered.

    ``who``: the actor's ID. ``first``, ``last``: days in the visitor's time zone. ``before``: the ID of the entry that
    the page comes after.
    """

    who: str = ""
    action: str = ""
    first: str = ""
    last: str = ""
    before: UUID | None = None

    @property
    def is_filtered(self) -> bool:
        """Whether any filter is set."""
        return bool(self.who or self.action or self.first or self.last)

    def next_page_query(self, before: UUID) -> str:
        """The query string of the next page with the same filters."""
        given = {"who": self.who, "action": self.action, "first": self.first, "last": self.last, "before": str(before)}
        return urlencode({name: value for name, value in given.items() if value})


class AuditPages:
    """The pages of a partner's audit log."""

    def __init__(self, desk: PageContext, record_paths: Mapping[str, str]) -> None:
        """Build the pages. ``record_paths``: the paths of record pages by ID type, relative to the account's path."""
        self._context = desk
        self._record_paths = record_paths

    def routes(self) -> list[Route]:
        """Starlette routes."""
        context = self._context
        return [
            context.route("/audit", self.show_audit_log, "owner", methods=["GET"]),
            context.route("/audit.csv", self.download_csv, "owner", requires_reauthentication=True, methods=["GET"]),
            context.route(
                "/audit.jsonl", self.download_json_lines, "owner", requires_reauthentication=True, methods=["GET"]
            ),
        ]

    async def show_audit_log(self, visitor: SignedInRequest) -> Response:
        """Show audit entries, newest first."""
        partner, texts = partner_from_request(visitor), build_page_texts(self._context, visitor)
        typed = _read_filter(visitor)
        wanted, (since, until, problems) = typed, _bounds(typed, texts)
        if problems:
            wanted, since, until = AuditFilter(), None, None
        before = min(filter(None, (wanted.before, until)), default=None)
        async with self._context.db.read() as tx:
            found = await audit.list_entries(
                tx, partner.id, before, PAGE_SIZE + 1,
                actor=wanted.who or None, action=wanted.action or None, lowest_id=since,
            )  # fmt: skip
            entries, more = trim_to_page_and_check_for_more(found)
            actors = await audit.list_actors(tx, partner.id, _MOST_CHOICES)
            actions = await audit.list_actions(tx, partner.id, _MOST_CHOICES)
            names = await audit_texts.load_display_names_by_id(
                tx, partner, [*actors, *(one.actor for one in entries)], _mentioned(entries)
            )
            head = await audit_chain.get_chain_status(tx, partner.id)
        words = AuditTexts(texts, names, visitor.portal.home, self._record_paths)
        return self._context.render_page(
            visitor,
            "audit.html",
            language=texts.language,
            status=422 if problems else 200,
            entries=[(entry, words.entry_sentence(entry), words.details_text(entry)) for entry in entries],
            wanted=wanted,
            typed=typed,
            actors=_choices({typed.who: typed.who} | {one.id: words.actor_choice_label(one) for one in actors}, texts),
            actions=_choices({one: words.action_text(one) for one in filter(None, (typed.action, *actions))}, texts),
            head=head,
            number=texts.number_text,
            moment=texts.timestamp_text,
            problems=problems,
            request_path=self._record_paths["req"],
            onward=f"{visitor.path}?{wanted.next_page_query(entries[-1].id)}" if more else None,
        )

    async def download_csv(self, visitor: SignedInRequest) -> Response:
        """Download all entries as CSV, safe against spreadsheet formulas."""
        return await self._file(visitor, "csv", "text/csv; charset=utf-8", _csv_row, csv_header_line(_COLUMNS))

    async def download_json_lines(self, visitor: SignedInRequest) -> Response:
        """Download all entries as JSON lines."""
        return await self._file(visitor, "jsonl", "application/jsonl", _json_line, b"")

    async def _file(
        self, visitor: SignedInRequest, kind: str, media_type: str, line: Callable[[AuditEntry], bytes], head: bytes
    ) -> Response:
        partner, by = partner_from_request(visitor), self._context.audit_context(visitor)
        subject = self._context.format_id("partner", partner.id)
        async with self._context.db.write() as tx:
            await audit.record_entry(
                tx,
                partner.id,
                by.actor,
                "audit.downloaded",
                subject,
                ip_address=by.ip_address,
                details={"format": kind},
            )
        return await stream_file_download(self._written(partner, line, head), f"audit-{subject}.{kind}", media_type)

    async def _written(
        self, partner: Partner, line: Callable[[AuditEntry], bytes], head: bytes
    ) -> AsyncIterator[bytes]:
        """Write entries in batches, so that no connection is held while a client reads slowly."""
        yield head
        before: UUID | None = None
        while True:
            async with self._context.db.read() as tx:
                entries = await audit.list_entries(tx, partner.id, before, _BATCH)
            yield b"".join(line(entry) for entry in entries)
            if len(entries) < _BATCH:
                return
            before = entries[-1].id


def _read_filter(visitor: SignedInRequest) -> AuditFilter:
    """Parse the filters in the query string. Raises NotFound."""
    given = {name: visitor.query.get(name, "").strip()[:255] for name in ("who", "action", "first", "last", "before")}
    before = given.pop("before")
    try:
        return AuditFilter(**given, before=UUID(before) if before else None)
    except ValueError:
        raise NotFound from None


def _bounds(filters: AuditFilter, texts: PageTexts) -> tuple[UUID | None, UUID | None, dict[str, str]]:
    """The first ID of the first day, the first one after the last day, and the problems by field."""
    problems: dict[str, str] = {}

    def start(field: str, text: str, days_later: int) -> UUID | None:
        try:
            return _day_start(text, texts, days_later=days_later)
        except (ValueError, OverflowError):
            problems[field] = texts.text("audit_log.problem.day", day=texts.now.date().isoformat())
            return None

    return start("first", filters.first, 0), start("last", filters.last, 1), problems


def _day_start(text: str, texts: PageTexts, *, days_later: int) -> UUID | None:
    if not text:
        return None
    day = date.fromisoformat(text) + timedelta(days=days_later)
    return lowest_id_at(datetime.combine(day, time(), texts.zone))


def _choices(words: Mapping[str, str], texts: PageTexts) -> list[tuple[str, str]]:
    """The options of a filter by label, with "everything" first."""
    any_of_them = ("", texts.text("dashboard.filters.any"))
    return [
        any_of_them,
        *sorted(((one, text) for one, text in words.items() if one), key=lambda pair: pair[1].casefold()),
    ]


def _mentioned(entries: Iterable[AuditEntry]) -> Iterator[str]:
    """The texts in entries that may be IDs of people or keys."""
    for entry in entries:
        yield entry.subject
        for value in (entry.details or {}).values():
            if isinstance(value, str):
                yield value
            elif isinstance(value, list | tuple):
                yield from value


def _row(entry: AuditEntry) -> dict[str, object]:
    values = (
        str(entry.id),
        iso_timestamp(entry.at),
        entry.actor.kind,
        entry.actor.id,
        entry.action,
        entry.subject,
        entry.ip_address,
        entry.request_id,
        entry.details,
    )
    return dict(zip(_COLUMNS, values, strict=True))


def _json_line(entry: AuditEntry) -> bytes:
    return msgspec.json.encode(_row(entry)) + b"\n"


def _csv_row(entry: AuditEntry) -> bytes:
    row = _row(entry)
    row["details"] = msgspec.json.encode(entry.details).decode() if entry.details else ""
    return csv_line("" if value is None else str(value) for value in row.values())
