"""Every sample in Python that the reference shows, run against the sandbox."""

import base64
import json
from datetime import date, datetime
from pathlib import Path
from typing import Any

from almoner_client import Almoner, ApiError, models

from tests.e2e.test_documents import BEFORE, FINDS_NONE, in_order, typed
from tests.support.running import Running
from tools.docs_site.curl_examples import PIXEL
from tools.docs_site.reference_content import Operation
from tools.docs_site.reference_pages import ReferencePages

PAGES = ReferencePages(json.loads((Path(__file__).parents[2] / "openapi.json").read_text("utf-8")))


TAKEN = {"createGivingLink": ("winter-appeal", "spring-appeal"), "createCategory": ("Relief Fund", "Other Fund")}
"""Names that the examples of curl have taken, or will."""


def identifiers(sandbox: Running, operation: Operation) -> dict[str, Any]:
    """What a sample's variables are: as curl's example finds them, in the lines before its call."""
    lines = [line for line in operation.shell.splitlines() if "=$(curl" in line]
    if operation.id == "createMonetaryDonationVerification":  # one for each organisation
        lines = [line.replace("pageSize=1", "pageSize=2").replace("head -n 1", "tail -n 1") for line in lines]
    types = [line.partition("=")[0] for line in lines]
    printed = typed(sandbox, "\n".join([*start(sandbox), *lines, *(f'echo "${type_}"' for type_ in types)]))
    names = PAGES.content.id_names()
    return {f"{'_'.join(names[type_])}_id": id_ for type_, id_ in zip(types, printed.split(), strict=True)}


def start(sandbox: Running) -> list[str]:
    return [f"api={sandbox.base_url}", f"key={sandbox.secret_key}"]


def test_every_sample_in_python(sandbox: Running, tmp_path: Path) -> None:
    image = tmp_path / "image.png"
    image.write_bytes(base64.b64decode(PIXEL))
    samples = {name: python.replace("image.png", str(image)) for name, python, _ in PAGES.samples()}
    for name, (value, other) in TAKEN.items():
        samples[name] = samples[name].replace(f'"{value}"', f'"{other}"')
    operations = in_order([operation for group in PAGES.content.groups for operation in group.operations])
    failed = {}
    with Almoner(sandbox.secret_key, base_url=sandbox.base_url) as client:
        for operation in operations:
            if operation.id in BEFORE:
                BEFORE[operation.id](sandbox)
            names = {"client": client, "date": date, "datetime": datetime, "models": models, "print": lambda *_: None}
            try:
                exec(samples[operation.id], names | identifiers(sandbox, operation))
            except ApiError as error:
                if operation.id not in FINDS_NONE or error.code != "not_found":
                    failed[operation.id] = f"{samples[operation.id]}\n{error} {error.reasons}"
    assert len(samples) == len(operations) > 100
    assert failed == {}
