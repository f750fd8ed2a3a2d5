"""Applications on the dashboard: documents beside their evidence, appeals, and the forms of applicants."""

from collections.abc import Sequence
from io import BytesIO

from PIL import Image

from tests.support import submissions
from tests.support.client import Client, data
from tests.support.hostile_files import HONEST, PNG
from tests.support.members import desk
from tests.support.service import Service, Tenant


async def test_programme_staff_see_documents_and_others_do_not(service: Service, tenant: Tenant, api: Client) -> None:
    applied = await submissions.of_organisation(service, api)
    fields = {"validationSubmissionId": applied["id"], "type": "validation_request"}
    files = {"file": ("proof", HONEST[PNG], PNG)}
    document = data(await api.request("POST", "/v1/validation-submission-documents", data=fields, files=files))
    reviewer, support = await desk(service, tenant, "reviewer"), await desk(service, tenant, "support")
    page = await reviewer.get(f"{reviewer.home}/validation-submissions/{applied['id']}")
    assert document["url"].partition("?")[0] in page.text
    page = await support.get(f"{support.home}/validation-submissions/{applied['id']}")
    assert page.status_code == 200
    assert document["url"].partition("?")[0] not in page.text
    for browser in (reviewer, support):
        await browser.close()


async def test_a_failed_submission_is_appealed_against_with_a_reason(
    service: Service, tenant: Tenant, api: Client
) -> None:
    made = await submissions.applied(api, organisationName="test_reject_not_eligible")
    failed = await submissions.ended(service, api, made)
    reviewer = await desk(service, tenant, "reviewer")
    page = f"{reviewer.home}/validation-submissions/{failed['id']}"
    assert f"{page}/appeals" in (await reviewer.get(page)).text
    await reviewer.get(f"{page}/appeals")
    empty = await reviewer.post(f"{page}/appeals", text="", form_key="a")
    assert (empty.status_code, "Why do you think the decision is wrong?" in reviewer.text()) == (422, True)
    await reviewer.post(f"{page}/appeals", text="We are on the register.", form_key="b")
    shown = data(await api.get(f"/v1/validation-submissions/{failed['id']}"))
    assert shown["appeal"]["status"] == "open"
    await reviewer.get(f"{page}/appeals")
    again = await reviewer.post(f"{page}/appeals", text="Once more.", form_key="c")
    assert (again.status_code, "Nothing has been changed" in reviewer.text()) == (422, True)
    await reviewer.close()


async def test_programme_staff_choose_flags_and_types_and_upload_a_logo(
    service: Service, tenant: Tenant, api: Client
) -> None:
    reviewer, made = await desk(service, tenant, "reviewer"), await submissions.configured(api, "compliance")
    page = f"{reviewer.home}/application-forms/{made}"

    async def saved(**typed: Sequence[str]) -> dict[str, object]:
        form: dict[str, str | Sequence[str]] = {"branding.displayName": "Relief", "emailVerification": "yes", **typed}
        await reviewer.get(f"{page}/edit")
        sent = await reviewer.post(f"{page}/edit", form)
        assert sent.status_code == 303, reviewer.text()
        shown: dict[str, object] = data(await api.get(f"{submissions.CONFIGURATIONS}/{made}"))
        return shown

    checks, types = ["validation_request", "compliance"], ["nonprofit", "education"]
    changed = await saved(checks=checks, allowedOrganisationTypes=types, complianceFlags=["warning", "adverseMedia"])
    assert changed["checks"] == checks
    assert changed["allowedOrganisationTypes"] == types
    assert changed["complianceFlags"] == ["warning", "adverseMedia"]
    assert (await saved(checks=checks, allowedOrganisationTypes=types))["complianceFlags"] == []
    refused = await reviewer.post(f"{page}/edit", {"branding.displayName": "Relief", "checks": "compliance"})
    assert (refused.status_code, "Accepted nonprofit types" in reviewer.text()) == (422, True)
    picture = BytesIO()
    Image.new("RGB", (40, 30), "red").save(picture, "PNG")
    await reviewer.get(f"{page}/logo")
    sent = await reviewer.request(
        "POST",
        f"{page}/logo",
        headers={"Sec-Fetch-Site": "same-origin"},
        data={"csrf": reviewer.csrf, "form_key": "once"},
        files={"logo": ("a.png", picture.getvalue(), "image/png")},
    )
    assert sent.headers["location"] == f"{page}?done=logo"
    assert "Logo uploaded." in (await reviewer.get(f"{page}?done=logo")).text
    logo = data(await api.get(f"{submissions.CONFIGURATIONS}/{made}"))["branding"]["logo"]
    await reviewer.get(f"{page}/edit")
    preview = await reviewer.post(f"{page}/preview", {"branding.displayName": "Relief", "checks": "compliance"})
    assert logo.rpartition("/")[2] in preview.text
    await reviewer.close()
