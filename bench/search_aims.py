"""The targets of organisation search at two million organisations on two cores, beside the measurements."""

from collections.abc import Mapping
from dataclasses import dataclass

from bench.search_http import BESIDE
from bench.search_questions import SHOWN, Figures

_OVER_HTTP = " over HTTP"


@dataclass(frozen=True, slots=True)
class _Is:
    """One figure, and whether it meets its target."""

    text: str
    met: bool

    def __str__(self) -> str:
        return self.text if self.met else f"**{self.text}, missed**"


def _within(figures: Figures, share: float, most: float) -> _Is:
    is_ = figures.at(share)
    return _Is(f"{is_:.{1 if is_ < 10 else 0}f} ms" if is_ >= 1 else f"{is_:.2f} ms", is_ < most)


def _found(figures: Figures, first: int, least: float) -> _Is:
    return _Is(f"{figures.found(first):.1%}", figures.found(first) >= least)


def table(told: Mapping[str, Figures]) -> list[str]:
    """A Markdown table of figures by question."""
    typos, typed = told["two slips"], told["every keystroke"]
    slips_http, typed_http = told[f"two slips{_OVER_HTTP}"], told[f"every keystroke{_OVER_HTTP}"]
    worst = max((figures for kind, figures in told.items() if kind != "first"), key=lambda figures: figures.at(1))
    ratio = told[BESIDE + _OVER_HTTP].at(0.99) / slips_http.at(0.99)
    rows = {
        "two typos: p50 under 8 ms, p99 under 60 ms": (
            f"{_within(typos, 0.5, 8)}; {_within(typos, 0.99, 60)} ({_within(slips_http, 0.99, 60)} over HTTP)"
        ),
        f"two typos: first in 90 %, in the first {SHOWN} in 96 %": (
            f"{_found(typos, 1, 0.9)}; {_found(typos, SHOWN, 0.96)}"
        ),
        f"two typos with place or register: in the first {SHOWN} in 98 %": (
            f"{_found(told['two slips, with the place'], SHOWN, 0.98)}; with a country "
            f"{_found(told['two slips, within a country'], SHOWN, 0.98)}"
        ),
        f"a number without its zeros: in the first {SHOWN} in 95 %": str(
            _found(told["number without its zeros"], SHOWN, 0.95)
        ),
        f"initials with the place: in the first {SHOWN} in 80 %": str(
            _found(told["initials with the place"], SHOWN, 0.8)
        ),
        "half-typed: p50 under 15 ms, p99 under 100 ms": (
            f"{_within(typed, 0.5, 15)}; {_within(typed, 0.99, 100)} ({_within(typed_http, 0.99, 100)} over HTTP)"
        ),
        "exact number: p50 under 1 ms in the database, 5 ms over HTTP": (
            f"{_within(told['exact'], 0.5, 1)}; {_within(told['number' + _OVER_HTTP], 0.5, 5)}"
        ),
        "nothing slower than 300 ms": (
            f"{_within(worst, 1, 300)}; in the first questions after a start {_within(told['first'], 1, 300)}"
        ),
        "while a register is imported: p99 at most doubles": str(_Is(f"{ratio:.1f} times", ratio <= 2)),
    }
    return ["| aim | is |", "|---|---|", *(f"| {aim} | {is_} |" for aim, is_ in rows.items()), ""]
