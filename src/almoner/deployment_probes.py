"""Probes of a deployment's external dependencies, with advice: for `almoner check` and workers."""

import asyncio
import ssl
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final
from urllib.parse import urlsplit

from almoner import backends, providers
from almoner.kit.time import Clock
from almoner.platform.database import disk_space, postgres
from almoner.platform.observability.deployment_checks import CheckResult, NamedProbe, Status
from almoner.platform.outbound.certificates import fetch_certificate_expiry
from almoner.platform.outbound.lookups import resolve_host
from almoner.settings import Settings

_DNS_ADVICE = "Check the name, and the resolver of this machine."
_MAIL_ADVICE = "Correct ALMONER_MAIL_URL and ALMONER_MAIL_FROM."
_STORAGE_ADVICE = (
    "Create the bucket or folder, and check ALMONER_DOCUMENTS_URL. For an object store, also check "
    "ALMONER_DOCUMENTS_ENDPOINT, and its credentials and region (such as AWS_ACCESS_KEY_ID and AWS_REGION)."
)
_SCANNER_ADVICE = "Start ClamAV's daemon, and set ALMONER_SCANNER_URL to its address, or to none to scan no files."
_STRIPE_ADVICE = "Check ALMONER_STRIPE_SECRET_KEY and the webhook endpoint at Stripe. See docs/guides/stripe.md."
_CERTIFICATE_ADVICE = "Renew the certificate at your proxy, and reload the proxy."
_CERTIFICATE_ADVICES: Final = {
    **dict.fromkeys((62, 64), "Use a certificate for this name at your proxy, and reload the proxy."),
    **dict.fromkeys(
        (18, 19, 20, 21),
        "Use a certificate of a public authority at your proxy, with the whole chain. If your own authority issued it, "
        "add the authority to the trusted certificates of this machine (update-ca-certificates).",
    ),
}
"""Advice by OpenSSL's error code: other name, untrusted issuer. Other errors need a new certificate."""
_CERTIFICATE_SECONDS: Final = 5.0
"""How long to wait for a host's certificate; a host that cannot be reached from here does not fail the check."""
CERTIFICATE_NOTICE: Final = timedelta(days=14)
"""How long before its expiry a certificate must be renewed."""


def build_external_probes(settings: Settings, clock: Clock, mail_to: str | None = None) -> Sequence[NamedProbe]:
    """Mail server, document storage, virus scanner, payment provider, DNS, certificates and disk.

    ``mail_to``: receives a test email.
    """

    async def mail() -> CheckResult:
        found = await backends.check_and_describe_mail_server(settings, clock, mail_to)
        return CheckResult("mail server", "ok" if found else "skipped", found or "the sandbox has a mailbox of its own")

    async def storage() -> CheckResult:
        await backends.check_document_storage(settings)
        place = backends.document_storage_location(settings)
        return CheckResult("document storage", "ok", f"{place}: written, read and removed")

    async def stripe() -> CheckResult:
        if (found := await providers.check_stripe(settings)) is None:
            return CheckResult("payment provider", "skipped", "Stripe is not set up")
        return CheckResult("payment provider", "ok" if found.ok else "failed", found.message, _STRIPE_ADVICE)

    async def names() -> list[CheckResult]:
        return [await _resolve(name) for name in _host_names(settings)]

    async def certificates() -> list[CheckResult]:
        places = dict.fromkeys(urlsplit(url)[:2] for url in (settings.base_urls.api, settings.base_urls.pages))
        hosts = [urlsplit(f"https://{place}") for scheme, place in places if scheme == "https"]
        if not hosts:
            return [CheckResult("certificate", "skipped", "no public URL begins with https")]
        return [await check_certificate(one.hostname or "", one.port or 443, clock.real_now()) for one in hosts]

    async def disk() -> CheckResult:
        free = disk_space.measure_free_space(postgres.possible_cluster_folders(settings.data_dir))
        low = disk_space.is_space_low(free, settings.disk_reserve_bytes, was_low=False)
        megabytes = "not known" if free is None else f"{free.free_bytes // 2**20:,} MB"
        found = f"{megabytes} free for {settings.data_dir}"
        if low:
            needed = f"{disk_space.RESERVED_INODES:,} inodes and {settings.disk_reserve_mb:,} MB"
            found += f", which must have {needed} (ALMONER_DISK_RESERVE_MB)"
        return CheckResult("disk", "failed" if low else "ok", found, disk_space.ADVICE)

    return [
        ("mail server", _MAIL_ADVICE, mail),
        ("document storage", _STORAGE_ADVICE, storage),
        ("virus scanner", _SCANNER_ADVICE, lambda: _check_scanner(settings)),
        ("payment provider", _STRIPE_ADVICE, stripe),
        ("DNS", _DNS_ADVICE, names),
        ("certificate", _CERTIFICATE_ADVICE, certificates),
        ("disk", disk_space.ADVICE, disk),
    ]


async def _check_scanner(settings: Settings) -> CheckResult:
    if (found := await backends.check_virus_scanner_and_get_url(settings)) is not None:
        return CheckResult("virus scanner", "ok", f"{found}: answers")
    if settings.skips_virus_scan:
        return CheckResult("virus scanner", "skipped", "files are not scanned")
    return CheckResult("virus scanner", "warning", "not set, so documents wait for a scan", _SCANNER_ADVICE)


def _host_names(settings: Settings) -> list[str]:
    urls = [settings.base_urls.api, settings.base_urls.pages]
    urls += [settings.mail_url.get_secret_value()] if settings.mail_url else []
    return list(dict.fromkeys(host for url in urls if (host := urlsplit(url).hostname)))


async def _resolve(name: str) -> CheckResult:
    try:
        found = await resolve_host(name)
    except OSError as error:
        return CheckResult("DNS", "failed", f"{name}: {error}", _DNS_ADVICE, name)
    return CheckResult("DNS", "ok", f"{name}: {', '.join(dict.fromkeys(found))}", host=name)


async def check_certificate(host: str, port: int, now: datetime, context: ssl.SSLContext | None = None) -> CheckResult:
    """Whether clients accept the certificate of a public address, and for how long."""
    try:
        async with asyncio.timeout(_CERTIFICATE_SECONDS):
            end = await fetch_certificate_expiry(host, port, context)
    except ssl.SSLError as error:
        advice = _CERTIFICATE_ADVICES.get(getattr(error, "verify_code", 0), _CERTIFICATE_ADVICE)
        return CheckResult("certificate", "failed", f"{host}: {error}", advice, host)
    except OSError as error:
        reason = str(error) or f"no answer within {_CERTIFICATE_SECONDS:.0f} s"
        return CheckResult("certificate", "skipped", f"{host} cannot be reached from this machine: {reason}", host=host)
    status: Status = "ok" if end - now > CERTIFICATE_NOTICE else "warning"
    return CheckResult("certificate", status, f"{host}: expires on {end:%Y-%m-%d}", _CERTIFICATE_ADVICE, host)
