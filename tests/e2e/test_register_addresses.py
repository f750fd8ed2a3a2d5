"""`almoner registers import` of web addresses, as an administrator types it."""

from pathlib import Path

from tests.support.bmf import bodies, write
from tests.support.database import TestDatabase
from tests.support.publisher import Publisher
from tests.support.receivers import receiver, reply
from tests.support.service import serving
from tests.support.terminal import terminal


async def test_a_register_is_imported_from_its_address_once(empty_database: TestDatabase, tmp_path: Path) -> None:
    file = write(tmp_path / "eo_dc.csv", bodies(120, state="DC", start=200_000_000))
    content = write(tmp_path / "file.csv", bodies(300)).read_bytes()
    async with serving(empty_database) as service, receiver(Publisher(content, cuts=[9_000])) as server:
        almoner = terminal(service, tmp_path, "administrator")
        url = f"http://127.0.0.1:{server.port}/pub/eo_wy.csv"
        status, printed = await almoner("registers", "import", "irs-bmf", url, str(file))
        assert status == 0, printed
        assert "Loaded 420 rows of irs-bmf" in printed
        assert [request.headers.get("range") for request in server.received] == [None, "bytes=9000-"]
        async with service.db.read() as tx:
            stored = await tx.fetch("select url, name, etag from register_fetch")
        assert [tuple(row) for row in stored] == [(url, "eo_wy.csv", '"v1"')]

        status, printed = await almoner("registers", "import", "irs-bmf", url)
        assert (status, "nothing has changed" in printed) == (0, True), printed
        assert len(server.received) == 3

        server.otherwise = reply(200, b"<html>We are sorry</html>")
        status, printed = await almoner("registers", "import", "irs-bmf", f"{url}?again")
        assert status != 0
        assert "sends a web page" in " ".join(printed.split())
        status, printed = await almoner("registers", "import", "irs-bmf", "nowhere.csv")
        assert status != 0
        assert "neither a file or folder nor a web address, seen from /" in " ".join(printed.split())
        async with service.db.read() as tx:
            assert await tx.fetchval("select count(*) from register_load") == 1
