"""schemathesis against a running service: every operation of its description, two partners, all checks."""

import asyncio
import json
import os
import re
import subprocess
import sys
import urllib.error
import urllib.request
from collections import defaultdict
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from tests.support.eventually import eventually
from tests.support.running import Running

NO_LIMIT = "900000/900000"
LIMITS = {f"rate_limit_{kind}": NO_LIMIT for kind in ("secret", "publishable", "address")}

# An id in a body that is not there is a 400 (settled 3), and so is a value that a rule of the domain refuses.
CONFIG = """
workers = 1
continue-on-failure = true
request-timeout = 45
base-url = "{base_url}"
hooks = "{hooks}"

[generation]
max-examples = {examples}
database = "none"

[phases.stateful]
max-steps = 12

[checks.positive_data_acceptance]
expected-statuses = ["2xx", 400, 401, 403, 404]

[auth.wfc]
path = "{users}"
peers = ["first", "second"]

[dictionaries.organisations]
values = {organisations}
[dictionaries.receivers]
values = ["http://127.0.0.1:9/hooks", "https://hooks.example.com/almoner"]
[dictionaries.event_types]
values = ["*", "donation.created", "donation.payment_successful"]
[dictionaries.countries]
values = ["USA", "GBR", "usa", "XXX"]
[dictionaries.recent]
values = ["{recent}"]

[parameters]
"body.organisationId" = {{ dictionary = "organisations", probability = 0.7 }}
"body.url" = {{ dictionary = "receivers", probability = 0.7 }}
"body.events[*]" = {{ dictionary = "event_types", probability = 0.8 }}
"body.validationInviteId" = {{ dictionary = "validation_invites", probability = 0.7 }}
"body.validationSubmissionId" = {{ dictionary = "validation_submissions", probability = 0.7 }}
"body.startDate" = {{ dictionary = "recent", probability = 0.7 }}
"query.countryCode" = {{ dictionary = "countries", probability = 0.7 }}

# Published data, the same for everybody.
[[operations]]
include-path-regex = "^/v1/(organisations|registries|countries|webhook-source-addresses)"
[operations.checks.object_level_authorization]
enabled = false

# A new user has no declaration, and that is a 404 (settled 8).
[[operations]]
include-path-regex = "has-gift-aid$"
[operations.checks.ensure_resource_availability]
enabled = false

{of_records}
[reports]
directory = "{folder}"
[reports.har]
enabled = true
path = "{folder}/traffic.har"
[reports.junit]
enabled = true
path = "{folder}/report.xml"
"""


OF_RECORDS = """
[dictionaries.{name}]
values = {values}
[[operations]]
include-path-regex = "^/v1/{path}/[{{]"
[operations.parameters]
"path.id" = {{ dictionary = "{name}", probability = 0.7 }}
"""


@dataclass(slots=True)
class Outcome:
    """What a campaign saw."""

    status: int
    said: str
    requests: int = 0
    seen: dict[str, set[int]] = field(default_factory=lambda: defaultdict(set))

    @property
    def succeeded(self) -> list[str]:
        """Operations that answered 2xx at least once."""
        return sorted(name for name, statuses in self.seen.items() if any(200 <= code < 300 for code in statuses))

    @property
    def failed(self) -> list[str]:
        """Operations that never did."""
        return sorted(self.seen.keys() - set(self.succeeded))


def run(service: Running, folder: Path, *, phases: str, examples: int, seed: int) -> Outcome:
    """Fuzz the service; the outcome's status is that of schemathesis: 0 when nothing was found."""
    folder.mkdir(parents=True, exist_ok=True)
    keys = {"first": service.secret_key, "second": service.second_secret_key}
    users = {
        "auth": [
            {"name": name, "fixedHeaders": [{"name": "Authorization", "value": key}]} for name, key in keys.items()
        ]
    }
    (folder / "users.json").write_text(json.dumps(users))
    description = fetch(service, "/openapi.json")
    for operation in [one for item in description["paths"].values() for one in item.values()]:
        for link in operation["responses"].get("200", {}).get("links", {}).values():
            if (body := link.pop("x-request-body", None)) is not None:
                link["requestBody"] = body
    (folder / "openapi.json").write_text(json.dumps(description))
    organisations = [
        one["id"] for one in fetch(service, "/v1/organisations?query=foundation&type[]=nonprofit&pageSize=20")["data"]
    ]
    known: dict[str, list[str]] = {}
    for key in keys.values():
        _settle_in(service, key, organisations, known)
    of_records = [
        OF_RECORDS.format(name=path.replace("-", "_"), path=path, values=json.dumps(values))
        for path, values in known.items()
    ]
    config = CONFIG.format(
        base_url=service.base_url,
        hooks=Path(__file__).with_name("hooks.py"),
        examples=examples,
        users=folder / "users.json",
        folder=folder,
        organisations=json.dumps(organisations),
        of_records="".join(of_records),
        recent=datetime.now(UTC).date().isoformat(),
    )
    (folder / "schemathesis.toml").write_text(config)
    command = [str(Path(sys.executable).with_name("st")), "--config-file", str(folder / "schemathesis.toml"), "run"]
    command += [str(folder / "openapi.json"), "--seed", str(seed), "--phases", phases]
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}  # for the hooks
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, env=environment)
    outcome = Outcome(done.returncode, done.stdout + done.stderr)
    _read_traffic(outcome, folder / "traffic.har", description, service.base_url)
    return outcome


_ADA = {"firstName": "test_accept", "lastName": "Byron", "email": "ada@example.org"}
_UNKNOWN = {
    "name": "Nobody knows it",
    "registryName": "IRS",
    "registryId": "12-3456789",
    "website": "https://unknown.example",
    "countryCode": "USA",
}


def _settle_in(service: Running, key: str, organisations: list[str], known: dict[str, list[str]]) -> None:
    """Give a partner some of everything, so that paths lead to records; ``known`` takes their ids."""
    hook = {"events": ["*"], "url": "http://127.0.0.1:9/hooks"}
    for number, organisation in enumerate(organisations[:4]):
        made = {
            "webhook-subscriptions": hook,
            "users": {},
            "categories": {"name": f"Fuzzed {number}"},
            "donation-sessions": {"organisationId": organisation, "frequencies": ["one_time", "monthly"]},
            "giving-links": {"organisationIds": [organisation], "title": f"Fuzzed {number}"},
            "monetary-donation-verifications": {"organisationId": organisation},
            "monitoring-subscriptions": {"organisationId": organisation},
            "eligibility-subscriptions": {"organisationId": organisation},
            "validation-submission-configurations": {"checks": ["compliance"], "name": f"Fuzzed {number}"},
            "validation-invites": {"redirectUrl": "https://app.example/applied"},
            "validation-submissions": {**_ADA, "organisationId": f"{organisation}-complianceStatus:fail"},
            "agent-verifications": {**_ADA, "organisationId": organisation},
            "validation-requests": _UNKNOWN,
        }
        for path, body in made.items():
            known.setdefault(path, []).append(fetch(service, f"/v1/{path}", key, body)["data"]["id"])
        gift = {"id": known["donation-sessions"][-1], "action": "donate", "amount": 2500, "currencyCode": "USD"}
        donor = {"firstName": "Ada", "lastName": "Byron", "email": "ada@example.org", "card": "4242424242424242"}
        often = {"frequency": "monthly" if number % 2 else "one_time"}
        fetch(service, "/v1/sandbox/simulate", key, {**gift, **donor, **often})
    for donation in fetch(service, "/v1/donations", key)["data"]:
        fetch(service, "/v1/sandbox/simulate", key, {"id": donation["id"], "action": "settle"})
    asyncio.run(eventually(lambda: fetch(service, "/v1/disbursements", key)["data"]))
    for submission in known["validation-submissions"][-2:]:
        asyncio.run(eventually(partial(_answered, service, key, submission)))
        appeal = fetch(service, f"/v1/validation-submissions/{submission}/appeals", key, {"text": "Look again."})
        known.setdefault("appeals", []).append(appeal["data"]["id"])
    for path in ("donations", "donation-subscriptions", "events", "disbursements"):
        known.setdefault(path, []).extend(one["id"] for one in fetch(service, f"/v1/{path}", key)["data"])


def _answered(service: Running, key: str, submission: str) -> bool:
    return bool(fetch(service, f"/v1/validation-submissions/{submission}", key)["data"]["status"] == "failed")


def fetch(service: Running, path: str, key: str | None = None, body: object = None) -> Any:
    """GET, or POST with a body; with the first partner's key unless another is given."""
    raw = None if body is None else json.dumps(body).encode()
    headers = {"Authorization": key or service.secret_key, "Content-Type": "application/json"}
    asked = urllib.request.Request(service.base_url + path, data=raw, headers=headers)
    try:
        with urllib.request.urlopen(asked, timeout=30) as answer:
            return json.load(answer)
    except urllib.error.HTTPError as error:
        raise AssertionError(f"{path} answered {error.code} {error.read().decode()}") from error


def _read_traffic(outcome: Outcome, har: Path, description: Any, base_url: str) -> None:
    operations = []
    for path, methods in description["paths"].items():
        pattern = re.compile(re.sub(r"\\\{[^/]*\\\}", "[^/]+", re.escape(path)) + r"$")
        for method in methods.keys() & {"get", "post", "put", "patch", "delete"}:
            operations.append((method.upper(), pattern, f"{method.upper()} {path}", path.count("{")))
            outcome.seen[f"{method.upper()} {path}"] = set()
    operations.sort(key=lambda operation: operation[3])
    for entry in json.loads(har.read_text())["log"]["entries"]:
        outcome.requests += 1
        path = entry["request"]["url"].removeprefix(base_url).partition("?")[0]
        for method, pattern, name, _ in operations:
            if method == entry["request"]["method"] and pattern.match(path):
                outcome.seen[name].add(entry["response"]["status"])
                break
