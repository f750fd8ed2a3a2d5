"""Declarations of emails to people who sign in."""

from pathlib import Path
from typing import Final

from almoner.access.notifications.service import NotificationDefinition
from almoner.access.security_emails import service
from almoner.platform.outbound.mailing import RETRY_FOR_ONE_DAY

_TEMPLATE: Final = Path(__file__).parent / "mails" / "letter.html"
notifications: Final = (
    NotificationDefinition(service.SEND_JOB, _TEMPLATE, service.compose_email, retry_policy=RETRY_FOR_ONE_DAY),
)
