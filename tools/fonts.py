"""Cut the fonts of PDF documents from their originals: only what documents need, without hints for small screens.

Run once when a font changes: `uv run --with fonttools python -m tools.fonts [--scripts] FOLDER`, where FOLDER holds the
unpacked packages that `README.md` in `src/almoner/platform/pages/fonts` and, for `--scripts`, in `script_fonts` names.
Writes the fonts and `characters.txt` beside them.
"""

import sys
import textwrap
from collections.abc import Iterable, Iterator
from pathlib import Path
from unicodedata import normalize

from fontTools import subset
from fontTools.ttLib import TTCollection, TTFont

SCRIPT_FONTS = Path(__file__).parents[1] / "src" / "almoner" / "platform" / "pages" / "script_fonts"
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

HAN = {"SC": ("gb2312", "gbk"), "TC": ("cp950", "big5hkscs"), "KR": ("cp949",), "JP": ("cp932", "euc_jis_2004")}
"""Whose characters each has: GB 2312, and of GBK what Big5 has not; Big5 with Hong Kong's supplement; KS X 1001 with
all syllables of Hangul; of JIS X 0213 and plane 2 (names and places, such as U+20BB7) what no other has."""
OLD_HANGUL = ((0x1100, 0x11FF), (0xA960, 0xA97C), (0xD7B0, 0xD7C6), (0xD7CB, 0xD7FB))
"""The letters of syllables that are written no longer."""
SCRIPTS = (
    "Adlam Armenian Balinese Batak Bengali Buginese CanadianAboriginal Chakma Cham Cherokee Coptic Devanagari Ethiopic "
    "Georgian Gujarati Gurmukhi HanifiRohingya Javanese Kannada Khmer Lao Lisu Malayalam MeeteiMayek Mongolian Myanmar "
    "NKo NewTaiLue OlChiki Oriya Osage Sinhala Sundanese SylotiNagri Syriac TaiLe TaiTham Tamil Telugu Thaana Thai "
    "Tifinagh Vai Yi"
).split()
"""Scripts of living languages (Unicode Standard Annex 31, tables 5 and 7)."""


def spread(ranges: Iterable[tuple[int, int]]) -> set[int]:
    """Every code point of some ranges."""
    return {code for first, last in ranges for code in range(first, last + 1)}


def japanese() -> set[int]:
    """JIS X 0208 with the characters that names need beside it (code page 932), kana included."""
    return encodable("cp932")


def encodable(codec: str) -> set[int]:
    """The East Asian characters of a standard, and what Unicode makes of its compatibility characters (NFC)."""
    listed = {code for code in range(0x2E80, 0x30000) if not 0xD800 <= code < 0xF900 and _encodes(chr(code), codec)}
    return listed | {ord(normalize("NFC", chr(code))) for code in listed}


def _encodes(character: str, codec: str) -> bool:
    try:
        character.encode(codec)
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


def cut_script(font: TTFont, name: str, wanted: set[int]) -> str:
    """Write a font of one script into a folder of its own, with all of its shaping; its line of ``characters.txt``."""
    options = subset.Options()
    options.hinting = False
    options.layout_features = ["*"]
    options.notdef_outline = True
    cutter = subset.Subsetter(options)
    cutter.populate(unicodes=wanted or set(font.getBestCmap()))
    cutter.subset(font)
    suffix = "otf" if "CFF " in font else "ttf"
    (SCRIPT_FONTS / name).mkdir(parents=True, exist_ok=True)
    subset.save_font(font, str(SCRIPT_FONTS / name / f"{name}-Regular.{suffix}"), options)
    family = font["name"].getBestFamilyName()
    return f"{family}\t{name}\t{' '.join(ranges(font.getBestCmap()))}"


def main_scripts(folder: Path) -> None:
    """Cut the fonts of the scripts that names can have beside the expected ones."""
    [collection] = folder.rglob("NotoSansCJK-Regular.ttc")
    lines = []
    for key, (codec, *wider) in HAN.items():
        wanted = encodable(codec).union(*(encodable(one) - encodable("cp950") for one in wider))
        faces = TTCollection(str(collection)).fonts
        font = next(one for one in faces if one["name"].getBestFamilyName() == f"Noto Sans CJK {key}")
        if key == "KR":
            wanted |= spread(OLD_HANGUL)
        if key == "JP":
            wanted |= {code for code in font.getBestCmap() if code >= 0x20000}
            wanted -= japanese().union(*(encodable(one) for other in ("SC", "TC", "KR") for one in HAN[other]))
        lines.append(cut_script(font, f"NotoSansCJK{key}", wanted))
    for script in SCRIPTS:
        [original] = folder.rglob(f"NotoSans{script}-Regular.ttf")
        lines.append(cut_script(TTFont(str(original)), f"NotoSans{script}", set()))
    [original] = folder.rglob("NotoSerifTibetan-Regular.ttf")
    lines.append(cut_script(TTFont(str(original)), "NotoSerifTibetan", set()))
    (SCRIPT_FONTS / "characters.txt").write_text("\n".join(lines) + "\n")


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
    if sys.argv[1] == "--scripts":
        main_scripts(Path(sys.argv[2]))
    else:
        main(Path(sys.argv[1]))
