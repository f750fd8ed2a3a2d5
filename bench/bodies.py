"""Millions of organisations in the format of the IRS master file: recombined words of the real files, seeded.

Properties that matter to search are kept: the share of distinct names (chapters with one name), word frequencies, and
name lengths. ``python -m bench.bodies COUNT FOLDER`` writes two months of them, a folder each below
``FOLDER/us_irs_bmf``, and prints a comparison with the real files.
"""

import csv
import gzip
import random
import statistics
import sys
from bisect import bisect
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, islice
from pathlib import Path
from typing import Final

from bench.stage import SAMPLE

SEED: Final = 20261121
FEW: Final = 1_000
REAL: Final = Path(__file__).parents[2] / "shared" / "data" / "us_irs_bmf" / "2026-04-13"
"""More real files than are shipped, if available."""
ROWS_OF_A_FILE: Final = 500_000
_EDGE: Final = 3
_FEWEST_FOLLOWERS: Final = 5
_KEPT: Final = 0.5
_PLACE: Final = ("CITY", "STATE", "ZIP")
_FIRST_NUMBER: Final = 10_000_000
_NEW_NUMBER: Final = 500_000_000
MONTHS: Final = ("2026-03-09", "2026-04-13")
_GONE, _QUIET, _CHANGED, _NEW = 0.0075, 0.083, 0.0135, 0.0156
"""The changes in the file of DC from the first of these days to the second, as shares of its rows."""

Row = dict[str, str]


def paths() -> list[Path]:
    """The paths of the real files."""
    return sorted(REAL.glob("*.csv")) or SAMPLE


def originals(count: int | None = None) -> list[Row]:
    """Their rows; only the start of the first file if few organisations are needed."""
    few = count is not None and count <= FEW
    found: list[Row] = []
    for path in paths()[: 1 if few else None]:
        with gzip.open(path, "rt", newline="") if path.suffix == ".gz" else path.open(newline="") as lines:
            found += islice(csv.DictReader(lines), FEW if few else None)
    return found


class _Words:
    """Words by position, drawn by their frequency."""

    def __init__(self, words: Counter[str]) -> None:
        self._words = list(words)
        self._until = list(accumulate(words.values()))

    def __len__(self) -> int:
        return len(self._words)

    def draw(self, pick: random.Random) -> str:
        return self._words[bisect(self._until, pick.random() * self._until[-1])]


@dataclass(slots=True)
class _Model:
    """Which words follow each other, and which occur at a position counted from either end of a name."""

    follows: dict[str, _Words]
    at: dict[tuple[int, int], _Words]

    @classmethod
    def of(cls, names: Sequence[Sequence[str]]) -> "_Model":
        follows: dict[str, Counter[str]] = defaultdict(Counter)
        at: dict[tuple[int, int], Counter[str]] = defaultdict(Counter)
        for words in names:
            for place, word in enumerate(words):
                at[_edges(place, len(words))][word] += 1
                if place:
                    follows[words[place - 1]][word] += 1
        return cls(
            {word: _Words(found) for word, found in follows.items() if len(found) >= _FEWEST_FOLLOWERS},
            {edges: _Words(found) for edges, found in at.items()},
        )

    def recombined(self, words: Sequence[str], pick: random.Random, kept: float) -> str:
        """A name with the same number of words, some replaced by others from the same position."""
        made: list[str] = []
        for place, word in enumerate(words):
            if pick.random() < kept:
                made.append(word)
                continue
            known = self.follows.get(made[-1]) if made and pick.random() < _KEPT else None
            made.append((known or self.at[_edges(place, len(words))]).draw(pick))
        return " ".join(made)


def _edges(place: int, count: int) -> tuple[int, int]:
    return min(place, _EDGE), min(count - 1 - place, _EDGE)


def bodies(count: int, real: Sequence[Row], seed: int = SEED, first: int = _FIRST_NUMBER) -> Iterator[Row]:
    """``count`` rows: as many names occur as often as in the real files, each at its own places."""
    pick = random.Random(seed)
    of_name: dict[str, list[Row]] = defaultdict(list)
    for row in real:
        of_name[row["NAME"]].append(row)
    named = [(name.split(), rows) for name, rows in of_name.items()]
    model = _Model.of([words for words, _ in named])
    seen: set[str] = set()
    made = 0
    while made < count:
        words, rows = pick.choice(named)
        name = _fresh(model, words, pick, seen)
        for row in rows[: count - made]:
            street, place = pick.choice(real), pick.choice(real)
            number = f"{first + made * 7:09d}"
            where = {column: place[column] for column in _PLACE}
            yield row | where | {"EIN": number, "NAME": name, "ICO": "", "STREET": street["STREET"]}
            made += 1


def _fresh(model: _Model, words: Sequence[str], pick: random.Random, seen: set[str]) -> str:
    stored = _KEPT
    while True:
        name = model.recombined(words, pick, stored)
        if name not in seen:
            seen.add(name)
            return name
        if not (stored := max(stored - 0.1, 0.0)):
            words = [*words, words[-1]]  # a name of one word has few variants


def write_state(count: int, path: Path, state: str, first: int) -> None:
    """One file of organisations in one state, numbered from ``first`` on."""
    real = originals(count)
    with path.open("w", newline="") as output:
        writer = csv.DictWriter(output, list(real[0]))
        writer.writeheader()
        writer.writerows(row | {"STATE": state} for row in bodies(count, real, first, first))


def write(count: int, folder: Path) -> list[Path]:
    """The files of ``count`` organisations, each with as many rows as a real file."""
    real = originals(count)
    written: list[Path] = []
    made = bodies(count, real)
    while not written or len(written) * ROWS_OF_A_FILE < count:
        written.append(folder / f"eo{len(written) + 1}.csv")
        with written[-1].open("w", newline="") as output:
            writer = csv.DictWriter(output, list(real[0]))
            writer.writeheader()
            writer.writerows(islice(made, ROWS_OF_A_FILE))
    return written


def month_later(before: Sequence[Path], folder: Path) -> list[Path]:
    """The same files a month later: rows removed, added, with another tax period or another address."""
    pick, real, written, fresh = random.Random(SEED), originals(), [], _NEW_NUMBER
    for path in before:
        written.append(folder / path.name)
        with path.open(newline="") as lines, written[-1].open("w", newline="") as output:
            writer = csv.DictWriter(output, list(real[0]))
            writer.writeheader()
            stored = 0
            for row in csv.DictReader(lines):
                fate = pick.random()
                if fate < _GONE:
                    continue
                if fate < _GONE + _QUIET + _CHANGED:
                    row["TAX_PERIOD"] = "202512"
                if fate < _GONE + _CHANGED:
                    row["STREET"] = pick.choice(real)["STREET"]
                writer.writerow(row)
                stored += 1
            many = round(stored * _NEW)
            writer.writerows(bodies(many, real, fresh, fresh))
            fresh += many * 7
    return written


def compared(names: Sequence[str], others: Sequence[str]) -> list[str]:
    """A Markdown table that compares real and generated names."""
    lines = ["| | real | made |", "|---|---|---|"]
    left, right = _facts(names), _facts(others)
    return lines + [f"| {fact} | {left[fact]} | {right[fact]} |" for fact in left]


def _facts(names: Sequence[str]) -> dict[str, str]:
    words = Counter(word for name in names for word in name.split())
    total, commonest = sum(words.values()), [n for _, n in words.most_common()]
    lengths = sorted(map(len, names))
    facts = {"names": f"{len(names):,}", "share of distinct names": f"{len(set(names)) / len(names):.3f}"}
    facts["distinct words"] = f"{len(words):,}"
    for rank in (1, 10, 100, 1_000, 10_000):
        share = commonest[rank - 1] / total if rank <= len(commonest) else 0.0
        facts[f"share of word {rank:,} by frequency"] = f"{share:.5f}"
    facts["words of a name, mean"] = f"{total / len(names):.2f}"
    facts["letters of a name, mean"] = f"{statistics.fmean(lengths):.1f}"
    for part in (10, 50, 90, 99):
        facts[f"letters of a name, p{part}"] = str(lengths[len(lengths) * part // 100])
    return facts


def main() -> None:
    """Write the files, and print the comparison."""
    count, (first, later) = int(sys.argv[1]), (Path(sys.argv[2]) / "us_irs_bmf" / month for month in MONTHS)
    for folder in (first, later):
        folder.mkdir(parents=True, exist_ok=True)
    names: list[str] = []
    files = write(count, first)
    month_later(files, later)
    for path in files:
        with path.open(newline="") as lines:
            names += (row["NAME"] for row in csv.DictReader(lines))
    print("\n".join(compared([row["NAME"] for row in originals()], names)))


if __name__ == "__main__":
    main()
