"""Self-check of email: whether the mail server accepts it."""

from typing import Final

from almoner.platform.observability.selfcheck import ConsistencyCheck

checks: Final = (
    ConsistencyCheck(
        "emails.sent",
        "The mail server accepted or rejected every email of the last seven days in time",
        "Run `almoner check --mail-to ADDRESS` and see docs/runbooks/emails.md",
        """
        select id from undeliverable_email
        where not refused and created_at > (select at from moment) - interval '7 days'
        """,
        "email",
    ),
)
