"""Every sample in Python that the reference shows, run against the sandbox."""

import base64
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from almoner_client import Almoner, ApiError

from tests.e2e.test_documents import BEFORE, FINDS_NONE, in_order, typed
from tests.support.running import Running
from tools.docs_site.curl_examples import PIXEL
from tools.docs_site.reference_content import Operation
from tools.docs_site.reference_pages import ReferencePages

PROJECT = Path(__file__).parents[2]
PAGES = ReferencePages(json.loads((PROJECT / "openapi.json").read_text("utf-8")))

TAKEN = {
    "createGivingLink": ("winter-appeal", "spring-appeal", "autumn-appeal"),
    "createCategory": ("Relief Fund", "Other Fund", "Third Fund"),
}
"""Names that the examples of curl have taken, or will; then those of Python and TypeScript."""


def identifiers(sandbox: Running, operation: Operation, nth: int) -> dict[str, str]:
    """What a sample's variables are, by type: as curl's example finds them, in the lines before its call.

    ``nth``: the organisation of a call that one can make once for each.
    """
    lines = [line for line in operation.shell.splitlines() if "=$(curl" in line]
    if operation.id == "createMonetaryDonationVerification":
        other = f"awk '!seen[$0]++' | sed -n {nth}p"
        lines = [line.replace("pageSize=1", "pageSize=3").replace("head -n 1", other) for line in lines]
    types = [line.partition("=")[0] for line in lines]
    printed = typed(sandbox, "\n".join([*start(sandbox), *lines, *(f'echo "${type_}"' for type_ in types)]))
    return dict(zip(types, printed.split(), strict=True))


def start(sandbox: Running) -> list[str]:
    return [f"api={sandbox.base_url}", f"key={sandbox.secret_key}"]


def operations(sandbox: Running) -> Iterator[Operation]:
    """In an order in which each can be called, with what has to be done before it done."""
    for operation in in_order([operation for group in PAGES.content.groups for operation in group.operations]):
        if operation.id in BEFORE:
            BEFORE[operation.id](sandbox)
        yield operation


def with_image(folder: Path, sample: str) -> str:
    """The sample with the place of its picture."""
    image = folder / "image.png"
    image.write_bytes(base64.b64decode(PIXEL))
    return sample.replace("image.png", str(image))


def test_samples_of_guides_in_python(sandbox: Running) -> None:
    with Almoner(sandbox.secret_key, base_url=sandbox.base_url) as client:
        organisation = client.organisations.search(query="martha table").data[0]
        session = client.donation_sessions.create(organisation_id=organisation.id)
        client.sandbox.simulate(
            id=session.id, action="donate", amount=2500, currency_code="USD",
            first_name="Ada", last_name="Example", email="ada@example.org",
        )  # fmt: skip
        donation = next(one for one in client.donations.list() if one.hosted and one.hosted.session_id == session.id)
        names: dict[str, Any] = {"client": client, "donation_id": donation.id, "print": lambda *_: None}
        names["organisation_id"] = organisation.id
        for guide in ("donations", "refunds", "hosted-form", "webhooks"):
            text = (PROJECT / "docs" / "guides" / f"{guide}.md").read_text("utf-8")
            exec(text.split("```python\n")[1].partition("```")[0], names)
        assert (names["donation"].id, names["invite"].status) == (donation.id, "open")
        client.webhook_subscriptions.delete(names["subscription"].id)


def test_every_sample_in_python(sandbox: Running, tmp_path: Path) -> None:
    samples = {name: with_image(tmp_path, python) for name, python, _ in PAGES.samples()}
    for name, (value, other, _) in TAKEN.items():
        samples[name] = samples[name].replace(f'"{value}"', f'"{other}"')
    names, failed = PAGES.content.id_names(), {}
    with Almoner(sandbox.secret_key, base_url=sandbox.base_url) as client:
        for operation in operations(sandbox):
            ids = identifiers(sandbox, operation, 2)
            known = {f"{'_'.join(names[type_])}_id": id_ for type_, id_ in ids.items()}
            try:
                exec(samples[operation.id], {"client": client, "print": lambda *_: None, **known})
            except ApiError as error:
                if operation.id not in FINDS_NONE or error.code != "not_found":
                    failed[operation.id] = f"{samples[operation.id]}\n{error} {error.reasons}"
    assert len(samples) > 100
    assert failed == {}
