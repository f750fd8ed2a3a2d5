"""Identifier types for paths, queries and bodies."""

from dataclasses import dataclass

from pydantic import GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

ID_TYPE_KEYWORD = "x-id-type"
MORE_KEYWORD = "more"
"""Schema keyword: what an ID field accepts besides IDs, until the pattern is built from it."""
SUCH_AS_KEYWORD = "x-such-as-id-of"
"""Schema keyword of fields that accept several ID types: the type for examples."""


@dataclass(frozen=True, slots=True)
class PathId:
    """Marks a path parameter as an identifier; a malformed one is a 404."""

    type: str


@dataclass(frozen=True, slots=True)
class IdString:
    """Marks a field as an identifier: ``Annotated[str, IdString("organisation")]``.

    The pattern is documented and not enforced here: an unknown ID in a body is the area's own 400 (settled 3), and in
    the sandbox some IDs have a trigger suffix (spec 4.11), which ``suffix_pattern`` describes. ``test_values``: texts
    that the sandbox takes instead of an ID.
    """

    type: str
    suffix_pattern: str = ""
    test_values: tuple[str, ...] = ()

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        result = {**handler(schema), ID_TYPE_KEYWORD: self.type}
        return (
            result | {MORE_KEYWORD: (self.suffix_pattern, self.test_values)}
            if self.suffix_pattern or self.test_values
            else result
        )


TEST_SUFFIX = r"(-[A-Za-z]+:[a-z]+)*"
"""A suffix that IDs may have in the sandbox (spec 4.11)."""
