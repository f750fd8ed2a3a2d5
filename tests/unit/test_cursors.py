"""Cursors (P4, P5): opaque, bound to partner, list and filters; anything else is refused."""

import string
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from almoner.kit.errors import CursorError
from almoner.platform.crypto import Vault
from almoner.platform.http.paging import CursorCodec, RequestedPage, select_page_rows

VAULT = Vault(bytes(range(32)))
A, B = UUID(int=1), UUID(int=2)
FILTERS = [("status", "open"), ("direction", "ASC")]


def cursors(
    partner: UUID | None = A, name: str = "/v1/donations", filters: list[tuple[str, str]] = FILTERS
) -> CursorCodec:
    """Of one partner, list and set of filters."""
    return CursorCodec(VAULT, partner, name, filters)


@given(st.binary(min_size=16, max_size=16), st.booleans())
def test_p4_what_is_encoded_is_decoded(position: bytes, backwards: bool) -> None:
    text = cursors().encode((position,), backwards=backwards)
    assert cursors().decode(text) == (backwards, (position,))
    assert len(text) <= 512
    assert text.replace("-", "").replace("_", "").isalnum()


def test_p5_a_cursor_is_of_one_partner_list_and_set_of_filters() -> None:
    text = cursors().encode((A.bytes,), backwards=False)
    assert cursors(filters=FILTERS[::-1]).decode(text)
    for other in (
        cursors(B),
        cursors(None),
        cursors(name="/v1/events"),
        cursors(filters=FILTERS[:1]),
        cursors(filters=[]),
    ):
        with pytest.raises(CursorError):
            other.decode(text)
    with pytest.raises(CursorError):
        CursorCodec(Vault(bytes(32)), A, "/v1/donations", FILTERS).decode(text)


def test_p4_a_changed_cursor_is_refused() -> None:
    """At every place: every character of a cursor and some others put there, put between, and one taken out."""
    text, reader = cursors().encode((A.bytes,), backwards=False), cursors()
    others = string.ascii_letters + string.digits + "-_=+/ \n\0\u00b2\u0430\U0001f600"
    changed = {text[:at] + other + text[at + gone :] for at in range(len(text)) for other in others for gone in (0, 1)}
    changed |= {text + other for other in others} | {text[:at] + text[at + 1 :] for at in range(len(text))}
    changed -= {text}
    for one in changed:
        with pytest.raises(CursorError):
            reader.decode(one)
    assert len(changed) > 100 * len(text)


@given(st.text(max_size=200))
def test_p4_other_texts_are_refused(text: str) -> None:
    with pytest.raises(CursorError):
        cursors().decode(text)


@given(st.integers(0, 30), st.integers(1, 10), st.booleans())
def test_p8_a_walk_there_and_back_sees_every_row_once(rows: int, size: int, descending: bool) -> None:
    table = list(range(rows))

    def fetch(page: RequestedPage) -> list[int]:
        ordered = sorted(table, reverse=page.fetches_descending)
        if page.position is not None:
            edge = page.position[0]
            ordered = [row for row in ordered if (row < edge if page.fetches_descending else row > edge)]
        return ordered[: page.fetch_limit]

    seen: list[int] = []
    page = RequestedPage(size, descending)
    shown = select_page_rows(page, fetch(page))
    while True:
        seen += shown.rows
        if not shown.has_next:
            break
        page = RequestedPage(size, descending, (shown.rows[-1],))
        shown = select_page_rows(page, fetch(page))
    assert seen == sorted(table, reverse=descending)
    back = list(shown.rows)
    while shown.rows and shown.has_prev:
        page = RequestedPage(size, descending, (shown.rows[0],), backwards=True)
        shown = select_page_rows(page, fetch(page))
        back = [*shown.rows, *back]
    assert back == seen
