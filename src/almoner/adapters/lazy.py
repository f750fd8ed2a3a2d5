"""Adapters whose libraries are large, loaded when something is first asked of them, or where they are set up."""

from collections.abc import AsyncIterator
from datetime import date
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from almoner.adapters.marks_folder import FolderDeploymentMarks
from almoner.giving.checkout.payments.domain import Tariff
from almoner.platform.database.identity import DeploymentIdentity
from almoner.platform.files.storage import DeploymentMarks, ListedBlob, Storage, TrashedBlob
from almoner.validation.agents.ports import MailHosts

if TYPE_CHECKING:
    from almoner.adapters.payments_stripe import StripeProvider


def build_stripe_provider(
    key: str, webhook_secret: str, tariff: Tariff, mark: str, api_url: str, pages_url: str, identity: DeploymentIdentity
) -> "StripeProvider":
    """Stripe, for an account that is set up. To be called inside the event loop."""
    from almoner.adapters.payments_stripe import StripeProvider  # only where there is an account: 36 MB
    from almoner.adapters.stripe_client import StripeConnection

    line = StripeConnection(key, api_url, identity=identity)
    return StripeProvider(line, webhook_secret=webhook_secret, tariff=tariff, mark=mark, pages_url=pages_url)


class LazyStorage:
    """The storage that a setting names (``storage_objects.open_storage``)."""

    def __init__(self, url: str | None, folder: Path, endpoint: str | None = None) -> None:
        """Raises ValueError at once for the address of an object store that is none."""
        self._url = url
        self._folder = folder
        self._endpoint = endpoint
        parts = urlsplit(url or "")
        self._marks: DeploymentMarks
        if parts.scheme in {"", "file"}:
            self._marks = FolderDeploymentMarks((Path(parts.path) if url else folder).absolute())
        else:
            self._marks = self._storage

    @cached_property
    def _storage(self) -> Storage:
        from almoner.adapters.storage_objects import open_storage  # on first use: 4 MB

        return open_storage(self._url, self._folder, self._endpoint)

    async def put(self, key: str, content: AsyncIterator[bytes]) -> None:
        """Store a new blob, whole or not at all."""
        await self._storage.put(key, content)

    def get(self, key: str) -> AsyncIterator[bytes]:
        """Its bytes, piece by piece."""
        return self._storage.get(key)

    async def remove(self, key: str) -> None:
        """Remove it; one that is not there is removed."""
        await self._storage.remove(key)

    def list_blobs(self) -> AsyncIterator[ListedBlob]:
        """Every blob but those in the trash, in no order."""
        return self._storage.list_blobs()

    async def move_to_trash(self, key: str, day: date) -> None:
        """Put a blob into the trash; one that is not there stays away."""
        await self._storage.move_to_trash(key, day)

    def list_trashed(self) -> AsyncIterator[TrashedBlob]:
        """What lies in the trash, in no order."""
        return self._storage.list_trashed()

    async def restore(self, found: TrashedBlob) -> None:
        """Take a blob out of the trash. Raises BlobMissing."""
        await self._storage.restore(found)

    async def purge_trashed(self, found: TrashedBlob) -> None:
        """Remove a blob that lies in the trash; one that is not there is removed."""
        await self._storage.purge_trashed(found)

    async def read_mark(self, name: str) -> bytes | None:
        """What a deployment says under its name; None: nothing."""
        return await self._marks.read_mark(name)

    async def write_mark(self, name: str, content: bytes) -> None:
        """Say it, in place of what was said before."""
        await self._marks.write_mark(name, content)

    async def list_marks(self) -> list[str]:
        """Under which names something is said."""
        return await self._marks.list_marks()


class LazyMailHosts:
    """Looks up mail hosts in DNS; its library (``mail_hosts_dns``) is loaded on first use."""

    @cached_property
    def _hosts(self) -> MailHosts:
        from almoner.adapters.mail_hosts_dns import DnsMailHosts  # on first use: 2 MB

        return DnsMailHosts()

    async def accepts_mail(self, domain: str) -> bool | None:
        """Whether it takes mail; None when nobody answers."""
        return await self._hosts.accepts_mail(domain)
