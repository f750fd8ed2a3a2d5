"""The pages of the list of webhook endpoints that are read to find one."""

from collections.abc import AsyncIterator, Sequence

import pytest

from almoner.dashboard.member_api_client import Record
from almoner.dashboard.webhook_pages import find_record_in_pages
from almoner.kit.errors import NotFound


async def test_no_page_is_read_after_the_one_with_the_endpoint() -> None:
    read: list[str] = []

    async def pages() -> AsyncIterator[Sequence[Record]]:
        for name in ("first", "second", "third"):
            read.append(name)
            yield [{"id": name}]

    assert await find_record_in_pages(pages(), "second") == {"id": "second"}
    assert read == ["first", "second"]
    with pytest.raises(NotFound):
        await find_record_in_pages(pages(), "fourth")
