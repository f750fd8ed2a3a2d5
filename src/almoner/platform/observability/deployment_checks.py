"""What `almoner check` reports: whether a deployment's settings work, each with what to do."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Final, Literal

_PATIENCE_SECONDS: Final = 15.0

Status = Literal["ok", "warning", "failed", "skipped"]


@dataclass(frozen=True, slots=True)
class CheckResult:
    """One check: what was found, and what to do about it."""

    name: str
    status: Status
    found: str
    advice: str = ""


Probe = Callable[[], Awaitable[CheckResult | Sequence[CheckResult]]]
"""Looks at one thing. Whatever it raises is what is wrong."""


async def run_probes(probes: Sequence[tuple[str, str, Probe]]) -> AsyncIterator[CheckResult]:
    """(name, advice, probe) of each: the results, one after the other, however many fail."""
    for name, advice, probe in probes:
        try:
            async with asyncio.timeout(_PATIENCE_SECONDS):
                found = await probe()
        except TimeoutError:
            yield CheckResult(name, "failed", f"no answer within {_PATIENCE_SECONDS:.0f} s", advice)
        except Exception as error:  # noqa: BLE001 (whatever is wrong is what is asked)
            yield CheckResult(name, "failed", describe_error(error), advice)
        else:
            for one in [found] if isinstance(found, CheckResult) else found:
                yield one


def describe_error(error: BaseException) -> str:
    """The error and what it came from, on one line."""
    cause = error.__cause__
    own = " ".join(str(error).split())[:400]
    if cause is None:
        return f"{type(error).__name__}: {own}"
    return f"{own or type(error).__name__} ({type(cause).__name__}: {' '.join(str(cause).split())[:400]})"
