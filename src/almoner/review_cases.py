"""What people decide about, kind by kind."""

from collections.abc import Mapping
from typing import Final

from almoner.validation.agents.cases import CASE as AGENTS
from almoner.validation.appeals.cases import AppealCase
from almoner.validation.matches.cases import CASE as MATCHES
from almoner.validation.requests.cases import CASE as REQUESTS
from almoner.validation.reviews.domain import Kind
from almoner.validation.reviews.ports import ReviewHandler

CASES: Final[Mapping[Kind, ReviewHandler]] = {
    "validation_request": REQUESTS,
    "agent_verification": AGENTS,
    "match": MATCHES,
    "appeal": AppealCase(REQUESTS, AGENTS),
}
