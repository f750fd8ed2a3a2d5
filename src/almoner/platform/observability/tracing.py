"""OpenTelemetry traces of requests, jobs, statements and outbound calls. Imported only if ALMONER_TRACES_URL is set.

A trace contains names, statuses and the texts of statements, which are constants: no values, bodies, URLs of pages or
personal data (architecture 5). A thread sends the spans in batches.
"""

from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any, Final

import aiohttp
from asyncpg.connection import LoggedQuery
from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.sdk.trace.sampling import ParentBased, TraceIdRatioBased
from opentelemetry.trace import Span, SpanKind, Status, StatusCode
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from almoner import __version__
from almoner.kit.time import Clock
from almoner.platform.http.admission import PROBES
from almoner.platform.http.edge import route_name
from almoner.platform.jobs.queue import Job

_NANOSECONDS: Final = 1_000_000_000
_STATEMENT_CHARACTERS: Final = 1_000

JobHandler = Callable[[Any, Job], Awaitable[Any]]


class Tracing:
    """Creates sampled spans and sends them to a collector (OTLP over HTTP)."""

    def __init__(self, url: str, share: float, environment: str, clock: Clock) -> None:
        self._clock = clock
        resource = Resource.create(
            {"service.name": "almoner", "service.version": __version__, "deployment.environment.name": environment}
        )
        self._provider = TracerProvider(resource=resource, sampler=ParentBased(TraceIdRatioBased(share)))
        exporter = OTLPSpanExporter(endpoint=f"{url}/v1/traces", timeout=10)
        self._provider.add_span_processor(BatchSpanProcessor(exporter))
        self._tracer = self._provider.get_tracer("almoner", __version__)

    def trace_application(self, app: ASGIApp) -> ASGIApp:
        """The application, wrapped in a span for each request except health checks."""

        async def traced(scope: Scope, receive: Receive, send: Send) -> None:
            if scope["type"] != "http" or scope["path"] in PROBES:
                await app(scope, receive, send)
                return
            method = scope["method"]
            with self._span(method, SpanKind.SERVER) as span:

                async def answer(message: Message) -> None:
                    if message["type"] == "http.response.start":
                        span.set_attribute("http.response.status_code", message["status"])
                        if message["status"] >= 500:
                            span.set_status(Status(StatusCode.ERROR))
                    await send(message)

                await app(scope, receive, answer)
                if span.is_recording():
                    route = route_name(scope)
                    span.update_name(route if route.startswith(method) else f"{method} {route}")
                    span.set_attribute("http.request.method", method)
                    span.set_attribute("http.route", route)
                    span.set_attribute("almoner.request_id", str(scope.get("almoner.request_id", "")))

        return traced

    def trace_job_handlers(self, handlers: Mapping[str, JobHandler]) -> dict[str, JobHandler]:
        """The job handlers, each wrapped in a trace span for every attempt."""
        return {kind: self._handler(kind, handler) for kind, handler in handlers.items()}

    @contextmanager
    def _span(self, name: str, kind: SpanKind) -> Iterator[Span]:
        """A span around a block; of an exception it records only the class, since messages may quote user input."""
        with self._tracer.start_as_current_span(
            name, kind=kind, record_exception=False, set_status_on_exception=False
        ) as span:
            try:
                yield span
            except BaseException as error:
                span.set_status(Status(StatusCode.ERROR, type(error).__name__))
                raise

    def _handler(self, kind: str, handler: JobHandler) -> JobHandler:
        async def traced(work: Any, job: Job) -> Any:
            with self._span(kind, SpanKind.CONSUMER) as span:
                result = await handler(work, job)
                span.set_attribute("almoner.job", job.id)
                span.set_attribute("almoner.job.attempt", job.attempt)
                span.set_attribute("almoner.job.result", type(result).__name__)
                return result

        return traced

    def record_statement(self, query: LoggedQuery) -> None:
        """Record a span for a finished statement, as a child of the current span."""
        parent = trace.get_current_span()
        if not parent.is_recording():
            return
        ends = int(self._clock.real_now().timestamp() * _NANOSECONDS)
        text = " ".join(query.query.split())[:_STATEMENT_CHARACTERS]
        span = self._tracer.start_span(
            text.partition(" ")[0].lower() or "statement",
            kind=SpanKind.CLIENT,
            start_time=ends - int(query.elapsed * _NANOSECONDS),
            attributes={"db.system.name": "postgresql", "db.query.text": text},
        )
        if query.exception is not None:
            span.set_status(Status(StatusCode.ERROR, type(query.exception).__name__))
        span.end(ends)

    def outbound_trace_config(self) -> aiohttp.TraceConfig:
        """A trace configuration for the HTTP client: a span for each call, with the host only.

        Trace headers are not sent to other parties.
        """
        config = aiohttp.TraceConfig()

        async def start(_session: object, context: SimpleNamespace, params: aiohttp.TraceRequestStartParams) -> None:
            attributes = {"http.request.method": params.method, "server.address": params.url.host or ""}
            context.span = self._tracer.start_span(
                f"{params.method} outside", kind=SpanKind.CLIENT, attributes=attributes
            )

        async def end(_session: object, context: SimpleNamespace, params: aiohttp.TraceRequestEndParams) -> None:
            context.span.set_attribute("http.response.status_code", params.response.status)
            context.span.end()

        async def failed(
            _session: object, context: SimpleNamespace, params: aiohttp.TraceRequestExceptionParams
        ) -> None:
            context.span.set_status(Status(StatusCode.ERROR, type(params.exception).__name__))
            context.span.end()

        config.on_request_start.append(start)
        config.on_request_end.append(end)
        config.on_request_exception.append(failed)
        return config

    def close(self) -> None:
        """Send remaining spans."""
        self._provider.shutdown()
