"""Derive an accessible palette for light and dark from a brand colour (WCAG 2.2); pure.

The hue stays; the colour is darkened or lightened no further than the contrast requires.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

Colour = tuple[int, int, int]
"""Red, green and blue in sRGB, each from 0 to 255."""

TEXT: Final = 4.5
"""The minimum contrast of text (AA)."""

_BLACK: Final = (0, 0, 0)
_WHITE: Final = (255, 255, 255)
_PANEL: Final = 12
"""Contrast of the panel with white. It is also sufficient for softer texts on the lightest part of the gradients."""

# The backgrounds of almoner.css behind coloured text: the most difficult one of each scheme.
_PAPER: Final = (0xF5, 0xF1, 0xE8)
_CARD: Final = (0xFF, 0xFD, 0xF8)
_DARK_PAPER: Final = (0x0D, 0x13, 0x11)
_DARK_CARD: Final = (0x16, 0x1E, 0x1B)


@dataclass(frozen=True, slots=True)
class Palette:
    """The CSS properties for a brand colour in light and dark mode."""

    light: Mapping[str, str]
    dark: Mapping[str, str]


def parse_colour(text: str) -> Colour:
    """``#0d5c4a`` or ``#abc``. Raises ValueError for anything else."""
    match = re.fullmatch(r"#([0-9a-f]{3}|[0-9a-f]{6})", text, re.IGNORECASE | re.ASCII)
    if match is None:
        raise ValueError(f"{text!r} is not a colour such as #0d5c4a")
    digits = match[1] if len(match[1]) == 6 else "".join(2 * digit for digit in match[1])
    red, green, blue = bytes.fromhex(digits)
    return red, green, blue


def css_colour(colour: Colour) -> str:
    """A colour in CSS notation: ``#0d5c4a``."""
    return "#{:02x}{:02x}{:02x}".format(*colour)


def contrast_ratio(one: Colour, other: Colour) -> float:
    """The WCAG 2.2 contrast ratio of two colours, from 1 to 21."""
    lighter, darker = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


def mix_colours(first: Colour, second: Colour, second_share: float) -> Colour:
    """Mix two colours; ``second_share`` is that of the second."""
    red, green, blue = (round(a + (b - a) * second_share) for a, b in zip(first, second, strict=True))
    return red, green, blue


def make_legible(colour: Colour, background: Colour, min_contrast: float = TEXT) -> Colour:
    """The colour, or its nearest shade with enough contrast to the background.

    Darker on light grounds, lighter on dark ones. The ratio must be one that black or white has with the ground.
    """
    end = _BLACK if contrast_ratio(_BLACK, background) > contrast_ratio(_WHITE, background) else _WHITE
    shades = (mix_colours(colour, end, percent / 100) for percent in range(101))
    return next(shade for shade in shades if contrast_ratio(shade, background) >= min_contrast)


def build_palette(colour: Colour) -> Palette:
    """The palette for a brand colour."""
    panel = make_legible(colour, _WHITE, _PANEL)
    panels = {
        "--panel": panel,
        "--panel-deep": mix_colours(panel, _BLACK, 0.45),
        "--panel-muted": mix_colours(_WHITE, panel, 0.18),
        "--panel-glow": mix_colours(panel, _WHITE, 0.07),
    }
    brand, dark_brand = make_legible(colour, _PAPER), make_legible(colour, _DARK_CARD)
    soft, dark_soft = mix_colours(_CARD, brand, 0.1), mix_colours(_DARK_CARD, dark_brand, 0.18)
    light = {
        "--brand": brand,
        "--brand-soft": soft,
        "--brand-strong": make_legible(mix_colours(brand, _BLACK, 0.3), soft),
        "--on-brand": _WHITE,
    }
    dark = {
        "--brand": dark_brand,
        "--brand-soft": dark_soft,
        "--brand-strong": make_legible(mix_colours(dark_brand, _WHITE, 0.35), dark_soft),
        "--on-brand": _DARK_PAPER,
    }
    return Palette(_css_colours(light | panels), _css_colours(dark | panels))


def _css_colours(colours: Mapping[str, Colour]) -> dict[str, str]:
    return {name: css_colour(colour) for name, colour in colours.items()}


def _luminance(colour: Colour) -> float:
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in (c / 255 for c in colour)
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
