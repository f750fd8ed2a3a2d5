"""The review handlers by kind."""

from collections.abc import Mapping
from typing import Final

from almoner.validation.agents.review_handler import REVIEW_HANDLER as AGENTS
from almoner.validation.decisions.appeals.review_handler import AppealReviewHandler
from almoner.validation.decisions.reviews.domain import Kind
from almoner.validation.decisions.reviews.ports import ReviewHandler
from almoner.validation.ongoing.matches.review_handler import REVIEW_HANDLER as MATCHES
from almoner.validation.ongoing.matches.review_handler import SCREENING_HANDLER as SCREENING
from almoner.validation.requests.review_handler import REVIEW_HANDLER as REQUESTS

REVIEW_HANDLERS: Final[Mapping[Kind, ReviewHandler]] = {
    "validation_request": REQUESTS,
    "agent_verification": AGENTS,
    "match": MATCHES,
    "screening": SCREENING,
    "appeal": AppealReviewHandler(REQUESTS, AGENTS),
}
