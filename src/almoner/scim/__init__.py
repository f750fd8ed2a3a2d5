"""SCIM 2.0 (RFC 7643, 7644, 9865): provisioning of members by a partner's identity provider."""

from typing import Final

PREFIX: Final = "/scim/v2"
