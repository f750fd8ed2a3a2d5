"""Every field of every body and form goes through the one rule for typed text."""

import json
import re
from contextlib import suppress
from pathlib import Path
from typing import Any

from pydantic import ValidationError, create_model

import almoner.wiring
from almoner.platform.http.requests import clean_json_body
from almoner.platform.http.wire import PatchBody, RequestBody
from almoner.platform.pages.forms import clean_form_value

TYPED, KEPT = "\u202a\u200bAda\u2060 e\u0301\ufeff\u202c ", "Ada é"
SOURCE = Path(almoner.__file__).parent


def bodies(of: type[RequestBody] = RequestBody) -> list[type[RequestBody]]:
    return [found for below in of.__subclasses__() for found in (below, *bodies(below))]


def test_every_member_of_every_body_is_cleaned_but_the_names_that_are_judged() -> None:
    judged: dict[str, set[str]] = {}
    found = [body for body in bodies() if body is not PatchBody]
    assert len(found) > 30
    for body in found:
        names = [field.alias or name for name, field in body.model_fields.items()]
        sent = json.dumps({name: [TYPED, {"deep": TYPED}] for name in names}).encode()
        kept = json.loads(clean_json_body(sent, body.raw_texts))
        dirty = {name for name in names if kept[name] != [KEPT, {"deep": KEPT}]}
        assert dirty == set(body.raw_texts), body
        judged |= {body.__name__: dirty} if dirty else {}
    assert judged == {"ValidationRequestBody": {"name"}, "ValidationSubmissionBody": {"organisationName"}}


LINES = ("name", "title", "city", "first_name", "last_name", "display_name", "description", "value", "registry_name")
"""Members that are shown on one line, in whichever body."""


def test_names_and_lines_have_no_line_breaks() -> None:
    taken: set[str] = set()
    for body in bodies():
        for name in set(LINES) & set(body.model_fields):
            field = body.model_fields[name]
            members: dict[str, Any] = {name: (field.annotation, field)}
            line = create_model("Line", __base__=RequestBody, **members)
            with suppress(ValidationError):  # another type, such as an amount
                sent = line.model_validate({field.alias or name: "Ada\nExample\u2028Ltd"})
                assert getattr(sent, name) == "Ada Example Ltd", (body, name)
                taken.add(name)
    assert taken == set(LINES)


def test_no_form_is_read_but_through_the_rule() -> None:
    readers = {
        path for path in SOURCE.rglob("*.py") if re.search(r"\bFormData\(\[|\.form\(\)|parse_qs", path.read_text())
    }
    assert {str(path.relative_to(SOURCE)) for path in readers} == {
        "access/accounts/request_forms.py",
        "dashboard/view_pages.py",  # a query of ours
        "platform/database/copy_detection.py",  # an address of ours
        "platform/http/requests.py",
        "platform/pages/forms.py",
        "scim/application.py",
        "settings_values.py",  # an address of ours
    }
    assert clean_form_value("anything", f"{TYPED}\n1") == "Ada é \n1"
    for name in ("email", "recipient_email"):
        assert clean_form_value(name, "ada＠example.org\u200b") == "ada@example.org"
    assert clean_form_value("password", TYPED) == TYPED
