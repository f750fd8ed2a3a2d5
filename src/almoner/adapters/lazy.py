"""Adapters with large libraries, created when they are first used or when they are set up."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast
from urllib.parse import urlsplit

from almoner.adapters.marks_folder import FolderDeploymentRecords
from almoner.giving.checkout.payments.domain import FeeSchedule
from almoner.platform.database.identity import DeploymentIdentity
from almoner.platform.files.storage import StorageBackend
from almoner.validation.agents.ports import MailHostLookup

if TYPE_CHECKING:
    from almoner.adapters.payments_stripe import StripeProvider

_T = TypeVar("_T")


def lazy_proxy(factory: Callable[[], _T], preloaded_attributes: object = None) -> _T:
    """Return a proxy that calls ``factory`` at the first use of an attribute that ``preloaded_attributes`` lacks."""
    return cast("_T", _MadeOnFirstUse(factory, preloaded_attributes))


class _MadeOnFirstUse:
    def __init__(self, make: Callable[[], object], ready: object) -> None:
        self._make = make
        self._ready = ready
        self._made: object = None

    def __getattr__(self, name: str) -> Any:
        if hasattr(self._ready, name):
            return getattr(self._ready, name)
        if self._made is None:
            self._made = self._make()
        return getattr(self._made, name)


def build_stripe_provider(
    api_key: str,
    webhook_secret: str,
    fee_schedule: FeeSchedule,
    deployment_id: str,
    api_url: str,
    pages_url: str,
    identity: DeploymentIdentity,
) -> "StripeProvider":
    """Build the Stripe adapter. Call it inside the event loop."""
    from almoner.adapters.payments_stripe import StripeProvider  # only with a Stripe account: 36 MB
    from almoner.adapters.stripe_client import StripeConnection

    line = StripeConnection(api_key, api_url, identity=identity)
    return StripeProvider(
        line, webhook_secret=webhook_secret, tariff=fee_schedule, mark=deployment_id, pages_url=pages_url
    )


def build_storage(url: str | None, folder: Path, endpoint: str | None = None) -> StorageBackend:
    """Build the storage that a setting names. Raises ValueError for an invalid object store URL."""

    def make() -> StorageBackend:
        from almoner.adapters.storage_objects import open_storage  # on first use: 4 MB

        return open_storage(url, folder, endpoint)

    parts = urlsplit(url or "")
    if parts.scheme not in {"", "file"}:
        return make()  # deployment records are read at once
    return lazy_proxy(make, FolderDeploymentRecords((Path(parts.path) if url else folder).absolute()))


def build_mail_host_lookup() -> MailHostLookup:
    """Build the DNS lookup of mail hosts."""

    def make() -> MailHostLookup:
        from almoner.adapters.mail_hosts_dns import DnsMailHostLookup  # on first use: 2 MB

        return DnsMailHostLookup()

    return lazy_proxy(make)
