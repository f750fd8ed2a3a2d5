# mypy: ignore-errors
"""Scores of nomenklatura's logic-v2 for pairs of names, in an environment of its own: it is heavy, and no dependency.

    python3.11 -m venv /var/tmp/nomenklatura/venv
    /var/tmp/nomenklatura/venv/bin/pip install nomenklatura==4.17.4    # builds pyicu: a compiler and libicu-dev
    /var/tmp/nomenklatura/venv/bin/python bench/matching_nomenklatura.py < pairs.csv > scores.csv

Reads lines of schema, names of one side, names of the other (several are parted by ``;;``), writes a score a line.
"""

import csv
import sys
import time

from followthemoney import model
from followthemoney.proxy import EntityProxy
from nomenklatura.matching import LogicV2


def entity(number: str, schema: str, names: str) -> EntityProxy:
    """An entity with its own ID: analyses are cached by ID."""
    return model.get_proxy({"id": number, "schema": schema, "properties": {"name": names.split(";;")}})


def main() -> None:
    """Score standard input."""
    config = LogicV2.default_config()
    started = time.perf_counter()
    count = 0
    for count, (schema, one, other) in enumerate(csv.reader(sys.stdin), 1):
        left, right = entity(f"a{count}", schema, one), entity(f"b{count}", schema, other)
        print(LogicV2.compare(left, right, config).score)
    print(f"{count / (time.perf_counter() - started):,.0f} pairs/s", file=sys.stderr)


if __name__ == "__main__":
    main()
