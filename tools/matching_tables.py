"""Makes the tables of the matching engine: ``python -m tools.matching_tables BMF_FOLDER RIGOUR_FOLDER OFAC_FOLDER``.

``BMF_FOLDER`` holds files of the IRS master file, ``OFAC_FOLDER`` sdn*.csv and alt*.csv, ``RIGOUR_FOLDER``
org_types.yml and symbols.yml of opensanctions/rigour, each with the prefix ``rigour_``. Words and names that few bear
are left out of the counts: they tell nothing there, and may be of persons. ``registered.tsv.gz`` alone has every word,
of the master file and nothing else, each by itself: that a word is in nobody's name can be told by no shorter table.
"""

import csv
import gzip
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

TARGET = Path(__file__).parents[1] / "src/almoner/screening/matching/data"
FEWEST_WORDS, FEWEST_NAMES = 4, 6
FORMS = {"LLC", "JSC", "LP", "LLP", "GP", "SP", "NGO", "COOP", "JV"}
NO_FORMS = set(
    "cooperative cooperation stiftung union society association club fund foundation trust charity church ongs ngo ong "
    "partnership partnerschaft sociedad verein "
    "stichting fondation anstalt fop aat cso moo cia esv ets oficina incs".split()
)
"""What is a common word, or tells bodies apart."""
SHORT_FORMS = set("sa ag bv nv kg oy ao ab lp sl kk ev eg ek as zs rt".split())
"""Of two letters; the others are states, numerals or words as often."""
OWN_FORMS = {
    "CORP": "inc|incorporated|corp|corporation|incorporation|nonprofit corporation|non profit corporation|nfp|npo"
    "|nfp corp|a nonprofit corporation|a non profit corporation|not for profit corporation|nonprofit corp"
    "|public benefit corporation",
    "LLC": "llc|limited liability company|pllc|lc|pte ltd|pvt ltd|pty ltd|private limited|limited liability co",
    "LTD": "ltd|limited|company limited|co ltd",
    "CO": "co|company|companies",
    "LP": "lp|limited partnership",
    "LLP": "llp",
    "PLC": "plc|public limited company",
    "JSC": "jsc|joint stock company|ojsc|pjsc|cjsc"
    "|open joint stock company|public joint stock company|closed joint stock company",
    "NGO": "ev|eingetragener verein|gemeinnuetziger verein",
    "PC": "professional corporation",
}
NO_SENSES = {
    "co",
    "corp",
    "named",
    "socalled",
    "repoff",
    "spv",
    "tpb",
    "npp",
    "nbco",
    "snco",
    "city",
    "allrussian",
    "base",
}


def originals(folder: Path) -> Iterator[Mapping[str, str]]:
    """The rows of the master file."""
    for path in sorted(folder.glob("*.csv")):
        with path.open(newline="") as lines:
            yield from csv.DictReader(lines)


def sanctioned(folder: Path) -> Iterator[str]:
    """The names and aliases of the newest list."""
    for path, column in ((max(folder.glob("sdn_2*.csv")), 1), (max(folder.glob("alt_*.csv")), 3)):
        with path.open(newline="") as lines:
            yield from (row[column] for row in csv.reader(lines) if len(row) > column)


def packed(name: str, head: int, counts: Counter[str], fewest: int) -> None:
    """A table of counts, the same bytes each time."""
    lines = [str(head), *(f"{word}\t{count}" for word, count in sorted(counts.items()) if count >= fewest)]
    (TARGET / name).write_bytes(gzip.compress(("\n".join(lines) + "\n").encode(), 9, mtime=0))


def forms(types: list[dict[str, Any]]) -> dict[str, str]:
    """Legal forms in plain letters."""
    from almoner.screening.matching.spelling import normalise_text

    found: dict[str, str] = {}
    for one in types:
        kind = one.get("generic")
        if kind not in FORMS:
            continue
        for alias in [*one.get("aliases", []), one.get("display"), one.get("compare")]:
            form = normalise_text(str(alias or ""))
            fits = form in SHORT_FORMS if len(form) < 3 else form not in NO_FORMS
            if fits and len(form.split()) < 8:
                found.setdefault(form, kind)
    for kind, own in OWN_FORMS.items():
        found.update(dict.fromkeys(own.split("|"), kind))
    return found


def senses(symbols: Mapping[str, Mapping[str, list[str]]], forms: Mapping[str, str]) -> dict[str, str]:
    """Single words of one meaning."""
    from almoner.screening.matching.spelling import normalise_text

    found: dict[str, str] = {}
    for group in ("org_symbols", "org_domains"):
        for sense, aliases in symbols[group].items():
            for alias in [] if sense in NO_SENSES else [sense, *aliases]:
                word = normalise_text(str(alias))
                if len(word) > 2 and " " not in word and word not in forms:
                    found.setdefault(word, sense)
    return found


def main(bmf: Path, rigour: Path, ofac: Path) -> None:
    """Writes the tables."""
    types = yaml.safe_load((rigour / "rigour_org_types.yml").read_text())["types"]
    found = forms(types)
    (TARGET / "legal_forms.tsv").write_text("".join(f"{form}\t{found[form]}\n" for form in sorted(found)))
    alike = senses(yaml.safe_load((rigour / "rigour_symbols.yml").read_text()), found)
    (TARGET / "senses.tsv").write_text("".join(f"{word}\t{alike[word]}\n" for word in sorted(alike)))

    from almoner.screening.matching.words import tokenise_name

    words: Counter[str] = Counter()
    names: Counter[str] = Counter()
    total = 0
    for row in originals(bmf):
        total += 1
        cut = tokenise_name(row["NAME"])
        words.update(set(cut.words))
        names[" ".join(cut.words)] += 1
    bodies = total
    packed("registered.tsv.gz", bodies, words, 1)
    for name in sanctioned(ofac):
        total += 1
        words.update(set(tokenise_name(name).words))
    packed("words.tsv.gz", total, words, FEWEST_WORDS)
    packed("names.tsv.gz", bodies, names, FEWEST_NAMES)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), Path(sys.argv[3]))
