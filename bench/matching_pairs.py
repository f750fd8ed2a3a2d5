"""Labelled pairs of names: how well each comparison separates them, with thresholds by cross-validation."""

import csv
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Final

from rapidfuzz import fuzz, utils

from almoner.screening.matching.domain import Party
from almoner.screening.matching.service import (
    CERTAIN_SCORE,
    FLAG_SCORE,
    best_name_similarity,
    compare_names,
    compare_parties,
    prepare_name,
)
from bench.matching_lists import SHARED

BENCHMARKS: Final = SHARED / "benchmarks"
LABELS: Final = Path(__file__).parent / "matching_labels.csv"
RIVAL: Final = Path(__file__).parent / "matching_nomenklatura.py"
FOLDS: Final = 5
BODIES: Final = ("Company", "Organization", "LegalEntity")
BY_PEOPLE: Final = ("human_review", "tier1_screen")


@dataclass(frozen=True, slots=True)
class Figures:
    """The quality of a threshold. ``right`` and ``wrong`` count the pairs that it accepts as one organisation."""

    threshold: float
    precision: float
    recall: float
    right: int
    wrong: int

    @property
    def f1(self) -> float:
        """The F1 score."""
        both = self.precision + self.recall
        return 2 * self.precision * self.recall / both if both else 0.0


def at(threshold: float, scores: Sequence[float], labels: Sequence[bool]) -> Figures:
    """The quality of one threshold."""
    right = sum(score >= threshold and label for score, label in zip(scores, labels, strict=True))
    wrong = sum(score >= threshold and not label for score, label in zip(scores, labels, strict=True))
    return Figures(threshold, right / (right + wrong or 1), right / (sum(labels) or 1), right, wrong)


def best(scores: Sequence[float], labels: Sequence[bool]) -> Figures:
    """The threshold with the best F1."""
    return max((at(one, scores, labels) for one in sorted(set(scores))), key=lambda figures: figures.f1)


def validated(scores: Sequence[float], labels: Sequence[bool], groups: Sequence[str]) -> Figures:
    """Each fifth evaluated by the best threshold of the others; pairs of one organisation stay together."""
    folds = [int(sha256(group.encode()).hexdigest(), 16) % FOLDS for group in groups]
    right = wrong = 0
    chosen = []
    for fold in range(FOLDS):
        others = [place for place, one in enumerate(folds) if one != fold]
        chosen.append(best([scores[one] for one in others], [labels[one] for one in others]).threshold)
        held = [place for place, one in enumerate(folds) if one == fold]
        figures = at(chosen[-1], [scores[one] for one in held], [labels[one] for one in held])
        right, wrong = right + figures.right, wrong + figures.wrong
    return Figures(sum(chosen) / FOLDS, right / (right + wrong), right / sum(labels), right, wrong)


def logic_v2(python: Path, pairs: Sequence[tuple[str, str, str]]) -> list[float]:
    """nomenklatura's scores, computed in its own environment."""
    lines = "".join(",".join(f'"{cell.replace(chr(34), chr(34) * 2)}"' for cell in pair) + "\n" for pair in pairs)
    done = subprocess.run([python, RIVAL], input=lines, capture_output=True, text=True, check=True)
    return [float(line) for line in done.stdout.split()]


def rivals_speed(python: Path) -> list[str]:
    """Pairs per second of both, on a sample of the labelled pairs, one core each."""
    with (BENCHMARKS / "npmatch_pairs.csv").open(newline="") as lines:
        pairs = [("Organization", row["name_uss_raw_main"], row["name_bmf_raw_main"]) for row in csv.DictReader(lines)]
    started = time.perf_counter()
    for _, one, other in pairs:
        compare_names(prepare_name(one), prepare_name(other))
    ours = len(pairs) / (time.perf_counter() - started)
    text = "".join(",".join(f'"{cell}"' for cell in pair) + "\n" for pair in pairs if '"' not in "".join(pair))
    done = subprocess.run([python, RIVAL], input=text, capture_output=True, text=True, check=True)
    return [f"Pairs compared, names read anew each time: almoner {ours:,.0f}/s, logic-v2 {done.stderr.split()[0]}/s."]


def _row(name: str, figures: Figures) -> str:
    return (
        f"| {name} | {figures.f1:.3f} | {figures.precision:.3f} | {figures.recall:.3f} | {figures.threshold:.3f} "
        f"| {figures.wrong} |"
    )


HEAD: Final = ("| | F1 | precision | recall | threshold | wrong |", "|---|---|---|---|---|---|")
Row = dict[str, str]


def _names(row: Row, side: str) -> list[str]:
    return [name for name in (row[f"name_{side}_raw_main"], row[f"name_{side}_raw_dba"]) if name]


def _party(row: Row, side: str, most_names: int | None = None) -> Party:
    street, city, state, postcode = (row[f"{part}_{side}"] for part in ("street", "city", "state", "zip5"))
    if side == "bmf":
        second = row["name_bmf_raw_dba"] or None
        return Party([row["name_bmf_raw_main"]], street, city, state, postcode, name_second_line=second)
    return Party(_names(row, side)[:most_names], street, city, state, postcode)


def registers(python: Path | None) -> list[str]:
    """Names and addresses of the register of awards against the master file."""
    with (BENCHMARKS / "npmatch_pairs.csv").open(newline="") as lines:
        rows = list(csv.DictReader(lines))
    labels = [row["is_match"] == "true" for row in rows]
    groups = [row["uei"] for row in rows]
    first = [(row["name_uss_raw_main"], row["name_bmf_raw_main"]) for row in rows]
    scored: dict[str, list[float]] = {
        "RapidFuzz ratio": [fuzz.ratio(*map(utils.default_process, pair)) / 100 for pair in first],
        "RapidFuzz ratio, our words": [
            fuzz.ratio(*(" ".join(prepare_name(name).words) for name in pair)) / 100 for pair in first
        ],
        "almoner, first lines": [compare_names(prepare_name(one), prepare_name(other)).score for one, other in first],
        "almoner, all lines": [
            best_name_similarity(
                _names(row, "uss"), [row["name_bmf_raw_main"]], listed_name_second_line=row["name_bmf_raw_dba"] or None
            ).score
            for row in rows
        ],
    }
    if python:
        scored["nomenklatura logic-v2"] = logic_v2(python, [("Organization", *pair) for pair in first])
        every = [("Organization", ";;".join(_names(row, "uss")), ";;".join(_names(row, "bmf"))) for row in rows]
        scored["nomenklatura logic-v2, all lines"] = logic_v2(python, every)
    people = [place for place, row in enumerate(rows) if row["gt_method"] in BY_PEOPLE]
    lines_out = [f"### Names only: {len(rows):,} pairs, threshold by cross-validation", "", *HEAD]
    lines_out += [_row(name, validated(scores, labels, groups)) for name, scores in scored.items()]
    lines_out += ["", f"Labels by people alone ({len(people):,} pairs):", "", *HEAD]
    for name, scores in scored.items():
        part = [[these[one] for one in people] for these in (scores, labels)]
        lines_out.append(
            _row(name, validated(part[0], [bool(one) for one in part[1]], [groups[one] for one in people]))
        )
    found = [compare_parties(_party(row, "uss"), _party(row, "bmf")) for row in rows]
    certain = [one.score if one.both_have_street_or_po_box and one.is_likely_match else 0.0 for one in found]
    asked = [compare_parties(_party(row, "uss", 1), _party(row, "bmf")) for row in rows]
    requests = [one.score if one.is_likely_match else 0.0 for one in asked]
    return [
        *lines_out,
        "",
        "### With addresses: accepted without a person",
        "",
        "One name is asked, and a place is enough where a street cannot be read. The names of other numbers count only",
        "where these pairs are evaluated as requests, in `docs/evidence/families.md`.",
        "",
        *_acceptance(rows, labels, requests, (CERTAIN_SCORE,)),
        "",
        "With every name of either side, and a street on both:",
        "",
        *_acceptance(rows, labels, certain, (0.88, 0.9, 0.91, 0.92, CERTAIN_SCORE, 0.95, 0.96, 0.97, 0.98)),
    ]


def _acceptance(
    rows: Sequence[Row], labels: Sequence[bool], accepted: Sequence[float], thresholds: Sequence[float]
) -> list[str]:
    kinds: dict[str, Callable[[str], bool]] = {
        "all": lambda _: True,
        "by people": lambda method: method in BY_PEOPLE,
        "algo_auto": lambda method: method == "algo_auto",
    }
    lines = ["| threshold | labels | precision | recall | right | wrong |", "|---|---|---|---|---|---|"]
    for threshold in thresholds:
        for kind, of in kinds.items():
            chosen = [place for place, row in enumerate(rows) if of(row["gt_method"])]
            scores = [accepted[one] for one in chosen]
            figures = at(threshold, scores, [labels[one] for one in chosen])
            reported = f"**{threshold}**" if threshold == CERTAIN_SCORE else str(threshold)
            lines.append(
                f"| {reported} | {kind} | {figures.precision:.4f} | {figures.recall:.3f} "
                f"| {figures.right} | {figures.wrong} |"
            )
    return lines


def companies(python: Path | None) -> list[str]:
    """Pairs of names of companies and organisations."""
    with (BENCHMARKS / "name_bench.csv").open(newline="") as lines:
        rows = [row for row in csv.DictReader(lines) if row["schema"] in BODIES]
    with LABELS.open(newline="") as lines:
        contested = {(row["name1"], row["name2"]) for row in csv.DictReader(lines)}
    pairs = [(row["name1"], row["name2"]) for row in rows]
    labels = [row["is_match"] == "true" for row in rows]
    scored = {
        "RapidFuzz WRatio": [fuzz.WRatio(*pair, processor=utils.default_process) / 100 for pair in pairs],
        "almoner": [compare_names(prepare_name(one), prepare_name(other)).score for one, other in pairs],
    }
    if python:
        scored["nomenklatura logic-v2"] = logic_v2(
            python, [(row["schema"], *pair) for row, pair in zip(rows, pairs, strict=True)]
        )
    stored = [place for place, pair in enumerate(pairs) if pair not in contested]
    lines_out = [f"### Names of companies and organisations: {len(rows)} pairs, best threshold", "", *HEAD]
    lines_out += [_row(name, best(scores, labels)) for name, scores in scored.items()]
    own = f"almoner at {FLAG_SCORE}"
    lines_out += [_row(own, at(FLAG_SCORE, scored["almoner"], labels))]
    lines_out += ["", f"Without the {len(rows) - len(stored)} labels of `bench/matching_labels.csv`:", "", *HEAD]
    for name, scores in scored.items():
        lines_out.append(_row(name, best([scores[one] for one in stored], [labels[one] for one in stored])))
    here = [[these[one] for one in stored] for these in (scored["almoner"], labels)]
    return [*lines_out, _row(own, at(FLAG_SCORE, here[0], [bool(one) for one in here[1]]))]
