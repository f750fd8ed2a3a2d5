"""`almoner organisations brand` as an administrator types it, and where it is seen."""

from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from tests.support.client import Client, data
from tests.support.factories import nonprofit
from tests.support.service import Service
from tests.support.terminal import terminal


def picture(path: Path, *, mode: str = "RGB", size: tuple[int, int] = (1200, 400), tail: bytes = b"") -> str:
    Image.new(mode, size, 200 if mode == "L" else None).save(path)
    path.write_bytes(path.read_bytes() + tail)
    return str(path)


async def branding(api: Client, organisation: str) -> dict[str, Any]:
    found: dict[str, Any] = data(await api.get(f"/v1/organisations/{organisation}/branding"))
    return found


async def test_an_organisation_is_shown_by_its_own_name_words_and_images(
    service: Service, publishable: Client, anonymous: Client, tmp_path: Path
) -> None:
    almoner = terminal(service, tmp_path, "administrator")
    organisation = await nonprofit(service)
    before = await branding(publishable, organisation)
    assert (before["logo"], before["images"], before["primaryColor"]) == (None, [], None)

    words = ("--name", " Food  for\tall ", "--description", "Meals.\n\nEvery day.", "--colour", "#E6007E")
    logo = ("--logo", picture(tmp_path / "logo.png", mode="RGBA"))
    shots = ("--image", picture(tmp_path / "a.jpg"), "--image", picture(tmp_path / "b.png", size=(3000, 10)))
    status, printed = await almoner("organisations", "brand", organisation, *words, *logo, *shots)
    assert (status, printed) == (
        0,
        f"{organisation}  name Food for all  description yes  logo yes  images 2  colour #e6007e\n",
    )
    shown = await branding(publishable, organisation)
    assert (shown["displayName"], shown["description"]) == ("Food for all", "Meals.\n\nEvery day.")
    assert shown["primaryColor"] == "#e6007e"
    served = await anonymous.get(shown["logo"])
    assert (served.status_code, served.headers["content-type"]) == (200, "image/png")
    assert Image.open(BytesIO(served.content)).size == (320, 107)
    assert [(await anonymous.get(image)).headers["content-type"] for image in shown["images"]] == ["image/jpeg"] * 2

    record = data(await publishable.get(f"/v1/organisations/{organisation}"))
    assert (record["displayName"], record["logo"], record["images"]) == (
        "Food for all",
        shown["logo"],
        shown["images"],
    )
    assert record["name"] == before["displayName"], "the register's name stays"
    assert data(await anonymous.get(f"/v1/organisations/{organisation}/profile"))["logo"] == shown["logo"]

    status, printed = await almoner("organisations", "brand", organisation, "--name", "", "--image", shots[1])
    assert status == 0
    assert "name -  description yes  logo yes  images 1" in printed
    changed = await branding(publishable, organisation)
    assert (changed["displayName"], changed["logo"]) == (before["displayName"], shown["logo"])
    assert [(await anonymous.get(image)).status_code for image in shown["images"]] == [404, 404]

    assert (await almoner("organisations", "brand", organisation, "--clear"))[0] == 0
    assert await branding(publishable, organisation) == before
    assert (await anonymous.get(shown["logo"])).status_code == 404


async def test_what_cannot_be_shown_is_refused_and_changes_nothing(
    service: Service, publishable: Client, tmp_path: Path
) -> None:
    almoner = terminal(service, tmp_path, "administrator")
    organisation = await nonprofit(service)
    before = await branding(publishable, organisation)
    page = tmp_path / "logo.svg"
    page.write_text("<svg xmlns='http://www.w3.org/2000/svg'><script/></svg>")
    good = picture(tmp_path / "good.png")
    for words, reason in (
        ((), "or use --clear on its own"),
        (("--clear", "--name", "A"), "or use --clear on its own"),
        (("--colour", "red"), "is not a colour"),
        (("--logo", str(page)), "not a readable JPEG or PNG"),
        (("--name", "x" * 201), "201 characters, but the maximum is 200"),
        (("--name", "two\nlines"), "more than one line"),
        (("--name", "Kept", *(("--image", good) * 11)), "11 images, at most 10"),
    ):
        status, printed = await almoner("organisations", "brand", organisation, *words)
        assert status == 2
        assert reason in " ".join(printed.split())
    assert (await almoner("organisations", "brand", "nobody", "--clear"))[0] == 2
    assert await branding(publishable, organisation) == before


@pytest.mark.parametrize("mode", ["L", "RGBA", "P"])
async def test_every_form_of_picture_is_written_anew(
    service: Service, publishable: Client, anonymous: Client, tmp_path: Path, mode: str
) -> None:
    almoner = terminal(service, tmp_path, "administrator")
    organisation = await nonprofit(service)
    tailed = picture(tmp_path / "tailed.png", mode=mode, size=(50, 50), tail=b"<script>alert(1)</script>")
    assert (await almoner("organisations", "brand", organisation, "--logo", tailed))[0] == 2
    file = picture(tmp_path / "logo.png", mode=mode, size=(50, 50))
    assert (await almoner("organisations", "brand", organisation, "--logo", file))[0] == 0
    served = await anonymous.get((await branding(publishable, organisation))["logo"])
    assert served.headers["content-type"] in {"image/jpeg", "image/png"}
