"""Forms that cannot be read are answered by a page that asks to send them once more, wherever one is posted (H2)."""

from typing import Any

import pytest

from tests.support.applications import Form, invited
from tests.support.client import Client, data
from tests.support.hostile_files import HONEST, PDF
from tests.support.service import Service

BROKEN: dict[str, tuple[str, bytes]] = {
    "cut off": ("multipart/form-data; boundary=x", b'--x\r\nContent-Disposition: form-data; name="csrf"\r\n\r\nabc'),
    "no boundary": ("multipart/form-data", b"--x\r\n"),
    "no disposition": ("multipart/form-data; boundary=x", b"--x\r\nA: b\r\n\r\nabc\r\n--x--\r\n"),
    "a file": (
        "multipart/form-data; boundary=x",
        b'--x\r\nContent-Disposition: form-data; name="a"; filename="b"\r\n\r\nabc\r\n--x--\r\n',
    ),
    "too many fields": ("application/x-www-form-urlencoded", b"&".join(b"a%d=b" % n for n in range(70))),
    "too large a field": (
        "multipart/form-data; boundary=x",
        b'--x\r\nContent-Disposition: form-data; name="csrf"\r\n\r\n' + b"a" * 70_000 + b"\r\n--x--\r\n",
    ),
    "no form": ("application/json", b"{}"),
    "odd charset": ("application/x-www-form-urlencoded; charset=nonsense", b"a=\xff%ff%00"),
}
UNLISTED = {
    "name": "Hill Road Relief",
    "country": "USA",
    "registry": "IRS",
    "number": "53-0196605",
    "website": "https://relief.example",
}
STEPS = (
    "nonprofit",
    "nonprofit/other",
    "person",
    "documents/done",
    "documents/remove",
    "review",
    "colleague",
    "language",
)


async def sent(service: Service, api: Client) -> tuple[Form, str]:
    """A form that was sent, and where the application's page is."""
    form = Form(service, await invited(api))
    await form.open()
    await form.fill()
    await form.send()
    return form, f"/application/{data(await api.get('/v1/validation-submissions'))[0]['id']}"


async def posts(form: Form, path: str) -> dict[str, tuple[int, bool]]:
    """Status, and whether it is a page of ours, of every broken form."""
    found = {}
    for name, (kind, content) in BROKEN.items():
        headers = {"Content-Type": kind, "Sec-Fetch-Site": "same-origin"}
        answer: Any = await form.browser.request("POST", path, content=content, headers=headers)
        found[name] = (answer.status_code, "<main" in answer.text and "Submit the form again" in answer.text)
    return found


async def test_h2_a_form_that_cannot_be_read_is_asked_for_once_more(service: Service, api: Client) -> None:
    form = Form(service, await invited(api))
    await form.open()
    for step in STEPS:
        for name, (status, ours) in (await posts(form, f"{form.home}/{step}")).items():
            assert (status in (400, 403), ours) == (True, True), (step, name, status)


async def test_h2_so_it_is_on_the_pages_of_a_sent_application(service: Service, api: Client) -> None:
    form, home = await sent(service, api)
    for path in (f"{home}/appeal", f"{home}/language", f"{home}/documents"):
        for name, (status, ours) in (await posts(form, path)).items():
            assert status < 500, (path, name, status)
            if not path.endswith("documents"):
                assert (status in (400, 403), ours) == (True, True), (path, name, status)
    await form.browser.open(home)
    stranger = Form(service, form.invite, "198.51.100.10")
    await stranger.browser.open(form.invite["url"])
    for name, (status, ours) in (await posts(stranger, f"{home}/link?why=sent")).items():
        assert (status in (400, 403), ours) == (True, True), (name, status)
    # The invite is used: its form leads on, whatever is posted.
    for name, (status, _) in (await posts(stranger, f"{form.home}/review")).items():
        assert status == 303, (name, status)


async def test_who_reloads_where_a_form_was_posted_comes_to_its_page(service: Service, api: Client) -> None:
    form, home = await sent(service, api)
    of_form = {f"{form.home}/{step}": form.home for step in ("language",)}
    of_form |= {f"{form.home}/documents/{step}": f"{form.home}/documents" for step in ("done", "remove")}
    of_page = {f"{home}/{part}": home for part in ("appeal", "email", "number", "documents", "language")}
    for path, page in (of_form | of_page).items():
        answer = await form.browser.get(path)
        assert (answer.status_code, answer.headers["location"]) == (303, page), path
        assert (await form.browser.request("PUT", path)).status_code == 405


@pytest.mark.parametrize("kind", ["validation_request", "agent_verification"])
async def test_the_kind_that_was_chosen_is_still_chosen_after_a_file_was_refused(
    service: Service, api: Client, kind: str
) -> None:
    form = Form(service, await invited(api))
    await form.open()
    page = await form.upload(b"no picture", PDF, type=kind)
    assert (page.status_code, chosen(page.text)) == (422, {kind})
    await form.fill()
    await form.answer("/nonprofit/other", UNLISTED)  # of whom documents of both kinds are looked at
    await form.send()
    home = f"/application/{data(await api.get('/v1/validation-submissions'))[0]['id']}"
    await form.browser.open(home)
    sending = {"csrf": form.browser.csrf, "type": kind}
    headers = {"Sec-Fetch-Site": "same-origin"}
    for content, status in ((b"no picture", 422), (HONEST[PDF], 303)):
        files = {"file": ("proof", content, PDF)}
        page = await form.browser.request("POST", f"{home}/documents", data=sending, files=files, headers=headers)
        assert page.status_code == status, page.text
        if status == 422:
            assert chosen(page.text) == {kind}


def chosen(text: str) -> set[str]:
    """The kinds that are checked on a page."""
    lines = [line for line in text.splitlines() if 'name="type"' in line and " checked" in line]
    return {line.split('value="')[1].split('"')[0] for line in lines}
