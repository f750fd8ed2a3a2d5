"""The wheel says what it needs, in ranges that hold what was tested, and which commit it is (O1)."""

import re
import tomllib
import zipfile
from pathlib import Path

from flit_core.wheel import make_wheel_in  # type: ignore[import-untyped]
from packaging.requirements import Requirement

from almoner import __version__, build

PROJECT = Path(__file__).parents[2]
LOCKED = dict(re.findall(r"^([a-z0-9_.-]+)==(\S+)", (PROJECT / "requirements/service.txt").read_text(), re.MULTILINE))


def requirements() -> dict[str, Requirement]:
    declared = tomllib.loads((PROJECT / "pyproject.toml").read_text())["project"]["dependencies"]
    return {one.name: one for one in map(Requirement, declared)}


def test_the_wheel_declares_what_the_service_needs(tmp_path: Path) -> None:
    lines = (PROJECT / "requirements/service.in").read_text().splitlines()
    needed = {Requirement(spec).name for line in lines if (spec := line.partition("#")[0].strip())}
    assert set(requirements()) == needed - {"flit-core"}  # which only builds
    made = make_wheel_in(PROJECT / "pyproject.toml", tmp_path).file
    with zipfile.ZipFile(made) as wheel:
        names = wheel.namelist()
        metadata = wheel.read(f"almoner-{__version__}.dist-info/METADATA").decode()
    declared = re.findall(r"^Requires-Dist: ([A-Za-z0-9._-]+)(?!.*extra ==)", metadata, re.MULTILINE)
    assert sorted(set(declared)) == sorted(requirements())
    assert {"almoner/commit.txt", "almoner/screening/matching/data/nonprofit_forms.tsv"} <= set(names)
    assert not [name for name in names if name.startswith("tests/")]


def test_ranges_hold_what_was_tested_and_no_next_major_version() -> None:
    for name, requirement in requirements().items():
        assert requirement.specifier.contains(LOCKED[name]), name
        assert any(one.operator in ("<", "==") for one in requirement.specifier) or int(LOCKED[name][:4]) >= 2020, name


def test_the_commit_is_told() -> None:
    found = build.source_commit()
    assert found is None or re.fullmatch("[0-9a-f]{40,64}", found)
    assert "commit.txt export-subst" in (PROJECT / ".gitattributes").read_text()
