"""Catalogues: every sentence in every language, with its plurals and its values (H9)."""

import json
import re
from pathlib import Path
from string import Formatter

import pytest
from babel import Locale

from almoner.platform.pages import formats
from almoner.platform.pages.translations import FALLBACK, LOCALE_FOLDER, Message, TranslationCatalogues
from tests.architecture.sources import sources
from tests.architecture.test_audited_actions import recorded

SOURCE = Path(__file__).parents[2] / "src" / "almoner"
LANGUAGES = sorted(path.stem for path in LOCALE_FOLDER.glob("*.json"))
ENGLISH: dict[str, Message] = json.loads((LOCALE_FOLDER / "en.json").read_text("utf-8"))
# Keys that templates and views put together: a fixed beginning and words that the code names.
BUILT = re.compile(
    r"^(give\.(expired|lapsed|used|unknown|cookieless|closed|paused|held|transfer_held|tries|broken|link_over)|test_provider\.unknown)\.(title|text|next)$"
    r"|^test_provider\.(declined|cards|ended|setup)\.|^give\.step\.|^receipt\.(organisation|register|number|date|reference)$"
    r"|^receipt\.(issuer|receipt_number|donor|gift|cover|refunded|kept|donee|ein|address)$|^gift\.(step|next|wait|unknown|soon)\."
    r"|^apply\.(step|start|documents|expired|used|unknown|again|broken)\.|^apply\.person\.(first|last)_name$"
    r"|^applied\.(\w+\.(title|text)|(missing|check|standing|reason)\..+|link\.(sent|later)|document\.(rejected|unreadable))$"
    r"|^give\.giftaid\.(title|house|road|city|postcode)$|^give\.(problem|frequency|regular)\.|^regular\.every\.|^(refund|reassigned)\.why\."
    r"|^statement\.((sent|later|unknown)\.(title|text|next)|first|last|given|back|left)$"
    r"|^waiting\.(unpaid\.)?(title|text)$"
    r"|^account\.(done|method|end|event|way|state|act|link)\.|^account\.password\.(too_|has_|common|unusable)|^account\.sign_in\.(reset|out|again|first)$"
    r"|^members\.(done|problem|role|state)\.|^keys\.(about|kind|state)\.|^keys\.(used|unused|used\.route)$"
    r"|^regular\.(status|done|mail)\.|^regular\.(amount|day|pause|skip|cancel)\.title$"
    r"|^regular\.(sent|unknown|aid\.cancelled)\.(title|text|next)$"
    r"|^remittance\.(disbursement|transfer|gifts|gift|given|fee|back|paid)$"
    r"|^(agent|answer)\.(done|expired|closed|replaced|unknown|broken)\."
    r"|^payee\.((confirmed|account_missing|declined|closed)\.(title|text|next)|problem\.)"
    r"|^(give|transfer)\.promise\.(card|receipt)$"
    r"|^site\.(missing|busy|refused|broken)\.(title|text|next)$"
    r"|^payee_account\.(denied|closed)\.(title|text|next)$"
    r"|^sso\.(problem|refused)\.|^audit_log\.(action|actor|field|value)\."
    r"|^reports\.(basis|column|name|status)\.|^desk\.(area|role)\.|^dashboard\.(list|member|value|hint|timeline|brand|questions|reassign|keys)\."
)


def messages(language: str) -> dict[str, Message]:
    return dict(json.loads((LOCALE_FOLDER / f"{language}.json").read_text("utf-8")))


def forms(message: Message) -> list[str]:
    return [message] if isinstance(message, str) else list(message.values())


def values(text: str) -> set[str]:
    return {name for _, name, _, _ in Formatter().parse(text) if name is not None}


def test_h9_twelve_languages_are_offered() -> None:
    assert TranslationCatalogues().offered_languages == tuple(LANGUAGES)
    assert set(LANGUAGES) == {"en", "de", "es", "fr", "it", "nl", "pl", "pt-BR", "ja", "ar", "he", "uk"}


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
    rule = TranslationCatalogues().language(language).locale.plural_form
    for key, message in messages(language).items():
        assert isinstance(message, str) is isinstance(ENGLISH[key], str), key
        if not isinstance(message, str):
            assert set(message) == {*rule.tags, "other"}, key


def test_h9_every_key_is_used_and_every_used_key_is_there() -> None:
    text = "\n".join(
        path.read_text("utf-8")
        for pattern in ("**/*.html", "**/*.txt", "**/*.py")
        for path in SOURCE.glob(pattern)
        if {"migrations", "adapters"}.isdisjoint(path.parts)
    )
    areas = (
        "page|give|gift|thanks|waiting|test_provider|receipt|refund|reassigned|statement|embed|agent|answer|apply|applied|payee|payee_account"
        "|remittance|transfer|regular|site|mail|desk|dashboard|reports|account|members|keys|audit_log|sso"
    )
    used = set(re.findall(rf"[\"']((?:{areas})\.[a-z_.]+[a-z_])[\"']", text))
    assert {key for key in ENGLISH if key not in used and not BUILT.match(key)} == set()
    kinds = {key for key in used if key not in ENGLISH and not key.endswith((".html", ".txt", ".typ", ".js", ".css"))}
    kinds -= {action for source in sources() for action in recorded(source)}
    kinds -= {"dashboard.delete_donor_views", "keys.delete_requests", "members.commands"}  # jobs, modules
    assert {key for key in kinds if not any(known.startswith(f"{key}.") for known in ENGLISH)} == set()


@pytest.mark.parametrize(
    ("asked", "catalogue", "direction", "lang"),
    [
        ("en", "en", "ltr", "en"),
        ("en-GB", "en", "ltr", "en-GB"),
        ("ar", "ar", "rtl", "ar"),
        ("ar-EG-u-nu-latn", "ar", "rtl", "ar-EG-u-nu-latn"),
        ("pt", "pt-BR", "ltr", "pt"),
        ("pt-PT", "pt-BR", "ltr", "pt-PT"),
        ("iw-IL", "he", "rtl", "he-IL"),
        ("de-CH-1901", "de", "ltr", "de-CH-1901"),
        ("gsw-CH", "de", "ltr", "de-CH"),
        ("ca-ES", "es", "ltr", "es-ES"),
        ("zh-Hant-TW", "en", "ltr", "en"),
        ("nb", "en", "ltr", "en"),
        ("tlh", "en", "ltr", "en"),
        (None, "en", "ltr", "en"),
    ],
)
def test_h9_the_nearest_language_is_taken_else_english(
    asked: str | None, catalogue: str, direction: str, lang: str
) -> None:
    language = TranslationCatalogues().language(asked)
    assert (language.catalogue, language.direction, language.html_lang) == (catalogue, direction, lang)


def test_values_are_escaped_in_html_and_not_in_text() -> None:
    language = TranslationCatalogues().language(FALLBACK)
    name = "<b>A & B</b> {organisation}"
    assert language.html("give.title", organisation=name) == "Donate to &lt;b&gt;A &amp; B&lt;/b&gt; {organisation}"
    assert language.text("give.title", organisation=name) == "Donate to <b>A & B</b> {organisation}"


def test_arabic_counts_in_six_forms() -> None:
    language = TranslationCatalogues().language("ar")
    assert len({language.text("page.problems", count=count) for count in (0, 1, 2, 3, 11, 100)}) == 6


@pytest.mark.parametrize(
    ("language", "counts", "forms"), [("pl", (1, 3, 5), 3), ("uk", (1, 3, 5), 3), ("ja", (1, 5), 1)]
)
def test_h9_counts_take_the_form_of_the_language(language: str, counts: tuple[int, ...], forms: int) -> None:
    stated = [TranslationCatalogues().language(language).text("page.problems", count=count) for count in counts]
    assert len({re.sub(r"\d+", "", sentence) for sentence in stated}) == forms


@pytest.mark.parametrize("language", LANGUAGES)
def test_h9_days_are_counted_in_words_of_the_language(language: str) -> None:
    days = formats.format_days(60, Locale.parse(language, sep="-"))
    assert days.startswith("60")
    assert ("day" in days) == (language == "en"), days


def test_h9_figures_in_sentences_have_the_digits_of_the_language() -> None:
    egyptian, arabic = (TranslationCatalogues().language(tag) for tag in ("ar-EG", "ar"))
    assert "٥٠٠" in egyptian.text("give.problem.message.too_long")
    assert "500" in arabic.text("give.problem.message.too_long")
    assert "٣" in egyptian.html("page.problems", count=3)
    assert "3" in arabic.html("page.problems", count=3)
    assert "000042" in egyptian.text("receipt.title", number="000042")  # people copy it


# What careful typesetting of a language never has, and what makes it careful: French spaces, real apostrophes.
UNTIDY = {
    "en": r"'|\s$|  ",
    "fr": r"'|[^\u202f][?!;]|[^\u00a0]:",
    "it": r"'",
    "uk": r"'|[ыэъё]",
    "he": r'"|-',
    "ja": r"[,.!?](?![a-z])|[\u3001\u3002] ",
    "ar": r"[,;?]",
}


@pytest.mark.parametrize("language", LANGUAGES)
def test_h9_sentences_are_typeset_as_the_language_asks(language: str) -> None:
    bad = re.compile(UNTIDY.get(language, r"'|  "))
    for key, message in messages(language).items():
        for form in forms(message):
            plain = re.sub(r"(?<=:) $", "", re.sub(r"\{\w+\}|name@example\.org|https://\S+", "X", form))
            assert not bad.search(plain), (key, form)


@pytest.mark.parametrize("language", sorted(set(LANGUAGES) - {"en"}))
def test_h9_nothing_is_left_in_english(language: str) -> None:
    same = {
        key
        for key, message in messages(language).items()
        if message == ENGLISH[key] and len(re.sub(r"{\w+}", "", str(message))) > 12
    }
    assert same == set()


# Words that say something else here, two words for one thing, and names that the sentence would have to inflect.
UNIDIOMATIC = {
    "ar": r"مصرف",
    "ja": r"入金|が本人である|{name} |領収書 ",
    "pl": r"(na rzecz|dla|od|do) {(organisation|former)}",
    "pt-BR": r"^Agradecimento$",
    "uk": r"(?<!«){(organisation|former)}|{(organisation|former)}(?!»)",
}


@pytest.mark.parametrize("language", UNIDIOMATIC)
def test_h9_sentences_are_said_as_people_say_them(language: str) -> None:
    bad = re.compile(UNIDIOMATIC[language])
    assert {key for key, message in messages(language).items() if any(map(bad.search, forms(message)))} == set()


@pytest.mark.parametrize("language", ["de", "es", "fr", "it", "pt-BR", "uk"])
def test_h9_no_verb_agrees_with_an_amount(language: str) -> None:
    assert not str(messages(language)["refund.subject"]).startswith("{amount}")


def test_a_receipt_is_not_called_what_the_tax_office_asks_for() -> None:
    assert "spendenquittung" not in str(messages("de")).lower()


def test_the_style_sheet_knows_no_left_and_right() -> None:
    style = (SOURCE / "platform/pages/static/almoner.css").read_text("utf-8")
    assert (
        re.findall(
            r"(?<![\w-])(?:margin|padding|border|inset)?-?(?:left|right)\s*:|text-align:\s*(?:left|right)", style
        )
        == []
    )
