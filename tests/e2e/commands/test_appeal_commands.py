"""Appeals as operators decide them at the terminal: the second look is somebody else's."""

from functools import partial
from pathlib import Path

import pytest

from tests.support import appeals
from tests.support.client import Client
from tests.support.service import Service
from tests.support.submissions import applied, configured, ended, shown
from tests.support.terminal import Type, in_process, operator

NOTE = "The letter of the IRS of 3 March, case 7"


@pytest.fixture
async def olive(service: Service, tmp_path: Path) -> Type:
    """Types commands of `almoner reviews` as the one who decides first."""
    return partial(in_process(service, tmp_path, await operator(service, "reviewer", name="Olive Officer")), "reviews")


@pytest.fixture
async def otto(service: Service, tmp_path: Path) -> Type:
    """Types them as somebody else."""
    return partial(in_process(service, tmp_path, await operator(service, "reviewer", name="Otto Other")), "reviews")


async def test_an_appeal_is_decided_by_another_operator(service: Service, api: Client, olive: Type, otto: Type) -> None:
    made = await applied(api, configurationId=await configured(api, "validation_request"))
    await service.drain()
    request = made["validationRequestId"]
    await olive("show", request)
    assert (await olive("reject", request, "--reason", "not_eligible", "--note", NOTE))[0] == 0
    failed = await ended(service, api, made)
    assert failed["status"] == "failed"
    appeal = await appeals.made(api, failed, "We are eligible: see the letter.")
    assert appeal["id"] in (await olive("list", "--kind", "appeal"))[1]
    printed = (await olive("show", appeal["id"]))[1]
    for fact in ("We are eligible: see the letter.", "may not decide it", "Olive Officer", "not_eligible", NOTE):
        assert fact in printed, printed
    for words in (("accept",), ("reject", "--reason", "decision_stands")):
        status, printed = await olive(words[0], appeal["id"], *words[1:], "--note", NOTE)
        assert (status, "another operator" in printed) == (1, True)
    await olive("release", appeal["id"])
    assert (await otto("show", appeal["id"]))[0] == 0
    assert await otto("accept", appeal["id"], "--note", NOTE) == (0, f"{appeal['id']} has been accepted.\n")
    assert (await appeals.shown(api, appeal))["status"] == "reversed"
    assert (await shown(api, failed))["status"] == "succeeded"
    assert appeal["id"] not in (await otto("list"))[1]
