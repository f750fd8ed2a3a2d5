"""Send emails over SMTP with TLS (smtps) or STARTTLS (smtp); without encryption only to this machine."""

import asyncio
import socket
import ssl
from email.encoders import encode_base64
from email.header import Header
from email.mime.base import MIMEBase
from email.mime.multipart import MIMEMultipart
from email.mime.text import MIMEText
from email.utils import format_datetime, formataddr, parseaddr
from hashlib import sha256
from typing import Final
from urllib.parse import unquote, urlsplit

import aiosmtplib

from almoner.kit.time import Clock
from almoner.platform.outbound.email_addresses import ascii_email_address
from almoner.platform.outbound.lookups import connect_to_host
from almoner.platform.outbound.mail import Attachment, Mail, MailRefused, TransientMailFailure

_LOOPBACK: Final = frozenset({"localhost", "127.0.0.1", "::1"})
_SECONDS: Final = 20.0
_WHOLE_MAIL_SECONDS: Final = 60.0
_CONNECTIONS: Final = 8
_LONGEST_REPLY: Final = 300
_ABOUT_CREDENTIALS: Final = frozenset({530, 534, 535, 538})
_TOO_LARGE: Final = 552
_PORTS: Final = {"smtp": 587, "smtps": 465}
_FAILURES: Final = (
    ((ssl.SSLCertVerificationError, ssl.CertificateError), "its certificate is not trusted"),
    ((ssl.SSLError,), "TLS could not be agreed with it"),
    ((socket.gaierror,), "its name does not resolve"),
    ((TimeoutError, aiosmtplib.SMTPTimeoutError), "it did not answer in time"),
    ((ConnectionRefusedError,), "it refused the connection"),
    ((ConnectionError, aiosmtplib.SMTPServerDisconnected), "it closed the connection"),
)


class SmtpTransport:
    """A MailTransport to one server, such as ``smtps://user:secret@mail.example.org:465``."""

    def __init__(
        self,
        url: str,
        sender: str,
        clock: Clock,
        *,
        tls: ssl.SSLContext | None = None,
        patience: float = _WHOLE_MAIL_SECONDS,
    ) -> None:
        """``sender``: such as ``Giving <giving@example.org>``.

        ``patience``: the time limit for one email in seconds. Raises ValueError for an invalid address.
        """
        parts = urlsplit(url)
        if parts.scheme not in _PORTS or not parts.hostname:
            raise ValueError("a mail server looks like smtps://user:secret@mail.example.org:465")
        self._host = parts.hostname
        self._port = parts.port or _PORTS[parts.scheme]
        self._implicit_tls = parts.scheme == "smtps"
        self._user = unquote(parts.username) if parts.username else None
        self._password = unquote(parts.password) if parts.password else None
        self._sender = sender
        self._domain = _in_ascii(parseaddr(sender)[1]).rpartition("@")[2]
        if not self._domain:
            raise ValueError("the sender of mails looks like Giving <giving@example.org>")
        self._clock = clock
        self._tls = tls
        self._patience = patience
        self._connections = asyncio.Semaphore(_CONNECTIONS)

    async def send(self, mail: Mail) -> None:
        """Send the email to the server.

        A 5xx response to the recipient or the content is a permanent rejection. All other failures can be retried: what
        the server has against us, such as our address or a missing login, is no fault of the email.
        """
        message = self._message(mail)
        try:
            async with asyncio.timeout(self._patience), self._connections, await self._connection() as server:
                await server.send_message(message)
        except aiosmtplib.SMTPRecipientsRefused as error:
            _raise_delivery_error(all(_is_permanent(refusal.code) for refusal in error.recipients), error)
        except aiosmtplib.SMTPAuthenticationError as error:
            # Wrong credentials of our own: the email can be sent once the setting is corrected.
            raise TransientMailFailure("the mail server refused the credentials of ALMONER_MAIL_URL") from error
        except aiosmtplib.SMTPDataError as error:
            _raise_delivery_error(_is_permanent(error.code), error)
        except aiosmtplib.SMTPSenderRefused as error:
            # The size of the email is announced with its sender (RFC 1870); other refusals concern the sender.
            _raise_delivery_error(error.code == _TOO_LARGE, error)
        except aiosmtplib.SMTPResponseException as error:
            raise TransientMailFailure(f"the mail server refused us: {_reply_of(error)}") from error
        except (aiosmtplib.SMTPException, OSError) as error:
            why = self._encryption_advice(str(error)) or _describe_failure(error)
            raise TransientMailFailure(f"the mail server could not be used: {why}") from error

    async def check_and_describe_connection(self) -> str:
        """Connect, encrypt and authenticate as for an email, without sending one. Raises the error that occurs."""
        async with asyncio.timeout(self._patience):
            try:
                async with await self._connection() as server:
                    await server.noop()
                    encrypted = server.get_transport_info("ssl_object") is not None
            except aiosmtplib.SMTPException as error:
                if (advice := self._encryption_advice(str(error))) is None:
                    raise
                raise TransientMailFailure(advice) from None
        signed_in = "signed in" if self._user else "no credentials"
        return f"{self._host}:{self._port}, {'TLS' if encrypted else 'not encrypted'}, {signed_in}"

    def _encryption_advice(self, text: str) -> str | None:
        """What to set, if the error's text says that the server encrypts otherwise than the URL says."""
        place = f"{self._host}:{self._port}"
        if self._implicit_tls and "WRONG_VERSION_NUMBER" in text:
            return f"{place} does not begin with TLS: use smtp:// for STARTTLS"
        if "STARTTLS extension not supported" in text:
            return f"{place} does not offer STARTTLS: use smtps:// and the server's port for TLS, such as 465"
        return None

    async def _connection(self) -> aiosmtplib.SMTP:
        async with asyncio.timeout(_SECONDS):
            connection = await connect_to_host(self._host, self._port)
        return aiosmtplib.SMTP(
            hostname=self._host,
            sock=connection,
            local_hostname=self._domain,  # otherwise smtplib looks up our own name
            username=self._user,
            password=self._password,
            use_tls=self._implicit_tls,
            start_tls=not self._implicit_tls and self._host not in _LOOPBACK,
            tls_context=self._tls,
            timeout=_SECONDS,
        )

    def _message(self, mail: Mail) -> MIMEMultipart:
        """Build the message with the older ``email`` classes: newer ones lose spaces in folded non-ASCII subjects."""
        message = MIMEMultipart("mixed")
        name, address = mail.sender_name_and_address(self._sender)
        message["From"] = formataddr((name, _in_ascii(address)))
        if (recipient := ascii_email_address(mail.to)) is None:
            raise MailRefused("the recipient's address is not one")
        message["To"] = recipient
        if mail.reply_to:
            message["Reply-To"] = _in_ascii(mail.reply_to)
        # A line end would start another header.
        message["Subject"] = Header(" ".join(mail.subject.split()), "utf-8", header_name="Subject").encode()
        message["Date"] = format_datetime(self._clock.real_now())
        message["Message-ID"] = f"<{sha256(mail.key.encode()).hexdigest()[:32]}@{self._domain}>"
        message["Auto-Submitted"] = "auto-generated"
        message["Content-Language"] = mail.language
        message.attach(_body_part(mail))
        for file in mail.attachments:
            message.attach(_attachment_part(file))
        return message


def _in_ascii(address: str) -> str:
    """An address of ours for a header, with the ASCII form of its domain."""
    return ascii_email_address(address) or address


def _describe_failure(error: aiosmtplib.SMTPException | OSError) -> str:
    """Why the server could not be used, in words."""
    causes = (error, error.__cause__)
    for kinds, words in _FAILURES:
        if any(isinstance(cause, kinds) for cause in causes):
            return words
    return "the connection failed"


def _reply_of(error: aiosmtplib.SMTPException) -> str:
    """The server's reply on one line."""
    first = error.recipients[0] if isinstance(error, aiosmtplib.SMTPRecipientsRefused) else error
    if not isinstance(first, aiosmtplib.SMTPResponseException):
        return _describe_failure(error)
    return " ".join(f"{first.code} {first.message}".split())[:_LONGEST_REPLY]


def _body_part(mail: Mail) -> MIMEMultipart:
    letter = MIMEMultipart("alternative")
    letter.attach(MIMEText(mail.text, "plain", "utf-8"))
    letter.attach(MIMEText(mail.html, "html", "utf-8"))
    return letter


def _attachment_part(file: Attachment) -> MIMEBase:
    main, _, sub = file.media_type.partition("/")
    part = MIMEBase(main, sub)
    part.set_payload(file.content)
    encode_base64(part)
    part.add_header("Content-Disposition", "attachment", filename=file.name)
    return part


def _is_permanent(code: int) -> bool:
    """Whether the server will never accept the email. Codes about authentication concern our credentials."""
    return code >= 500 and code not in _ABOUT_CREDENTIALS


def _raise_delivery_error(permanent: bool, error: aiosmtplib.SMTPException) -> None:
    if permanent:
        raise MailRefused(f"the mail server rejected it: {_reply_of(error)}") from error
    raise TransientMailFailure("the mail server asked to try again later") from error
