"""What the settings name of the outside: where documents are kept, and who carries mails."""

from almoner.adapters.lazy import LazyStorage
from almoner.platform.database.transactions import Database
from almoner.platform.files.storage import Storage
from almoner.platform.outbound.mail import GuardedMailTransport, MailTransport
from almoner.settings import Settings

_SANDBOX_SENDER = "Almoner sandbox <sandbox@almoner.example>"


def build_storage(settings: Settings) -> Storage:
    """The storage of documents, opened on first use. Raises ValueError for an address that is none."""
    return LazyStorage(settings.documents_url, settings.documents_folder)


def build_mail_transport(settings: Settings, db: Database) -> MailTransport:
    """The mail server, or the sandbox's mailbox."""
    sender = settings.mail_from or _SANDBOX_SENDER
    if settings.mail_url is None:
        from almoner.adapters.mail_sandbox import SandboxMailbox  # commands need neither

        return SandboxMailbox(db, sender)
    from almoner.adapters.mail_smtp import SmtpTransport

    server = SmtpTransport(settings.mail_url.get_secret_value(), sender, db.deployment.clock)
    return GuardedMailTransport(server, db.deployment.identity)
