"""The pages of members, groups, API keys and the audit log in the language of whoever reads them."""

import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from babel import Locale

from almoner.access.credentials.domain import AuditContext
from almoner.access.keys import service as keys
from almoner.access.members import service as members
from almoner.access.sso.domain import SsoRefusalReason
from almoner.platform.audit.log import Actor
from almoner.platform.pages.translations import TranslationCatalogues
from tests.support import pseudo
from tests.support.database import TestDatabase
from tests.support.members import Desk, desk, member
from tests.support.service import Service, Tenant, serving

BY = AuditContext(Actor("machine", "tests"), None)
DATA = frozenset(Locale("en").months["stand-alone"]["wide"].values()) | {"days", "donations:personal", "Qq"}
CODE = re.compile(r'<(\w+)[^>]*class="(?:code|secret)"[^>]*>[^<]*</\1>|<p class="small">[\w:*, ]+</p>')
PROVIDER = {
    "name": "QQ",
    "issuer": "https://id.example.org",
    "client_id": "QQ",
    "public": "yes",
    "subject_claim": "sub",
}
CLAIMS = {"scopes": "openid", "groups_claim": "groups", "enabled": "yes"}
FORMS: dict[str, tuple[dict[str, str], ...]] = {
    "/members/invite": (
        {"email": "nobody", "name": "x" * 256},
        {"email": "qq@example.org", "user_name": "QQ"},
        {"email": "qq@example.org", "name": "QQ"},
    ),
    "/members/{own}": (
        {"do": "roles"},
        {"do": "remove"},
        {"do": "invite"},
        {"do": "change", "email": ""},
        {"do": "change", "email": "q@example.org", "name": "x" * 256},
    ),
    "/provider": (
        {"do": "save", "subject_claim": "QQ", "creates_members": "yes"},
        {"do": "save", **PROVIDER, **CLAIMS, "roles": "QQ"},
        {"do": "save", **PROVIDER, **CLAIMS, "roles": "QQ = queen", "secret": "x x"},
        {"do": "save", **PROVIDER, **CLAIMS, "roles": "QQ = ⟦desk.role.finance¦fîñàñçé ẋẋẋ⟧"},
        {"do": "save", **PROVIDER, **CLAIMS, "roles": "QQ = finance"},
    ),
    "/groups": ({"group": "{group}", "role": "finance"},),
    "/keys/new": (
        {"name": "QQ", "kind": "none"},
        {"name": "", "kind": "secret"},
        {"name": "QQ", "kind": "publishable", "scopes": "users:write"},
        {"name": "QQ", "kind": "scim", "scopes": "users:write"},
        {"name": "QQ", "kind": "secret"},
    ),
    "/keys/{key}": ({"do": "rotate", "overlap": "x"}, {"do": "revoke"}),
}


@pytest.fixture
async def made_up(empty_database: TestDatabase, tmp_path: Path) -> AsyncIterator[Service]:
    """The service in a made-up language."""
    async with serving(empty_database, catalogues=pseudo.catalogues(tmp_path)) as service:
        yield service


async def named(service: Service, tenant: Tenant, owner: Desk) -> dict[str, str]:
    """The owner, a group and a key, by the name in ``FORMS``."""
    async with service.db.write() as tx:
        group = await members.create_group(tx, tenant.partner, {"displayName": "QQ"})
        key, _ = await keys.create(
            tx, tenant.partner, "secret", "QQ", frozenset({"users:read"}), expires_at=tx.real_now
        )
    assert owner.person is not None
    text = service.db.deployment.ids.encode
    return {
        "own": text("member", owner.person.id),
        "group": text("group", group.id),
        "key": text("apikey", key.id),
    }


async def test_no_word_of_these_pages_is_outside_the_catalogues(made_up: Service) -> None:
    tenant, reader = await made_up.tenant(), pseudo.Reader(data=DATA)
    owner = await desk(made_up, tenant, person=await member(made_up, tenant, "owner", name="QQ"))
    records = await named(made_up, tenant, owner)
    for path, forms in FORMS.items():
        for form in forms:
            await owner.get(owner.home + path.format(**records))
            posted = {field: text.format(**records) for field, text in form.items()}
            answer = await owner.post(owner.home + path.format(**records), posted)
            if answer.status_code != 303:
                reader.page(CODE.sub("", answer.text))
    pages = (
        "/members",
        "/members/invite",
        "/members/{own}",
        "/groups",
        "/groups/{group}",
        "/keys",
        "/keys/{key}",
        "/provider",
    )
    done = tuple(f"/members?done={one}" for one in ("invited", "again", "roles", "changed", "removed", "mapped"))
    await made_up.drain()
    own = ("/provider?done=saved", "/provider-account", "/provider-account?done=connected", "/sign-on/callback")
    log = (*own, "/audit", "/audit?who=QQ", "/audit?first=never", "/audit?action=key.created")
    for path in (*pages, *done, "/keys?done=revoked", *log):
        answer = await owner.get(owner.home + path.format(**records))
        assert answer.status_code == {"/audit?first=never": 422, "/sign-on/callback": 403}.get(path, 200), path
        reader.page(CODE.sub("", answer.text))
    assert {
        "sso.problem.issuer", "sso.problem.roles", "sso.problem.creates_members", "sso.done.saved", "sso.refused.state",
        "sso.account.about", "audit_log.entry.subject",
        "audit_log.details", "audit_log.action.key.created", "account.event.signed_in",
        "audit_log.problem.day", "audit_log.chain.entry", "audit_log.matching",
        "members.problem.taken", "members.problem.last_owner", "members.problem.sure", "members.problem.too_long",
        "keys.problem.name", "keys.problem.publishable", "keys.problem.scim", "keys.problem.ended",
        "keys.problem.sure", "keys.secret.about", "members.done.invited", "members.state.invited",
    } <= reader.seen  # fmt: skip
    await owner.close()


async def test_the_roles_of_groups_are_named_in_the_language_of_the_browser(service: Service, tenant: Tenant) -> None:
    owner = await desk(service, tenant, "owner")
    await owner.get(f"{owner.home}/provider")
    form = {"do": "save", **PROVIDER, **CLAIMS, "roles": "staff = read only\nmoney = finance"}
    assert (await owner.post(f"{owner.home}/provider", form)).status_code == 303
    page = await owner.get(f"{owner.home}/provider", **{"Accept-Language": "de"})
    assert "money = Finanzen\nstaff = nur Lesen</textarea>" in page.text
    await owner.close()


def test_every_reason_of_a_refused_sign_on_has_words() -> None:
    language = TranslationCatalogues().language("en")
    assert [reason for reason in SsoRefusalReason if not language.has_message(f"sso.refused.{reason}")] == []


async def test_members_are_listed_in_the_language_of_the_browser(service: Service, tenant: Tenant) -> None:
    owner = await desk(service, tenant, "owner")
    page = await owner.get(f"{owner.home}/members", **{"Accept-Language": "de"})
    assert '<html lang="de"' in page.text
    assert "; Inhaber; aktiv" in owner.text()
    await owner.close()
