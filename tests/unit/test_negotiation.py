"""Which form of an answer a caller is given."""

import pytest

from almoner.kit.errors import NotAcceptable
from almoner.platform.http.negotiation import negotiate_media_type

OFFERED = ("application/json", "application/pdf")


@pytest.mark.parametrize(
    ("accept", "expected"),
    [
        (None, "application/json"),
        ("", "application/json"),
        ("*/*", "application/json"),
        ("application/pdf", "application/pdf"),
        ("Application/PDF", "application/pdf"),
        ("application/pdf;q=0.9, application/json;q=0.8", "application/pdf"),
        ("application/pdf;q=0.5, */*", "application/json"),
        ("application/*;q=0.1, application/pdf", "application/pdf"),
        ("text/html, application/pdf ; q=0.2", "application/pdf"),
        ("application/json;q=0, */*;q=0.1", "application/pdf"),
        ("application/pdf;q=high, application/json;q=0.1", "application/json"),
    ],
)
def test_the_form_that_is_liked_best(accept: str | None, expected: str) -> None:
    assert negotiate_media_type(accept, OFFERED) == expected


@pytest.mark.parametrize("accept", ["text/html", "application/pdf;q=0", "*/*;q=0", "nonsense"])
def test_a_form_that_is_not_made_is_refused(accept: str) -> None:
    with pytest.raises(NotAcceptable):
        negotiate_media_type(accept, OFFERED)
