"""Traces: a collector gets spans without what was typed; where there is none, nothing is imported for it."""

import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from almoner import worker
from tests.support.client import Client
from tests.support.database import TestDatabase
from tests.support.figures import Figures
from tests.support.service import serving


@contextmanager
def collector() -> Iterator[tuple[str, list[Span]]]:
    """A collector on loopback: its address, and the spans that it got."""
    spans: list[Span] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            assert self.path == "/v1/traces"
            sent = ExportTraceServiceRequest.FromString(self.rfile.read(int(self.headers["Content-Length"])))
            spans.extend(span for one in sent.resource_spans for scope in one.scope_spans for span in scope.spans)
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}", spans
        server.shutdown()


@pytest.mark.parametrize("share", [1.0, 0.0])
async def test_a_request_is_one_trace(empty_database: TestDatabase, share: float) -> None:
    with collector() as (url, spans):
        async with serving(empty_database, traces_url=url, traces_share=share) as service:
            tenant = await service.tenant()
            api = Client(service.app, service.db.deployment.base_urls.api, tenant.secret)
            made = await api.post("/v1/categories", {"name": "Very private name"})
            assert made.status_code == 200
            await worker.run_due_work(service.services)
        if share == 0:
            assert spans == []
            return
    (request,) = [span for span in spans if span.name == "POST /v1/categories"]
    attributes = {one.key: one.value for one in request.attributes}
    assert attributes["http.response.status_code"].int_value == 200
    assert attributes["almoner.request_id"].string_value == made.headers["request-id"]
    below = [span for span in spans if span.parent_span_id == request.span_id]
    assert below
    assert {span.trace_id for span in below} == {request.trace_id}
    assert any("category" in one.value.string_value for span in below for one in span.attributes)
    assert b"Very private" not in b"".join(span.SerializeToString() for span in spans)


def test_nothing_is_imported_where_it_is_off() -> None:
    program = "import sys, almoner.app, almoner.worker; print([m for m in sys.modules if 'opentelemetry' in m])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


_OUTSIDE = """
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

class Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass

server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
print(server.server_port, flush=True)
server.serve_forever()
"""


@contextmanager
def outside_collector() -> Iterator[str]:
    """A collector that reads and forgets, as a process of its own: its address."""
    with subprocess.Popen([sys.executable, "-c", _OUTSIDE], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield f"http://127.0.0.1:{int(process.stdout.readline())}"
        finally:
            process.terminate()


@pytest.mark.soak
async def test_what_traces_cost(empty_database: TestDatabase, figures: Figures) -> None:
    """Processor time of this process for a request; the collector is another process's."""
    costs: dict[str, list[float]] = {}
    with outside_collector() as url:
        for _ in range(figures.count(1, 5)):
            for share in ("off", "0.01", "1"):
                given: dict[str, Any] = {} if share == "off" else {"traces_url": url, "traces_share": float(share)}
                async with serving(empty_database, rate_limit_secret="100000/100000", **given) as service:
                    api = Client(service.app, service.db.deployment.base_urls.api, (await service.tenant()).secret)
                    costs.setdefault(share, []).append(await _cost(api, figures.count(50, 1500)))
    least = {share: min(taken) * 1e6 for share, taken in costs.items()}
    figures.write(
        "traces",
        "What traces cost",
        "processor time for `GET /v1/categories`, of a process with server, client and exporter, the "
        f"least of {len(costs['off'])} runs of {figures.count(50, 1500)}",
        f"without traces {least['off']:.0f} us",
        f"1 in 100 traced {least['0.01']:.0f} us ({least['0.01'] / least['off'] - 1:+.0%})",
        f"every request traced {least['1']:.0f} us ({least['1'] / least['off'] - 1:+.0%})",
    )


async def _cost(api: Client, count: int) -> float:
    for _ in range(50):
        await api.get("/v1/categories")
    began = time.process_time()
    for _ in range(count):
        assert (await api.get("/v1/categories")).status_code == 200
    return (time.process_time() - began) / count
