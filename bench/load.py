"""An HTTP/1.1 load client in its own process: a closed loop for rates, an open loop for honest latencies.

Closed: every connection sends the next request once it has a response; the rate is what the server can do. Open:
requests are due at fixed times whatever the server does, and a latency counts from the time when a request was due, so
that a stall affects all the requests it delays (coordinated omission).
"""

import asyncio
import json
import math
import re
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from itertools import count
from typing import Any, cast

import uvloop

LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)
UNIQUE = b"{unique}"


@dataclass(frozen=True, slots=True)
class Plan:
    """What to send: raw requests in turn, with ``{unique}`` replaced by a new number."""

    port: int
    requests: list[str]
    seconds: float
    connections: int
    rate: float | None = None
    prefix: str = ""


@dataclass(slots=True)
class Result:
    """Responses per second, latencies in milliseconds, failed responses, and one of those."""

    answered: int = 0
    seconds: float = 0.0
    p50: float = 0.0
    p99: float = 0.0
    worst: float = 0.0
    refused: int = 0
    sample: str = ""
    late: int = 0

    @property
    def rate(self) -> float:
        """Responses per second."""
        return self.answered / self.seconds if self.seconds else 0.0


@dataclass(slots=True)
class Run:
    """The counts of one run, shared by its connections."""

    plan: Plan
    began: float = 0.0
    ends: float = 0.0
    latencies: list[float] = field(default_factory=list)
    refused: int = 0
    sample: str = ""
    late: int = 0
    done: asyncio.Event = field(default_factory=asyncio.Event)
    makers: Iterator[bytes] = field(init=False)

    def __post_init__(self) -> None:
        self.makers = _requests(self.plan)

    def answered(self, since: float, head: bytes, body: bytes) -> None:
        """Count one response."""
        self.latencies.append(time.perf_counter() - since)
        if head[9:10] != b"2":
            self.refused += 1
            self.sample = self.sample or (head + body)[:600].decode(errors="replace")

    def result(self, seconds: float) -> Result:
        """The result."""
        found = sorted(self.latencies)

        def at(share: float) -> float:
            return found[min(len(found) - 1, math.ceil(share * len(found)) - 1)] * 1000 if found else 0.0

        return Result(len(found), seconds, at(0.5), at(0.99), at(1.0), self.refused, self.sample, self.late)


def _requests(plan: Plan) -> Iterator[bytes]:
    ready = [request.encode() for request in plan.requests]
    stamp = f"{plan.prefix}{time.time_ns():x}-".encode()
    for number in count():
        request = ready[number % len(ready)]
        yield request.replace(UNIQUE, stamp + b"%d" % number) if UNIQUE in request else request


class Connection(asyncio.Protocol):
    """One keep-alive connection; ``free`` is called once a response has been read completely."""

    def __init__(self, run: Run, free: Callable[["Connection"], None]) -> None:
        self.run = run
        self.free = free
        self.buffer = b""
        self.since = 0.0
        self.transport: asyncio.Transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Connected."""
        self.transport = cast("asyncio.Transport", transport)

    def connection_lost(self, _error: Exception | None) -> None:
        """Fail the run if the server closes the connection."""
        if not self.run.done.is_set():
            self.run.refused += 1
            self.run.sample = self.run.sample or "the server closed the connection"
            self.run.done.set()

    def ask(self, since: float) -> None:
        """Send the next request; its latency counts from ``since``."""
        self.since = since
        self.transport.write(next(self.run.makers))

    def data_received(self, data: bytes) -> None:
        """Read a response."""
        buffer = self.buffer + data if self.buffer else data
        end = buffer.find(b"\r\n\r\n")
        if end < 0:
            self.buffer = buffer
            return
        found = LENGTH.search(buffer, 0, end + 2)
        total = end + 4 + (int(found[1]) if found else 0)
        if len(buffer) < total:
            self.buffer = buffer
            return
        self.buffer = b""
        self.run.answered(self.since, buffer[: end + 4], buffer[end + 4 :])
        self.free(self)


async def _connect(run: Run, free: Callable[[Connection], None]) -> list[Connection]:
    loop = asyncio.get_running_loop()
    made = [
        await loop.create_connection(lambda: Connection(run, free), "127.0.0.1", run.plan.port)
        for _ in range(run.plan.connections)
    ]
    return [protocol for _, protocol in made]


async def closed(plan: Plan) -> Result:
    """Send requests as fast as they are answered, for ``plan.seconds``."""
    run = Run(plan)
    busy = 0

    def free(connection: Connection) -> None:
        nonlocal busy
        now = time.perf_counter()
        if now < run.ends:
            connection.ask(now)
            return
        busy -= 1
        if busy == 0:
            run.done.set()

    connections = await _connect(run, free)
    run.began = time.perf_counter()
    run.ends = run.began + plan.seconds
    busy = len(connections)
    for connection in connections:
        connection.ask(time.perf_counter())
    await asyncio.wait_for(run.done.wait(), plan.seconds + 60)
    return run.result(time.perf_counter() - run.began)


async def opened(plan: Plan) -> Result:
    """Send ``plan.rate`` requests per second, whatever happens, for ``plan.seconds``."""
    assert plan.rate is not None
    run = Run(plan)
    idle: deque[Connection] = deque()
    waiting: deque[float] = deque()
    total = int(plan.rate * plan.seconds)

    def free(connection: Connection) -> None:
        if waiting:
            connection.ask(waiting.popleft())
        else:
            idle.append(connection)
        if len(run.latencies) == total:
            run.done.set()

    idle.extend(await _connect(run, free))
    run.began = time.perf_counter() + 0.05
    for number in range(total):
        due = run.began + number / plan.rate
        wait = due - time.perf_counter()
        if wait > 0:
            await asyncio.sleep(wait)
        run.late += wait < -0.01
        if idle:
            idle.popleft().ask(due)
        else:
            waiting.append(due)
    await asyncio.wait_for(run.done.wait(), 60)
    return run.result(time.perf_counter() - run.began)


def main() -> None:
    """Read a plan as JSON from standard input, run it, write the result as JSON."""
    plan = Plan(**json.load(sys.stdin))
    result = uvloop.run(closed(plan) if plan.rate is None else opened(plan))
    json.dump(asdict(result), sys.stdout)


async def attack(plan: Plan) -> Result:
    """Run a plan in a process of its own, so that the client's work does not count as the caller's."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "bench.load", stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE
    )
    answer, _ = await process.communicate(json.dumps(asdict(plan)).encode())
    if process.returncode:
        raise RuntimeError(f"the load client ended with status {process.returncode}")
    values: dict[str, Any] = json.loads(answer)
    return Result(**values)


if __name__ == "__main__":
    main()
