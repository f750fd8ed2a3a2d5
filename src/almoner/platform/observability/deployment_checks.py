"""The checks of `almoner check`: whether a deployment's settings work, each with advice."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from almoner.kit.errors import Problem
from almoner.platform.deployment import Deployment
from almoner.platform.jobs.wakeup import wait_until_set
from almoner.platform.observability.telemetry import Telemetry
from almoner.platform.outbound.mail import MailRefused, TransientMailFailure

_PATIENCE_SECONDS: Final = 15.0
_PERIOD_SECONDS: Final = 300.0
_PROBLEMS: Final = ("failed", "warning")

Status = Literal["ok", "warning", "failed", "skipped"]


@dataclass(frozen=True, slots=True)
class CheckResult:
    """The result of a check, with advice. ``host``: of a check of several hosts."""

    name: str
    status: Status
    found: str
    advice: str = ""
    host: str = ""


Probe = Callable[[], Awaitable[CheckResult | Sequence[CheckResult]]]
"""Performs one check. An exception it raises is the problem."""


NamedProbe = tuple[str, str, Probe]
"""The probe's name, and what to do if it fails."""


async def run_probes(probes: Sequence[NamedProbe]) -> AsyncIterator[CheckResult]:
    """Run each (name, advice, probe); yields the results one by one, whatever fails."""
    for name, advice, probe in probes:
        try:
            async with asyncio.timeout(_PATIENCE_SECONDS):
                found = await probe()
        except TimeoutError:
            yield CheckResult(name, "failed", f"no answer within {_PATIENCE_SECONDS:.0f} s", advice)
        except Exception as error:  # noqa: BLE001 (any error is the result)
            yield CheckResult(name, "failed", describe_error(error), advice)
        else:
            for one in [found] if isinstance(found, CheckResult) else found:
                yield one


def describe_error(error: BaseException) -> str:
    """The error and its causes, on one line."""
    cause = error.__cause__
    if cause is None:
        explained = isinstance(error, TransientMailFailure | MailRefused) and str(error)
        return _one_line(error) if explained else f"{type(error).__name__}: {_one_line(error)}"
    if isinstance(error, Problem):  # its text is for API callers
        return describe_error(cause)
    return f"{_one_line(error) or type(error).__name__} ({type(cause).__name__}: {_one_line(cause)})"


def _one_line(error: BaseException) -> str:
    """The error's text, without the structures that the object store's library adds."""
    return " ".join(str(error).split()).partition(" Debug source:")[0][:400]


class DependencyMonitor:
    """Repeats probes while a worker runs. Logs, metrics and `/readyz?verbose` show what fails or soon will."""

    def __init__(self, probes: Sequence[NamedProbe], deployment: Deployment, telemetry: Telemetry) -> None:
        self._probes = probes
        self._clock = deployment.clock
        self._identity = deployment.identity
        self._telemetry = telemetry
        self._problems: dict[tuple[str, str], CheckResult] = {}
        self.results: list[CheckResult] = []

    async def run(self, stop: asyncio.Event) -> None:
        """Run all probes now and every five minutes until ``stop``."""
        while not stop.is_set():
            await self.run_probes_once()
            await wait_until_set(stop, _PERIOD_SECONDS)

    async def run_probes_once(self) -> None:
        """Run all probes once; not on an unreleased copy, which calls nothing outside.

        Logs a line when a probe starts to fail or to warn, changes, or works again.
        """
        if self._identity.copy is not None:
            self.results = []
            return
        self.results = [one async for one in run_probes(self._probes)]
        problems = {(one.name, one.host): one for one in self.results if one.status in _PROBLEMS}
        for status, gauge in self._telemetry.check_problems.items():
            names = {one.name for one in problems.values() if one.status == status}
            for name in dict.fromkeys(one.name for one in self.results):
                gauge.labels(name).set(name in names)
        for key, one in problems.items():
            if self._problems.get(key) != one:
                what = {"check": one.name, "host": one.host, "found": one.found, "advice": one.advice}
                self._telemetry.log(f"check_{one.status}", self._clock.real_now(), **what)
        for name, host in self._problems.keys() - problems.keys():
            self._telemetry.log("check_ok", self._clock.real_now(), check=name, host=host)
        self._problems = problems
