"""One wide structured line per request, and metrics (architecture 2: a quarter of the cost of structlog)."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from decimal import Decimal
from itertools import accumulate
from typing import Any
from uuid import UUID

import msgspec
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector

from almoner.platform.database.disk_space import FreeSpace
from almoner.platform.observability.log_lines import LogLineWriter, Write, stderr_log_writer


class RequestLogLine(msgspec.Struct, omit_defaults=True, rename="camel"):
    """The log line of one request. ``address``: the client's. ``frames``: where a failure occurred."""

    at: datetime
    event: str
    route: str
    status: int
    ms: float
    request_id: str
    method: str
    address: str | None = None
    partner: UUID | None = None
    key: UUID | None = None
    callers_request_id: str | None = None
    failure: str | None = None
    frames: list[str] | None = None


class Telemetry:
    """Logs and metrics. Log lines contain no bodies, queries, tokens or keys (architecture 5)."""

    def __init__(self, write: Write | None = None) -> None:
        """Create it. ``write``: writes log lines; standard error by default."""
        self.registry = CollectorRegistry()
        self._write = _count_lost_lines(write or stderr_log_writer(), self.registry)
        self.requests = Counter(
            "almoner_requests", "Answers by route and status.", ("route", "status"), registry=self.registry
        )
        self.seconds = Histogram(
            "almoner_request_seconds",
            "Time to answer by route.",
            ("route",),
            registry=self.registry,
            buckets=(0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10),
        )
        self.jobs, self.statement_timeouts = _job_metrics(self.registry)
        self.queue = Gauge(
            "almoner_queue_jobs",
            "Jobs that are due or running, scheduled, or dead.",
            ("state",),
            registry=self.registry,
        )
        self.deliveries = _delivery_metric(self.registry)
        self.dispatch_lag = Gauge(
            "almoner_dispatch_lag_seconds", "Age of the oldest unnumbered event.", registry=self.registry
        )
        self.audit_waiting = Gauge(
            "almoner_audit_unchained_seconds",
            "Age of the oldest audit entry that is not chained yet.",
            registry=self.registry,
        )
        self.upload_checks = _upload_metric(self.registry)
        self.tested_partners = Gauge(
            "almoner_card_testing_partners",
            "Partners on whose pages stolen cards seem to be tested (H7).",
            registry=self.registry,
        )
        money = _money_metrics(self.registry)
        self.disputes_open, self.refunds_refused, self.bank_lines_open, self.bank_reports_open = money
        self.unreconciled = ReconciliationMetrics(self.registry)
        self.register_data_age, self.register_loads = _register_metrics(self.registry)
        self.watchlists = WatchlistMetrics(self.registry)
        self.reviews = ReviewMetrics(self.registry)
        self.payees = PayeeCheckMetrics(self.registry)
        self.selfcheck_findings, self.selfcheck_at, self.unreleased_copy = _selfcheck_metrics(self.registry)
        self.disk = DiskMetrics(self.registry)
        self.check_problems = _check_metrics(self.registry)
        self._bound: dict[tuple[str, int], tuple[Any, Any]] = {}

    def log(self, event: str, at: datetime, **fields: object) -> None:
        """Write one line."""
        self._write({"at": at, "event": event, **fields})

    def record_request(self, log_line: RequestLogLine, seconds: float) -> None:
        """Count one response and write its log line."""
        bound = self._bound.get((log_line.route, log_line.status))
        if bound is None:
            bound = (self.requests.labels(log_line.route, str(log_line.status)), self.seconds.labels(log_line.route))
            self._bound[log_line.route, log_line.status] = bound
        bound[0].inc()
        bound[1].observe(seconds)
        self._write(log_line)

    def record_upload_check(self, outcome: str, seconds: float) -> None:
        """Count one check of a received file."""
        self.upload_checks.labels(outcome).observe(seconds)

    def render_metrics(self) -> bytes:
        """The metrics in Prometheus' text form."""
        return generate_latest(self.registry)


def _count_lost_lines(write: Write, registry: CollectorRegistry) -> LogLineWriter:
    lines = write if isinstance(write, LogLineWriter) else LogLineWriter(write)
    registry.register(_LostLines(lines))
    return lines


class _LostLines(Collector):
    """The number of log lines that could not be written."""

    def __init__(self, lines: LogLineWriter) -> None:
        self._lines = lines

    def collect(self) -> Iterator[Metric]:
        """The current value."""
        described = "Log lines that could not be written."
        yield CounterMetricFamily("almoner_log_lines_dropped", described, value=self._lines.lost)


class DiskMetrics(Collector):
    """Free space on the disk of the data directory; no metrics if the directory does not exist."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._free: FreeSpace | None = None
        self._refused = False
        registry.register(self)

    def set_free_space(self, free_space: FreeSpace | None, *, writes_refused: bool) -> None:
        """Set the measured values, and whether writes are refused."""
        self._free, self._refused = free_space, writes_refused

    def collect(self) -> Iterator[Metric]:
        """The current values."""
        if self._free is not None:
            described = "Free bytes on the disk of the data directory."
            yield GaugeMetricFamily("almoner_disk_free_bytes", described, value=self._free.free_bytes)
        if self._free is not None and self._free.free_inodes is not None:
            described = "Free inodes on the disk of the data directory."
            yield GaugeMetricFamily("almoner_disk_free_inodes", described, value=self._free.free_inodes)
        described = "1 while writes are refused because the disk is nearly full."
        yield GaugeMetricFamily("almoner_writes_refused", described, value=float(self._refused))


class DatabaseComputedHistogram(Collector):
    """A histogram counted by the database for the whole deployment: it is set, not added to."""

    def __init__(
        self, name: str, documentation: str, labels: Sequence[str], bounds: Sequence[str], registry: CollectorRegistry
    ) -> None:
        self._described = (name, documentation)
        self._labels = labels
        self._counted: dict[tuple[str, ...], tuple[list[int], float]] = {}
        self.bounds = tuple(Decimal(bound) for bound in bounds)
        registry.register(self)

    def set(self, labels: tuple[str, ...], bucket_counts: Iterable[tuple[int, int]], value_sum: float) -> None:
        """``bucket_counts``: the number of values in each bucket; ``value_sum``: their sum."""
        places = [0] * (len(self.bounds) + 1)
        for place, count in bucket_counts:
            places[place] += count
        self._counted[labels] = (list(accumulate(places)), value_sum)

    def collect(self) -> Iterator[Metric]:
        """The current values."""
        family = HistogramMetricFamily(*self._described, labels=self._labels)
        names = [*(str(float(bound)) for bound in self.bounds), "+Inf"]
        for labels, (counts, total) in self._counted.items():
            family.add_metric(labels, list(zip(names, map(float, counts), strict=True)), total)
        yield family


class DatabaseComputedCounter(Collector):
    """A counter kept by the database for the whole deployment: it is set, not added to."""

    def __init__(self, name: str, documentation: str, labels: Sequence[str], registry: CollectorRegistry) -> None:
        """``name``: without the ``_total`` suffix of the metric."""
        self._described = (name, documentation)
        self._labels = labels
        self._counted: dict[tuple[str, ...], int] = {}
        registry.register(self)

    def set_total(self, labels: tuple[str, ...], total: int) -> None:
        """Set the all-time total."""
        self._counted[labels] = total

    def collect(self) -> Iterator[Metric]:
        """The current values."""
        family = CounterMetricFamily(*self._described, labels=self._labels)
        for labels, count in self._counted.items():
            family.add_metric(labels, float(count))
        yield family


class WatchlistMetrics:
    """The state of the watchlists, for the whole deployment."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.age = Gauge(
            "almoner_watchlist_age_seconds",
            "Age of the loaded version of a watchlist, by the business clock.",
            ("list",),
            registry=registry,
        )
        self.entries = Gauge(
            "almoner_watchlist_entries", "Entries of the loaded version of a watchlist.", ("list",), registry=registry
        )
        self.loads = DatabaseComputedCounter(
            "almoner_watchlist_loads", "Imports of a watchlist by status.", ("list", "status"), registry
        )


class ReviewMetrics:
    """Metrics of open and decided reviews of the whole deployment."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.open = Gauge("almoner_reviews_open", "Open review cases, by kind.", ("kind",), registry=registry)
        self.oldest = Gauge(
            "almoner_review_oldest_seconds",
            "Age of the oldest open review case, by the business clock.",
            ("kind",),
            registry=registry,
        )
        self.decisions = DatabaseComputedCounter(
            "almoner_review_decisions",
            "Decisions on review cases, by the ID of the reviewer.",
            ("by", "kind", "verdict"),
            registry,
        )
        hour, day = 3600, 86_400
        bounds = (300, 900, hour, 4 * hour, 8 * hour, day, 2 * day, 3 * day, 7 * day, 14 * day, 30 * day)
        self.waited = DatabaseComputedHistogram(
            "almoner_review_wait_seconds",
            "Time until a review case is decided, by the business clock.",
            ("kind",),
            [str(bound) for bound in bounds],
            registry,
        )


class PayeeCheckMetrics:
    """Open checks that block disbursements to nonprofits, by kind: ``verification``, ``flag`` or ``account``."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._open = Gauge(
            "almoner_payee_checks_open",
            "What blocks disbursements: pending verifications, open flags, proposed payee accounts.",
            ("kind",),
            registry=registry,
        )
        self._oldest = Gauge(
            "almoner_payee_checks_oldest_seconds", "Age of the oldest of them, by the business clock.", ("kind",),
            registry=registry,
        )  # fmt: skip

    def set_open_checks(self, kind: str, count: int, oldest_seconds: float) -> None:
        """Set how many checks of a kind are open, and the age of the oldest."""
        self._open.labels(kind).set(count)
        self._oldest.labels(kind).set(max(0.0, oldest_seconds))


class ReconciliationMetrics:
    """Items reported by providers and banks that are not in the ledger yet."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._open = Gauge(
            "almoner_unreconciled_open", "What providers and our bank reported and the ledger lacks.", ("kind",),
            registry=registry,
        )  # fmt: skip
        self._oldest = Gauge(
            "almoner_unreconciled_oldest_seconds", "Age of the oldest of it, by the business clock.",
            ("kind",), registry=registry,
        )  # fmt: skip

    def set_open_items(self, kind: str, count: int, oldest_seconds: float) -> None:
        """Set how many items of a kind are not reconciled, and the age of the oldest."""
        self._open.labels(kind).set(count)
        self._oldest.labels(kind).set(max(0.0, oldest_seconds))


def _job_metrics(registry: CollectorRegistry) -> tuple[Counter, Counter]:
    jobs = Counter("almoner_jobs", "Finished jobs by kind and result.", ("kind", "result"), registry=registry)
    timeouts = Counter(
        "almoner_statement_timeouts",
        "Database statements that exceeded their time limit, by route, sweep or kind of job.",
        ("work",),
        registry=registry,
    )
    return jobs, timeouts


def _delivery_metric(registry: CollectorRegistry) -> Counter:
    return Counter("almoner_deliveries", "Webhook attempts by result.", ("result",), registry=registry)


def _check_metrics(registry: CollectorRegistry) -> dict[str, Gauge]:
    """The gauges of open checks, by metric."""
    described = {
        "failed": "1 while a check of `almoner check`, which workers repeat, fails.",
        "warning": "1 while a check of `almoner check`, which workers repeat, warns of what will fail.",
    }
    return {
        status: Gauge(f"almoner_check_{status}", text, ("check",), registry=registry)
        for status, text in described.items()
    }


def _upload_metric(registry: CollectorRegistry) -> Histogram:
    return Histogram(
        "almoner_upload_check_seconds",
        "Time to check an uploaded file, by outcome: accepted, refused, killed.",
        ("outcome",),
        registry=registry,
        buckets=(0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20),
    )


def _money_metrics(registry: CollectorRegistry) -> tuple[Gauge, Gauge, Gauge, Gauge]:
    return (
        Gauge("almoner_disputes_open", "Open disputes (chargebacks).", registry=registry),
        Gauge("almoner_refunds_failed", "Failed refunds that need a person.", registry=registry),
        Gauge("almoner_bank_lines_open", "Unmatched bank statement lines that need a person.", registry=registry),
        Gauge("almoner_provider_payouts_open", "Provider payouts without a matching bank line.", registry=registry),
    )


def _register_metrics(registry: CollectorRegistry) -> tuple[Gauge, DatabaseComputedCounter]:
    """The gauge of the data's age, and the counter of imports."""
    age = Gauge(
        "almoner_register_data_age_seconds",
        "Age of the newest data of a register, by the business clock.",
        ("source",),
        registry=registry,
    )
    loads = DatabaseComputedCounter(
        "almoner_register_loads",
        "Imports of a register by status, of the whole deployment.",
        ("source", "status"),
        registry,
    )
    return age, loads


def _selfcheck_metrics(registry: CollectorRegistry) -> tuple[Gauge, Gauge, Gauge]:
    """The gauges of the self-check: violations, its time, and whether the database is a copy."""
    findings = Gauge(
        "almoner_selfcheck_findings", "Rows that break a promise, by check.", ("check",), registry=registry
    )
    at = Gauge(
        "almoner_selfcheck_timestamp_seconds",
        "When this process ran the self-check, by the business clock; the newest of all processes counts.",
        registry=registry,
    )
    copied = Gauge(
        "almoner_unreleased_copy",
        "1 while the database is an unreleased copy, which does nothing outside.",
        registry=registry,
    )
    return findings, at, copied
