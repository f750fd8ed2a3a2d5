"""What people decide about, kind by kind."""

from collections.abc import Mapping
from typing import Final

from almoner.validation.agents.cases import CASE as AGENTS
from almoner.validation.decisions.appeals.cases import AppealCase
from almoner.validation.decisions.reviews.domain import Kind
from almoner.validation.decisions.reviews.ports import ReviewHandler
from almoner.validation.ongoing.matches.cases import CASE as MATCHES
from almoner.validation.requests.cases import CASE as REQUESTS

CASES: Final[Mapping[Kind, ReviewHandler]] = {
    "validation_request": REQUESTS,
    "agent_verification": AGENTS,
    "match": MATCHES,
    "appeal": AppealCase(REQUESTS, AGENTS),
}
