"""The evidence of a record that rules decide about: what each step of an evaluation looked at, and what it found."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Literal
from uuid import UUID

EvidenceKind = Literal[
    "validation_request",
    "agent_verification",
    "monitoring_subscription",
    "eligibility_subscription",
    "monetary_donation_verification",
]
"""The kinds of records that have evidence."""
StepVerdict = Literal["pass", "fail", "warn", "not_applicable", "unknown"]


@dataclass(frozen=True, slots=True)
class EvaluationStep:
    """One step: what it found, in which version of which source, and the facts that it saw.

    ``code``: why, None where the verdict says all. ``data_as_of``: the day of the source's data.
    """

    name: str
    verdict: StepVerdict
    code: str | None = None
    source: str | None = None
    data_as_of: datetime | None = None
    facts: Mapping[str, object] = field(default_factory=dict)
    version: str | None = None

    @property
    def facts_as_text(self) -> list[tuple[str, str | None]]:
        """The facts as texts for people."""
        return [
            (name, value if value is None or isinstance(value, str) else _compact(value))
            for name, value in self.facts.items()
        ]


def _compact(value: object) -> str:
    """A value that is no text: a list of plain values with commas, a list of lists with semicolons, others as JSON."""
    if isinstance(value, list | tuple):
        if all(isinstance(one, list | tuple) for one in value):
            return "; ".join(", ".join(_plain(part) for part in one if part != "") for one in value)
        return ", ".join(_plain(one) for one in value)
    return _plain(value)


def _plain(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, separators=(",", ":"))


@dataclass(frozen=True, slots=True)
class Evaluation:
    """One stored evaluation. ``occasion``: why it was made. ``facts``: what it rests on besides its steps."""

    id: UUID
    steps: tuple[EvaluationStep, ...]
    at: datetime
    occasion: str | None = None
    outcome: str | None = None
    reasons: tuple[str, ...] = ()
    facts: Mapping[str, object] = field(default_factory=dict)

    @property
    def unverified_sources(self) -> frozenset[str]:
        """The sources whose readers were never tested on a real file."""
        return frozenset(
            step.source for step in self.steps if step.source and step.code in ("unverified_source", "unverified")
        )

    @property
    def steps_marking_unverified_sources(self) -> list[EvaluationStep]:
        """The steps, in which unverified sources are marked as such."""
        unverified = self.unverified_sources
        return [
            replace(step, source=f"{step.source} (unverified)") if step.source in unverified else step
            for step in self.steps
        ]
