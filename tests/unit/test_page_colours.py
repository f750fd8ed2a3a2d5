"""A partner's colour is legible wherever the page uses it, whatever it is (H8)."""

import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from almoner.platform.pages import colours
from almoner.platform.pages.colours import TEXT, build_palette, contrast_ratio, make_legible, mix_colours, parse_colour

STYLE = (Path(colours.__file__).parent / "static" / "almoner.css").read_text("utf-8")
COLOURS = st.tuples(*[st.integers(0, 255)] * 3)
WHITE, GOLD = (255, 255, 255), parse_colour("#f3c77a")


def grounds(block: str) -> dict[str, colours.Colour]:
    """The properties of one block of the style sheet."""
    return {name: parse_colour(value) for name, value in re.findall(r"(--[\w-]+): (#[0-9a-f]{6});", block)}


LIGHT = grounds(STYLE.split(":root {")[1].split("}")[0])
DARK = LIGHT | grounds(STYLE.split("prefers-color-scheme: dark) {")[1].split("}")[0])


def test_contrast_is_that_of_wcag() -> None:
    assert contrast_ratio((0, 0, 0), WHITE) == pytest.approx(21)
    assert contrast_ratio(WHITE, WHITE) == pytest.approx(1)
    assert contrast_ratio(parse_colour("#767676"), WHITE) == pytest.approx(4.54, abs=0.01)
    assert contrast_ratio(parse_colour("#777"), WHITE) == pytest.approx(4.48, abs=0.01)


@pytest.mark.parametrize("text", ["", "0d5c4a", "#0d5c4", "#0d5c4g", "red", "#0d5c4a;", "rgb(1,2,3)", "#١٢٣"])
def test_what_is_no_colour_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not a colour"):
        parse_colour(text)


def test_colours_are_read_and_written() -> None:
    assert colours.css_colour(parse_colour("#0D5C4A")) == "#0d5c4a"
    assert colours.css_colour(parse_colour("#abc")) == "#aabbcc"


@settings(max_examples=100, deadline=None)
@given(COLOURS, COLOURS)
def test_h8_a_colour_becomes_legible_and_one_that_is_stays(colour: colours.Colour, ground: colours.Colour) -> None:
    made = make_legible(colour, ground)
    assert contrast_ratio(made, ground) >= TEXT
    assert (made == colour) == (contrast_ratio(colour, ground) >= TEXT)


@settings(max_examples=100, deadline=None)
@given(COLOURS)
def test_h8_every_use_of_a_partners_colour_has_its_contrast(colour: colours.Colour) -> None:
    made = build_palette(colour)
    for scheme, own in ((made.light, LIGHT), (made.dark, DARK)):
        now = own | {name: parse_colour(value) for name, value in scheme.items()}
        for ground in ("--card", "--paper"):
            assert contrast_ratio(now["--brand"], now[ground]) >= TEXT
            assert contrast_ratio(now["--brand-strong"], now[ground]) >= TEXT
        for word in ("--brand-strong", "--ink"):
            assert contrast_ratio(now[word], now["--brand-soft"]) >= TEXT
        assert contrast_ratio(now["--brand"], now["--brand-soft"]) >= 3  # an icon
        for button in ("--brand", "--brand-strong"):
            assert contrast_ratio(now["--on-brand"], now[button]) >= TEXT
        # The lightest places of the panel: under its gold at the top, on its lines at the bottom.
        gilded, lined = mix_colours(now["--panel"], GOLD, 0.22), mix_colours(now["--panel-glow"], WHITE, 0.09)
        for ground_ in (now["--panel"], now["--panel-deep"], now["--panel-glow"], gilded, lined):
            for word in ("--panel-ink", "--panel-muted", "--panel-gold"):
                assert contrast_ratio(now[word], ground_) >= TEXT, (word, scheme)


@given(COLOURS)
def test_a_palette_is_of_plain_colours_alone(colour: colours.Colour) -> None:
    """They are written into the page's own style sheet."""
    made = build_palette(colour)
    assert made.light.keys() == made.dark.keys() <= set(re.findall(r"(--[\w-]+):", STYLE))
    for value in (*made.light.values(), *made.dark.values()):
        assert re.fullmatch("#[0-9a-f]{6}", value)
