"""Applications on the dashboard: documents beside their evidence, and appeals."""

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
