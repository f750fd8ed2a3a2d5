"""Looks for the input that costs a parser most: ``python -m tests.fuzz.maximise SECONDS SEED NAME...``.

atheris keeps inputs that reach code which none reached before, or twice as often. A function is called here as often
as the parser took time, so that it keeps what costs more and goes on from there. It fails with the input above the
budget, or with an error that is no refusal; else a line for each parser says the most that was seen. Each is looked at
in a process of its own, forked from one that has imported and instrumented everything: that takes longer than a short
look.
"""

import os
import re
import sys
from collections.abc import Callable
from contextlib import suppress
from tempfile import TemporaryFile, gettempdir
from time import monotonic, thread_time
from typing import Final

import atheris

with atheris.instrument_imports(include=["almoner"]):
    from tests.support.parsers import FORM, PARSERS, REFUSALS

from tests.support import costs

_PIECES: Final = [
    *map(chr, range(32, 127)),
    *"\0\t\n\r\u00a0\u00ad\u00df\u0130\u0301\u0323\u0345\u0431\u05e2\u0661\u066b\u0e01\u200d\u200b\u2028\u202e\u3000",
    *"\u4e2d\ud7a3\u1100\u1161\ufdfa\ufb03\uff11\U0001f600\U0001d7d8",
    *(
        "foundation",
        "the ",
        "xn--",
        "not (",
        ' eq "a"',
        " and ",
        ";q=0.1",
        "https://",
        "%41",
        "1e9",
        "RF18",
        "GB29NWBK",
    ),
]
"""What a byte of the fuzzer stands for: so few bytes make marks, scripts and words."""
_LEAST_SECONDS: Final = 0.0002
_MOST_STEPS: Final = 128
_SLOWED: Final = 6
"""Times as long as without the counters of atheris: measured, up to six for SCIM filters, mostly less than two."""


def _step() -> None:
    """Called for each bit of time: the fuzzer tells 1, 2, 3, 4, 8 ... 128 calls of a function apart."""


_counted: Final[Callable[[], None]] = atheris.instrument_func(_step)


PLANTED: Final = "planted"
"""A parser of nobody, which a test has found: quadratic, where a form says one word again and again."""
_TARGETS: Final[dict[str, tuple[int, Callable[[str], object]]]] = {
    **PARSERS,
    PLANTED: (FORM // 2, re.compile(r"(?:xn--)+!").search),
}


class _Target:
    """Runs one parser until its time is over; ``worst`` is the longest time it took."""

    def __init__(self, name: str, seconds: float) -> None:
        self._longest, self._parse = _TARGETS[name]
        self.worst = 0.0
        self._seconds("St Mary's 2nd Church of 53-0196605")  # what is read once, on first use
        for piece in _PIECES:
            self._measure(self._repeated(piece))  # a short look would miss one that costs much by itself
        self._ends = monotonic() + seconds

    def __call__(self, data: bytes) -> None:
        if monotonic() > self._ends:
            os._exit(0)  # libFuzzer counts in whole seconds
        # What fuzzers make is short: said again and again up to the longest, it says what is not linear.
        unit = "".join(_PIECES[byte % len(_PIECES)] for byte in data) or "a"
        for typed in (unit[: self._longest], self._repeated(unit)):
            self._measure(typed)

    def _repeated(self, unit: str) -> str:
        return (unit * (self._longest // len(unit) + 1))[: self._longest]

    def _measure(self, typed: str) -> None:
        taken = self._seconds(typed)
        if taken > costs.PAGE_SECONDS * _SLOWED:
            taken = min(taken, self._seconds(typed), self._seconds(typed))
            assert taken <= costs.PAGE_SECONDS * _SLOWED, f"{taken:.3f} s for {typed[:200]!r}"
        if taken > self.worst:
            self.worst = taken
            print(f"{taken * 1000:.1f} ms {typed[:40]!r}", flush=True)  # it ends at any moment
        for _ in range(min(_MOST_STEPS, int(taken / _LEAST_SECONDS))):
            _counted()

    def _seconds(self, typed: str) -> float:
        began = thread_time()
        with suppress(*REFUSALS):
            self._parse(typed)
        return thread_time() - began


def _look(name: str, seconds: float, seed: int) -> None:
    options = [f"-seed={seed}", "-max_len=64", "-verbosity=0"]
    options.append(f"-artifact_prefix={gettempdir()}/")  # what is too slow is in the last words, too
    atheris.Setup([sys.argv[0], *options], _Target(name, seconds).__call__)
    atheris.Fuzz()


def main() -> int:
    """Look at each for so many seconds; 1 as soon as one costs too much."""
    seconds, seed, *names = sys.argv[1:]
    for name in names:
        with TemporaryFile("w+", errors="replace") as output:
            if (child := os.fork()) == 0:
                for stream in (1, 2):
                    os.dup2(output.fileno(), stream)
                _look(name, float(seconds), int(seed))
            _, status = os.waitpid(child, 0)
            output.seek(0)
            printed = output.read()
        if status != 0:
            print(f"{name}: {printed[-6000:]}")
            return 1
        worst = [line for line in printed.splitlines() if " ms " in line][-1]
        print(f"{name}: {worst.partition(' ms ')[0]} ms with the counters of atheris", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
