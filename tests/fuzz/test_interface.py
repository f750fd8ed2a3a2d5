"""The whole interface against its own description, with two partners who must not see each other (E1, K10)."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fuzz import campaign
from tests.support.figures import Figures
from tests.support.furnished import furnish
from tests.support.running import Running, folder, running


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Running]:
    """The real command without limits, with enough nonprofits."""
    with folder("fuzz") as made:
        furnish(made / "var", *(f"Foundation of Place {number}" for number in range(30)))
        with running(made / "var", **campaign.LIMITS) as service:
            yield service


@pytest.mark.soak
@pytest.mark.timeout(900)  # about a hundred operations, on machines that do something else, too
def test_e1_nothing_answers_otherwise_than_described(sandbox: Running, figures: Figures, tmp_path: Path) -> None:
    # Each example of the description in turn, which tests/e2e/test_documents.py sends as well, and every value at its
    # bounds: both are most of the time, and no part of a short run.
    phases = "fuzzing,stateful" + (",examples,coverage" if figures.soak else "")
    examples = figures.count(2, 100)
    outcome = campaign.run(sandbox, tmp_path / "st", phases=phases, examples=examples, seed=figures.seed)
    assert outcome.status == 0, outcome.said[-20_000:]
    share = len(outcome.succeeded) / len(outcome.seen)
    assert share >= 0.8, f"{share:.0%} of the operations succeeded; never: {outcome.failed}"
    figures.write(
        "fuzzing",
        "schemathesis over the whole interface (E1, K10)",
        f"{outcome.requests:,} requests to {len(outcome.seen)} operations with two partners, 0 failures",
        f"{len(outcome.succeeded)} of {len(outcome.seen)} operations answered 2xx",
    )
