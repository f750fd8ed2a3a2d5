"""Normalises what identity providers send in deviation from the RFC (Entra, Okta)."""

import base64
import binascii
from collections.abc import Iterable
from typing import Any, Final

from scim2_models import InvalidValueException

_MESSAGES: Final = "urn:ietf:params:scim:api:messages:"
_BOOLEANS: Final = frozenset({"active", "primary"})
_STATED: Final = {"true": True, "false": False}


class QuirkNormaliser:
    """Corrects known deviations in JSON values.

    What the validator would tolerate beyond that is refused (RFC 7643 2.3): ``"yes"`` is no boolean.
    """

    def __init__(self, known: Iterable[str]) -> None:
        self._known = frozenset(urn.casefold() for urn in known)

    def normalise(self, value: Any) -> Any:
        """The value as the RFC requires. Raises InvalidValueException.

        The parser has refused deeper nesting than 200 already.
        """
        if isinstance(value, list):
            return [self.normalise(one) for one in value]
        if not isinstance(value, dict):
            return value
        right = {}
        for key, one in value.items():
            member = self._member(key, one)
            if member != [] or key.casefold() != "schemas":  # a schema that is not served counts as no list
                right[key] = member
        return right

    def _member(self, key: str, value: Any) -> Any:
        name = key.casefold()
        if name == "schemas" and isinstance(value, list):
            return [urn for urn in value if not isinstance(urn, str) or self._serves(urn)]
        if name == "operations" and isinstance(value, list):
            return [right for one in value for right in self._operations(one)]
        if name.startswith("urn:") and not any(name.startswith(urn) for urn in self._known):
            return None  # ignored, whatever its value
        return _normalise_attribute(name, self.normalise(value))

    def _operations(self, given: Any) -> list[Any]:
        """The operations of a PATCH.

        In a value without a path, members with a filter become operations of their own.
        """
        if not isinstance(given, dict):
            return [given]
        operation = {key.casefold(): one for key, one in given.items()}
        path, value = operation.get("path"), operation.get("value")
        if isinstance(path, str) and path and "value" in operation:
            operation["value"] = _normalise_attribute(path.casefold(), self.normalise(value))
            if value == "" and operation["value"] is None:  # no manager, whether Entra adds or sets it
                return [{"op": "remove", "path": path}]
        elif isinstance(value, dict):
            choosing = [key for key in value if "[" in key]
            rest = {key: one for key, one in value.items() if key not in choosing}
            steps = [{**operation, "path": key, "value": value[key]} for key in choosing]
            whole = [{**operation, "value": self.normalise(rest)}] if rest or not steps else []
            return whole + [right for step in steps for right in self._operations(step)]
        return [operation]

    def _serves(self, urn: str) -> bool:
        """Whether we serve the schema: Entra sends its own schemas, too."""
        return urn.casefold() in self._known or urn.casefold().startswith(_MESSAGES)


def _normalise_attribute(name: str, value: Any) -> Any:
    """Normalise the value of an attribute, given by its lower-case name or path."""
    head, chooses, rest = name.partition("[")
    attribute, _, part = head.rpartition(":")[2].partition(".")
    if chooses:
        part = rest.rpartition("]")[2].lstrip(".")
    if (part or attribute) in _BOOLEANS:
        return _normalise_boolean(part or attribute, value)
    if attribute == "manager" and not part:
        return _normalise_manager(value)
    if attribute == "x509certificates":
        _check_certificates(value)
    return value


def _normalise_boolean(name: str, value: Any) -> Any:
    """Normalise a boolean, which Entra sends as text."""
    right = _STATED.get(value.casefold()) if isinstance(value, str) else value
    if value is not None and not isinstance(right, bool):
        raise InvalidValueException(detail=f"'{name}' is true or false")
    return right


def _normalise_manager(value: Any) -> Any:
    """Normalise the manager's ID, which Entra sends as plain text, or empty for none."""
    if not isinstance(value, str):
        return value
    return {"value": value} if value else None


def _check_certificates(value: Any) -> None:
    """Require Base64 (RFC 7643 2.3.6): the validator skips other characters, and would store another certificate."""
    if isinstance(value, list):
        for one in value:
            _check_certificates(one)
    if isinstance(value, dict):
        _check_certificates(next((one for key, one in value.items() if key.casefold() == "value"), None))
    if isinstance(value, str):
        try:
            base64.b64decode("".join(value.split()), validate=True)
        except (ValueError, binascii.Error):
            raise InvalidValueException(detail="A certificate is given in base64") from None
