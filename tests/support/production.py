"""The settings that production requires, besides database and key."""

from typing import Any, Final

PRODUCTION: Final[dict[str, Any]] = {
    "environment": "production",
    "provider_url": "",
    "api_url": "https://api.almoner.example",
    "pages_url": "https://give.almoner.example",
    "webhook_source_addresses": ["192.0.2.10"],
    "mail_url": "smtp://127.0.0.1:9",
    "mail_from": "Almoner <almoner@almoner.example>",
    "privacy_url": "https://almoner.example/privacy",
    "contact_email": "help@almoner.example",
}
