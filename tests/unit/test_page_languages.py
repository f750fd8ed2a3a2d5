"""Catalogues: every sentence in every language, with its plurals and its values (H9)."""

import json
import re
from pathlib import Path
from string import Formatter

import pytest

from almoner.platform.pages.catalogue import FALLBACK, LOCALE_FOLDER, Catalogues, Message

SOURCE = Path(__file__).parents[2] / "src" / "almoner"
LANGUAGES = sorted(path.stem for path in LOCALE_FOLDER.glob("*.json"))
ENGLISH: dict[str, Message] = json.loads((LOCALE_FOLDER / "en.json").read_text("utf-8"))
# Keys that templates and views put together: a fixed beginning and words that the code names.
BUILT = re.compile(
    r"^(give\.(expired|used|unknown|cookieless|closed|held|tries|broken|slow_down)|till\.unknown)\.(title|text|next)$"
    r"|^till\.(declined|cards|ended)\.|^give\.step\.|^receipt\.(organisation|register|number|date|reference)$"
    r"|^give\.problem\."
)


def messages(language: str) -> dict[str, Message]:
    return dict(json.loads((LOCALE_FOLDER / f"{language}.json").read_text("utf-8")))


def forms(message: Message) -> list[str]:
    return [message] if isinstance(message, str) else list(message.values())


def values(text: str) -> set[str]:
    return {name for _, name, _, _ in Formatter().parse(text) if name is not None}


def test_h9_english_and_arabic_are_offered() -> None:
    assert Catalogues().offered == tuple(LANGUAGES)
    assert {"en", "ar"} <= set(LANGUAGES)


@pytest.mark.parametrize("language", LANGUAGES)
def test_h9_every_language_says_everything(language: str) -> None:
    assert messages(language).keys() == ENGLISH.keys()


@pytest.mark.parametrize("language", LANGUAGES)
def test_h9_no_sentence_loses_or_invents_a_value(language: str) -> None:
    for key, message in messages(language).items():
        expected = set().union(*map(values, forms(ENGLISH[key])))
        for form in forms(message):
            assert values(form) <= expected, key
        assert set().union(*map(values, forms(message))) == expected, key


@pytest.mark.parametrize("language", LANGUAGES)
def test_h9_plurals_have_every_form_of_the_language(language: str) -> None:
    rule = Catalogues().language(language).locale.plural_form
    for key, message in messages(language).items():
        assert isinstance(message, str) is isinstance(ENGLISH[key], str), key
        if not isinstance(message, str):
            assert set(message) == {*rule.tags, "other"}, key


def test_h9_every_key_is_used_and_every_used_key_is_there() -> None:
    text = "\n".join(
        path.read_text("utf-8")
        for pattern in ("**/*.html", "**/*.txt", "**/*.py")
        for path in SOURCE.glob(pattern)
        if "migrations" not in path.parts
    )
    used = set(re.findall(r"[\"']((?:page|give|thanks|waiting|till|receipt)\.[a-z_.]+[a-z_])[\"']", text))
    assert {key for key in ENGLISH if key not in used and not BUILT.match(key)} == set()
    kinds = {key for key in used if key not in ENGLISH and not key.endswith((".html", ".txt"))}
    assert {key for key in kinds if not any(known.startswith(f"{key}.") for known in ENGLISH)} == set()


@pytest.mark.parametrize(
    ("asked", "catalogue", "direction", "lang"),
    [
        ("en", "en", "ltr", "en"),
        ("en-GB", "en", "ltr", "en-GB"),
        ("ar", "ar", "rtl", "ar"),
        ("ar-EG-u-nu-latn", "ar", "rtl", "ar-EG-u-nu-latn"),
        ("tlh", "en", "ltr", "en"),
        (None, "en", "ltr", "en"),
    ],
)
def test_h9_the_nearest_language_is_taken_else_english(
    asked: str | None, catalogue: str, direction: str, lang: str
) -> None:
    language = Catalogues().language(asked)
    assert (language.catalogue, language.direction, language.html_lang) == (catalogue, direction, lang)


def test_values_are_escaped_in_html_and_not_in_text() -> None:
    language = Catalogues().language(FALLBACK)
    name = "<b>A & B</b> {organisation}"
    assert language.html("give.title", organisation=name) == "Give to &lt;b&gt;A &amp; B&lt;/b&gt; {organisation}"
    assert language.text("give.title", organisation=name) == "Give to <b>A & B</b> {organisation}"


def test_arabic_counts_in_six_forms() -> None:
    language = Catalogues().language("ar")
    assert len({language.text("page.problems", count=count) for count in (0, 1, 2, 3, 11, 100)}) == 6


def test_the_style_sheet_knows_no_left_and_right() -> None:
    style = (SOURCE / "platform/pages/static/almoner.css").read_text("utf-8")
    assert (
        re.findall(
            r"(?<![\w-])(?:margin|padding|border|inset)?-?(?:left|right)\s*:|text-align:\s*(?:left|right)", style
        )
        == []
    )
