"""Build a release of the last commit in dist/: ``make dist``.

Wheel and sdist (the same bytes each time), a bill of materials (CycloneDX) and the licences of all that is installed
with it. Fails where a licence is not one that CONTRIBUTING allows.
"""

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import venv
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

PROJECT: Final = Path(__file__).parents[1]
DIST: Final = PROJECT / "dist"
WORK: Final = PROJECT / ".cache" / "dist"
REFUSED: Final = re.compile(
    r"(?<!L)\bA?GPL|Affero|(?<!Lesser )General Public|non.?commercial|\bNC\b|proprietary", re.IGNORECASE
)
SITE_FILES: Final = {
    f"almoner/platform/documentation/site/{name}"
    for name in ("index.html", "api/donations/index.html", "searchindex.js", "llms.txt", "_static/licences.txt")
}
"""Some of each kind of the documentation, which the wheel has to hold."""
_BUILD: Final = (
    "import flit_core.buildapi as b, sys; print(b.build_wheel(sys.argv[1])); print(b.build_sdist(sys.argv[1]))"
)


def built(commit: str, folder: Path) -> dict[str, bytes]:
    """The files of a build in a folder of its own, by name."""
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "source").mkdir(parents=True)
    (folder / "dist").mkdir()
    archive = folder / "source.tar"
    subprocess.run(["git", "archive", f"--output={archive}", commit], cwd=PROJECT, check=True)
    with tarfile.open(archive) as files:
        files.extractall(folder / "source", filter="data")
    when = subprocess.run(
        ["git", "log", "-1", "--format=%ct", commit], cwd=PROJECT, capture_output=True, text=True, check=True
    )
    environment = {**os.environ, "SOURCE_DATE_EPOCH": when.stdout.strip()}
    build_documentation(folder / "source", environment)
    subprocess.run(
        [sys.executable, "-c", _BUILD, folder / "dist"], cwd=folder / "source", env=environment, check=True,
        stdout=subprocess.DEVNULL,
    )  # fmt: skip
    return {file.name: file.read_bytes() for file in sorted((folder / "dist").iterdir())}


def build_documentation(source: Path, environment: dict[str, str]) -> None:
    """Put the site at /docs into the package of a folder, made from the pages of that folder."""
    (source / ".venv").mkdir()
    (source / ".venv" / "docs").symlink_to(PROJECT / ".venv" / "docs")
    subprocess.run(
        [sys.executable, "-m", "tools.docs_site"],
        cwd=source,
        env={**environment, "PYTHONPATH": f"{source}:{source / 'src'}"},
        check=True,
        stdout=subprocess.DEVNULL,
    )


def environment_of(wheel: Path) -> Path:
    """A Python with the pinned packages and the wheel, and nothing else."""
    made = WORK / "environment"
    venv.create(made, clear=True, with_pip=False)
    python = made / "bin" / "python"
    for words in (["--require-hashes", "--no-deps", "-r", "requirements/service.txt"], ["--no-deps", str(wheel)]):
        subprocess.run(
            [sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--no-compile", *words],
            cwd=PROJECT, check=True,
        )  # fmt: skip
    return python


def tool(*words: str | Path) -> str:
    """The output of a program of requirements/release.txt."""
    environment = {**os.environ, "PYTHONPATH": str(PROJECT / ".venv" / "release")}
    return subprocess.run(
        [sys.executable, "-m", *map(str, words)],
        env=environment,
        cwd=PROJECT,
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    ).stdout


def refused_licences(packages: Sequence[dict[str, str]]) -> list[str]:
    """Those that must not be shipped, or that say nothing."""
    return [
        f"{one['Name']} {one['Version']}: {one['License']}"
        for one in packages
        if one["License"] == "UNKNOWN" or all(REFUSED.search(choice) for choice in re.split(r" OR |; ", one["License"]))
    ]


def main() -> None:
    """All of it; ends with what was written and its SHA-256."""
    commit = subprocess.run(
        ["git", "rev-parse", "HEAD"], cwd=PROJECT, capture_output=True, text=True, check=True
    ).stdout.strip()
    first, second = built(commit, WORK / "once"), built(commit, WORK / "twice")
    if first != second:
        sys.exit("Two builds of one commit differ.")
    DIST.mkdir(exist_ok=True)
    for name, content in first.items():
        (DIST / name).write_bytes(content)
    (wheel,) = (DIST / name for name in first if name.endswith(".whl"))
    if missing := SITE_FILES - set(zipfile.ZipFile(wheel).namelist()):
        sys.exit(f"Missing in the wheel: {', '.join(sorted(missing))}.")
    python = environment_of(wheel)
    stem = wheel.name.partition("-py3")[0]
    tool("cyclonedx_py", "environment", python, "--output-reproducible", "--output-format", "JSON",
         "--output-file", DIST / f"{stem}.cdx.json")  # fmt: skip
    listed = tool("piplicenses", "--python", python, "--from=mixed", "--format=json", "--with-urls", "--with-system")
    if refused := refused_licences(packages := json.loads(listed)):
        sys.exit("These licences are not allowed:\n  " + "\n  ".join(refused))
    texts = tool("piplicenses", "--python", python, "--from=mixed", "--format=plain-vertical", "--with-license-file",
                 "--no-license-path", "--with-system")  # fmt: skip
    (DIST / f"{stem}.licences.txt").write_text(texts)
    for file in sorted(DIST.glob(f"{stem}*")):
        print(hashlib.sha256(file.read_bytes()).hexdigest(), f"dist/{file.name}")
    print(f"{len(packages)} packages, commit {commit[:12]}")


if __name__ == "__main__":
    main()
