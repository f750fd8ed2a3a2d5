"""Builds the configured document storage and mail transport."""

from almoner.adapters import lazy
from almoner.kit.time import Clock
from almoner.platform.database.transactions import Database
from almoner.platform.files.storage import StorageBackend
from almoner.platform.outbound.mail import ActiveDeploymentMailTransport, MailTransport
from almoner.settings import Settings

_SANDBOX_SENDER = "Almoner sandbox <sandbox@almoner.example>"


def build_storage(settings: Settings) -> StorageBackend:
    """The document storage, opened on first use. Raises ValueError for an invalid URL."""
    return lazy.build_storage(settings.documents_url, settings.documents_folder, settings.documents_endpoint or None)


def build_mail_transport(settings: Settings, db: Database) -> MailTransport:
    """The mail server, or the sandbox's mailbox."""
    sender = settings.mail_from or _SANDBOX_SENDER
    if settings.mail_url is None:
        from almoner.adapters.mail_sandbox import SandboxMailbox  # not needed by commands

        return SandboxMailbox(db, sender)
    from almoner.adapters.mail_smtp import SmtpTransport

    server = SmtpTransport(settings.mail_url.get_secret_value(), sender, db.deployment.clock)
    return ActiveDeploymentMailTransport(server, db.deployment.identity)


async def check_and_describe_mail_server(settings: Settings, clock: Clock, recipient: str | None) -> str | None:
    """Test the mail server and send a message to ``recipient``; None in a sandbox with its own mailbox.

    Raises the error of the mail server.
    """
    if settings.mail_url is None:
        return None
    from almoner.adapters.mail_smtp import SmtpTransport

    server = SmtpTransport(settings.mail_url.get_secret_value(), settings.mail_from or _SANDBOX_SENDER, clock)
    found = await server.check_and_describe_connection()
    if recipient is None:
        return found
    from almoner.platform.outbound.mail_rendering import build_test_mail

    await server.send(build_test_mail(recipient, clock.real_now()))
    return f"{found}, message to {recipient} handed over"


def document_storage_location(settings: Settings) -> str:
    """The URL of the bucket, or the path of the folder, that documents are stored in."""
    return settings.documents_url or str(settings.documents_folder.absolute())


async def check_document_storage(settings: Settings) -> None:
    """Write, read and delete a file in the document storage. Raises on failure."""
    from almoner.adapters.storage_objects import open_storage

    await open_storage(settings.documents_url, settings.documents_folder, settings.documents_endpoint or None).check()


async def check_virus_scanner_and_get_url(settings: Settings) -> str | None:
    """The URL of the virus scanner, which has answered; None if files are not scanned. Raises on failure."""
    if settings.skips_virus_scan or settings.scanner_url is None:
        return None
    from almoner.adapters.scanner_clamd import ClamdScanner

    await ClamdScanner(settings.scanner_url).check()
    return settings.scanner_url
