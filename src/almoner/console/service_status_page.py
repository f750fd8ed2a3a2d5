"""The public status page: served at ``/status``, and written to files that a proxy can serve during an outage."""

import asyncio
import os
import tempfile
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from almoner.console.service_status import ServiceStatus, load_status
from almoner.kit.time import iso_timestamp
from almoner.platform.database.connections import ConnectionUnavailable
from almoner.platform.database.transactions import Database
from almoner.platform.deployment import Deployment
from almoner.platform.jobs.wakeup import wait_until_set
from almoner.platform.observability import incidents
from almoner.platform.observability.failures import CONNECTION_ERRORS, failure_log_fields
from almoner.platform.observability.telemetry import Telemetry
from almoner.platform.pages import assets, formats
from almoner.platform.pages.headers import replace_nonce_with_hashes, security_headers
from almoner.platform.pages.record_tables import humanise_field_name, status_tone
from almoner.platform.pages.rendering import PageRenderer

PATH: Final = "/status"
HTML_FILE: Final = "status.html"
JSON_FILE: Final = "status.json"
OLD_AFTER: Final = timedelta(minutes=5)
"""When the status page is older than this, the service is unavailable. The text of the page says so."""

_TEMPLATES: Final = Path(__file__).parent / "templates"
_PERIOD_SECONDS: Final = 60.0
_KEPT_FOR: Final = timedelta(seconds=20)
_MODE: Final = 0o644


@dataclass(frozen=True, slots=True)
class RenderedStatus:
    """A rendered status page and its JSON. ``headers``: the HTTP headers of the page."""

    made_at: datetime
    page: bytes
    json: bytes
    headers: dict[str, str]


class StatusPageRenderer:
    """Renders the status page. ``email_kinds``: the kinds of jobs that send an email."""

    def __init__(self, db: Database, email_kinds: frozenset[str]) -> None:
        self.db = db
        self._pages = PageRenderer(db.deployment, _TEMPLATES)
        self._email_kinds = email_kinds

    async def render(self) -> RenderedStatus:
        """Load the status of the service and render the page in English."""
        async with self.db.read() as tx:
            status = await load_status(tx, self._email_kinds)
        language = self._pages.language_for_tag(None)
        body = self._pages.render_text(
            "service_status.html",
            language,
            nonce="status",
            style=assets.STYLE.content.decode() + assets.DESK_STYLE.content.decode(),
            status=status,
            old_after=OLD_AFTER // timedelta(minutes=1),
            status_tone=status_tone,
            value_text=humanise_field_name,
            age=lambda at: formats.format_relative_time(status.now - at, language.locale),
            parsed=datetime.fromisoformat,
        )
        page, inline = replace_nonce_with_hashes(body, "status")
        headers = security_headers(inline, form_targets=(), production=not self.db.deployment.sandbox)
        headers |= {"Cache-Control": "public, max-age=20", "Content-Language": language.html_lang}
        return RenderedStatus(status.made_at, page.encode(), _json(self.db.deployment, status), headers)


def _json(deployment: Deployment, status: ServiceStatus) -> bytes:
    return msgspec.json.encode(
        {
            "madeAt": iso_timestamp(status.made_at),
            "environment": deployment.environment,
            "state": status.state,
            "parts": [
                {"part": one.key, "name": one.name, "state": one.state, "description": one.found}
                for one in status.parts
            ],
            "registers": [
                {"code": one.code, "name": one.name, "dataAsOf": one.data_as_of.date().isoformat(), "late": one.late}
                for one in status.registers
            ],
            "incidents": [
                {
                    "id": deployment.ids.encode(incidents.ID, one.id),
                    "title": one.title,
                    "affected": one.affected_part,
                    "status": one.status,
                    "startedAt": iso_timestamp(one.started_at),
                    "resolvedAt": iso_timestamp(one.resolved_at) if one.resolved_at else None,
                    "updates": [
                        {"at": iso_timestamp(update.created_at), "status": update.status, "text": update.text}
                        for update in one.updates
                    ],
                }
                for one in status.incidents
            ],
        }
    )


class StatusPage:
    """Serves the public status page and its JSON."""

    def __init__(self, renderer: StatusPageRenderer) -> None:
        self._renderer = renderer
        self._rendered: RenderedStatus | None = None
        self._tried_at: datetime | None = None
        self._rendering = asyncio.Lock()

    def routes(self) -> list[Route]:
        """Starlette routes."""
        return [Route(PATH, self.show, methods=["GET"]), Route(f"{PATH}.json", self.show_json, methods=["GET"])]

    async def show(self, _request: Request) -> Response:
        """Respond with the status page."""
        rendered = await self._current()
        return Response(rendered.page, headers=rendered.headers, media_type="text/html")

    async def show_json(self, _request: Request) -> Response:
        """Respond with the status as JSON."""
        rendered = await self._current()
        headers = {
            "Cache-Control": rendered.headers["Cache-Control"],
            "Access-Control-Allow-Origin": "*",
            "X-Content-Type-Options": "nosniff",
        }
        return Response(rendered.json, headers=headers, media_type="application/json")

    async def _current(self) -> RenderedStatus:
        """The cached or newly rendered status.

        Concurrent requests render it only once. If the database is unavailable, the last rendered status is used.
        Raises ConnectionUnavailable if there is none.
        """
        if self._is_due():
            async with self._rendering:
                if self._is_due():
                    await self._render()
        if self._rendered is None:
            raise ConnectionUnavailable("the status could not be loaded a moment ago")
        return self._rendered

    def _is_due(self) -> bool:
        return self._tried_at is None or self._real_now() - self._tried_at > _KEPT_FOR

    async def _render(self) -> None:
        try:
            self._rendered = await self._renderer.render()
        except CONNECTION_ERRORS:
            if self._rendered is None:
                raise
        finally:
            self._tried_at = self._real_now()

    def _real_now(self) -> datetime:
        return self._renderer.db.deployment.clock.real_now()


class StatusFileWriter:
    """Writes the status page to files on each worker's machine."""

    def __init__(self, renderer: StatusPageRenderer, folder: Path, telemetry: Telemetry) -> None:
        self._renderer = renderer
        self._folder = folder
        self._telemetry = telemetry

    async def write_files_until_stopped(self, stop: asyncio.Event) -> None:
        """Write the files now, and then every minute until ``stop`` is set."""
        while not stop.is_set():
            try:
                await self.write_files()
            except Exception as error:  # noqa: BLE001 (a faulty page must not stop the worker)
                real_now = self._renderer.db.deployment.clock.real_now()
                self._telemetry.log("status_failed", real_now, level="error", **failure_log_fields(error))
            await wait_until_set(stop, _PERIOD_SECONDS)

    async def write_files(self) -> None:
        """Write both files, replacing each file in one step. A database copy that is not activated writes nothing."""
        if self._renderer.db.deployment.identity.is_active:
            await asyncio.to_thread(_write_files, self._folder, await self._renderer.render())


def _write_files(folder: Path, rendered: RenderedStatus) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in ((JSON_FILE, rendered.json), (HTML_FILE, rendered.page)):
        descriptor, unfinished = tempfile.mkstemp(prefix=f".{name}.", dir=folder)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(content)
                os.fchmod(descriptor, _MODE)  # the proxy runs as another user
            Path(unfinished).replace(folder / name)
        finally:
            Path(unfinished).unlink(missing_ok=True)
