"""What the reference is made of: fields in words, and calls that a shell and the clients understand."""

import re
from datetime import timedelta
from typing import Any

import msgspec

from almoner.kit.ids import RecordIdCodec
from almoner.webhooks.deliveries import domain as deliveries
from tools import reference
from tools.docs_site import lifecycles
from tools.docs_site.reference_content import Operation, ReferenceContent, ReferenceField
from tools.docs_site.reference_pages import ReferencePages

DESCRIPTION: dict[str, Any] = msgspec.json.decode(reference.render()["openapi.json"])
CONTENT = ReferenceContent(DESCRIPTION)
OPERATIONS = {operation.id: operation for group in CONTENT.groups for operation in group.operations}


def field(operation: Operation, name: str) -> ReferenceField:
    fields = (*operation.parameters, *operation.body, *operation.answer)
    return next(one for one in fields if one.name == name)


def test_the_page_has_every_operation_and_every_event() -> None:
    described = [one["operationId"] for item in DESCRIPTION["paths"].values() for one in item.values()]
    assert sorted(OPERATIONS) == sorted(described)
    assert [hook.name for hook in CONTENT.hooks] == list(DESCRIPTION["webhooks"])


def test_fields_say_their_type_and_limits_in_words() -> None:
    created = OPERATIONS["createDonationSession"]
    told = "The organisation."
    assert field(created, "organisationId") == ReferenceField("organisationId", "id of an organisation", True, (), told)
    assert field(created, "userId").kind == "id of a user or null"
    assert field(created, "successUrl").limits == ("at most 2048 characters",)
    assert field(created, "data.createdAt").kind == "timestamp"
    assert "one of `completed`, `expired`, `open`" in field(created, "data.status").description
    listed = OPERATIONS["listDonations"]
    assert field(listed, "startDate").kind == "date or timestamp, in the query"
    assert field(listed, "pageSize").limits == ("at least 1", "default 25")


def test_members_of_members_are_shown_by_their_whole_path() -> None:
    found = {one.name: one.kind for one in OPERATIONS["searchOrganisations"].answer}
    assert found["data[].categories[].id"] == "id of a category"
    assert found["data[].sources[].registryName"] == "string"
    assert found["_links.next"] == "URL or null"


def test_statuses_list_their_codes() -> None:
    statuses = {status.code: status for status in OPERATIONS["createCategory"].statuses}
    assert statuses["200"].problems == ()
    assert "category/name_taken" in dict(statuses["400"].problems)
    assert dict(statuses["401"].problems).keys() == {"unauthorized"}


def test_a_call_fetches_first_what_it_needs() -> None:
    lines = OPERATIONS["addOrganisationToCategory"].shell.splitlines()
    prefix = RecordIdCodec(sandbox=True).example_id("category")[:17]
    assert lines[0].startswith('category=$(curl -s "$api/v1/categories?pageSize=1"')
    assert prefix in lines[0]
    assert lines[1].startswith("organisation=$(")
    assert lines[2] == 'curl -s -X PUT "$api/v1/categories/$category/$organisation" -H "Authorization: $key"'


def test_a_record_without_a_list_is_made_on_one_line() -> None:
    first = OPERATIONS["getUser"].shell.splitlines()[0]
    assert first.startswith('user=$(curl -s "$api/v1/users"')
    assert "-d '{}'" in first


def test_a_body_is_filled_in_by_the_shell() -> None:
    lines = OPERATIONS["setUserOrganisation"].shell.splitlines()
    assert lines[-5:] == [lines[-5], "{", '  "organisationId": "$organisation"', "}", "JSON"]
    assert lines[-5].endswith("-d @- <<JSON")
    assert '"startDate": "$(date -u +%F)"' in OPERATIONS["replayWebhookEvents"].shell


def test_an_upload_brings_its_file_and_an_open_call_no_key() -> None:
    assert OPERATIONS["setCategoryImage"].shell.endswith("-F image=@image.png")
    assert "base64 -d > image.png" in OPERATIONS["setCategoryImage"].shell
    assert OPERATIONS["getOrganisationProfile"].shell.splitlines()[-1].endswith('/profile"')


def test_what_the_query_must_hold_is_there() -> None:
    assert '"$api/v1/registries?countryCode=USA"' in OPERATIONS["listRegistries"].shell


def test_samples_call_the_clients_by_their_names() -> None:
    samples = {name: (python, typescript) for name, python, typescript in ReferencePages(DESCRIPTION).samples()}
    assert samples.keys() == OPERATIONS.keys()
    python, typescript = samples["addOrganisationToCategory"]
    assert python == "client.categories.add_organisation(category_id, organisation_id)"
    assert typescript == "await client.categories.addOrganisation(categoryId, organisationId);"
    assert 'image="image.png"' in samples["setCategoryImage"][0]
    assert "start_date=date.today()" in samples["replayWebhookEvents"][0]
    for python, _ in samples.values():
        compile(python, "sample", "exec")


def test_texts_of_the_description_are_no_markdown() -> None:
    pages = dict(ReferencePages(DESCRIPTION).pages())
    assert "- `url` URL" in pages["api/donation-sessions.md"]
    shown = re.sub(r"```.*?```|`[^`]*`|<a .*?</a>", "", "".join(pages.values()), flags=re.DOTALL)
    assert not re.search(r"[^\\][<{$*]", shown)


def test_drawings_have_every_state_and_every_move() -> None:
    for one in lifecycles.DESCRIBED:
        drawn = lifecycles.draw(one)
        assert set(re.findall(r">([A-Za-z_]+)</text>", drawn)) == one.lifecycle.states()
        assert drawn.count("marker-end") == len(list(one.lifecycle.transitions()))
    records = [one.lifecycle.resource for one in lifecycles.DESCRIBED]
    assert len(records) == len(set(records))


def test_the_quick_start_says_how_often_a_delivery_is_tried() -> None:
    text = " ".join((reference.PROJECT / "docs" / "guides" / "quick-start.md").read_text("utf-8").split())
    assert (5, timedelta(hours=14)) == (deliveries.MAX_ATTEMPTS, deliveries._LAST_AFTER_FIRST)
    assert "tries each delivery five times over 14 hours" in text
