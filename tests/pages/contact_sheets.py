"""Pictures of the main pages in four languages, both colour schemes and three widths, sheets of each language.

``python -m tests.pages.contact_sheets FOLDER [LANGUAGE ...] [donors | applicants | members ...]``
"""

import asyncio
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from typing import Any, Final, Literal

from PIL import Image, ImageDraw
from playwright.async_api import Page

from almoner.platform.database import postgres
from tests.pages.accounts import acme, sign_in
from tests.pages.screenshots import card, our_fonts
from tests.pages.site import DECLINED, HEAVIEST, MOST_REQUESTS, Site, open_browser, open_site
from tests.support import bank, cluster, database, factories, people
from tests.support.applications import PERSON, QUESTIONS, configured, invited
from tests.support.client import data
from tests.support.hostile_pdfs import pdf

LANGUAGES: Final = ("en", "de", "ar", "ja")
WIDTHS: Final = (320, 768, 1280)
SCHEMES: Final[tuple[Literal["light", "dark"], ...]] = ("light", "dark")
CELL: Final = (300, 620)
COLOURS: Final = 64
SETTLED: Final = "() => Promise.allSettled(document.getAnimations().map(moving => moving.finished))"


@dataclass
class Sheet:
    """The pictures of one language, by page; ``heavy``: pages that are too large."""

    language: str
    rows: list[tuple[str, list[Image.Image]]] = field(default_factory=list)
    heavy: list[str] = field(default_factory=list)

    async def take(self, page: Page, name: str) -> None:
        """The page as it is now, in every width and scheme."""
        weight, requests, wide = 0, 0, []
        pictures = []
        for scheme in SCHEMES:
            await page.emulate_media(color_scheme=scheme)
            for width in WIDTHS:
                await page.set_viewport_size({"width": width, "height": 900})
                await page.evaluate(SETTLED)
                pictures.append(Image.open(BytesIO(await page.screenshot(full_page=True))).convert("RGB"))
                sideways, weight, requests = await page.evaluate(
                    """() => {
                        const root = document.documentElement;
                        const got = ['navigation', 'resource'].flatMap(kind => performance.getEntriesByType(kind));
                        return [root.scrollWidth > root.clientWidth,
                                got.reduce((sum, one) => sum + one.encodedBodySize, 0), got.length];
                    }"""
                )
                if sideways:
                    wide.append(width)
        await page.emulate_media(color_scheme="light")
        await page.set_viewport_size({"width": 1280, "height": 900})
        self.rows.append((f"{name} ({weight / 1000:.0f} kB, {requests})", pictures))
        if wide or weight > HEAVIEST or requests > MOST_REQUESTS:
            self.heavy.append(f"{self.language} {name}: {weight} bytes, {requests} requests, too wide at {wide}")

    def save(self, folder: Path, audience: str, rows: int = 4) -> None:
        """The sheet as pictures of some rows."""
        width, height = CELL
        for first in range(0, len(self.rows), rows):
            part = self.rows[first : first + rows]
            sheet = Image.new("RGB", (width * len(WIDTHS) * 2, (height + 16) * len(part)), "#888888")
            draw = ImageDraw.Draw(sheet)
            for y, (name, pictures) in enumerate(part):
                draw.text((4, y * (height + 16)), name, "white")
                for x, picture in enumerate(pictures):
                    scale = min(1.0, (width - 6) / picture.width)
                    small = picture.resize((round(picture.width * scale), round(picture.height * scale)))
                    sheet.paste(
                        small.crop((0, 0, width - 6, min(height, small.height))), (x * width, y * (height + 16) + 14)
                    )
            plain = sheet.quantize(COLOURS)
            plain.save(folder / f"{audience}-{self.language}-{first // rows + 1}.png", optimize=True)


async def main(folder: Path, languages: Sequence[str], audiences: Sequence[str]) -> None:
    """All sheets of these languages and audiences."""
    with postgres.run_embedded_server(cluster.folder()) as server, our_fonts():
        async with (
            database.copied(server) as made,
            open_browser() as browser,
            open_site(made, browser, bank_accounts=folder / "accounts.toml") as site,
        ):
            for language in languages:
                for audience in audiences:
                    sheet = Sheet(language)
                    for walk in WALKS[audience]:
                        await walk(site, sheet)
                    sheet.save(folder, audience)
                    print("\n".join(sheet.heavy) or f"{language}: none is too wide or heavy", flush=True)


async def donors(site: Site, sheet: Sheet) -> None:
    """From the giving page to where the gift is."""
    made = await site.session(
        language=sheet.language, currency="USD", name="Neighbourhood Food Bank", city="Washington"
    )
    email = f"amina.{sheet.language}@example.org"
    async with donor(site, sheet) as page:
        await page.goto(made["url"])
        await sheet.take(page, "give")
        await page.locator("form button[type=submit]").first.click()
        await sheet.take(page, "give, nothing filled in")
        await page.locator("#amount-2500").check()
        for name, text in {"first_name": "Amina", "last_name": "El-Sayed", "email": email}.items():
            await page.locator(f"#{name}").fill(text)
        await page.locator("form button[type=submit]").first.click()
        await sheet.take(page, "card")
        await card(page, DECLINED)
        await sheet.take(page, "card, declined")
        await card(page, "4242424242424242")
        await page.wait_for_url("**/thanks")
        await sheet.take(page, "thanks")
    await site.service.drain()
    [mail] = [
        one
        for one in data(await site.api.get("/v1/sandbox/mailbox", to=email))
        if any("/gift?" in link for link in one["links"])
    ][:1]
    async with donor(site, sheet) as page:
        await page.goto(next(link for link in mail["links"] if "/gift?" in link))
        await sheet.take(page, "where the gift is")
    async with donor(site, sheet) as page:  # a page of its own: no policy of ours forbids its inline styles
        await page.set_content(mail["html"])
        await sheet.take(page, "mail: receipt")
    british = await site.session(language=sheet.language, currency="GBP", country="GBR", name="Cancer Lifeline")
    async with donor(site, sheet) as page:
        await page.goto(british["url"])
        await page.locator("#amount-2500").check()
        await page.locator("#gift_aid").check()
        for name, text in {"first_name": "Amina", "last_name": "El-Sayed", "email": "b@example.org"}.items():
            await page.locator(f"#{name}").fill(text)
        await sheet.take(page, "give, Gift Aid")
    transfer = await site.session(language=sheet.language, currency="EUR", country="DEU", name="Hilfe vor Ort")
    async with donor(site, sheet) as page:
        await page.goto(transfer["url"])
        await page.locator("#amount-2500").check()
        for name, text in {"first_name": "Amina", "last_name": "El-Sayed", "email": "c@example.org"}.items():
            await page.locator(f"#{name}").fill(text)
        await page.locator("button[value=transfer]").click()
        await sheet.take(page, "bank transfer")


async def errors(site: Site, sheet: Sheet) -> None:
    """What leads nowhere."""
    async with donor(site, sheet) as page:
        for name, path in {"front": "/", "not found": "/nothing", "unknown link": "/give?token=cut-off"}.items():
            await page.goto(site.base_url + path)
            await sheet.take(page, name)


async def applicants(site: Site, sheet: Sheet) -> None:
    """The hosted form, and where the application stands."""
    made = await configured(site.api, name=f"Grants {sheet.language}", partnerFields=QUESTIONS)
    invite = await invited(site.api, hostedConfigId=made["id"], language=sheet.language)
    organisation = await factories.nonprofit(site.service, name="Hill Road Relief")
    home = f"{site.base_url}/apply/{invite['id']}"
    async with donor(site, sheet) as page:
        await page.goto(invite["url"])
        await sheet.take(page, "apply")
        await page.goto(f"{home}/nonprofit?q=Hill+Road")
        await sheet.take(page, "apply: search")
        await page.locator(f"button[value={organisation}]").click()
        await page.goto(f"{home}/person")
        await page.locator("main .actions button").click()
        await sheet.take(page, "apply: person, nothing filled in")
        for name, text in PERSON.items():
            await page.locator(f"#{name}").fill(text)
        await page.locator("main .actions button").click()
        await sheet.take(page, "apply: questions")
        await page.locator("#q-reason").fill("We feed people.")
        await page.locator("input[name=q-size]").first.check()
        await page.locator("main .actions button").click()
        file: Any = {"name": "Certificate 2025.pdf", "mimeType": "application/pdf", "buffer": pdf()}
        await page.set_input_files("#file", file)
        await page.locator("form.upload button").first.click()
        await sheet.take(page, "apply: documents")
        await page.locator("main .actions button").click()
        await sheet.take(page, "apply: review")
        await page.locator("main .actions button").click()
        await page.wait_for_url("**/application/**")
        await site.service.drain()
        await page.reload()
        await sheet.take(page, "application")


async def members(site: Site, sheet: Sheet) -> None:
    """Signing in, and what a member sees."""
    here = await acme(site)
    person = await here.member("owner")
    async with here.browser("/sign-in", locale=sheet.language) as page:
        await sheet.take(page, "sign in")
        secret = await people.authenticator(site.service, person)
        await sign_in(page)
        await page.locator("#code").fill(people.code(site.service, secret))
        await page.locator("form button[type=submit]").first.click()
        await page.wait_for_url(here.home + "/home")
        await page.goto(here.home)
        await sheet.take(page, "account")
        for path in ("/home", "/donations", "/preferences", "/gallery", "/members", "/keys", "/audit"):
            await page.goto(here.home + path)
            await sheet.take(page, f"account{path}")


def donor(site: Site, sheet: Sheet) -> Any:
    """A fresh browser in the language."""
    return site.donor(locale=sheet.language, viewport={"width": 1280, "height": 900})


WALKS: Final = {"donors": (donors, errors), "applicants": (applicants,), "members": (members,)}

if __name__ == "__main__":
    target, chosen = Path(sys.argv[1]), sys.argv[2:]
    target.mkdir(parents=True, exist_ok=True)
    (target / "accounts.toml").write_text(bank.OWN)
    known = [one for one in chosen if one in WALKS]
    asyncio.run(main(target, [one for one in chosen if one not in WALKS] or LANGUAGES, known or [*WALKS]))
