"""Every parser of text from outside takes little of the processor at its longest input, and at most twice at twice it.

Lines of ours are counted in ``test_bounded_work``; here is the time of what is not ours, too: regular expressions,
numbers, Unicode tables, codecs.
"""

from collections.abc import Callable
from contextlib import suppress

import pytest

from tests.support import costs
from tests.support.hostile_text import SHAPES
from tests.support.parsers import PARSERS, REFUSALS


def _work(parse: Callable[[str], object], typed: str) -> Callable[[], None]:
    def work() -> None:
        with suppress(*REFUSALS):
            parse(typed)

    return work


def _costs(name: str, shape: str) -> str | None:
    """What is wrong with what it costs."""
    longest, parse = PARSERS[name]
    make = SHAPES[shape]
    whole = costs.least_seconds(_work(parse, make(longest)), enough=costs.NOTICED_SECONDS)
    if whole <= costs.NOTICED_SECONDS:
        return None
    half = costs.least_seconds(_work(parse, make(longest // 2)))
    if whole > costs.PAGE_SECONDS or whole > costs.MOST_GROWTH * half + costs.NOTICED_SECONDS:
        return f"{shape}: {half * 1000:.1f} ms, {whole * 1000:.1f} ms at twice the length"
    return None


@pytest.mark.parametrize("name", PARSERS)
def test_a_parser_costs_little_at_its_longest_whatever_it_reads(name: str) -> None:
    _work(PARSERS[name][1], "St Mary's 2nd Church of 53-0196605")()  # what is read once, on first use
    assert [found for shape in SHAPES if (found := _costs(name, shape))] == []
