"""Every route of the interface with the keys it takes: spec 4 and 5, settled 8 and 9.

``S`` secret key, ``P`` publishable or secret, ``-`` no key, ``C`` SCIM key.
"""

import re
from typing import NamedTuple

TABLE = """
S GET    /v1/agent-verifications
S POST   /v1/agent-verifications
S GET    /v1/agent-verifications/{id}
S PATCH  /v1/agent-verifications/{id}

P GET    /v1/categories
S POST   /v1/categories
P GET    /v1/categories/{id}
S PATCH  /v1/categories/{id}
S DELETE /v1/categories/{id}
S POST   /v1/categories/{id}/image
S PUT    /v1/categories/{id}/{id}
S DELETE /v1/categories/{id}/{id}

P GET    /v1/organisations
P GET    /v1/organisations/{id}
P GET    /v1/organisations/{id}/branding
P GET    /v1/organisations/{id}/milestones
P GET    /v1/organisations/{id}/history
- GET    /v1/organisations/{id}/profile
S GET    /v1/organisations/{id}/{id}/{id}
P GET    /v1/countries
P GET    /v1/registries
P GET    /v1/registries/{id}
P GET    /v1/activity-tags
P GET    /v1/activity-tags/{id}

S GET    /v1/validation-requests
S POST   /v1/validation-requests
S GET    /v1/validation-requests/{id}
S POST   /v1/validation-requests/{id}/document
S GET    /v1/validation-requests/{id}/dossier

S GET    /v1/monitoring-subscriptions
S POST   /v1/monitoring-subscriptions
S GET    /v1/monitoring-subscriptions/{id}
S GET    /v1/monitoring-subscriptions/{id}/history
S POST   /v1/monitoring-subscriptions/{id}/cancel
S GET    /v1/eligibility-subscriptions
S POST   /v1/eligibility-subscriptions
S GET    /v1/eligibility-subscriptions/{id}
S GET    /v1/eligibility-subscriptions/{id}/history
S PATCH  /v1/eligibility-subscriptions/{id}
S POST   /v1/eligibility-subscriptions/{id}/cancel

S GET    /v1/validation-invites
S POST   /v1/validation-invites
S GET    /v1/validation-invites/{id}
S GET    /v1/validation-submissions
P POST   /v1/validation-submissions
S GET    /v1/validation-submissions/{id}
S GET    /v1/validation-submissions/{id}/documents
S POST   /v1/validation-submissions/{id}/appeals
S GET    /v1/appeals/{id}
P POST   /v1/validation-submission-documents
S GET    /v1/validation-submission-configurations
S POST   /v1/validation-submission-configurations
S GET    /v1/validation-submission-configurations/{id}
S PATCH  /v1/validation-submission-configurations/{id}
S POST   /v1/validation-submission-configurations/{id}/logo
S GET    /v1/validation-submissions-organisations

S GET    /v1/giving-links
S POST   /v1/giving-links
S GET    /v1/giving-links/{id}
S PATCH  /v1/giving-links/{id}
S POST   /v1/giving-links/{id}/image
S GET    /v1/donation-sessions
S POST   /v1/donation-sessions
S GET    /v1/donation-sessions/{id}
S GET    /v1/donations
S POST   /v1/donations
S GET    /v1/donations/{id}
S PATCH  /v1/donations/{id}
S POST   /v1/donations/{id}/cancel
S POST   /v1/donations/{id}/refund
S GET    /v1/donation-subscriptions
S GET    /v1/donation-subscriptions/{id}
S PATCH  /v1/donation-subscriptions/{id}
S POST   /v1/donation-subscriptions/{id}/pause
S POST   /v1/donation-subscriptions/{id}/resume
S POST   /v1/donation-subscriptions/{id}/skip
S POST   /v1/donation-subscriptions/{id}/cancel
S GET    /v1/donation-requests
S GET    /v1/donation-requests/{id}
S GET    /v1/disbursements
S GET    /v1/disbursements/{id}

S POST   /v1/users
S GET    /v1/users/{id}
S PUT    /v1/users/{id}/organisation
S GET    /v1/users/{id}/has-gift-aid
P POST   /v1/gift-aid
S GET    /v1/monetary-donation-verifications
S POST   /v1/monetary-donation-verifications
S GET    /v1/monetary-donation-verifications/{id}
S PATCH  /v1/monetary-donation-verifications/{id}

S GET    /v1/webhook-subscriptions
S POST   /v1/webhook-subscriptions
S GET    /v1/webhook-subscriptions/{id}
S PATCH  /v1/webhook-subscriptions/{id}
S DELETE /v1/webhook-subscriptions/{id}
S GET    /v1/webhook-subscriptions/{id}/deliveries
S POST   /v1/webhook-subscriptions/{id}/replay
S POST   /v1/webhook-subscriptions/{id}/rotate-secret
S POST   /v1/webhook-subscriptions/{id}/test
S GET    /v1/events
S GET    /v1/events/{id}
S POST   /v1/events/{id}/resend
- GET    /v1/webhook-source-addresses

S GET    /v1/sandbox/clock
S POST   /v1/sandbox/clock
S POST   /v1/sandbox/simulate
S GET    /v1/sandbox/mailbox
"""

NOT_BUILT_YET = re.compile(r"(?!)")
"""Routes of later deliveries. A route that appears leaves this list in the same change (the test says so)."""

OPERATIONS = frozenset({"/healthz", "/readyz", "/metrics", "/openapi.json"})
"""Addresses for operators and for the description, outside /v1 and without a key."""


class Route(NamedTuple):
    """One line of the table."""

    keys: str
    method: str
    path: str

    @property
    def name(self) -> str:
        """``POST /v1/users``."""
        return f"{self.method} {self.path}"


ROUTES = tuple(Route(*line.split()) for line in TABLE.strip().splitlines() if line)


def bare(path: str) -> str:
    """The path with every parameter written as ``{id}``."""
    return re.sub(r"\{[^}]*\}", "{id}", path)
