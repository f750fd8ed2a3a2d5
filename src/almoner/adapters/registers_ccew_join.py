"""Join the tables of an extract in a temporary SQLite file, whatever their order and size.

SQLite with an empty name creates a private file on disk, unlinked as soon as it is open, so nothing is left behind
however the process ends. It is in SQLITE_TMPDIR or TMPDIR, else in /var/tmp; a whole extract takes about 1.5 GB there,
and 32 MB of memory.
"""

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Final, NamedTuple

from almoner.nonprofits.registers.domain import ImportRefused

_BETWEEN: Final = "\x1f"
_TOGETHER: Final = 2_000

_CREATE: Final = """
pragma journal_mode = off;
pragma synchronous = off;
pragma cache_size = -32000;
pragma temp_store = file;
create table charity (
    organisation integer primary key, number text, linked integer, registered integer, registration text,
    removal text, line integer, told text
);
create table said (organisation integer, kind text, told text);
create table transfer (giver integer, taker integer, taker_number text, day text, incorporated integer);
create table incorporated (giver integer primary key);
create table superseded (organisation integer primary key, by integer);
"""

_ARRANGE: Final = """
create index charity_number on charity (number, linked);
insert into superseded
select organisation, first_value(organisation) over same as by from charity
where (number, linked) in (select number, linked from charity group by number, linked having count(*) > 1)
window same as (partition by number, linked order by registered desc, registration desc, organisation desc);
delete from superseded where organisation = by;
insert into said select by, 'earlier', told from superseded join charity using (organisation);
create index said_organisation on said (organisation, kind);
"""

_JOINED: Final = """
select c.organisation, c.line, c.told,
    c.linked = 0 and exists (
        select 1 from charity other where other.number = c.number and other.linked > 0 and other.registered = 1
    ),
    s.kind, s.told
from charity c left join said s on s.organisation = c.organisation
where c.organisation not in (select organisation from superseded)
order by c.organisation, s.kind, s.rowid
"""

# Not a merger: a gift of assets by a charity that is still registered, or years before it was removed, or to several
# others when it was wound up.
_SUCCESSORS: Final = """
select f.number, f.linked, coalesce(g.number, max(t.taker_number)), coalesce(g.linked, 0), max(t.day),
    max(t.incorporated or i.giver is not null)
from transfer t
    join charity f on f.organisation = t.giver
    left join charity g on g.organisation = t.taker
    left join incorporated i on i.giver = t.giver
where f.registered = 0 and f.removal != '' and t.day >= f.removal and t.taker != t.giver
    and f.organisation not in (select organisation from superseded)
group by f.organisation
having min(t.taker) = max(t.taker) and coalesce(g.number, max(t.taker_number)) != ''
    and (f.number, f.linked) != (coalesce(g.number, max(t.taker_number)), coalesce(g.linked, 0))
"""


class JoinedCharity(NamedTuple):
    """A charity's row in the main table, and its rows in all other tables by kind."""

    organisation_number: int
    line_number: int
    column_values: list[str]
    has_linked_charities: bool
    rows_by_table: dict[str, list[list[str]]]


class CharitySuccessor(NamedTuple):
    """A removed charity and the one that received its assets on that day, by number and linked number."""

    charity_number: str
    linked_number: int
    successor_charity_number: str
    successor_linked_number: int
    transfer_date: str
    became_incorporated: bool


class CharityTableJoin:
    """Joins the rows of all tables: add them first, then read them by charity."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._waiting: list[tuple[int, str, str]] = []

    def add_charity(
        self, charity_and_linked_number: tuple[str, int], organisation_number: int, is_registered: bool,
        registration_and_removal_dates: tuple[str, str], line_number: int, column_values: Sequence[str],
    ) -> bool:  # fmt: skip
        """Add a charity; False if its organisation number was added before."""
        row = (
            organisation_number,
            *charity_and_linked_number,
            is_registered,
            *registration_and_removal_dates,
            line_number,
            _join_values(column_values),
        )
        return (
            self._connection.execute("insert or ignore into charity values (?, ?, ?, ?, ?, ?, ?, ?)", row).rowcount == 1
        )

    def find_charity_number(self, organisation_number: int) -> tuple[str, str] | None:
        """The number and linked number of an organisation number that was added."""
        found = self._connection.execute(
            "select number, cast(linked as text) from charity where organisation = ?", (organisation_number,)
        ).fetchone()
        return found and (found[0], found[1])

    def add_related_row(self, organisation_number: int, table_name: str, column_values: Sequence[str]) -> None:
        """Add a charity's row of another table."""
        self._waiting.append((organisation_number, table_name, _join_values(column_values)))
        if len(self._waiting) >= _TOGETHER:
            self._write()

    def add_asset_transfer(
        self,
        from_organisation_number: int,
        to_organisation_number: int,
        to_charity_number: str,
        transfer_date: str,
        became_incorporated: bool,
    ) -> None:
        """Add a transfer of assets from one organisation to another."""
        row = (from_organisation_number, to_organisation_number, to_charity_number, transfer_date, became_incorporated)
        self._connection.execute("insert into transfer values (?, ?, ?, ?, ?)", row)

    def mark_incorporated(self, organisation_number: int) -> None:
        """Record that a charity was removed because it became an incorporated one."""
        self._connection.execute("insert or ignore into incorporated values (?)", (organisation_number,))

    def _write(self) -> None:
        self._connection.executemany("insert into said values (?, ?, ?)", self._waiting)
        self._waiting.clear()

    def join_rows(self) -> None:
        """Finish adding rows. Among charities with one number, the registered or newest one stays."""
        self._write()
        self._connection.executescript(_ARRANGE)

    def read_charities(self) -> Iterator[JoinedCharity]:
        """Read all charities, by organisation number."""
        charity: JoinedCharity | None = None
        for organisation, line, reported, has_linked, kind, more in self._connection.execute(_JOINED):
            if charity is None or charity.organisation_number != organisation:
                if charity is not None:
                    yield charity
                charity = JoinedCharity(organisation, line, reported.split(_BETWEEN), bool(has_linked), {})
            if kind is not None:
                charity.rows_by_table.setdefault(kind, []).append(more.split(_BETWEEN))
        if charity is not None:
            yield charity

    def read_successors(self) -> Iterator[CharitySuccessor]:
        """Read which charity received the assets of each removed one."""
        for number, linked, to_number, to_linked, day, incorporated in self._connection.execute(_SUCCESSORS):
            yield CharitySuccessor(number, linked, to_number, to_linked, day, bool(incorporated))


def _join_values(reported: Sequence[str]) -> str:
    text = _BETWEEN.join(reported)
    if text.count(_BETWEEN) >= len(reported):
        text = _BETWEEN.join(value.replace(_BETWEEN, " ") for value in reported)
    return text


@contextmanager
def open_table_join() -> Iterator[CharityTableJoin]:
    """A table join whose file is deleted afterwards. Raises ImportRefused if the disk is full."""
    # Rows may be read from different threads, one after the other.
    connection = sqlite3.connect("", isolation_level=None, check_same_thread=False)
    try:
        connection.executescript(_CREATE)
        connection.execute("begin")
        yield CharityTableJoin(connection)
    except sqlite3.OperationalError as error:
        raise ImportRefused(
            f"the tables could not be joined in a temporary file ({error}): give it room, TMPDIR says where it lies"
        ) from error
    finally:
        connection.close()
