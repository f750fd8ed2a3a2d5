"""Suggests sub-tags from a nonprofit's own description, by a trained model; for reviewers only.

A linear score for each sub-tag over the words of the text and the matching UK-CAT expressions. ``tools/suggestions.py``
trained the weights on charities tagged by hand. ``weights.json.gz`` names their origin and licence.
"""

import gzip
import json
import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from itertools import accumulate
from math import log, sqrt
from typing import Any, Final, NamedTuple

from almoner.nonprofits.activities.domain import SUB_TAGS, load_data_file

_MATCH_WEIGHTS: Final = {"*": 0.5, "name": 0.7, "activities": 0.5, "objects": 0.35}
"""The weight of a matching expression in the whole text and in each part; the word features have length 1 together."""
_MOST_CHARACTERS: Final = 4000
_MOST_REASONS: Final = 3
_WORD: Final = re.compile(r"[a-z]+")
_APOSTROPHES: Final = re.compile("['\u2019]")
_SHORTEST_PLURAL: Final = 5
_WITH_E: Final = ("ches", "shes", "sses", "xes")
_CAPITALS: Final = re.compile(r"(?<!\\)[A-Z]")
"""Capitals in an expression, except those after a backslash."""
_AGAIN: Final = re.compile(r"(?<=\))[+*]")
"""Repetitions of a group in an expression: limited, since unlimited ones take quadratic time."""
_A_FEW_TIMES: Final = {"+": "{1,8}", "*": "{0,8}"}


class SubTagSuggestion(NamedTuple):
    """A suggested sub-tag.

    ``score``: about the share of similar organisations that have it. ``reasons``: the features with most weight:
    ``church`` (a word), ``name: choir`` (a word of the name), ``like Music`` (the expression of a sub-tag).
    """

    code: str
    score: float
    reasons: tuple[str, ...]


class TextFeatures(NamedTuple):
    """Weighted words and matched expressions of a text."""

    word_weights: Mapping[str, float]
    expression_weights: Mapping[str, float]


def extract_text_features(name: str, activities: str, charitable_objects: str) -> TextFeatures:
    """The features of an organisation's name and descriptions."""
    parts = {
        "name": name,
        "activities": activities[:_MOST_CHARACTERS],
        "objects": charitable_objects[:_MOST_CHARACTERS],
    }
    counts: dict[str, int] = {}
    of_name: dict[str, float] = {}
    for part, text in parts.items():
        for word in _words(text):
            counts[word] = counts.get(word, 0) + 1
            if part == "name":
                of_name[f"name: {word}"] = 1.0
    return TextFeatures({word: 1 + log(n) for word, n in counts.items()} | of_name, _matches(parts))


def _words(text: str) -> list[str]:
    return [_singular(word) for word in _WORD.findall(_APOSTROPHES.sub("", text.lower()))]


def _singular(word: str) -> str:
    if len(word) < _SHORTEST_PLURAL or not word.endswith("s") or word.endswith("ss"):
        return word
    if word.endswith("ies"):
        return word[:-3] + "y"
    return word[:-2] if word.endswith(_WITH_E) else word[:-1]


def _matches(parts: Mapping[str, str]) -> dict[str, float]:
    found = {}
    lower = {part: text.lower() for part, text in parts.items()}
    whole = " ".join(lower.values())
    for code, expression in _expressions().items():
        if expression.begins.search(whole) and expression.anywhere.search(whole):
            for part, text in {"*": whole, **lower}.items():
                if expression.holds(text):
                    found[f"{part}:{code}"] = _MATCH_WEIGHTS[part]
    return found


class _Expression(NamedTuple):
    """The expression of one sub-tag, for lower-case text. ``begins``: a faster pre-filter that misses no match."""

    begins: re.Pattern[str]
    anywhere: re.Pattern[str]
    exclusion: re.Pattern[str] | None

    def holds(self, text: str) -> bool:
        """Whether it matches, and the text is not excluded."""
        return bool(self.anywhere.search(text)) and not (self.exclusion and self.exclusion.search(text))


@cache
def _expressions() -> dict[str, _Expression]:
    read = load_data_file("expressions.json")["expressions"]
    return {
        code: _Expression(
            _compile_lowercase(given[0].removeprefix(r"\b")),
            _compile_lowercase(given[0]),
            _compile_lowercase(given[1]) if given[1:] else None,
        )
        for code, given in read.items()
    }


def _compile_lowercase(expression: str) -> re.Pattern[str]:
    return re.compile(
        _AGAIN.sub(lambda found: _A_FEW_TIMES[found[0]], _CAPITALS.sub(lambda found: found[0].lower(), expression))
    )


def match_sub_tags_with_uk_cat_expressions(name: str, activities: str, charitable_objects: str) -> set[str]:
    """The sub-tags whose UK-CAT expression matches."""
    whole = f"{name} {activities} {charitable_objects}".lower()
    return {code for code, expression in _expressions().items() if expression.holds(whole)}


class ModelWeights(NamedTuple):
    """The trained model's weights."""

    threshold: float
    intercepts: Mapping[str, float]
    inverse_document_frequencies: Mapping[str, float]
    sub_tag_weights_by_feature: Mapping[str, Mapping[str, float]]

    def weigh_features(self, features: TextFeatures) -> dict[str, float]:
        """The weighted features: known words, normalised to length 1 together, and matches."""
        words = {
            word: count * rarity
            for word, count in features.word_weights.items()
            if (rarity := self.inverse_document_frequencies.get(word))
        }
        length = sqrt(sum(value * value for value in words.values())) or 1.0
        return {word: value / length for word, value in words.items()} | dict(features.expression_weights)

    def score_sub_tags(self, weighted_features: Mapping[str, float]) -> dict[str, float]:
        """The score of each sub-tag in the model."""
        scores = dict(self.intercepts)
        for feature, value in weighted_features.items():
            for code, weight in self.sub_tag_weights_by_feature.get(feature, {}).items():
                scores[code] += value * weight
        return scores


@cache
def load_model_weights() -> ModelWeights:
    """The shipped weights, loaded on first use."""
    packed = files("almoner.nonprofits.activities").joinpath("weights.json.gz").read_bytes()
    return parse_model_weights(json.loads(gzip.decompress(packed)))


def parse_model_weights(data: Mapping[str, Any]) -> ModelWeights:
    """Parse a file of model weights: integers over ``scale``, in pairs of sub-tag and weight.

    Positions are stored as differences to the previous one.
    """
    codes, scale = data["codes"], data["scale"]
    of = {
        feature: dict(
            zip((codes[place] for place in accumulate(row[::2])), (w / scale for w in row[1::2]), strict=True)
        )
        for feature, row in data["features"].items()
    }
    return ModelWeights(data["threshold"], dict(zip(codes, data["before"], strict=True)), data["rarity"], of)


def suggest_sub_tags(
    name: str, activities: str = "", charitable_objects: str = "", *, model_weights: ModelWeights | None = None
) -> list[SubTagSuggestion]:
    """Suggest sub-tags for an organisation by its name, activities and objects, likeliest first."""
    known = model_weights or load_model_weights()
    vector = known.weigh_features(extract_text_features(name, activities, charitable_objects))
    likely = [(score, code) for code, score in known.score_sub_tags(vector).items() if score >= known.threshold]
    return [
        SubTagSuggestion(code, round(min(score, 1.0), 3), _top_reasons(known, vector, code))
        for score, code in sorted(likely, reverse=True)
        if code in SUB_TAGS
    ]


def _top_reasons(known: ModelWeights, vector: Mapping[str, float], code: str) -> tuple[str, ...]:
    weighed = {
        feature: value * known.sub_tag_weights_by_feature[feature][code]
        for feature, value in vector.items()
        if code in known.sub_tag_weights_by_feature.get(feature, {})
    }
    most = sorted((feature for feature, weight in weighed.items() if weight > 0), key=lambda one: -weighed[one])
    return tuple(dict.fromkeys(_describe_feature(feature) for feature in most))[:_MOST_REASONS]


def _describe_feature(feature: str) -> str:
    part, _, code = feature.partition(":")
    return f"like {SUB_TAGS[code].name}" if part in _MATCH_WEIGHTS and code in SUB_TAGS else feature
