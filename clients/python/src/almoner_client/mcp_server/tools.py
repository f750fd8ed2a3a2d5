"""The tools: methods of the client, with the fields and texts that the API's description gives them."""

import inspect
import re
import types
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Union, get_args, get_origin, get_type_hints

from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model

from almoner_client._calls import following_query
from almoner_client._generated import resources
from almoner_client.cli.failures import UsageError
from almoner_client.cli.fields import camel
from almoner_client.cli.raw import RawClient, RawList

_PAGE_SIZE = 20
_NOT_OFFERED = frozenset({"self", "direction", "page", "explain", "timeout", "idempotency_key"})
_NEEDS = re.compile(r"^Needs .*", re.MULTILINE | re.DOTALL)
_FIELD = re.compile(r"^(\w+): (.+(?:\n {4}.+)*)", re.MULTILINE)


class InvalidArguments(UsageError):
    """Arguments that a tool does not take. ``reasons``: one for each."""

    def __init__(self, tool: str, reasons: tuple[str, ...]) -> None:
        super().__init__(f"{tool} cannot be called with these arguments.", "\n".join(f"- {one}" for one in reasons))
        self.reasons = reasons


@dataclass(frozen=True)
class ApiTool:
    """A call as a tool. ``resource``, ``method``: where the client has it; ``offered``: its fields, all if empty."""

    name: str
    resource: str
    method: str
    is_write: bool = False
    offered: frozenset[str] = frozenset()

    @cached_property
    def title(self) -> str:
        """The first sentence of the description."""
        return re.split(r"[:;.,]\s", self.description.replace("\n", " ") + " ", maxsplit=1)[0].rstrip(". ")

    @cached_property
    def description(self) -> str:
        """What the API says of the call."""
        return _NEEDS.sub("", self._documentation).strip()

    @cached_property
    def input_schema(self) -> dict[str, Any]:
        """The JSON schema of the arguments, which have the API's names."""
        schema = self._arguments.model_json_schema()
        for field in (schema, *schema["properties"].values()):
            field.pop("title")
            if field.get("default", "") is None:
                del field["default"]
        return schema

    def call(self, client: RawClient, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """The record, or a page of a list. Raises InvalidArguments, and the client's errors."""
        given = {name: value for name, value in arguments.items() if value is not None}  # assistants like to send null
        try:
            checked = self._arguments.model_validate(given)
        except ValidationError as error:
            told = (f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in error.errors())
            raise InvalidArguments(self.name, tuple(told)) from None
        method = getattr(getattr(client, self.resource), self.method)
        answer = method(**{name: getattr(checked, name) for name in checked.model_fields_set | self._preset})
        return _page(answer) if isinstance(answer, RawList) else dict(answer)

    @property
    def _function(self) -> Callable[..., Any]:
        class_name = "".join(word.capitalize() for word in self.resource.split("_")) + "Resource"
        found: Callable[..., Any] = getattr(getattr(resources, class_name), self.method)
        return found

    @property
    def _documentation(self) -> str:
        return inspect.getdoc(self._function) or ""

    @cached_property
    def _preset(self) -> set[str]:
        """Fields that have a value of ours."""
        return {"page_size"} & self._arguments.model_fields.keys()

    @cached_property
    def _arguments(self) -> type[BaseModel]:
        texts = {name: " ".join(text.split()) for name, text in _FIELD.findall(self._documentation)}
        hints, fields = get_type_hints(self._function), {}
        for name, parameter in inspect.signature(self._function).parameters.items():
            if name in _NOT_OFFERED or (self.offered and name not in self.offered):
                continue
            told: dict[str, Any] = {"alias": camel(name), "description": texts.get(name)}
            if name == "page_size":
                told |= {"default": _PAGE_SIZE, "ge": 1, "le": 100, "description": "Records in one answer."}
            elif name == "cursor":
                told |= {"default": None, "description": "nextCursor of an earlier answer to the same arguments."}
            elif parameter.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD:  # a part of the path
                told["min_length"] = 1
            elif parameter.default is not inspect.Parameter.empty:
                told["default"] = None
            fields[name] = (_plain(hints[name]), Field(**told))
        config = ConfigDict(extra="forbid", title=self.name)
        made: type[BaseModel] = create_model(self.name, __config__=config, **fields)  # type: ignore[call-overload]
        return made


def _plain(hint: Any) -> Any:
    """A type without what may stand in its place: null, or what is left out."""
    if get_origin(hint) not in (Union, types.UnionType):
        return hint
    kinds = [one for one in get_args(hint) if getattr(one, "__name__", "") not in ("NoneType", "Omitted")]
    return Union[tuple(kinds)]


def _page(records: RawList) -> dict[str, Any]:
    answer = records.page()
    following = following_query(answer.get("_links") or {}, "next")
    made = {"data": answer["data"], "totalResults": answer["totalResults"]}
    return made if following is None else {**made, "nextCursor": following["cursor"][0]}


_SESSION = frozenset({
    "organisation_id", "currency", "language", "success_url", "metadata", "frequencies", "suggested_amounts", "minimum",
    "maximum", "designations", "offers_dedication",
})  # fmt: skip

TOOLS = (
    ApiTool("search_organisations", "organisations", "search"),
    ApiTool("get_organisation", "organisations", "get"),
    ApiTool("list_categories", "categories", "list"),
    ApiTool("list_validation_submissions", "validation_submissions", "list"),
    ApiTool("get_validation_submission", "validation_submissions", "get"),
    ApiTool("list_donations", "donations", "list"),
    ApiTool("get_donation", "donations", "get"),
    ApiTool("get_donation_session", "donation_sessions", "get"),
    ApiTool("create_donation_session", "donation_sessions", "create", is_write=True, offered=_SESSION),
    ApiTool("simulate", "sandbox", "simulate", is_write=True),
)
