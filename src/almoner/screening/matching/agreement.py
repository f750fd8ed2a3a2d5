"""Whether what somebody asks for is the body in the register: names and addresses together."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Final

from almoner.screening.matching.comparison import compare
from almoner.screening.matching.domain import Agreement, Finding, Likeness, Part, Party
from almoner.screening.matching.places import Level, nearness, place
from almoner.screening.matching.words import Prepared, prepare

CERTAIN: Final = 0.9
"""From here on, with an address, no person need look."""
LIKELY: Final = 0.845
"""From here on two names alone are taken for those of one body."""
_POINTS: Final[dict[Finding, dict[Level, float]]] = {
    "street": {"same": 0.12, "near": 0.03, "other": -0.02},
    "postcode": {"same": 0.03, "near": 0.01, "other": -0.03},
    "city": {"same": 0.03, "other": -0.03},
    "state": {"other": -0.12},
    "country": {"other": -0.3},
}

_read = lru_cache(maxsize=4096)(prepare)


def _known(names: Sequence[str]) -> list[Prepared]:
    """Each name, and the principal one with each other behind it: a chapter stands on the second line."""
    names = [name for name in names if name.strip()]
    together = [f"{names[0]} {other}" for other in names[1:]]
    return [read for name in (*names, *together) if (read := _read(name)).words]


def names_agree(asked: Sequence[str], listed: Sequence[str]) -> Likeness:
    """The best of all pairs of their names."""
    pairs = [compare(one, other) for one in _known(asked)[: len(asked)] for other in _known(listed)]
    return max(pairs, key=lambda pair: pair.score, default=Likeness(0.0, (), (), "", ""))


def agreement(asked: Party, listed: Party) -> Agreement:
    """How well what is asked agrees with what is listed."""
    likeness = names_agree(asked.names, listed.names)
    near = nearness(place(asked), place(listed))
    parts = list(likeness.parts)
    for finding, points in _POINTS.items():
        level: Level = getattr(near, finding)
        if level != "unknown":
            parts.append(Part(finding, points.get(level, 0.0), _told(asked, finding), _told(listed, finding)))
    total = sum(part.points for part in parts)
    score = min(max(total, 0.0), 1.0)
    if score != total:
        parts.append(Part("bounds", score - total))
    certain = score >= CERTAIN and near.known and not likeness.vetoes
    return Agreement(score, likeness.score, near.known, certain, tuple(parts), likeness.vetoes)


def _told(party: Party, finding: Finding) -> str:
    return str(getattr(party, finding) or "")
