"""Learns the weights of suggested sub-tags, and shows how good suggestions are: ``docs/evidence/activities.md``.

    python -m tools.suggestions learn ukcat_sample.csv      writes weights.json.gz
    python -m tools.suggestions judge ukcat_sample.csv      cross-validation: each body by weights learnt without it
    python -m tools.suggestions try other.csv               the shipped weights on bodies that they were not learnt from

The CSV holds charities tagged by hand (UK-CAT, CC BY 4.0): name, activities, objects, UKCAT (codes with semicolons).
Ridge regression of every sub-tag at once on the features of ``nonprofits/activities/suggestions.py``; its one solution
is a linear system of the size of the sample. F1 is micro, over pairs of a body and a sub-tag.
"""

import csv
import gzip
import json
import math
import random
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean, stdev
from typing import Any

import numpy as np

from almoner.nonprofits.activities import suggestions
from almoner.nonprofits.activities.domain import SUB_TAGS, TAGS
from almoner.nonprofits.activities.suggestions import ModelWeights, TextFeatures

TARGET = Path(__file__).parents[1] / "src/almoner/nonprofits/activities/weights.json.gz"
ORIGIN = {
    "source": "learnt from the hand-tagged sample of UK-CAT, UK Charity Activity Tags, https://charityclassification.org.uk",
    "licence": "CC BY 4.0, https://creativecommons.org/licenses/by/4.0/",
    "madeBy": "tools/suggestions.py",
}
RIDGE = 2.0
FEWEST_BODIES_WITH_A_WORD = 2
SMALLEST_WEIGHT = 0.02
SCALE = 200
FOLDS = 5
SEEDS = (1, 2)
THRESHOLDS = [step / 100 for step in range(14, 44, 2)]


@dataclass(frozen=True)
class Body:
    """A charity with its tags, and what UK-CAT's expressions give alone."""

    found: TextFeatures
    tags: frozenset[str]
    matched: frozenset[str]


def read(path: Path) -> list[Body]:
    """The bodies of a file."""
    with path.open(encoding="utf-8-sig", newline="") as file:
        return [
            Body(
                suggestions.extract_text_features(*(texts := (row["name"], row["activities"], row["objects"]))),
                frozenset(row["UKCAT"].split(";")) & frozenset(SUB_TAGS),
                frozenset(suggestions.match_sub_tags_with_uk_cat_expressions(*texts)),
            )
            for row in csv.DictReader(file)
        ]


def learn(bodies: Sequence[Body], threshold: float) -> ModelWeights:
    """The weights for these bodies."""
    counts = Counter(word for body in bodies for word in body.found.word_weights)
    rarity = {word: math.log(len(bodies) / n) for word, n in counts.items() if n >= FEWEST_BODIES_WITH_A_WORD}
    empty = ModelWeights(threshold, {}, rarity, {})
    vectors = [empty.weigh_features(body.found) for body in bodies]
    places = {feature: place for place, feature in enumerate(sorted({one for vector in vectors for one in vector}))}
    codes = [code for code in SUB_TAGS if any(code in body.tags for body in bodies)]
    x = np.zeros((len(bodies), len(places)), dtype=np.float32)
    for row, vector in enumerate(vectors):
        for feature, value in vector.items():
            x[row, places[feature]] = value
    y = np.array([[code in body.tags for code in codes] for body in bodies], dtype=np.float32)
    before, centre = y.mean(axis=0), x.mean(axis=0)
    centred = x - centre
    solved = np.linalg.solve(centred @ centred.T + RIDGE * np.eye(len(bodies), dtype=np.float32), y - before)
    w = centred.T @ solved
    shift = before - centre @ w
    kept = np.rint(w * SCALE) / SCALE
    kept[np.abs(w) < SMALLEST_WEIGHT] = 0
    of = {
        feature: {codes[column]: float(kept[place, column]) for column in np.flatnonzero(kept[place])}
        for feature, place in places.items()
    }
    return ModelWeights(
        threshold,
        {code: round(float(one), 4) for code, one in zip(codes, shift, strict=True)},
        {word: round(value, 3) for word, value in rarity.items()},
        {feature: row for feature, row in of.items() if row},
    )


def packed(learnt: ModelWeights) -> bytes:
    """The file of the weights; the same bytes for the same weights."""
    codes = list(learnt.intercepts)
    places = {code: place for place, code in enumerate(codes)}
    features = {}
    for feature, row in learnt.sub_tag_weights_by_feature.items():
        last, pairs = 0, []
        for code, weight in row.items():
            pairs += [places[code] - last, round(weight * SCALE)]
            last = places[code]
        features[feature] = pairs
    content = {
        "origin": ORIGIN,
        "threshold": learnt.threshold,
        "scale": SCALE,
        "codes": codes,
        "before": list(learnt.intercepts.values()),
        "rarity": learnt.inverse_document_frequencies,
        "features": features,
    }
    return gzip.compress(json.dumps(content, separators=(",", ":")).encode(), mtime=0)


def opened(content: bytes) -> Any:
    """What a file of weights holds."""
    return json.loads(gzip.decompress(content))


@dataclass
class Tally:
    """Pairs of a body and a tag: given and true, given, true."""

    both: int = 0
    given: int = 0
    true: int = 0

    def add(self, given: frozenset[str] | set[str], true: frozenset[str] | set[str]) -> None:
        """Count one body."""
        self.both += len(given & true)
        self.given += len(given)
        self.true += len(true)

    @property
    def f1(self) -> float:
        """0 to 1."""
        return 2 * self.both / ((self.given + self.true) or 1)

    def __str__(self) -> str:
        return f"{self.both / (self.given or 1):.3f} | {self.both / (self.true or 1):.3f} | {self.f1:.3f}"


def tally(scores: Sequence[dict[str, float]], bodies: Sequence[Body], threshold: float) -> Tally:
    """Of suggestions at a threshold."""
    made = Tally()
    for score, body in zip(scores, bodies, strict=True):
        made.add({code for code, one in score.items() if one >= threshold}, body.tags)
    return made


def scored(learnt: ModelWeights, bodies: Sequence[Body]) -> list[dict[str, float]]:
    """The scores of bodies."""
    return [learnt.score_sub_tags(learnt.weigh_features(body.found)) for body in bodies]


def folds(bodies: Sequence[Body], seed: int) -> list[list[int]]:
    """Positions dealt into equal parts."""
    order = list(range(len(bodies)))
    random.Random(seed).shuffle(order)
    return [order[nth::FOLDS] for nth in range(FOLDS)]


def best_threshold(bodies: Sequence[Body]) -> float:
    """By a fifth of these bodies, with weights that were learnt from the others."""
    first, *others = folds(bodies, 0)
    judged = [bodies[place] for place in first]
    scores = scored(learn([bodies[place] for part in others for place in part], 0), judged)
    return max(THRESHOLDS, key=lambda one: tally(scores, judged, one).f1)


def judge(bodies: Sequence[Body]) -> None:
    """Cross-validation, the threshold too chosen without the bodies that are judged."""
    kept: list[set[str]] = [set() for _ in bodies]
    parts, beside = [], []
    for seed in SEEDS:
        for part in folds(bodies, seed):
            out = set(part)
            others = [body for place, body in enumerate(bodies) if place not in out]
            learnt = learn(others, best_threshold(others))
            judged = [bodies[place] for place in part]
            scores = scored(learnt, judged)
            parts.append(tally(scores, judged, learnt.threshold))
            alone = Tally()
            for body in judged:
                alone.add(body.matched, body.tags)
            beside.append(alone)
            print(f"seed {seed}: threshold {learnt.threshold}, {parts[-1]}; expressions {alone}", flush=True)
            if seed == SEEDS[0]:
                for place, score in zip(part, scores, strict=True):
                    kept[place] = {code for code, one in score.items() if one >= learnt.threshold}
    for title, values in (("suggestions", parts), ("expressions", beside)):
        f1 = [one.f1 for one in values]
        print(f"{title}: F1 mean {mean(f1):.3f}, spread {stdev(f1):.3f}, least {min(f1):.3f}, most {max(f1):.3f}")
    table(bodies, kept)


def table(bodies: Sequence[Body], given: Sequence[set[str]]) -> None:
    """For each category, the suggestions beside the expressions."""
    print("\n| tag | pairs | suggestions P | R | F1 | expressions P | R | F1 |\n|---|---|---|---|---|---|---|---|")
    for prefix, name in [*((tag.code, tag.name) for tag in TAGS.values()), ("", "all")]:
        own, alone = Tally(), Tally()
        for body, codes in zip(bodies, given, strict=True):
            true = {code for code in body.tags if code.startswith(prefix)}
            own.add({code for code in codes if code.startswith(prefix)}, true)
            alone.add({code for code in body.matched if code.startswith(prefix)}, true)
        print(f"| {name} | {own.true} | {own} | {alone} |")
    own, alone = Tally(), Tally()
    for body, codes in zip(bodies, given, strict=True):
        own.add({code[:2] for code in codes}, {code[:2] for code in body.tags})
        alone.add({code[:2] for code in body.matched}, {code[:2] for code in body.tags})
    print(f"| tags (not sub-tags) | {own.true} | {own} | {alone} |")


def main(what: str, path: Path) -> None:
    """One of the three."""
    bodies = read(path)
    if what == "learn":
        content = packed(learn(bodies, best_threshold(bodies)))
        TARGET.write_bytes(content)
        print(f"{TARGET.name}: {len(content):,} bytes")
    elif what == "judge":
        judge(bodies)
    else:
        learnt = suggestions.load_model_weights()
        scores = scored(learnt, bodies)
        print(f"precision | recall | F1: {tally(scores, bodies, learnt.threshold)}")
        table(bodies, [{code for code, one in score.items() if one >= learnt.threshold} for score in scores])


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
