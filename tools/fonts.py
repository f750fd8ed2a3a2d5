"""Cut the fonts of PDF documents from their originals: only what documents need, without hints for small screens.

Run once when a font changes: `uv run --with fonttools python -m tools.fonts FOLDER`, where FOLDER holds the unpacked
packages that `src/almoner/platform/pages/fonts/README.md` names. Writes the fonts and `characters.txt` beside them.
"""

import sys
import textwrap
from collections.abc import Iterable, Iterator
from pathlib import Path

from fontTools import subset

FONTS = Path(__file__).parents[1] / "src" / "almoner" / "platform" / "pages" / "fonts"
REGULAR, SEMIBOLD = "400Regular", "600SemiBold"
FEATURES = "calt ccmp curs fina init isol kern liga lnum locl mark medi mkmk rlig rclt tnum".split()

LATIN = ((0x20, 0x7E), (0xA0, 0xA0))
WESTERN = (  # Latin, Greek and Cyrillic with their accents, and signs
    (0x20, 0x52F), (0x1E00, 0x1EFF), (0x2000, 0x206F), (0x20A0, 0x20CF), (0x2100, 0x214F), (0x2190, 0x2193),
    (0x2212, 0x2212),
)  # fmt: skip
ARABIC = (*LATIN, (0x600, 0x6FF), (0x750, 0x77F), (0x200C, 0x200F), (0x2066, 0x2069))
HEBREW = (*LATIN, (0x590, 0x5FF), (0x20AA, 0x20AA), (0xFB1D, 0xFB4F))


def spread(ranges: Iterable[tuple[int, int]]) -> set[int]:
    """Every code point of some ranges."""
    return {code for first, last in ranges for code in range(first, last + 1)}


def japanese() -> set[int]:
    """JIS X 0208 with the characters that names need beside it (code page 932), kana included."""
    return {code for code in range(0x3000, 0x10000) if not 0xD800 <= code < 0xF900 and _in_932(chr(code))}


def _in_932(character: str) -> bool:
    try:
        character.encode("cp932")
    except UnicodeEncodeError:
        return False
    return True


def cut(original: Path, made: Path, wanted: set[int]) -> set[int]:
    """Write the subset; the characters that it shows."""
    options = subset.Options()
    options.hinting = False
    options.layout_features = FEATURES
    options.name_IDs = ["*"]
    options.notdef_outline = True
    font = subset.load_font(str(original), options)
    cutter = subset.Subsetter(options)
    cutter.populate(unicodes=wanted)
    cutter.subset(font)
    subset.save_font(font, str(made), options)
    return set(font.getBestCmap())


def ranges(codes: Iterable[int]) -> Iterator[str]:
    """``41-5A`` for each run of code points, in order."""
    run: list[int] = []
    for code in [*sorted(codes), -1]:
        if run and code != run[-1] + 1:
            yield f"{run[0]:X}-{run[-1]:X}" if run[1:] else f"{run[0]:X}"
            run = []
        run.append(code)


def main(folder: Path) -> None:
    """Cut every font, and list what they show together."""
    shown: set[int] = set()
    for name, weights, wanted in (
        ("NotoSans", (REGULAR, SEMIBOLD), spread(WESTERN)),
        ("NotoSansArabic", (REGULAR, SEMIBOLD), spread(ARABIC)),
        ("NotoSansHebrew", (REGULAR, SEMIBOLD), spread(HEBREW)),
        ("NotoSansJP", (REGULAR,), japanese()),
    ):
        for weight in weights:
            [original] = folder.glob(f"*/package/{weight}/{name}_{weight}.ttf")
            shown |= cut(original, FONTS / f"{name}-{weight[3:]}.ttf", wanted)
    lines = textwrap.wrap(" ".join(ranges(shown)), 120, break_on_hyphens=False)
    (FONTS / "characters.txt").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
