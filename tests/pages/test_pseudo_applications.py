"""No word of the hosted form, its mails and the page of an application is outside the catalogues (H9)."""

import asyncio
import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from almoner.platform.database.transactions import ALL_PARTNERS, Partner
from almoner.platform.outbound.mail_rendering import MailRenderer
from almoner.platform.pages.rendering import PageRenderer
from almoner.platform.pages.translations import LOCALE_FOLDER, TranslationCatalogues
from almoner.validation.applications.documents.domain import MAX_BYTES_PER_DAY, MAX_TOTAL_BYTES
from almoner.validation.applications.form import jobs as form_jobs
from almoner.validation.applications.form import store as form_store
from almoner.validation.applications.form import submit
from almoner.validation.applications.invites import service as invites
from tests.support import agents, appeals, factories, pseudo
from tests.support.applications import PERSON, QUESTIONS, Form, configured, invited
from tests.support.browsing import Browser
from tests.support.client import Client, data
from tests.support.database import TestDatabase
from tests.support.eventually import eventually
from tests.support.hostile_files import HONEST, PNG
from tests.support.scanning import changed, scanned
from tests.support.service import Service, serving
from tests.support.submissions import CHOIRS, applied, ended, shown, simulate
from tests.support.submissions import configured as checks

WORDS = set(json.loads((LOCALE_FOLDER / "en.json").read_text("utf-8")))
OF_APPLICANTS = {key for key in WORDS if key.startswith(("apply.", "applied."))}
OF_OTHER_TESTS = re.compile(
    r"apply\.problem\.file\.(large|complex|damaged|encrypted|pixels|pages|animation)$|applied\.candidates\."
    r"|applied\.missing\.(registration_certificate|tax_exemption_letter|governing_document|name_change_certificate"
    r"|proof_of_address|letter_of_authority)$"
)
"""Why a file was refused, namesakes, and what a reviewer asks for, which are tested where they arise."""
MESSAGES = ("expired", "unknown", "again", "broken")
LONG = "x" * 5001


class Reader(pseudo.Reader):
    """Countries, registers, languages, and the letters that stand for a partner are data."""

    def page(self, html: str) -> None:
        """A page or the HTML of a mail."""
        super().page(re.sub(r'<(option value="[^"]+"|span class="monogram")[^>]*>[^<]*<', "<", html))


class Walk:
    """One browser without a screen that reads whatever it is shown."""

    def __init__(self, service: Service, reader: Reader) -> None:
        self.browser = Browser(service.app, service.db.deployment.base_urls.pages, "198.51.100.9")
        self.reader = reader

    async def open(self, path: str) -> None:
        """Open an address, wherever it leads."""
        self.reader.page((await self.browser.open(path)).text)

    async def results(self, path: str) -> None:
        """What the script of the search gets: a part of a page."""
        keys, stray = pseudo.read_page((await self.browser.open(path)).text)
        assert stray == set()
        self.reader.seen |= keys

    async def post(self, path: str, form: dict[str, str] | None = None) -> None:
        """Post the last page's form."""
        self._read(await self.browser.post(path, form or {}))

    async def upload(self, path: str, content: bytes, media_type: str, *, files: int = 1) -> None:
        """Upload a file by the last page's form, or several of them at once."""
        sent = {"csrf": self.browser.csrf, "type": "validation_request"}
        self._read(
            await self.browser.request(
                "POST",
                path,
                data=sent,
                files=[("file", ("q", content, media_type))] * files,
                headers={"Sec-Fetch-Site": "same-origin"},
            )
        )

    def _read(self, answer: Any) -> None:
        if answer.status_code != 303:
            self.reader.page(answer.text)


@pytest.fixture
def catalogues(tmp_path: Path) -> TranslationCatalogues:
    return pseudo.catalogues(tmp_path)


@pytest.fixture
async def strange(empty_database: TestDatabase, catalogues: TranslationCatalogues) -> AsyncIterator[Service]:
    """A service in the made-up language."""
    async with serving(empty_database, catalogues=catalogues) as service:
        yield service


async def test_h9_no_word_of_an_application_is_outside_the_catalogues(
    strange: Service, catalogues: TranslationCatalogues
) -> None:
    reader = Reader()
    api = strange.client((await strange.tenant()).secret)
    try:
        await walk_the_form(strange, api, reader)
        await walk_what_is_missing(strange, api, reader)
        await walk_corrections(strange, api, reader)
        await walk_a_refusal(strange, api, reader)
        await walk_decisions(strange, api, reader)
    finally:
        await api.close()
    walk_what_only_says_something(strange, catalogues, reader)
    await read_mails(strange, reader)
    assert reader.seen <= WORDS
    assert {key for key in OF_APPLICANTS - reader.seen if not OF_OTHER_TESTS.match(key)} == set()


async def walk_the_form(service: Service, api: Client, reader: Reader) -> None:
    """Every step empty, with every problem that it knows, and done."""
    many = [await factories.nonprofit(service, name=f"Qq {number}") for number in range(9)]
    gone = await factories.nonprofit(service, name="Zz", active=False)
    questions = [{**one, "labels": {"en": "QQ"}} for one in QUESTIONS]
    for one in questions:
        if "choices" in one:
            one["choices"] = [{**choice, "labels": {"en": "QQ"}} for choice in one["choices"]]
    made = await configured(api, name="QQ", partnerFields=questions)
    invite = await invited(api, hostedConfigId=made["id"])
    walk, home = Walk(service, reader), f"/apply/{invite['id']}"
    await walk.open(home)
    await walk.open(invite["url"])
    await walk.open(f"{home}/nonprofit")
    for query in ("Qq", "Zz", "nothing-is-called-so"):
        await walk.open(f"{home}/nonprofit?q={query}")
        await walk.results(f"{home}/nonprofit/results?q={query}")
    await walk.open(f"{home}/nonprofit")
    await walk.post(f"{home}/nonprofit")
    await walk_unlisted(walk, home)
    await walk.open(f"{home}/person")
    await walk.post(f"{home}/person", {"first_name": "", "last_name": "", "email": ""})
    await walk.post(f"{home}/person", {"first_name": LONG, "last_name": LONG, "email": LONG, "title": LONG})
    await walk.post(f"{home}/person", {**PERSON, "email": "wrong"})
    await walk.open(f"{home}/person")
    await walk.post(f"{home}/person", dict(PERSON))
    await walk.open(f"{home}/questions")
    await walk.post(f"{home}/questions", {})
    await walk.post(f"{home}/questions", {"q-reason": LONG, "q-staff": "many", "q-size": "none", "q-blog": "a b"})
    await walk.post(f"{home}/questions", {"q-reason": "Q", "q-staff": "1,234", "q-size": "small"})
    await walk.open(f"{home}/questions")
    await walk.post(f"{home}/questions", {"q-reason": "Q", "q-size": "small"})
    await walk_documents(service, walk, home)
    await walk.open(f"{home}/colleague")
    await walk.post(f"{home}/colleague", {"email": "colleague@relief.example"})
    await walk.post(f"{home}/colleague", {"email": "colleague@relief.example"})
    await service.drain()
    await walk.open(home)
    await walk.open(f"{home}/review")  # of a nonprofit that was typed
    for organisation in (gone, many[0]):
        await walk.open(f"{home}/nonprofit?q=Q")
        await walk.post(f"{home}/nonprofit", {"organisation": organisation})
    await walk.open(f"{home}/nonprofit")
    await walk.open(f"{home}/review")
    await walk_a_change_while_it_is_sent(service, walk, invite)
    await walk.open(f"{home}/review")
    await walk.post(f"{home}/review")
    await walk.open(invite["url"])
    await walk_a_used_link(service, reader, invite)
    await walk.open(f"/apply?token={invite['url'].rsplit('=', 1)[1]}x")


async def walk_a_change_while_it_is_sent(service: Service, walk: Walk, invite: dict[str, Any]) -> None:
    """Somebody takes an answer back at the moment when somebody else sends the form."""
    named = service.db.deployment.ids.decode("validationinvite", invite["id"])
    assert named is not None
    async with service.db.write() as tx:
        held = await invites.get_for_update(tx, ALL_PARTNERS, named)
        sending_it = asyncio.create_task(walk.post(f"/apply/{invite['id']}/review"))
        await eventually(lambda: waits_for(service, "validation_invite"))
        draft = await form_store.get_draft(tx, named)
        await form_store.save_draft(tx, Partner(held.partner_id), held, replace(draft, person=None))
    await sending_it
    async with service.db.write() as tx:
        await form_store.save_draft(tx, Partner(held.partner_id), held, draft)


async def waits_for(service: Service, table: str) -> bool:
    """Whether somebody waits for a row of it."""
    async with service.db.read() as tx:
        waiting = "datname = current_database() and wait_event_type = 'Lock' and query ~ $1"
        sql = f"select exists (select from pg_stat_activity where {waiting})"
        return bool(await tx.fetchval(sql, table))


async def walk_a_used_link(service: Service, reader: Reader, invite: dict[str, Any]) -> None:
    """Who has but the link of the form, and who has an old link of a mail."""
    walk = Walk(service, reader)
    await walk.open(invite["url"])
    page = walk.browser.page
    assert page is not None
    path = page.request.url.path
    for _ in range(2):
        await walk.post(f"{path}?why=sent")
    await walk.open(f"{path}?why=sent&did=sent")
    named = service.db.deployment.ids.decode("validationsubmission", path.split("/")[2])
    assert named is not None
    await walk.open(f"/application?token={service.db.deployment.vault.create_page_token('application', named)}")
    await service.drain()


async def walk_unlisted(walk: Walk, home: str) -> None:
    """A nonprofit that is not found."""
    await walk.open(f"{home}/nonprofit/other")
    await walk.open(f"{home}/nonprofit/other?country=XXX")
    await walk.open(f"{home}/nonprofit/other?country=USA")
    good = {"country": "USA", "name": "QQ", "registry": "IRS", "number": "53-0196605", "website": "www.example.org"}
    for wrong in (
        {"name": "", "registry": "", "number": "", "website": ""},
        {"name": LONG, "number": LONG, "website": LONG},
        {"number": "wrong", "website": "a b"},
        {"country": "XXX"},
    ):
        await walk.open(f"{home}/nonprofit/other?country=USA")
        await walk.post(f"{home}/nonprofit/other", {**good, **wrong})
    await walk.open(f"{home}/nonprofit/other?country=USA")
    await walk.post(f"{home}/nonprofit/other", good)


async def walk_documents(service: Service, walk: Walk, home: str) -> None:
    """Files that are taken, refused, looked at and removed."""
    await walk.open(f"{home}/documents")
    for content, media_type in ((b"hello", "text/plain"), (b"", PNG), (bytes(5_242_881), PNG), (HONEST[PNG], PNG)):
        await walk.upload(f"{home}/documents", content, media_type)
        await walk.open(f"{home}/documents")
    await walk.upload(f"{home}/documents", HONEST[PNG], PNG, files=2)
    for larger in ("many", "later"):
        async with grown(service, larger):
            await walk.open(f"{home}/documents")
            await walk.upload(f"{home}/documents", HONEST[PNG], PNG)
    await walk.open(f"{home}/documents")
    await walk.post(f"{home}/documents")
    await walk.open(f"{home}/documents?did=added")
    for state in ("pending_scan", "rejected", "unreadable", "clean"):
        await found_by_the_scanner(service, state)
        await walk.open(f"{home}/documents")
    await walk.post(f"{home}/documents/done", {})
    await walk.open(f"{home}/documents?did=removed")


@asynccontextmanager
async def grown(service: Service, what: str) -> AsyncIterator[None]:
    """The one document is as large as those of a record may be together, or as those of a partner's day."""
    size = {"many": MAX_TOTAL_BYTES, "later": MAX_BYTES_PER_DAY}[what]
    before = await changed(service, "update document set size_bytes = $1", size)
    if what == "later":
        await changed(service, "update document set deleted_at = created_at, file_name = null")
    try:
        yield
    finally:
        await changed(service, "update document set size_bytes = $1, deleted_at = null", before)


async def found_by_the_scanner(service: Service, state: str) -> None:
    """What becomes of documents, whatever they were."""
    threat = "Eicar" if state in ("rejected", "unreadable") else None
    await changed(service, "update document set status = $1, threat = $2", state, threat)


async def walk_what_is_missing(service: Service, api: Client, reader: Reader) -> None:
    """Applications that wait for a document, an address, and an answer."""
    walk, alone = Walk(service, reader), await checks(api, "validation_request")
    waits = await applied(api, registryId="99-1234567", organisationName="QQ", configurationId=alone)
    await ended(service, api, waits)
    service.clock.advance(minutes=11)
    home = f"/application/{waits['id']}"
    await walk.open(await link(service, waits))
    await walk.upload(f"{home}/documents", b"hello", "text/plain")
    await walk.upload(f"{home}/documents", HONEST[PNG], PNG)
    await walk.open(f"{home}?did=added")
    await refused_by_the_scanner(service)
    await walk.open(home)
    await found_by_the_scanner(service, "unreadable")
    await walk.open(home)
    speaks = await checks(api, "agent_verification")
    organisation = await factories.nonprofit(service, name="Qq")
    await agents.contact(service, organisation, "office@relief.example")
    asked = await applied(api, organisationId=organisation, configurationId=speaks)
    await walk.open(await link(service, asked))
    await simulate(api, asked["agentVerification"]["id"], "confirm_email")
    await service.drain()
    await walk.open(f"/application/{asked['id']}")


async def walk_corrections(service: Service, api: Client, reader: Reader) -> None:
    """A wrong address and a wrong number, until neither is corrected any more."""
    form = Form(service, await invited(api))
    walk = Walk(service, reader)
    walk.browser = form.browser
    await form.open()
    given = {"country": "USA", "name": "QQ", "registry": "IRS", "number": "99-1234540", "website": "www.example.org"}
    await form.answer("/nonprofit/other", given)
    await form.answer("/person", dict(PERSON))
    await form.answer("/documents/done", {})
    home = await form.send()
    await service.drain()
    for email in ("", "wrong", LONG, "qq@relief.example"):
        await walk.open(home)
        await walk.post(f"{home}/email", {"email": email})
    await walk.open(f"{home}?did=mailed")
    await walk.post(f"{home}/email", {"email": "qq@relief.example"})
    made = data(await api.get("/v1/validation-submissions"))[0]
    await Walk(service, reader).open(await link(service, made))
    for number in ("", "wrong", LONG, "99-1234540", *(f"99-123455{digit}" for digit in range(5))):
        await walk.open(f"{home}?did=corrected")
        await walk.post(f"{home}/number", {"registry": "IRS", "number": number})
        await service.drain()
    await walk.open(home)
    alone = await configured(api, name="QQ", checks=["compliance"])
    plain = Form(service, await invited(api, hostedConfigId=alone["id"]))
    walk.browser = plain.browser
    await plain.open()
    await walk.open(f"{plain.home}/nonprofit?q=nothing-is-called-so")
    await walk.open(f"{plain.home}/person")


async def refused_by_the_scanner(service: Service) -> None:
    """The scanner refuses the newest document."""
    async with service.db.read() as tx:
        newest = await tx.fetchval("select id from document order by id desc limit 1")
    await scanned(service, newest, "Eicar")
    await service.drain()


async def walk_a_refusal(service: Service, api: Client, reader: Reader) -> None:
    """Refused; two appeals, the second of which is heard."""
    walk = Walk(service, reader)
    failed = await ended(service, api, await applied(api, organisationName="test_reject_other"))
    home = f"/application/{failed['id']}"
    await walk.open(await link(service, failed))
    await walk.post(f"{home}/appeal", {"text": ""})
    await walk.post(f"{home}/appeal", {"text": "x" * 5001})
    await walk.post(f"{home}/appeal", {"text": "Q"})
    await walk.open(f"{home}?did=appealed")
    await walk.post(f"{home}/appeal", {"text": "Too late."})
    await appeals.decide(service, (await shown(api, failed))["appeal"], "rejected")
    await walk.open(home)
    await appeals.decide(service, await appeals.made(api, failed), "accepted")
    await walk.open(home)
    await service.drain()


async def walk_decisions(service: Service, api: Client, reader: Reader) -> None:
    """Accepted, and left to the partner."""
    walk, alone = Walk(service, reader), await checks(api, "validation_request")
    accepted = await applied(api, organisationName="test_accept", configurationId=alone)
    await ended(service, api, accepted)
    await walk.open(await link(service, accepted))
    choirs = await checks(api, "eligibility", allowedActivitySubTags=[CHOIRS])
    organisation = await factories.nonprofit(service, name="Qq")
    undecided = await applied(api, organisationId=organisation, configurationId=choirs)
    await ended(service, api, undecided)
    await walk.open(await link(service, undecided))


def walk_what_only_says_something(service: Service, catalogues: TranslationCatalogues, reader: Reader) -> None:
    """Every page of a title and a text, and every reason of a refusal in the mail that tells it."""
    pages = PageRenderer(service.db.deployment, form_jobs.MAILS, catalogues)
    language = pages.language_for_tag(None)
    for kind in MESSAGES:
        reader.page(bytes(pages.render_message(f"apply.{kind}", language, status=200).body).decode())
    reasons = [key for key in sorted(WORDS) if key.startswith("applied.reason.")]
    facts = {"kind": "failed", "name": "", "partner": "Q", "organisation": "Q"}
    mails = MailRenderer(service.db.deployment, form_jobs.MAILS, catalogues)
    reader.mail(pseudo.mail_of(mails, "application", {**facts, "missing": [], "reasons": reasons, "due": None}))


async def mails(service: Service) -> list[dict[str, Any]]:
    """All that was written, newest first."""
    await service.drain()
    async with service.db.read() as tx:
        return [dict(row) for row in await tx.fetch("select * from sandbox_mail order by created_at desc, id desc")]


async def link(service: Service, submission: dict[str, Any]) -> str:
    """To the page of an application."""
    async with service.db.read() as tx:
        named = tx.ids.decode("validationsubmission", submission["id"])
        assert named is not None
        return submit.build_status_page_url(tx, named, tx.now)


async def read_mails(service: Service, reader: Reader) -> None:
    """Every mail that was written on the way."""
    for mail in await mails(service):
        reader.mail(mail)
