"""What the settings name of the outside: where documents are kept, and who carries mails."""

from almoner.adapters.lazy import StorageOnUse
from almoner.platform.database.transactions import Database
from almoner.platform.files.storage import Storage
from almoner.platform.outbound.mail import ActiveMail, MailTransport
from almoner.settings import Settings

_SANDBOX_SENDER = "Almoner sandbox <sandbox@almoner.example>"


def storage_of(settings: Settings) -> Storage:
    """The storage of documents, opened on first use. Raises ValueError for an address that is none."""
    return StorageOnUse(settings.documents_url, settings.documents_folder)


def mail_of(settings: Settings, db: Database) -> MailTransport:
    """The mail server, or the sandbox's mailbox."""
    sender = settings.mail_from or _SANDBOX_SENDER
    if settings.mail_url is None:
        from almoner.adapters.mail_mailbox import Mailbox  # commands need neither

        return Mailbox(db, sender)
    from almoner.adapters.mail_smtp import SmtpServer

    server = SmtpServer(settings.mail_url.get_secret_value(), sender, db.deployment.clock)
    return ActiveMail(server, db.deployment.identity)
