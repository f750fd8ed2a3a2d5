"""Language tags and their negotiation."""

import pytest

from almoner.kit import language as languages

OFFERED = ("en", "ar", "pt-BR")


@pytest.mark.parametrize("tag", ["en", "en-GB", "zh-Hant-TW", "sl-rozaj-biske", "de-CH-1901", "x-y"[2:] + "es-419"])
def test_well_formed_tags(tag: str) -> None:
    assert languages.is_language_tag(tag)


@pytest.mark.parametrize("tag", ["", "e", "en_GB", "en-", "-en", "english language", "en-GB\x00", "a" * 9, "١٢"])
def test_ill_formed_tags(tag: str) -> None:
    assert not languages.is_language_tag(tag)


@pytest.mark.parametrize(
    ("header", "chosen"),
    [
        (None, None),
        ("", None),
        ("ar-EG, en;q=0.9", "ar"),
        ("fr, en-AU;q=0.2", "en"),
        ("en;q=0.1, ar;q=0.8", "ar"),
        ("en;q=0, ar;q=0.1", "ar"),
        ("PT-br", "pt-BR"),
        ("pt", "pt-BR"),
        ("pt-PT, en;q=0.5", "pt-BR"),
        ("zh, ar;q=0.5", "ar"),
        ("*", None),
        ("en;q=nonsense", None),
        ("en;q=1.5, ar", "ar"),
    ],
)
def test_the_best_liked_offered_language_is_chosen(header: str | None, chosen: str | None) -> None:
    assert languages.negotiate_language(header, OFFERED) == chosen


@pytest.mark.parametrize(
    ("tag", "nearest"),
    [
        ("pt-PT", "pt-BR"),
        ("PT", "pt-BR"),
        ("iw", "he"),
        ("iw-IL", "he"),
        ("ca-ES", "es"),
        ("gsw", "de"),
        ("arz", "ar"),
        ("zh", None),
        ("no", None),
        ("nb-NO", None),
        ("deu", None),
    ],
)
def test_h9_a_language_that_is_not_offered_falls_back_to_the_nearest(tag: str, nearest: str | None) -> None:
    assert languages.nearest_offered_language(tag, ("en", "ar", "de", "es", "he", "pt-BR")) == nearest


def test_regions() -> None:
    assert languages.region_of_language_tag("en-GB") == "GB"
    assert languages.region_of_language_tag("zh-Hant-TW") == "TW"
    assert languages.region_of_language_tag("en") is None
    assert languages.region_of_language_tag("en-x-GB") is None
