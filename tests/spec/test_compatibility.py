"""Within /v1 the interface only grows: each description is compared with those that were released (settled 10)."""

import copy
import re
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from almoner.migrations import BASELINE_REVISION
from tests.spec.compatibility import find_breaking_changes
from tests.spec.test_description import DESCRIPTION
from tests.support.releases import FOLDER, is_in_clone, read_file, releases
from tools import reference

DATED = re.compile(r"^## \[(\d+\.\d+\.\d+)\] - (\d{4}-\d{2}-\d{2})$", re.MULTILINE)

Change = Callable[[dict[str, Any]], object]


def schema(made: dict[str, Any], name: str) -> dict[str, Any]:
    found: dict[str, Any] = made["components"]["schemas"][name]
    return found


def members(made: dict[str, Any], name: str) -> dict[str, Any]:
    found: dict[str, Any] = schema(made, name)["properties"]
    return found


def test_what_was_released_still_works() -> None:
    for file in sorted(FOLDER.glob("*.json")):
        released = msgspec.json.decode(file.read_bytes())
        assert find_breaking_changes(released, DESCRIPTION) == [], f"{file.stem} promised it for twelve months"


def test_every_release_is_dated_listed_and_keeps_its_description() -> None:
    listed = releases()
    dated = DATED.findall((reference.PROJECT / "CHANGELOG.md").read_text())
    assert [(one.version, one.day) for one in listed] == dated
    assert sorted(file.stem for file in FOLDER.glob("*.json")) == sorted(one.version for one in listed)


def test_the_commit_of_a_release_has_what_was_released() -> None:
    for release in releases():
        if release.commit and is_in_clone(release):
            description = f"docs/releases/{release.version}.json"
            assert read_file(release, description) == (reference.PROJECT / description).read_bytes(), release
    unnamed = [release.version for release in releases()[1:] if not release.commit]
    assert unnamed == [], "only the commit after a release can name it"


def test_the_baseline_of_a_release_never_changes() -> None:
    released = {one.baseline for one in releases()}
    assert released <= {BASELINE_REVISION}, "undo the change of migrations/baseline, and add a revision to versions"


def test_the_description_is_compatible_with_itself() -> None:
    assert find_breaking_changes(DESCRIPTION, copy.deepcopy(DESCRIPTION)) == []


BREAKING: dict[str, Change] = {
    "GET /v1/events is gone": lambda made: made["paths"]["/v1/events"].pop("get"),
    "event donation.settled is gone": lambda made: made["webhooks"].pop("donation.settled"),
    "parameter query is gone": lambda made: made["paths"]["/v1/organisations"]["get"].update(
        parameters=[
            one for one in made["paths"]["/v1/organisations"]["get"]["parameters"] if one.get("name") != "query"
        ]
    ),
    ".amount is gone": lambda made: members(made, "Donation").pop("amount"),
    ".metadata is gone": lambda made: members(made, "CreateDonationSession").pop("metadata"),
    ".currency is required": lambda made: schema(made, "CreateDonationSession").update(
        required=["organisationId", "currency"]
    ),
    ".url may be left out": lambda made: schema(made, "DonationSession")["required"].remove("url"),
    ".amount was integer and is string": lambda made: members(made, "CreateDonation").update(amount={"type": "string"}),
    ".createdAt was string and is null": lambda made: members(made, "DonationSession").update(
        createdAt={"type": ["string", "null"], "format": "date-time"}
    ),
    ".createdAt has another format": lambda made: members(made, "DonationSession").update(
        createdAt={"type": "string", "format": "date"}
    ),
    "no longer takes 'no'": lambda made: members(made, "CreateDonation").update(anonymous={"enum": ["yes"]}),
    ".amount has a larger minimum": lambda made: members(made, "CreateDonation")["amount"].update(minimum=100),
    ".amount has a smaller maximum": lambda made: members(made, "CreateDonation")["amount"].update(maximum=100),
    "POST /v1/donations takes fewer keys": lambda made: made["paths"]["/v1/donations"]["post"].update(
        security=[{"other": []}]
    ),
    "does not answer 200 any more": lambda made: made["paths"]["/v1/events"]["get"]["responses"].pop("200"),
    "GET /v1/events has another operationId": lambda made: made["paths"]["/v1/events"]["get"].update(operationId="x"),
    ".object has the new value 'x'": lambda made: members(made, "EventList")["object"].update(const="x"),
}


@pytest.mark.parametrize(("finding", "change"), BREAKING.items(), ids=BREAKING)
def test_what_breaks_a_client_is_found(finding: str, change: Change) -> None:
    made = copy.deepcopy(DESCRIPTION)
    change(made)
    assert any(finding in one for one in find_breaking_changes(DESCRIPTION, made))


ADDITIVE: dict[str, Change] = {
    "an operation": lambda made: made["paths"].update({"/v1/new": made["paths"]["/v1/events"]}),
    "an event": lambda made: made["webhooks"].update({"new.event": made["webhooks"]["donation.settled"]}),
    "a member of answers": lambda made: members(made, "Donation").update(new={"type": "string"}),
    "an optional member of bodies": lambda made: members(made, "CreateDonation").update(new={"type": "string"}),
    "a value of an open enum": lambda made: members(made, "Donation")["status"].update(
        {"x-extensible-enum": ["ACTIVE", "NEW"]}
    ),
    "a wider limit": lambda made: members(made, "CreateDonation")["amount"].update(minimum=0),
    "an optional parameter": lambda made: made["paths"]["/v1/events"]["get"]["parameters"].append(
        {"name": "new", "in": "query", "schema": {"type": "string"}}
    ),
    "an error": lambda made: made["paths"]["/v1/events"]["get"]["responses"].update({"418": {"description": "new"}}),
    "words": lambda made: members(made, "CreateDonation")["amount"].update(description="other words"),
}


@pytest.mark.parametrize("change", ADDITIVE.values(), ids=ADDITIVE)
def test_what_only_adds_is_let_through(change: Change) -> None:
    made = copy.deepcopy(DESCRIPTION)
    change(made)
    assert find_breaking_changes(DESCRIPTION, made) == []
