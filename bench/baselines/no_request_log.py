"""``almoner serve`` without the request log of partners, to measure its cost."""

from uuid import UUID

from starlette.types import Scope

from almoner.access.request_recorder import ApiRequestRecorder
from almoner.cli import serve
from almoner.platform.observability.telemetry import RequestLogLine
from bench import baselines


def _ignore(_self: ApiRequestRecorder, _scope: Scope, _request_id: UUID, _line: RequestLogLine) -> None:
    """Record nothing."""


if __name__ == "__main__":
    baselines.replace(ApiRequestRecorder, ApiRequestRecorder.record_request, _ignore)
    serve.serve()
