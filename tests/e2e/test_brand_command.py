"""`almoner partners brand` as an administrator types it."""

from io import BytesIO
from pathlib import Path

import httpx
from PIL import Image
from starlette.types import ASGIApp

from almoner.access.partners import service as partners
from tests.support.service import Service, Tenant
from tests.support.terminal import terminal


async def served(app: ASGIApp, path: str) -> httpx.Response:
    """What the service answers at a path."""
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://localhost") as client:
        return await client.get(path)


async def test_an_administrator_shows_a_partners_colour_and_logo(
    service: Service, tenant: Tenant, tmp_path: Path
) -> None:
    almoner = terminal(service, tmp_path, "administrator")
    partner = service.db.deployment.ids.encode("partner", tenant.partner.id)
    logo = tmp_path / "logo.png"
    Image.new("RGBA", (1200, 400), (200, 0, 80, 128)).save(logo)
    shown = await almoner("partners", "brand", partner, "--colour", "#E6007E", "--logo", str(logo))
    assert shown == (0, f"{partner}  colour #e6007e  logo yes\n")
    async with service.db.read() as tx:
        account = await partners.get(tx, tenant.partner)
    answer = await served(service.app, f"/media/{account.brand_logo}")
    assert (answer.status_code, answer.headers["content-type"]) == (200, "image/png")
    assert Image.open(BytesIO(answer.content)).size == (320, 107)
    assert await almoner("partners", "brand", partner, "--clear") == (0, f"{partner}  colour -  logo -\n")
    assert (await served(service.app, f"/media/{account.brand_logo}")).status_code == 404


async def test_what_cannot_be_shown_is_refused_with_a_reason(service: Service, tenant: Tenant, tmp_path: Path) -> None:
    almoner = terminal(service, tmp_path, "administrator")
    partner = service.db.deployment.ids.encode("partner", tenant.partner.id)
    text = tmp_path / "logo.txt"
    text.write_text("no image")
    for words, reason in (
        ((), "use --colour, --logo or both"),
        (("--clear", "--colour", "#123456"), "use --colour, --logo or both"),
        (("--colour", "red"), "is not a colour such as #0d5c4a"),
        (("--logo", str(text)), "not a readable JPEG or PNG"),
    ):
        status, printed = await almoner("partners", "brand", partner, *words)
        assert status == 2
        assert reason in " ".join(printed.split())
    assert (await almoner("partners", "brand", "nobody", "--clear"))[0] == 2
