"""Mails over SMTP: both forms arrive, a refusal is told from a delay, nothing of a mail can forge a header."""

import asyncio
import email
import email.policy
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from email.message import EmailMessage
from time import monotonic
from typing import Any
from urllib.parse import urlsplit
from uuid import UUID

import pytest
from aiosmtpd.controller import Controller
from aiosmtpd.smtp import SMTP, Envelope, Session

from almoner.adapters.mail_sandbox import extract_links, mail_id_from_time_and_key
from almoner.adapters.mail_smtp import SmtpTransport
from almoner.platform.outbound.mail import Attachment, Mail, MailRefused, TransientMailFailure
from tests.support.clock import TestClock
from tests.support.eventually import paced
from tests.support.running import free_port

SENDER = "Giving <giving@almoner.example>"
MAIL = Mail(
    key="receipt:donation_1",
    at=datetime(2026, 3, 2, 9, 30, tzinfo=UTC),
    partner=UUID(int=1),
    to="amina@example.org",
    subject="Your receipt for €25.00 to Ärzte ohne Grenzen · شكرًا",
    text="Thank you, Amina.\nSee https://give.example/x.\n",
    html='<p>Thank you, <a href="https://give.example/x">Amina</a> and <a href="mailto:a@b.c">us</a>.</p>',
    language="en",
    reply_to="help@almoner.example",
)


@dataclass
class Inbox:
    """A mail server that answers as it is told."""

    port: int
    sender: str = "250 OK"
    rcpt: str = "250 OK"
    data: str = "250 OK"
    mails: list[tuple[list[str], EmailMessage]] = field(default_factory=list)

    async def handle_MAIL(  # noqa: N802 (aiosmtpd's name)
        self, _server: SMTP, _session: Session, envelope: Envelope, address: str, _options: Any
    ) -> str:
        if self.sender.startswith("250"):
            envelope.mail_from = address
        return self.sender

    async def handle_RCPT(  # noqa: N802 (aiosmtpd's name)
        self, _server: SMTP, _session: Session, envelope: Envelope, address: str, _options: Any
    ) -> str:
        if self.rcpt.startswith("250"):
            envelope.rcpt_tos.append(address)
        return self.rcpt

    async def handle_DATA(self, _server: SMTP, _session: Session, envelope: Envelope) -> str:  # noqa: N802 (aiosmtpd's name)
        content = envelope.content
        assert isinstance(content, bytes)
        message = email.message_from_bytes(content, policy=email.policy.default)
        assert isinstance(message, EmailMessage)
        if self.data.startswith("250"):
            self.mails.append((list(envelope.rcpt_tos), message))
        return self.data


@pytest.fixture
def inbox() -> Iterator[Inbox]:
    made = Inbox(free_port())
    controller = Controller(made, hostname="127.0.0.1", port=made.port, ready_timeout=30, enable_SMTPUTF8=True)
    controller.start()
    yield made
    controller.stop()


def server(inbox: Inbox) -> SmtpTransport:
    return SmtpTransport(f"smtp://127.0.0.1:{inbox.port}", SENDER, TestClock())


async def test_a_mail_arrives_in_both_forms(inbox: Inbox) -> None:
    await server(inbox).send(MAIL)
    [(recipients, message)] = inbox.mails
    assert recipients == ["amina@example.org"]
    assert message["From"] == SENDER
    assert message["To"] == "amina@example.org"
    assert message["Reply-To"] == "help@almoner.example"
    assert message["Subject"] == MAIL.subject
    assert message["Auto-Submitted"] == "auto-generated"
    text, html = message.get_body(("plain",)), message.get_body(("html",))
    assert text is not None
    assert html is not None
    assert text.get_content().replace("\r\n", "\n") == MAIL.text
    assert "Amina</a>" in html.get_content()


async def test_our_own_addresses_may_have_a_domain_in_any_script(inbox: Inbox) -> None:
    """The settings accept them."""
    transport = SmtpTransport(f"smtp://127.0.0.1:{inbox.port}", "Spenden <geben@m\u00fcnchen.example>", TestClock())
    await transport.send(replace(MAIL, reply_to="hilfe@m\u00fcnchen.example"))
    [(_, message)] = inbox.mails
    assert message["From"] == "Spenden <geben@xn--mnchen-3ya.example>"
    assert message["Reply-To"] == "hilfe@xn--mnchen-3ya.example"
    assert message["Message-ID"].endswith("@xn--mnchen-3ya.example>")


async def test_a_mail_brings_its_files(inbox: Inbox) -> None:
    content = bytes(range(256)) * 300
    await server(inbox).send(replace(MAIL, attachments=(Attachment("receipt-000001.pdf", "application/pdf", content),)))
    [(_, message)] = inbox.mails
    [file] = message.iter_attachments()
    assert (file.get_filename(), file.get_content_type()) == ("receipt-000001.pdf", "application/pdf")
    assert (file.get_content_disposition(), file.get_content()) == ("attachment", content)
    assert message.get_body(("html",)) is not None
    assert message.get_body(("plain",)) is not None


async def test_the_same_mail_has_the_same_message_id(inbox: Inbox) -> None:
    for mail in (MAIL, MAIL, replace(MAIL, key="receipt:donation_2")):
        await server(inbox).send(mail)
    ids = [message["Message-ID"] for _, message in inbox.mails]
    assert ids[0] == ids[1] != ids[2]
    assert ids[0].endswith("@almoner.example>")


@pytest.mark.parametrize("stage", ["rcpt", "data"])
@pytest.mark.parametrize(
    ("answer", "outcome"),
    [("550 no such user", MailRefused), ("451 try later", TransientMailFailure), ("554 spam", MailRefused)],
)
async def test_a_refusal_is_told_from_a_delay(inbox: Inbox, stage: str, answer: str, outcome: type[Exception]) -> None:
    setattr(inbox, stage, answer)
    with pytest.raises(outcome):
        await server(inbox).send(MAIL)
    assert inbox.mails == []


async def test_an_email_that_is_too_large_for_the_server_is_refused_for_good(inbox: Inbox) -> None:
    inbox.sender = "552 5.3.4 message size exceeds the fixed limit"
    with pytest.raises(MailRefused, match="552"):
        await server(inbox).send(MAIL)


@pytest.mark.parametrize(
    ("stage", "answer"),
    [
        ("sender", "553 this sender is not verified"),
        ("sender", "530 authentication required"),
        ("rcpt", "530 5.7.0 must issue STARTTLS or sign in first"),
        ("data", "535 authentication needed"),
    ],
)
async def test_what_a_server_has_against_us_is_a_delay_that_says_so(inbox: Inbox, stage: str, answer: str) -> None:
    setattr(inbox, stage, answer)
    with pytest.raises(TransientMailFailure):
        await server(inbox).send(MAIL)
    setattr(inbox, stage, getattr(Inbox(0), stage))
    await server(inbox).send(MAIL)
    assert len(inbox.mails) == 1


async def test_a_server_that_turns_us_away_at_the_door_is_a_delay_that_says_so() -> None:
    async def refuse(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"554 5.7.1 192.0.2.1 is blocked\r\n")
        writer.close()

    listening = await asyncio.start_server(refuse, "127.0.0.1", 0)
    async with listening:
        url = f"smtp://127.0.0.1:{listening.sockets[0].getsockname()[1]}"
        with pytest.raises(
            TransientMailFailure, match=r"the mail server refused us: 554 5\.7\.1 192\.0\.2\.1 is blocked"
        ):
            await SmtpTransport(url, SENDER, TestClock()).send(MAIL)


async def test_a_server_that_is_away_is_a_delay() -> None:
    with pytest.raises(TransientMailFailure, match="the mail server could not be used: it refused the connection"):
        await SmtpTransport(f"smtp://127.0.0.1:{free_port()}", SENDER, TestClock()).send(MAIL)


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("smtps://127.0.0.1", "127.0.0.1:[0-9]+ does not begin with TLS: use smtp:// for STARTTLS"),
        ("smtp://127.0.0.2", "127.0.0.2:[0-9]+ does not offer STARTTLS: use smtps:// "),
    ],
)
async def test_a_server_that_encrypts_otherwise_is_a_delay_with_advice(url: str, why: str) -> None:
    controller = Controller(Inbox(0), hostname=urlsplit(url).hostname, port=free_port(), ready_timeout=30)
    controller.start()
    try:
        with pytest.raises(TransientMailFailure, match=why):
            await SmtpTransport(f"{url}:{controller.port}", SENDER, TestClock()).send(MAIL)
    finally:
        controller.stop()


async def test_a_server_that_refuses_our_tls_is_a_delay() -> None:
    async def refuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(100)
        writer.write(b"\x15\x03\x03\x00\x02\x02\x28")  # alert: handshake failure
        writer.close()

    listening = await asyncio.start_server(refuse, "127.0.0.1", 0)
    async with listening:
        url = f"smtps://127.0.0.1:{listening.sockets[0].getsockname()[1]}"
        with pytest.raises(TransientMailFailure, match="TLS could not be agreed with it"):
            await SmtpTransport(url, SENDER, TestClock()).send(MAIL)


@pytest.mark.parametrize(
    "address", ["", "a", "a@b.c\r\nBcc: x@y.z", "a@b.c, d@e.f", "A <a@b.c>", "a@b.c\nX: y", "a b@c.d"]
)
async def test_an_address_that_is_none_is_refused_and_forges_nothing(inbox: Inbox, address: str) -> None:
    with pytest.raises(MailRefused):
        await server(inbox).send(replace(MAIL, to=address))
    assert inbox.mails == []


async def test_a_subject_forges_no_header(inbox: Inbox) -> None:
    await server(inbox).send(replace(MAIL, subject="Receipt\r\nBcc: x@y.z"))
    [(recipients, message)] = inbox.mails
    assert recipients == ["amina@example.org"]
    assert message["Bcc"] is None


@pytest.mark.parametrize("url", ["http://mail.example", "smtp://", "mail.example:25"])
def test_an_address_that_is_no_mail_server_is_refused(url: str) -> None:
    with pytest.raises(ValueError, match="a mail server looks like"):
        SmtpTransport(url, SENDER, TestClock())


def test_the_mailbox_keeps_a_mail_once_and_in_order() -> None:
    later = replace(MAIL, key="other", at=MAIL.at.replace(minute=31))
    assert mail_id_from_time_and_key(MAIL) == mail_id_from_time_and_key(MAIL)
    assert mail_id_from_time_and_key(MAIL) < mail_id_from_time_and_key(later)
    assert mail_id_from_time_and_key(MAIL).version == 7


def test_the_mailbox_lists_every_web_address_once() -> None:
    assert extract_links(MAIL) == ["https://give.example/x"]


async def test_a_server_that_answers_a_byte_at_a_time_is_given_up() -> None:
    async def drip(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        began = monotonic()
        for turn, byte in enumerate(b"220 mail.example.org ready\r\n"):
            if not writer.is_closing():
                writer.write(bytes([byte]))
            await paced(began, turn, 20)

    server = await asyncio.start_server(drip, "127.0.0.1", 0)
    async with server:
        url = f"smtp://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        with pytest.raises(TransientMailFailure, match="it did not answer in time"):
            await SmtpTransport(url, SENDER, TestClock(), patience=0.3).send(MAIL)
