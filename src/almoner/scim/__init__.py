"""SCIM 2.0 (RFC 7643, 7644, 9865): a partner's own identity provider makes, changes and ends its members."""

from typing import Final

PREFIX: Final = "/scim/v2"
