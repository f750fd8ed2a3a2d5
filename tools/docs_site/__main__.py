"""Build the documentation site: ``make docs``. Sphinx and its theme are in .venv/docs (requirements/docs.in)."""

import os
import shutil
import subprocess
import sys
from hashlib import sha256
from pathlib import Path
from typing import Final

from tools.docs_site.finish import finish
from tools.docs_site.sources import write_sources

PROJECT: Final = Path(__file__).parents[2]
SITE: Final = PROJECT / "src" / "almoner" / "platform" / "documentation" / "site"
WORK: Final = PROJECT / ".cache" / "docs"
LIBRARIES: Final = PROJECT / ".venv" / "docs"
_OWN: Final = Path(__file__).parent
_MADE_FROM: Final = "made-from.txt"
_SHIPPED: Final = ("furo", "pygments", "snowballstemmer", "sphinx")
"""What the site holds scripts and styles of; their licences go with it."""


def fingerprint(project: Path = PROJECT) -> str:
    """Of all that the site is made from."""
    names = ("docs/**/*", "tools/docs_site/**/*", "tools/clients/*.py", "openapi.json", "CHANGELOG.md",
             "clients/*/README.md", "requirements/docs.txt")  # fmt: skip
    files = sorted({file for name in names for file in project.glob(name) if file.is_file()})
    made = sha256()
    for file in files:
        if "__pycache__" not in file.parts and not {"decisions", "evidence"} & set(file.parts):
            made.update(f"{file.relative_to(project)} {sha256(file.read_bytes()).hexdigest()}\n".encode())
    return made.hexdigest()


def build(target: Path = SITE, work: Path = WORK, libraries: Path = LIBRARIES) -> None:
    """Write the sources, run Sphinx, finish its pages, and replace those before. Fails on any warning."""
    source, made = work / "source", work / "html"
    pages = write_sources(PROJECT, source)
    shutil.copy(_OWN / "conf.py", source / "conf.py")
    shutil.copytree(_OWN / "static", source / "_static", dirs_exist_ok=True)
    shutil.copytree(_OWN / "templates", source / "_templates")
    shutil.rmtree(made, ignore_errors=True)
    done = subprocess.run(
        [sys.executable, "-m", "sphinx", "--builder", "dirhtml", "--quiet", "--fail-on-warning", "--jobs", "2",
         "--doctree-dir", work / "doctrees", source, made],
        env={**os.environ, "PYTHONPATH": str(libraries)},
        check=False,
    )  # fmt: skip
    if done.returncode:
        sys.exit(done.returncode)
    (made / "_static" / "licences.txt").write_text(licences(libraries), "utf-8")
    finish(made, pages)
    (made / _MADE_FROM).write_text(fingerprint())
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(made, target)


def licences(libraries: Path) -> str:
    """The licences of what the site is made with and holds parts of."""
    texts = []
    for name in _SHIPPED:
        (file,) = libraries.glob(f"{name}-*.dist-info/licenses/*[LC][IO][CP]*")
        texts.append(f"{name}\n{'=' * len(name)}\n\n{file.read_text('utf-8').strip()}\n")
    return "\n\n".join(texts)


def is_current(site: Path = SITE) -> bool:
    """Whether the site is made from the pages as they are."""
    stamp = site / _MADE_FROM
    return stamp.is_file() and stamp.read_text() == fingerprint()


if __name__ == "__main__":
    if not is_current():
        build()
        print(SITE.relative_to(PROJECT))
