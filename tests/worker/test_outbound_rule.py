"""Architecture 5: no network while a writing transaction is open; the client itself refuses."""

import pytest

from tests.support.receivers import receiver
from tests.support.service import Service


async def test_no_call_goes_out_while_a_writing_transaction_is_open(service: Service) -> None:
    outbound = service.services.outbound
    async with receiver() as sink:
        async with service.db.write():
            with pytest.raises(RuntimeError, match="inside a transaction"):
                await outbound.post(sink.url, b"x", {}, connection_owner="p")
        async with service.db.single_statement():
            with pytest.raises(RuntimeError, match="inside a transaction"):
                await outbound.post(sink.url, b"x", {}, connection_owner="p")
        assert sink.received == []
        assert (await outbound.post(sink.url, b"x", {}, connection_owner="p")).status == 200
