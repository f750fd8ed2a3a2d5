"""The ASGI application: the edge, the API under /v1, SCIM, the hosted pages, probes."""

from collections.abc import Awaitable, Iterable, Mapping

import msgspec
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route, Router
from starlette.types import ASGIApp, Receive, Scope, Send

from almoner import __version__
from almoner.kit.errors import MethodNotAllowed, NotFound
from almoner.kit.ids import RecordIdCodec
from almoner.platform.database.transactions import ALL_PARTNERS, REQUEST_SECONDS
from almoner.platform.documentation.pages import DocumentationPages
from almoner.platform.events.event_types import EventType
from almoner.platform.files import media
from almoner.platform.http.edge import OutermostMiddleware
from almoner.platform.http.endpoints import Routes
from almoner.platform.http.lazy_application import LazyApplication
from almoner.platform.http.openapi import build_openapi_document
from almoner.platform.http.probes import probe_routes
from almoner.platform.http.service import ApiApplication
from almoner.platform.http.signing_keys import signing_keys_route
from almoner.platform.pages.front_and_error_pages import FrontAndErrorPages, is_page_request
from almoner.sandbox.places import sandbox_page_names_by_path
from almoner.scim import PREFIX as SCIM
from almoner.wiring import Services


def serialise_openapi_document(
    routes: Iterable[Routes], events: Iterable[EventType], ids: RecordIdCodec, server_url: str
) -> bytes:
    """Serialise the API description as indented JSON."""
    endpoints = [endpoint for group in routes for endpoint in group.endpoints]
    described = build_openapi_document(endpoints, ids, server_url, __version__, list(events))
    return msgspec.json.format(msgspec.json.encode(described), indent=2) + b"\n"


class _PathDispatcher:
    """Routes /v1 to the declared endpoints, /scim/v2 to SCIM, and everything else to the pages."""

    def __init__(self, api: ApiApplication, scim: LazyApplication, pages: Router) -> None:
        self._api = api
        self._scim = scim
        self._pages = pages

    def __call__(self, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        if scope["type"] == "http" and (scope["path"].startswith("/v1/") or scope["path"] == "/v1"):
            return self._api(scope, receive, send)
        if scope["type"] == "http" and (scope["path"].startswith(SCIM + "/") or scope["path"] == SCIM):
            return self._scim(scope, receive, send)
        return self._show_page(scope, receive, send)

    async def _show_page(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope["app"] = self  # lets the router raise what it would otherwise answer as plain text
        try:
            await self._pages(scope, receive, send)
        except HTTPException as error:
            if error.status_code == 405:
                raise MethodNotAllowed(scope["method"], (error.headers or {}).get("Allow", "")) from None
            raise NotFound("there is nothing at this address") from None


def build_server_openapi_document(services: Services) -> bytes:
    """Build the API description of a server, which takes half a second."""
    deployment = services.db.deployment
    return serialise_openapi_document(
        services.routes, services.events.values(), deployment.ids, deployment.base_urls.api
    )


def _probes(services: Services, description: bytes | None) -> list[Route]:
    return probe_routes(
        {**services.checks, "stopping": services.drain.readiness_problem},
        services.db.deployment.identity,
        services.db.disk,
        services.telemetry,
        description,
        services.settings.metrics_token_value,
        services.dependency_monitor,
    )


def create_worker_app(services: Services) -> ASGIApp:
    """The HTTP application of a worker: health, readiness and metrics, over plain HTTP from inside."""
    probes = Router(list(_probes(services, None)), redirect_slashes=False)

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        scope["app"] = probes  # lets the router raise what it would otherwise answer as plain text
        try:
            await probes(scope, receive, send)
        except HTTPException:
            raise NotFound("a worker answers /healthz, /readyz and /metrics alone") from None

    return OutermostMiddleware(answer, services.telemetry, services.db.deployment.clock, https_only=False)


def create_app(
    services: Services, openapi_document: bytes | None = None, *, statement_timeout: float = REQUEST_SECONDS
) -> ASGIApp:
    """The HTTP application of a server; ``openapi_document``: the API description, if already loaded.

    The caller closes ``services``.
    """

    async def show_media(request: Request) -> Response:
        async with services.db.read() as tx:
            found = await media.find_image(tx, ALL_PARTNERS, request.path_params["key"])
        if found is None:
            raise NotFound
        headers = {"Cache-Control": "public, max-age=31536000, immutable", "X-Content-Type-Options": "nosniff"}
        return Response(found.content, media_type=found.media_type, headers=headers)

    async def places() -> Mapping[str, str]:
        return await sandbox_page_names_by_path(services.db) if services.settings.sandbox else {}

    deployment = services.db.deployment
    site = FrontAndErrorPages(deployment, places)
    openapi_document = openapi_document or build_server_openapi_document(services)
    pages: list[BaseRoute] = [
        Route("/media/{key}", show_media),
        *_probes(services, openapi_document),
        *DocumentationPages(deployment).routes(),
        signing_keys_route(deployment.vault),
        *site.routes(),
        *services.pages,
    ]
    outer = Router(pages, redirect_slashes=False)
    app = OutermostMiddleware(
        _PathDispatcher(services.api, services.scim_application, outer),
        services.telemetry,
        services.db.deployment.clock,
        services.settings.trusted_proxies,
        drain=services.drain,
        https_only=not services.db.deployment.sandbox,
        error_page=lambda request, status: site.error_page(request, status) if is_page_request(request) else None,
        statement_seconds=statement_timeout,
        recorder=services.api_requests,
    )
    return app if services.tracing is None else services.tracing.trace_application(app)
