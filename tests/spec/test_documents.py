"""The written documents: links lead somewhere, decisions are numbered, and the runbooks' statements run."""

import re
from pathlib import Path

import asyncpg
import pytest

from tests.support.database import TestDatabase

ROOT = Path(__file__).parents[2]
DOCUMENTS = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
DECISIONS = sorted(ROOT.glob("docs/decisions/*.md"))
LINK = re.compile(r"\]\((?!https?:|mailto:|#)([^)#\s]+)(?:#[^)]*)?\)")
PATH = re.compile(r"`((?:src|docs|tests|tools|bench)/[A-Za-z0-9_./-]+)`")
PATH_TO_COPY = re.compile(r"`([a-z_][A-Za-z0-9_*-]*/[A-Za-z0-9_.*/-]+)`")
SQL = re.compile(r"```sql\n(.*?)```", re.DOTALL)


def names(paths: list[Path]) -> list[str]:
    return [path.relative_to(ROOT).as_posix() for path in paths]


@pytest.mark.parametrize("document", DOCUMENTS, ids=names(DOCUMENTS))
def test_links_and_paths_lead_somewhere(document: Path) -> None:
    text = document.read_text("utf-8")
    missing = [target for target in LINK.findall(text) if not (document.parent / target).exists()]
    missing += [path for path in PATH.findall(text) if not (ROOT / path).exists()]
    assert missing == []


def test_every_path_that_contributors_are_sent_to_exists() -> None:
    """As the page says, of the repository or in ``src/almoner``; ``*`` stands for any name."""
    paths = PATH_TO_COPY.findall((ROOT / "CONTRIBUTING.md").read_text("utf-8"))
    assert len(paths) > 40
    folders = (ROOT, ROOT / "src/almoner")
    assert [path for path in paths if not any([*folder.glob(path)] for folder in folders)] == []


def test_every_document_is_in_the_index() -> None:
    index = (ROOT / "docs" / "README.md").read_text("utf-8")
    listed = {(ROOT / "docs" / target).resolve() for target in LINK.findall(index)}
    pages = [page for page in ROOT.glob("docs/**/*.md") if page.parent.name not in {"evidence", "docs"}]
    assert {page.relative_to(ROOT).as_posix() for page in pages if page.resolve() not in listed} == set()


def test_decisions_are_numbered_in_a_row_and_say_their_number() -> None:
    numbers = [decision.name[:4] for decision in DECISIONS]
    assert numbers == [f"{number:04}" for number in range(1, len(DECISIONS) + 1)]
    for decision in DECISIONS:
        assert decision.read_text("utf-8").startswith(f"# {decision.name[:4]}. ")


async def test_every_statement_of_the_runbooks_runs(session_database: TestDatabase) -> None:
    statements = [sql for page in ROOT.glob("docs/runbooks/*.md") for sql in SQL.findall(page.read_text("utf-8"))]
    assert len(statements) >= 3
    connection = await asyncpg.connect(session_database.dsn)
    try:
        for statement in statements:
            trial = connection.transaction()
            await trial.start()
            await connection.execute(statement)
            await trial.rollback()
    finally:
        await connection.close()
