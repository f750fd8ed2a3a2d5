"""Routes request paths to endpoints by a tree of path segments."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from almoner.platform.http.caller import KeyKind
from almoner.platform.http.endpoints import Endpoint, QueryReader
from almoner.platform.http.replies import allow_header, encode_envelope_suffix


@dataclass(frozen=True, slots=True)
class BoundEndpoint:
    """An endpoint with the precomputed data to run it."""

    endpoint: Endpoint
    route: str
    parameter_names: tuple[str, ...]
    query_reader: QueryReader
    envelope_suffix: bytes
    allows_cross_origin: bool
    has_only_id_parameters: bool
    """Whether the path has parameters, and all of them are IDs."""

    @classmethod
    def from_endpoint(cls, endpoint: Endpoint) -> "BoundEndpoint":
        """Precompute from a declared endpoint."""
        return cls(
            endpoint,
            endpoint.route,
            tuple(endpoint.path_ids),
            QueryReader(endpoint.query),
            encode_envelope_suffix(endpoint),
            endpoint.key in (KeyKind.PUBLISHABLE, KeyKind.NONE),
            bool(endpoint.path_ids) and None not in endpoint.path_ids.values(),
        )


class PathEndpoints:
    """The endpoints of one path by method, with its Allow header."""

    __slots__ = ("allow", "methods", "open_methods")

    def __init__(self, methods: dict[str, BoundEndpoint]) -> None:
        self.methods = methods
        self.allow = allow_header(methods)
        self.open_methods = [method for method, bound in methods.items() if bound.allows_cross_origin]


class PathMatch(NamedTuple):
    """The endpoints of a requested path, and the values of its parameters."""

    endpoints: PathEndpoints
    parameter_values: list[str]


class _Node:
    __slots__ = ("address", "children", "parameter")

    def __init__(self) -> None:
        self.children: dict[str, _Node] = {}
        self.parameter: _Node | None = None
        self.address: PathEndpoints | None = None


class PathTree:
    """The tree of path segments; fixed segments win over parameters."""

    def __init__(self, endpoints: Sequence[Endpoint]) -> None:
        """Raises ValueError if a route is declared twice."""
        self._root = _Node()
        for endpoint in endpoints:
            self._place(endpoint)

    def _place(self, endpoint: Endpoint) -> None:
        node = self._root
        for part in endpoint.path.split("/")[1:]:
            if part.startswith("{"):
                node.parameter = node.parameter or _Node()
                node = node.parameter
            else:
                node = node.children.setdefault(part, _Node())
        methods = node.address.methods if node.address else {}
        if endpoint.method in methods:
            raise ValueError(f"{endpoint.route} is declared twice")
        node.address = PathEndpoints({**methods, endpoint.method: BoundEndpoint.from_endpoint(endpoint)})

    def find(self, path: str) -> PathMatch | None:
        """The endpoints of a path, or None."""
        return _descend(self._root, path.split("/"), 1, [])


def _descend(node: _Node, parts: Sequence[str], at: int, values: list[str]) -> PathMatch | None:
    if at == len(parts):
        return PathMatch(node.address, values) if node.address else None
    part = parts[at]
    fixed = node.children.get(part)
    if fixed is not None and (found := _descend(fixed, parts, at + 1, values)):
        return found
    if node.parameter is not None and part:
        return _descend(node.parameter, parts, at + 1, [*values, part])
    return None
