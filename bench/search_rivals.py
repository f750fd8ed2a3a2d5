"""Alternatives with the same questions: plain pg_trgm, and tantivy with fuzzy terms, over the same names."""

import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

import asyncpg
import tantivy

from almoner.nonprofits.organisations.normalisation import normalise_search_text
from bench.search_questions import SHOWN, Ask, Question

_WRITER_BYTES: Final = 200_000_000


def trigrams(owner: "asyncpg.Connection[Any]") -> Ask:
    """Search with pg_trgm in ``rival_name`` as its manual shows: the most similar names first."""

    async def ask(question: Question) -> Sequence[str]:
        rows = await owner.fetch(
            "select name from rival_name where name % $1 order by similarity(name, $1) desc limit $2",
            normalise_search_text(question.text),
            SHOWN,
        )
        return [row["name"] for row in rows]

    return ask


async def fill(owner: "asyncpg.Connection[Any]") -> None:
    """Create the table of names with its trigram index; kept, since it takes minutes to build for two million."""
    if await owner.fetchval("select to_regclass('rival_name')") is None:
        await owner.execute(
            """
            set maintenance_work_mem = '256MB';
            create table rival_name as select name from organisation_search;
            create index rival_name_trigrams on rival_name using gin (name gin_trgm_ops);
            analyze rival_name;
            """
        )


@contextmanager
def tantivy_index(names: Sequence[str]) -> Iterator[Ask]:
    """Search with tantivy: every word of the query may have one typo, and the best score wins."""
    folder = tempfile.mkdtemp(prefix="almoner-tantivy-")
    try:
        schema = tantivy.SchemaBuilder().add_text_field("name", stored=True).build()
        index = tantivy.Index(schema, path=folder)
        writer = index.writer(_WRITER_BYTES)
        for name in names:
            writer.add_document(tantivy.Document(name=name))
        writer.commit()
        writer.wait_merging_threads()
        index.reload()
        searcher = index.searcher()

        async def ask(question: Question) -> Sequence[str]:
            words = normalise_search_text(question.text)
            if not words:
                return []
            query = index.parse_query(words, ["name"], fuzzy_fields={"name": (False, 1, True)})
            hits = searcher.search(query, SHOWN, count=False).hits
            return [searcher.doc(address)["name"][0] for _, address in hits]

        yield ask
    finally:
        shutil.rmtree(folder, ignore_errors=True)
