"""Names in other scripts against the lists at hand: how many are found by sound, and how many by chance.

``python -m bench.matching_scripts --write`` puts the figures into docs/evidence/scripts.md. ``--nomenklatura PYTHON``
names the interpreter of an environment with nomenklatura (see ``matching_nomenklatura.py``), which is asked about the
same spellings.
"""

import argparse
import random
import time
import unicodedata
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from defusedxml.ElementTree import parse

from almoner.screening.matching.scripts import scripts_of_character
from almoner.screening.screenings.domain import SubjectDetails
from almoner.screening.screenings.indexing import ScreeningIndex, index_entry
from almoner.screening.watchlists.domain import SubjectKind
from bench import machine
from bench.matching_lists import SHARED, compared, lists, version
from bench.matching_pairs import logic_v2

REPORT: Final = Path(__file__).parents[1] / "docs" / "evidence" / "scripts.md"
SEED: Final = 28
NAMES: Final = 1_000
OTHERS: Final = 20
"""Other entries that each original spelling is compared with."""
CUTOFF: Final = 0.7
"""The score from which nomenklatura reports a match."""
_SCHEMAS: Final = {"person": "Person", "organisation": "Organization"}
_TAGS: Final[tuple[tuple[SubjectKind, str], ...]] = (("person", "INDIVIDUAL"), ("organisation", "ENTITY"))
_WORDS: Final = {
    "Arabic": "wd_arabic", "Hebrew": "wd_hebrew",
    "Hangul, foreign words": "wd_korean", "Han, foreign words": "wd_chinese",
    "katakana": "wd_katakana", "Cyrillic": "wd_russian",
}  # fmt: skip
_HAN: Final = (
    "王李张刘陈杨黄赵周吴徐孙马朱胡郭何高林罗",
    "伟芳娜敏静丽强磊军洋勇艳杰娟涛明超秀霞平刚英华玉文辉鹏飞宇浩建国",
)
_HANGUL: Final = (
    "김이박최정강조윤장임한오서신권황안송류전",
    "민준서연지우현수영호진성재은혜경미정훈동철용광일남희선주상태",
)
_BODIES: Final = {
    "Arabic": ("wd_arabic", "EGY", ("جمعية {} {} الخيرية", "مؤسسة {} {}", "جمعية {} للإغاثة")),
    "Hebrew": ("wd_hebrew", "ISR", ("עמותת {} {}", "קרן {}", "אגודת {} {}")),
}
NOTES: Final = (
    "Names in other scripts against lists in Latin letters, asked as the service asks. Repeat with",
    "`python -m bench.matching_scripts --write`; the lists and the words lie beside the repository. **Found again**:",
    "the original spellings that the list of the United Nations carries, each against all lists, in which the service",
    "has only the Latin spellings of the entry. **By chance**: words of names (Wikidata, CC0), and Chinese and Korean",
    "given names, put together at random. Aims: 0.97 Cyrillic and Greek, 0.85 the others, one body in 1,000 by chance.",
    "Whoever is not found in the others is `not_screened`, never `clear`; Cyrillic and Greek names are screened like",
    "Latin ones.",
)


def _originals() -> Iterator[tuple[SubjectKind, str, str]]:
    """(kind, number, original spelling) of the entries that have one."""
    (file,) = (SHARED / "un").glob("*.xml")
    root = parse(file).getroot()
    for kind, tag in _TAGS:
        for one in root.iter(tag):
            text = (one.findtext("NAME_ORIGINAL_SCRIPT") or "").strip()
            if scripts_of_character(text) - {"LATIN"}:
                yield kind, one.findtext("REFERENCE_NUMBER") or "", text


def _in_latin_letters() -> ScreeningIndex:
    """All lists without their spellings in other scripts."""
    kept = []
    for entry in lists():
        names = tuple(one for one in entry.listed.names if not _other_scripts(one.text))
        if names:
            kept.append(replace(entry, listed=replace(entry.listed, names=names)))
    stored = [one for one in map(index_entry, kept) if one is not None]
    return ScreeningIndex(stored, [version(code) for code in dict.fromkeys(one.list for one in kept)])


def _other_scripts(text: str) -> set[str]:
    return {script for sign in text for script in scripts_of_character(sign)} - {"LATIN"}


def _script_of(text: str) -> str:
    return Counter(script for sign in text for script in scripts_of_character(sign)).most_common(1)[0][0].title()


def _latin_names(numbers: set[str]) -> dict[str, list[str]]:
    """The spellings in Latin letters of the entries of the United Nations that have these numbers."""
    found = {}
    for one in lists():
        if one.listed.key in numbers and one.list.startswith("un"):
            found[one.listed.key] = [name.text for name in one.listed.names if not _other_scripts(name.text)]
    return {key: names for key, names in found.items() if names}


def _beside(python: Path) -> Iterator[str]:
    """Each original spelling beside its own entry and beside others of its kind, by both."""
    originals, rng, held = list(_originals()), random.Random(SEED), _in_latin_letters()
    latin = _latin_names({number for _, number, _ in originals})
    pairs: list[tuple[str, str, str]] = []
    rows: list[tuple[str, bool, bool]] = []  # group, whether it is its own entry, whether we report it
    for kind, number, text in originals:
        if number not in latin:
            continue
        of_kind = sorted({key for other, key, _ in originals if other == kind and key in latin} - {number})
        hits = {hit.entry_key for hit in held.find_hits(SubjectDetails(kind, (text,)))}
        for key in (number, *rng.sample(of_kind, OTHERS)):
            pairs.append((_SCHEMAS[kind], text, ";;".join(latin[key])))
            rows.append((f"{_script_of(text)}, {kind}s", key == number, key in hits))
    theirs = [score >= CUTOFF for score in logic_v2(python, pairs)]
    yield "| beside nomenklatura | of | found by us | by logic-v2 | of other entries | by us | by logic-v2 |"
    yield "|---|---|---|---|---|---|---|"
    for group in sorted({group for group, _, _ in rows}):
        cells = []
        for own in (True, False):
            kept = [
                (ours, other)
                for (of, is_own, ours), other in zip(rows, theirs, strict=True)
                if (of, is_own) == (group, own)
            ]
            cells += [f"{len(kept):,}", *(f"{sum(one[side] for one in kept) / len(kept):.3%}" for side in (0, 1))]
        yield f"| {group} | {' | '.join(cells)} |"


def found_again() -> Iterator[str]:
    """The table of original spellings that are found by the Latin spellings of their entries."""
    held = _in_latin_letters()
    asked: Counter[tuple[str, str]] = Counter()
    found: Counter[tuple[str, str]] = Counter()
    hits: Counter[tuple[str, str]] = Counter()
    for kind, number, text in _originals():
        group: tuple[str, str] = kind, _script_of(text)
        given = held.find_hits(SubjectDetails(kind, (text,)))
        asked[group] += 1
        hits[group] += len(given)
        found[group] += any(hit.entry_key == number for hit in given)
    yield from ("| original spellings | of | found again | entries found for one |", "|---|---|---|---|")
    for key, of in sorted(asked.items()):
        yield f"| {key[1]}, {key[0]}s | {of} | {found[key] / of:.3f} | {hits[key] / of:.2f} |"


def _words(name: str) -> list[str]:
    rows = (SHARED / "translit" / f"{name}.tsv").read_text().splitlines()[1:]
    return [word for row in rows if len(word := row.split("\t")[1]) > 1 and unicodedata.category(word[0])[0] == "L"]


def _persons(rng: random.Random) -> Iterator[tuple[str, list[str]]]:
    for title, file in _WORDS.items():
        words, blank = _words(file), "・" if title == "katakana" else " "
        yield title, [blank.join(rng.sample(words, rng.choice((2, 2, 3)))) for _ in range(NAMES)]
    for title, (families, given) in (("Han", _HAN), ("Hangul", _HANGUL)):
        yield (
            title,
            [rng.choice(families) + "".join(rng.choices(given, k=rng.choice((1, 2, 2, 2)))) for _ in range(NAMES)],
        )


def by_chance() -> Iterator[str]:
    """The table of names put together at random that are flagged."""
    held, rng = compared(), random.Random(SEED)
    yield from ("| names at random | of | flagged | ms of processor time |", "|---|---|---|---|")
    for title, names in _persons(rng):
        started = time.process_time()
        flagged = sum(bool(held.find_hits(SubjectDetails("person", (name,)))) for name in names)
        spent = (time.process_time() - started) / len(names)
        yield f"| persons, {title} | {len(names):,} | {flagged / len(names):.2%} | {spent * 1000:.1f} |"
    for title, (file, country, forms) in _BODIES.items():
        words = _words(file)
        names = [form.format(*rng.sample(words, form.count("{}"))) for form in rng.choices(forms, k=NAMES)]
        started = time.process_time()
        flagged = sum(bool(held.find_hits(SubjectDetails("organisation", (name,), (country,)))) for name in names)
        spent = (time.process_time() - started) / len(names)
        yield f"| bodies, {title} | {len(names):,} | {flagged / len(names):.2%} | {spent * 1000:.1f} |"


def main() -> None:
    """Measure and print; write if requested."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--nomenklatura", type=Path, help="interpreter of an environment with nomenklatura")
    given = parser.parse_args()
    lines = [
        "# Names in other scripts",
        "",
        *NOTES,
        "",
        "## Measured",
        "",
        f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC.",
        "",
    ]
    lines += [*(f"- {fact}" for fact in machine.facts("18")), "", *found_again(), "", *by_chance(), ""]
    if given.nomenklatura:
        lines += [*_beside(given.nomenklatura), ""]
    report = "\n".join(lines)
    print(report)
    if given.write:
        REPORT.write_text(report)


if __name__ == "__main__":
    main()
