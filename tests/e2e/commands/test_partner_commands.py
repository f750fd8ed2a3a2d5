"""`almoner partners` as people type it, over the database of a service."""

from pathlib import Path

from tests.support.service import Service
from tests.support.terminal import in_process, operator


async def test_an_administrator_sets_a_partners_rate_limits(service: Service, tmp_path: Path) -> None:
    almoner = in_process(service, tmp_path, await operator(service, "administrator"), rate_limit_scim="50/500")
    tenant = await service.tenant()
    limits = ("partners", "rate-limits", service.db.deployment.ids.encode("partner", tenant.partner.id))
    status, shown = await almoner(*limits)
    assert status == 0
    assert [line.split() for line in shown.splitlines()] == [
        ["kind", "rate", "limit", "default"],
        ["secret", "-", "25/50"],
        ["publishable", "-", "25/50"],
        ["scim", "-", "50/500"],
    ]
    assert (await almoner(*limits, "--secret", "100/300", "--scim", "0.5/9"))[0] == 0
    status, shown = await almoner(*limits, "--scim", "")
    assert [line.split() for line in shown.splitlines()][1:] == [
        ["secret", "100/300", "25/50"],
        ["publishable", "-", "25/50"],
        ["scim", "-", "50/500"],
    ]
    client = service.client(tenant.secret)
    assert (await client.get("/v1/countries")).headers["ratelimit-policy"].startswith('"secret";q=300;')
    await client.close()
    status, refused = await almoner(*limits, "--publishable", "fast")
    assert (status, "--publishable must be a rate per second and a burst" in refused) == (2, True)
    reviewer = in_process(service, tmp_path, await operator(service, "reviewer"))
    assert (await reviewer(*limits, "--secret", "1/1"))[0] == 1


async def test_the_name_of_a_partner_has_a_length_that_fits(service: Service, tmp_path: Path) -> None:
    almoner = in_process(service, tmp_path, await operator(service, "administrator"))
    for name in ("", " \t ", "x" * 201):
        assert await almoner("partners", "create", name) == (1, "name: enter 1 to 200 characters\n")
    status, made = await almoner("partners", "create", "  Bank \t of   spaces ")
    assert status == 0, made
    assert " Bank of spaces " in (await almoner("partners", "list"))[1]
