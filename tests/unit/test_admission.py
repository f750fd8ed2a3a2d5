"""Requests in flight: so many of one client and in all; money turned away last, health checks never."""

from contextlib import ExitStack

import pytest

from almoner.kit.errors import ServiceUnavailable
from almoner.platform.http.admission import MOST, MOST_OF_CLIENT, MOST_WITH_MONEY, InFlightRequestLimiter


def admit(
    stack: ExitStack, admission: InFlightRequestLimiter, address: str, method: str = "GET", path: str = "/v1/x"
) -> None:
    """A request that stays in flight."""
    scope = {"type": "http", "method": method, "path": path, "client": (address, 0)}
    stack.callback(admission.release_request, admission.admit_and_identify_client(scope))


def fill(stack: ExitStack, admission: InFlightRequestLimiter, numbers: range, method: str) -> None:
    """Requests of as many clients."""
    for number in numbers:
        admit(stack, admission, f"10.0.{number // 250}.{number % 250}", method)


def test_a_client_has_so_many_in_flight_and_others_are_served() -> None:
    admission = InFlightRequestLimiter()
    with ExitStack() as held:
        for number in range(MOST_OF_CLIENT):
            admit(held, admission, f"2001:db8:0:1::{number:x}")
        with pytest.raises(ServiceUnavailable):
            admit(held, admission, "2001:db8:0:1:ffff::1")
        admit(held, admission, "2001:db8:0:2::1")
    with ExitStack() as held:
        admit(held, admission, "2001:db8:0:1::1")


def test_reads_are_turned_away_before_writes_and_health_checks_never() -> None:
    admission = InFlightRequestLimiter()
    with ExitStack() as held:
        fill(held, admission, range(MOST), "GET")
        with pytest.raises(ServiceUnavailable):
            admit(held, admission, "10.1.0.1")
        fill(held, admission, range(MOST, MOST_WITH_MONEY), "POST")
        with pytest.raises(ServiceUnavailable):
            admit(held, admission, "10.1.0.1", "POST")
        for path in ("/healthz", "/readyz", "/metrics"):
            admit(held, admission, "10.1.0.1", path=path)
