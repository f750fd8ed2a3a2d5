"""The facts of a record as its page shows them."""

from almoner.dashboard.facts import build_record_sections


def test_what_a_record_waits_for_comes_first_and_nothing_is_shown_empty() -> None:
    record = {
        "id": "sandbox_validationsubmission_1",
        "language": "en-GB",
        "subscription": {"initial": True, "id": None},
        "configuration": {"id": "", "logo": None},
        "agentVerification": {"status": "pending"},
        "requirements": [{"code": "confirmation", "since": "2026-11-27T23:40:07.172Z", "due": None}],
    }
    own, *sections = build_record_sections(record, "/account/x", {}, lambda member: member)
    assert [(fact.label, fact.kind) for fact in own.facts] == [("language", "language")]
    assert [one.title for one in sections] == ["requirements", "agentVerification"]
    (waiting,) = sections[0].sections
    assert ("since", "moment") in [(fact.label, fact.kind) for fact in waiting.facts]


def test_countries_and_headings_are_values_that_the_page_names() -> None:
    record = {"countryCode": "GBR", "requirements": [{"code": "confirmation"}, {"name": "Letter", "code": "review"}]}
    own, needed = build_record_sections(record, "/account/x", {}, lambda member: member)
    assert [(fact.value, fact.kind) for fact in own.facts] == [("GBR", "country")]
    assert [(one.title, one.titled_by_value) for one in needed.sections] == [("confirmation", True), ("Letter", False)]
