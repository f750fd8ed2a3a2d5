"""The states of records and the moves between them, drawn from the code: an SVG each, and the page that shows them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Final

from almoner.giving.checkout.donation_requests.domain import DONATION_REQUEST
from almoner.giving.checkout.donations.domain import DONATION
from almoner.giving.checkout.sessions.domain import SESSION
from almoner.giving.disbursing.disbursements.domain import DISBURSEMENT
from almoner.giving.disbursing.verifications.domain import VERIFICATION as MONETARY_VERIFICATION
from almoner.giving.subscriptions.donation_subscriptions.domain import DONATION_SUBSCRIPTION
from almoner.kit.states import Lifecycle
from almoner.validation.agents.domain import VERIFICATION as AGENT_VERIFICATION
from almoner.validation.applications.invites.domain import INVITE
from almoner.validation.applications.submissions.domain import SUBMISSION
from almoner.validation.decisions.appeals.domain import APPEAL
from almoner.validation.ongoing.eligibility.domain import SUBSCRIPTION as ELIGIBILITY
from almoner.validation.ongoing.monitoring.domain import SUBSCRIPTION as MONITORING
from almoner.validation.requests.domain import REQUEST
from almoner.webhooks.deliveries.domain import DELIVERY
from almoner.webhooks.subscriptions.domain import SUBSCRIPTION as WEBHOOK

PAGE: Final = "docs/concepts/lifecycles.md"
IMAGES: Final = "images/lifecycles"
_HEAD: Final = """\
# Records and their states

Made from the code by `make docs`; do not edit by hand.

The status of a record moves along these arrows and no others: the database refuses any other change.
New states may be added, so accept values that you do not know.
"""
_ROW: Final = 92
_HEIGHT: Final = 34
_GAP: Final = 28
_LETTER: Final = 8
_STYLE: Final = (
    "<style>rect,path{fill:none;stroke:#555}marker path{fill:#555}text{font:13px monospace;fill:#333}"
    "@media(prefers-color-scheme:dark){rect,path{stroke:#bbb}marker path,text{fill:#ddd}}"
    "</style>"
)


@dataclass(frozen=True, slots=True)
class Described:
    """A lifecycle with what its record is, and the guide about it."""

    name: str
    lifecycle: Lifecycle
    text: str
    guide: str

    @property
    def image(self) -> str:
        """The path of its drawing below docs/."""
        return f"{IMAGES}/{self.name.lower().replace(' ', '-')}.svg"


DESCRIBED: Final = (
    Described("Donation", DONATION, "A single donation, from the payment to the disbursement.", "donations.md"),
    Described("Donation session", SESSION, "A link to the hosted page for one donation.", "hosted-page.md"),
    Described("Donation subscription", DONATION_SUBSCRIPTION, "A donor's regular donations.", "regular-gifts.md"),
    Described(
        "Donation request",
        DONATION_REQUEST,
        "A request to transfer the money for direct donations.",
        "direct-donations.md",
    ),
    Described("Disbursement", DISBURSEMENT, "A transfer of donations to a nonprofit.", "disbursements.md"),
    Described(
        "Monetary donation verification",
        MONETARY_VERIFICATION,
        "Checks whether a nonprofit can receive money.",
        "verifications.md",
    ),
    Described(
        "Validation request", REQUEST, "Checks whether a nonprofit is listed in its register.", "validation-requests.md"
    ),
    Described(
        "Agent verification",
        AGENT_VERIFICATION,
        "Checks whether a person represents a nonprofit.",
        "agent-verifications.md",
    ),
    Described("Validation invite", INVITE, "A link to the application form.", "applications.md"),
    Described("Validation submission", SUBMISSION, "An application with all its checks.", "applications.md"),
    Described("Appeal", APPEAL, "A new review of a rejected application.", "appeals.md"),
    Described("Monitoring subscription", MONITORING, "Monitors a nonprofit and reports changes.", "monitoring.md"),
    Described(
        "Eligibility subscription", ELIGIBILITY, "Checks whether a nonprofit meets your criteria.", "eligibility.md"
    ),
    Described("Webhook subscription", WEBHOOK, "A URL that receives events.", "webhooks.md"),
    Described("Webhook delivery", DELIVERY, "The delivery of one event to a subscription.", "webhooks.md"),
)


def page() -> str:
    """The page of all lifecycles."""
    return "\n".join(_page())


def drawings() -> Iterator[tuple[str, str]]:
    """The path below docs/ and the SVG of each lifecycle."""
    for one in DESCRIBED:
        yield one.image, draw(one, _STYLE)


def _page() -> Iterator[str]:
    yield _HEAD
    for one in DESCRIBED:
        yield f"## {one.name}\n\n{one.text} See [the guide](../guides/{one.guide}).\n"
        yield f"![States: {one.name.lower()}](../{one.image})\n"
        for state in _in_order(one.lifecycle):
            targets = " or ".join(f"`{target}`" for target in sorted(one.lifecycle.moves.get(state, ())))
            yield f"- `{state}`: {f'then {targets}' if targets else 'final'}"
        yield ""


def draw(described: Described, style: str = "") -> str:
    """The states in rows, an arrow for each move; what goes back or leaves out a row goes round the side."""
    rows = _rows(described.lifecycle)
    widths = [sum(_width(state) for state in row) + _GAP * (len(row) - 1) for row in rows]
    inner = max(widths)
    boxes: dict[str, tuple[float, float]] = {}
    for number, row in enumerate(rows):
        left = (inner - widths[number]) / 2
        for state in row:
            boxes[state] = (left, number * _ROW + 2)
            left += _width(state) + _GAP
    level = {state: number for number, row in enumerate(rows) for state in row}
    around = [one for one in described.lifecycle.transitions() if level[one[1]] - level[one[0]] != 1]
    side = 20 * (len(around) + 1) if around else 2
    name = f"arrow-{described.name.lower().replace(' ', '-')}"
    lines = list(_arrows(described.lifecycle, boxes, level, inner, name))
    width, height = inner + 2 * side + 4, len(rows) * _ROW - (_ROW - _HEIGHT) + 28
    label = escape(f"States: {described.name.lower()}; the list below says the same")
    shapes = [_box(state, boxes[state]) for state in level]
    marker = (
        f'<marker id="{name}" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8" markerHeight="8" '
        'orient="auto-start-reverse"><path d="M0 0L8 4L0 8z"/></marker>'
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="lifecycle" role="img" aria-label="{label}" '
        f'viewBox="{-side - 2:g} -2 {width:g} {height:g}" width="{width:g}" height="{height:g}">{style}'
        f"<defs>{marker}</defs>{''.join(lines)}{''.join(shapes)}</svg>\n"
    )


def _arrows(
    lifecycle: Lifecycle, boxes: dict[str, tuple[float, float]], level: dict[str, int], inner: float, name: str
) -> Iterator[str]:
    bulge = 0
    for source, target in lifecycle.transitions():
        (x1, y1), (x2, y2) = boxes[source], boxes[target]
        if level[target] - level[source] == 1:
            start, end = x1 + _width(source) / 2, x2 + _width(target) / 2
            # Two that meet in one box end beside each other.
            shift = max(-0.3, min(0.3, (start - end) / max(inner, 1))) * _width(target)
            path = (
                f"M{start:g} {y1 + _HEIGHT:g}C{start:g} {y1 + 60:g} {end + shift:g} {y2 - 26:g} {end + shift:g} {y2:g}"
            )
        else:
            bulge += 1
            left = _is_at_edge(boxes, source, -1) and _is_at_edge(boxes, target, -1)
            left = left and not (_is_at_edge(boxes, source, 1) and _is_at_edge(boxes, target, 1))
            side = -1 if left else 1
            out = -24 * bulge if left else inner + 24 * bulge
            lift = 5 * bulge - 10
            from_x, from_y = _end_of_arrow(boxes, source, side, lift)
            to_x, to_y = _end_of_arrow(boxes, target, side, -lift)
            path = f"M{from_x:g} {from_y:g}C{out:g} {from_y:g} {out:g} {to_y:g} {to_x:g} {to_y:g}"
        yield f'<path d="{path}" marker-end="url(#{name})"/>'


def _is_at_edge(boxes: Mapping[str, tuple[float, float]], state: str, side: int) -> bool:
    """Whether nothing stands beside a state on the right (1) or on the left (-1)."""
    x, y = boxes[state]
    return not any(place[1] == y and (place[0] - x) * side > 0 for place in boxes.values())


def _end_of_arrow(boxes: Mapping[str, tuple[float, float]], state: str, side: int, lift: float) -> tuple[float, float]:
    """At the side of a state; below it, where others stand beside it."""
    x, y = boxes[state]
    if not _is_at_edge(boxes, state, side):
        return x + _width(state) / 2, y + _HEIGHT
    return (x + _width(state) if side > 0 else x), y + _HEIGHT / 2 + lift / 2


def _box(state: str, place: tuple[float, float]) -> str:
    x, y = place
    width = _width(state)
    return (
        f'<g><rect x="{x:g}" y="{y:g}" width="{width:g}" height="{_HEIGHT}" rx="6"/>'
        f'<text x="{x + width / 2:g}" y="{y + 22:g}" text-anchor="middle">{escape(state)}</text></g>'
    )


def _width(state: str) -> int:
    return _LETTER * len(state) + 24


def _rows(lifecycle: Lifecycle) -> list[list[str]]:
    """States by how many moves they are from the beginning, the longest way without going back."""
    levels = dict.fromkeys(_starts(lifecycle), 0)

    def visit(state: str, path: Sequence[str]) -> None:
        for target in sorted(lifecycle.moves.get(state, ())):
            if target not in path and levels.get(target, -1) < len(path):
                levels[target] = len(path)
                visit(target, (*path, target))

    for start in list(levels):
        visit(start, (start,))
    rows: list[list[str]] = [[] for _ in range(max(levels.values()) + 1)]
    for state in _in_order(lifecycle):
        rows[levels[state]].append(state)
    return rows


def _starts(lifecycle: Lifecycle) -> list[str]:
    """States from which, together, every other one is reached; those that lead to most come first."""
    found: list[str] = []
    reached: set[str] = set()
    while left := [state for state in lifecycle.moves if state not in reached]:
        start = max(left, key=lambda state: len(_reached_from(lifecycle, state) - reached))
        found.append(start)
        reached |= _reached_from(lifecycle, start)
    return found


def _reached_from(lifecycle: Lifecycle, state: str) -> set[str]:
    found, waiting = {state}, [state]
    while waiting:
        new = lifecycle.moves.get(waiting.pop(), frozenset()) - found
        found |= new
        waiting += new
    return found


def _in_order(lifecycle: Lifecycle) -> list[str]:
    """As they are written down: first those that lead on, then the final ones."""
    final = sorted({target for _, target in lifecycle.transitions()} - lifecycle.moves.keys())
    return [*lifecycle.moves, *final]
