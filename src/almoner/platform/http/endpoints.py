"""Declared endpoints: one declaration gives key, scope, idempotency, validation, envelope and description.

::

    routes = Routes("Categories")

    @routes.post("/v1/categories", key=SECRET, scope="categories:write", errors=(NameTaken,))
    async def create_category(call: Call, body: CategoryBody) -> CategoryResponse:
        \"\"\"Create a category.\"\"\"
        return category_response(call.tx, await categories.create(call.tx, call.partner, body.name, body.attributes))

A handler takes ``call``, path parameters (``category_id: CategoryId`` for ``{categoryId}``), ``query`` and ``body``. It
returns the response: a ``ResponseRecord``, a ``ListResponse``, a ``RawResponse``, or None for an empty one.
``platform.http.service`` runs handlers; this module only declares them.
"""

import inspect
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints
from urllib.parse import quote

import msgspec
from pydantic import BaseModel
from pydantic.alias_generators import to_camel

from almoner.kit.errors import Problem
from almoner.platform.database.transactions import Mode
from almoner.platform.http.caller import KeyKind
from almoner.platform.http.ids import PathId
from almoner.platform.http.paging import ListResponse
from almoner.platform.http.unknown_input import unknown_parameter_message
from almoner.platform.http.uploads import UploadDeclaration
from almoner.platform.http.wire import Query, RequestBody, ResponseRecord

Method = Literal["GET", "POST", "PUT", "PATCH", "DELETE"]
Handler = Callable[..., Awaitable[Any]]
TxMode = Mode | None

MAX_JSON_BODY = 1024 * 1024  # settled 1
_LONGEST_LOGGED = 1000


@dataclass(frozen=True, slots=True)
class RawResponse:
    """A response body that is already encoded."""

    body: bytes
    media_type: str = "application/json"


@dataclass(frozen=True, slots=True)
class EndpointDeprecation:
    """The deprecation of a route (settled 10): dates for the ``Deprecation`` and ``Sunset`` headers."""

    deprecation_header_value: str
    sunset_header_value: str
    documentation_url: str


@dataclass(frozen=True)
class Endpoint:
    """A declared endpoint: one method of one path."""

    method: Method
    path: str
    handler: Handler
    tag: str
    key: KeyKind
    scope: str | None
    tx: TxMode
    empty_status: Literal[200, 204] | None
    errors: tuple[type[Problem], ...]
    upload: UploadDeclaration | None
    deprecation: EndpointDeprecation | None
    list_extras: type[msgspec.Struct] | None
    headers: Mapping[str, str]
    request_headers: Mapping[str, str]
    shows_secret: bool
    other_media_type: str | None
    moves_money: bool
    member_scope: str | None
    path_ids: dict[str, PathId | None] = field(init=False)
    body: type[RequestBody] | None = field(init=False)
    query: type[Query] | None = field(init=False)
    return_type: Any = field(init=False)

    def __post_init__(self) -> None:
        hints = get_type_hints(self.handler, include_extras=True)
        self.__dict__["return_type"] = hints.pop("return")
        self.__dict__["body"] = hints.pop("body", None)
        self.__dict__["query"] = hints.pop("query", None)
        wanted = [part[1:-1] for part in self.path.split("/") if part.startswith("{")]
        names = {to_camel(name): name for name in hints if name not in ("call", "upload")}
        if sorted(names) != sorted(wanted):
            raise TypeError(f"{self.operation_id}: path names {sorted(wanted)}, handler takes {sorted(names)}")
        self.__dict__["path_ids"] = {names[name]: _path_id_mark(hints[names[name]]) for name in wanted}
        if not inspect.getdoc(self.handler):
            raise TypeError(f"{self.operation_id} has no docstring; it is the operation's description")

    @property
    def is_write(self) -> bool:
        """Whether the endpoint changes something."""
        return self.method != "GET"

    @cached_property
    def operation_id(self) -> str:
        """The OpenAPI operation ID, from the handler's name: ``createCategory``."""
        return to_camel(self.handler.__name__)

    @property
    def path_parameters(self) -> dict[str, PathId | None]:
        """The identifier types of the path parameters by their names."""
        names = [part[1:-1] for part in self.path.split("/") if part.startswith("{")]
        return dict(zip(names, self.path_ids.values(), strict=True))

    @property
    def route(self) -> str:
        """``POST /v1/categories``: the route's name in logs, metrics and rate limits."""
        return f"{self.method} {self.path}"

    @property
    def record_type(self) -> type[ResponseRecord] | None:
        """The record type of the response, single or list."""
        answers = get_args(self.return_type) or (self.return_type,)  # a list, a union, or the record
        return next((one for one in answers if isinstance(one, type) and issubclass(one, ResponseRecord)), None)

    @property
    def is_list(self) -> bool:
        """Whether the response is a list."""
        return get_origin(self.return_type) is ListResponse or self.return_type is ListResponse


def _path_id_mark(hint: Any) -> PathId | None:
    if get_origin(hint) is Annotated:
        return next((mark for mark in get_args(hint)[1:] if isinstance(mark, PathId)), None)
    return None


class Routes:
    """Collects the declared endpoints of one slice. ``tag`` groups them in the API description.

    ``moves_money``: writes are refused last under load.
    """

    def __init__(self, tag: str, *, moves_money: bool = False) -> None:
        self.tag = tag
        self.moves_money = moves_money
        self.endpoints: list[Endpoint] = []

    def declare(
        self,
        method: Method,
        path: str,
        *,
        key: KeyKind,
        scope: str | None = None,
        tx: TxMode = "write",
        empty: Literal[200, 204] | None = None,
        errors: Sequence[type[Problem]] = (),
        upload: UploadDeclaration | None = None,
        deprecation: EndpointDeprecation | None = None,
        list_extras: type[msgspec.Struct] | None = None,
        headers: Mapping[str, str] = MappingProxyType({}),
        request_headers: Mapping[str, str] = MappingProxyType({}),
        shows_secret: bool = False,
        other_media_type: str | None = None,
        member_scope: str | None = None,
    ) -> Callable[[Handler], Handler]:
        """Declare an endpoint. A route with a key must name its scope (K6).

        For the description: ``list_extras``: members of a list's response besides its records and links. ``headers``:
        response headers of this operation only, ``request_headers``: request headers that it reads, each with its
        description. ``other_media_type``: another media type of the response. ``member_scope``: members with this scope
        may call it too, within limits that its handler enforces. ``shows_secret``: the response contains a secret, so
        that reading it is audited too (V8).
        """
        if (key is KeyKind.NONE) is not (scope is None):
            raise TypeError(f"{method} {path}: a route with a key names its scope, one without names none")
        if (method != "GET" or shows_secret) and (key is KeyKind.NONE or tx is None):
            raise TypeError(f"{method} {path}: its audit entry needs a key and a transaction (V8)")

        def register(handler: Handler) -> Handler:
            self.endpoints.append(
                Endpoint(
                    method,
                    path,
                    handler,
                    self.tag,
                    key,
                    scope,
                    tx,
                    empty,
                    tuple(errors),
                    upload,
                    deprecation,
                    list_extras,
                    headers,
                    request_headers,
                    shows_secret,
                    other_media_type,
                    self.moves_money,
                    member_scope,
                )
            )
            return handler

        return register

    def get(
        self, path: str, *, key: KeyKind, scope: str | None = None, tx: TxMode = "read", **options: Any
    ) -> Callable[[Handler], Handler]:
        """Declare a read operation, which also answers HEAD."""
        return self.declare("GET", path, key=key, scope=scope, tx=tx, **options)

    def post(
        self, path: str, *, key: KeyKind, scope: str | None = None, **options: Any
    ) -> Callable[[Handler], Handler]:
        """Declare a write operation that supports Idempotency-Key."""
        return self.declare("POST", path, key=key, scope=scope, **options)

    def put(self, path: str, *, key: KeyKind, scope: str | None = None, **options: Any) -> Callable[[Handler], Handler]:
        """Declare an idempotent write operation."""
        return self.declare("PUT", path, key=key, scope=scope, **options)

    def patch(
        self, path: str, *, key: KeyKind, scope: str | None = None, **options: Any
    ) -> Callable[[Handler], Handler]:
        """Declare a partial update."""
        return self.declare("PATCH", path, key=key, scope=scope, **options)

    def delete(
        self, path: str, *, key: KeyKind, scope: str | None = None, **options: Any
    ) -> Callable[[Handler], Handler]:
        """Declare a deletion (204)."""
        return self.declare("DELETE", path, key=key, scope=scope, **{"empty": 204, **options})


def _is_typed(schema: Mapping[str, Any]) -> bool:
    options = [schema, *schema.get("anyOf", ()), *schema.get("oneOf", ())]
    options += [option["items"] for option in options if "items" in option]
    return any(
        option.get("type") in ("boolean", "integer", "number") or option.keys() & {"enum", "format", "pattern", "$ref"}
        for option in options
    )


class QueryReader:
    """Reads an endpoint's query string; lists may be written ``category[]`` or ``category``."""

    def __init__(self, model: type[BaseModel] | None) -> None:
        """Create a reader. ``model``: None for a call without parameters."""
        self._model = model
        self.names: dict[str, tuple[str, bool]] = {}
        self.aliases: list[str] = []
        for name, info in model.model_fields.items() if model else ():
            alias = info.alias or to_camel(name)
            self.aliases.append(alias)
            many = get_origin(info.annotation) is list or any(
                get_origin(arg) is list for arg in get_args(info.annotation)
            )
            self.names[alias] = (alias, many)
            self.names.setdefault(alias.removesuffix("[]"), (alias, many))  # accept filters without brackets
            extra = info.json_schema_extra
            also = extra.get("also") if isinstance(extra, dict) else None
            if isinstance(also, str):  # another accepted spelling, such as registryID (settled 0)
                self.names[also] = (alias, many)

    @cached_property
    def _typed(self) -> frozenset[str]:
        """The spellings of parameters that take numbers, dates, IDs or enum values, not text."""
        described = {} if self._model is None else self._model.model_json_schema()["properties"]
        typed = {alias for alias, schema in described.items() if _is_typed(schema)}
        return frozenset(name for name, (alias, _) in self.names.items() if alias in typed)

    def redact_query(self, query_pairs: Sequence[tuple[str, str]]) -> str:
        """A valid query as it is logged, without free text."""
        shown = "&".join(
            f"{name}={quote(value, safe=':') if name in self._typed else '…'}" for name, value in query_pairs
        )
        return shown[:_LONGEST_LOGGED]

    def find_problems(self, query_pairs: Sequence[tuple[str, str]]) -> list[str]:
        """A sentence for each unknown parameter, and for each that is given again and is no list."""
        if not query_pairs:
            return []
        unknown = dict.fromkeys(name for name, _ in query_pairs if name not in self.names)
        single = Counter(
            alias for alias, many in (self.names.get(name, ("", True)) for name, _ in query_pairs) if not many
        )
        return [
            *(unknown_parameter_message(name, self.aliases) for name in unknown),
            *(f"query.{name} must be given once" for name, count in single.items() if count > 1),
        ]

    def read(self, query_pairs: Sequence[tuple[str, str]]) -> dict[str, object]:
        """Text values by field; ``find_problems`` reports what is given twice and is no list."""
        values: dict[str, object] = {}
        for name, value in query_pairs:
            if (known := self.names.get(name)) is None:
                continue
            alias, many = known
            if many:
                values.setdefault(alias, [])
                found = values[alias]
                assert isinstance(found, list)
                found.append(value)
            else:
                values[alias] = value
        return values
