"""Files in the format of the IRS business master file, with organisations that do not exist."""

import csv
from collections.abc import Iterable, Mapping
from pathlib import Path

COLUMNS = (
    "EIN NAME ICO STREET CITY STATE ZIP GROUP SUBSECTION AFFILIATION CLASSIFICATION RULING DEDUCTIBILITY FOUNDATION "
    "ACTIVITY ORGANIZATION STATUS TAX_PERIOD ASSET_CD INCOME_CD FILING_REQ_CD PF_FILING_REQ_CD ACCT_PD ASSET_AMT "
    "INCOME_AMT REVENUE_AMT NTEE_CD SORT_NAME"
).split()

_USUAL = {
    "STREET": "1 MAIN ST",
    "CITY": "LARAMIE",
    "STATE": "WY",
    "ZIP": "82070-1234",
    "GROUP": "0000",
    "SUBSECTION": "03",
    "AFFILIATION": "3",
    "RULING": "201203",
    "DEDUCTIBILITY": "1",
    "FOUNDATION": "15",
    "STATUS": "01",
    "INCOME_CD": "0",
}


def body(ein: str, name: str, **columns: str) -> dict[str, str]:
    """One row; by default a charity in Wyoming."""
    return {**dict.fromkeys(COLUMNS, ""), **_USUAL, "EIN": ein, "NAME": name, **columns}


def bodies(
    count: int, *, start: int = 100_000_000, state: str = "WY", name: str = "PLAIN FUND"
) -> list[dict[str, str]]:
    """Many rows with their own numbers and names."""
    return [body(f"{start + nth:09d}", f"{name} {nth}", STATE=state) for nth in range(count)]


def write(path: Path, rows: Iterable[Mapping[str, str]], columns: Iterable[str] = COLUMNS) -> Path:
    """Write a file of these rows."""
    with path.open("w", encoding="ascii", newline="") as file:
        writer = csv.DictWriter(file, list(columns), extrasaction="ignore", lineterminator="\r\n")
        writer.writeheader()
        writer.writerows(rows)
    return path
