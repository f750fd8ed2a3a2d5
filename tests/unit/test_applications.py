"""The hosted form's decisions: steps, answers, mails to colleagues, and where an applicant is sent."""

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest

from almoner.validation.applications.configurations.domain import Configuration, FieldChoice, PartnerField
from almoner.validation.applications.form import drafts
from almoner.validation.applications.form.drafts import ApplicantDetails, ApplicationDraft, UnlistedNonprofit
from almoner.validation.applications.form.submit import build_redirect_url_with_submission

NOW = datetime(2026, 3, 2, 9, 30, tzinfo=UTC)
SOME = UUID(int=1)


def field(kind: Any, *, required: bool = True) -> PartnerField:
    choices = (FieldChoice("a", {"en": "A"}), FieldChoice("b", {"en": "B"})) if kind == "choice" else ()
    return PartnerField("one", kind, required, {"en": "One"}, choices)


def configuration(*checks: Any, fields: tuple[PartnerField, ...] = ()) -> Configuration:
    return Configuration(
        SOME, SOME, None, "Globe", None, None, True, checks, ("nonprofit",), (), None, True, fields, NOW, NOW
    )


@pytest.mark.parametrize(
    ("checks", "fields", "steps"),
    [
        (("compliance",), (), ("nonprofit", "person", "review")),
        (("eligibility",), (field("url"),), ("nonprofit", "person", "questions", "review")),
        (("validation_request",), (), ("nonprofit", "person", "documents", "review")),
        (("agent_verification",), (), ("nonprofit", "person", "documents", "review")),
        (
            ("validation_request", "agent_verification"),
            (field("url"),),
            ("nonprofit", "person", "questions", "documents", "review"),
        ),
    ],
)
def test_steps_are_those_that_are_asked_for(checks: Any, fields: Any, steps: Any) -> None:
    assert drafts.form_steps_of(configuration(*checks, fields=fields)) == steps


def test_the_open_step_is_the_first_that_needs_something() -> None:
    asked = configuration("validation_request", "agent_verification", fields=(field("number"),))
    draft = ApplicationDraft()
    for change, step in (
        ({}, "nonprofit"),
        ({"unlisted": UnlistedNonprofit("A")}, "person"),
        ({"person": ApplicantDetails("Ada")}, "person"),
        ({"person": ApplicantDetails("Ada", "Byron", "ada@example.org")}, "questions"),
        ({"answers": {"one": "twelve"}}, "questions"),
        ({"answers": {"one": "12"}}, "documents"),
        ({"documents": True}, "review"),
    ):
        draft = ApplicationDraft(
            **{name: change.get(name, getattr(draft, name)) for name in ApplicationDraft.__dataclass_fields__}
        )
        assert drafts.first_incomplete_step(draft, asked) == step
    assert drafts.next_step("review", asked) == "review"
    # Nobody looks at it any more.
    assert (
        drafts.first_incomplete_step(draft, configuration("agent_verification", fields=(field("number"),)))
        == "nonprofit"
    )


@pytest.mark.parametrize(
    ("kind", "answer", "problem"),
    [
        ("short_text", "", "apply.problem.answer.missing"),
        ("short_text", "x" * 256, "apply.problem.too_long"),
        ("short_text", "x" * 255, None),
        ("long_text", "x" * 5001, "apply.problem.too_long"),
        ("long_text", "x" * 5000, None),
        ("choice", "", "apply.problem.choice.missing"),
        ("choice", "c", "apply.problem.choice.missing"),
        ("choice", "b", None),
        ("number", "twelve", "apply.problem.figure.wrong"),
        ("number", "12", None),
        ("number", "1 250 000", None),
        ("number", "250,000", "apply.problem.figure.separator"),
        ("url", "no address", "apply.problem.website.wrong"),
        ("url", "www.example.org", None),
        ("url", "www.example.org/" + "x" * 2032, None),
        ("url", "www.example.org/" + "x" * 2033, "apply.problem.website.wrong"),
    ],
)
def test_answers_are_judged_by_their_kind(kind: Any, answer: str, problem: str | None) -> None:
    found = drafts.find_answer_problems([field(kind)], {"one": answer})
    assert found == ({} if problem is None else {"q-one": problem})
    assert drafts.find_answer_problems([field(kind, required=False)], {}) == {}


@pytest.mark.parametrize(
    ("typed", "value"),
    [
        ("12", 12),
        ("12.5", 12.5),
        ("12,5", 12.5),
        ("-3", -3),
        ("−3", -3),
        ("١٢٫٥", 12.5),
        ("１２", 12),
        ("1e5", None),
        ("nan", None),
        ("1 2", None),
        ("9" * 16, None),
        ("", None),
        ("²", 2),
        ("1,000", None),
        ("12.500", None),
        ("0,125", 0.125),
        ("1234.567", 1234.567),
        ("12 345", 12345),
        ("1\u202f234\u202f567,5", 1234567.5),
        ("1,250,000", 1250000),
        ("1.250.000", 1250000),
        ("12,345.50", 12345.5),
        ("-12.345,50", -12345.5),
        ("1’234", 1234),
        ("١٬٢٣٤", 1234),
        ("12,34,567", 1234567),
        ("1,234,56", None),
        ("1,234.567.890", None),
        ("0,123,456", None),
        ("999 999 999 999 999 9", None),
    ],
)
def test_numbers_are_read_in_any_digits_and_strictly(typed: str, value: float | None) -> None:
    assert drafts.parse_number(typed) == value


@pytest.mark.parametrize(
    ("of_invite", "to_address", "may"),
    [
        ([], [], True),
        ([timedelta(seconds=59)], [], False),
        ([timedelta(minutes=1)], [], True),
        ([timedelta(hours=n) for n in range(1, 6)], [], False),
        ([], [timedelta(hours=1)] * 2, True),
        ([], [timedelta(hours=1)] * 3, False),
        ([], [timedelta(days=1)] * 3, True),
    ],
)
def test_nobody_is_flooded_with_mails(of_invite: list[timedelta], to_address: list[timedelta], may: bool) -> None:
    ago = ([NOW - one for one in of_invite], [NOW - one for one in to_address])
    assert drafts.may_email_form_link(*ago, NOW) is may


def test_all_that_is_wrong_with_a_nonprofit_or_a_person_is_told() -> None:
    assert set(drafts.find_unlisted_nonprofit_problems(UnlistedNonprofit())) == {
        "name",
        "registry",
        "number",
        "website",
    }
    long = UnlistedNonprofit("x" * 501, "USA", "IRS", "1" * 256, "x" * 256)
    assert set(drafts.find_unlisted_nonprofit_problems(long)) == {"name", "number", "website"}
    assert list(drafts.find_applicant_problems(ApplicantDetails())) == ["first_name", "email"]
    assert list(drafts.find_applicant_problems(ApplicantDetails(), name_required=False)) == ["email"]
    long_ = ApplicantDetails("x" * 256, "x" * 256, "a@b.example" * 30, "x" * 256)
    assert list(drafts.find_applicant_problems(long_)) == ["first_name", "last_name", "email", "title"]


@pytest.mark.parametrize(
    ("url", "leads"),
    [
        ("https://a.example", "https://a.example?validationSubmissionId=s_1"),
        ("https://a.example/x?y=1#z", "https://a.example/x?y=1&validationSubmissionId=s_1#z"),
        ("https://a.example/?validationSubmissionId=s_0&y=%20", "https://a.example/?y=%20&validationSubmissionId=s_1"),
        ("https://a.example/?validation%53ubmissionId&&y", "https://a.example/?y&validationSubmissionId=s_1"),
    ],
)
def test_the_partners_address_gets_the_id_and_keeps_the_rest(url: str, leads: str) -> None:
    assert build_redirect_url_with_submission(url, "s_1") == leads
