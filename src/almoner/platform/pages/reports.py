"""Receives browsers' reports about content security policy violations (H3) and logs them."""

from typing import Any, Final

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from almoner.kit.time import Clock
from almoner.platform.observability.telemetry import Telemetry
from almoner.platform.pages.headers import REPORT_PATH, origin_of_url

_MAX_BYTES: Final = 16_384


def csp_report_routes(telemetry: Telemetry, clock: Clock) -> list[Route]:
    """The route that receives CSP reports."""

    async def receive(request: Request) -> Response:
        body = bytearray()
        async for chunk in request.stream():
            body += chunk
            if len(body) > _MAX_BYTES:
                return Response(status_code=413)
        report = _report(bytes(body))
        if report is None:
            return Response(status_code=400)
        blocked = str(report.get("blocked-uri", ""))
        telemetry.log(
            "csp_violation",
            clock.real_now(),
            directive=str(report.get("effective-directive", report.get("violated-directive", "")))[:40],
            blocked=origin_of_url(blocked) or blocked.split(":")[0][:20],
        )
        return Response(status_code=204)

    return [Route(REPORT_PATH, receive, methods=["POST"])]


def _report(body: bytes) -> dict[str, Any] | None:
    try:
        found = msgspec.json.decode(body)
    except (ValueError, RecursionError):  # no JSON, no UTF-8, or lists nested too deeply
        return None
    report = found.get("csp-report") if isinstance(found, dict) else None
    return report if isinstance(report, dict) else None
