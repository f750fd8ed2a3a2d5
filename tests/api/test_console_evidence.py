"""Evidence for disputes whose files are out of reach."""

from datetime import timedelta
from pathlib import Path

from almoner.giving.accounting.dispute_evidence import service as dispute_evidence
from tests.api.test_console_money import disputed, version
from tests.support.console import act, upload
from tests.support.database import TestDatabase
from tests.support.hostile_files import HONEST, PDF
from tests.support.operators import operator, signed_in
from tests.support.payouts import uuid_of
from tests.support.service import Service, serving


def stored_files(service: Service) -> dict[Path, bytes]:
    """The files that the document storage holds."""
    assert service.services.settings.documents_url is not None
    files = Path(service.services.settings.documents_url).glob("??/*")
    return {file: file.read_bytes() for file in files if file.is_file()}


async def test_evidence_waits_while_the_storage_as_a_whole_is_not_there(empty_database: TestDatabase) -> None:
    """As when the folder is not mounted: nobody is told to upload a file again that is only out of reach."""
    async with serving(empty_database) as service:
        api = service.client((await service.tenant()).secret)
        olive = await signed_in(service, await operator(service, "finance"))
        _, earlier = await disputed(service, api)
        await upload(olive, f"{earlier}/evidence/upload", "a.pdf", HONEST[PDF], kind="other")
        _, path = await disputed(service, api)
        await upload(olive, f"{path}/evidence/upload", "b.pdf", HONEST[PDF], kind="other")
        await olive.get(f"{path}/evidence/submit")
        await act(olive, f"{path}/evidence/submit", version=version(olive))
        mounted = stored_files(service)
        for file in mounted:
            file.unlink()
        await service.drain()
        dispute = uuid_of(service, "dispute", path.rpartition("/")[2])
        async with service.db.read() as tx:
            evidence = await dispute_evidence.get(tx, dispute)
        assert (evidence.status, evidence.reason) == ("submitting", None)
        assert (await olive.get(f"{path}/evidence/files/other")).status_code == 503
        for file, content in mounted.items():
            file.write_bytes(content)
        service.clock.advance(timedelta(minutes=1))
        await service.drain()
        async with service.db.read() as tx:
            assert (await dispute_evidence.get(tx, dispute)).status == "submitted"
        next(file for file in mounted if file.name == evidence.files[0].storage_key).unlink()
        assert (await olive.get(f"{path}/evidence/files/other")).status_code == 404, "only this one is missing"
        await olive.close()
        await api.close()
