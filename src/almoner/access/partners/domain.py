"""A partner: the account of one product that uses the service."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID


@dataclass(frozen=True, slots=True)
class PartnerAccount:
    """``redirect_hosts``: hosts that successUrl may name, None for any; ``settlement_currencies``: ISO 4217 codes."""

    id: UUID
    name: str
    redirect_hosts: tuple[str, ...] | None
    settlement_currencies: tuple[str, ...]
    created_at: datetime
