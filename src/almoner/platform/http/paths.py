"""Addresses: a tree of path segments, built once from the declared endpoints; fixed segments win over parameters."""

from collections.abc import Sequence
from dataclasses import dataclass

from almoner.platform.http.caller import KeyKind
from almoner.platform.http.endpoints import Endpoint, QueryReader
from almoner.platform.http.replies import allow_header, envelope_suffix


@dataclass(frozen=True, slots=True)
class BoundEndpoint:
    """An endpoint with what running it needs, made once."""

    endpoint: Endpoint
    route: str
    names: tuple[str, ...]
    query: QueryReader
    end: bytes
    open_to_pages: bool

    @classmethod
    def from_endpoint(cls, endpoint: Endpoint) -> "BoundEndpoint":
        """Of one declaration."""
        return cls(
            endpoint,
            endpoint.route,
            tuple(endpoint.path_ids),
            QueryReader(endpoint.query),
            envelope_suffix(endpoint),
            endpoint.key in (KeyKind.PUBLISHABLE, KeyKind.NONE),
        )


class PathEndpoints:
    """One path: the endpoints of its methods, its Allow header, and the methods that pages of other origins may use."""

    __slots__ = ("allow", "methods", "open_methods")

    def __init__(self, methods: dict[str, BoundEndpoint]) -> None:
        self.methods = methods
        self.allow = allow_header(methods)
        self.open_methods = [method for method, bound in methods.items() if bound.open_to_pages]


class _Node:
    __slots__ = ("address", "children", "parameter")

    def __init__(self) -> None:
        self.children: dict[str, _Node] = {}
        self.parameter: _Node | None = None
        self.address: PathEndpoints | None = None


class PathTree:
    """The tree."""

    def __init__(self, endpoints: Sequence[Endpoint]) -> None:
        """Raises ValueError when a route is declared twice."""
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

    def find(self, path: str) -> tuple[PathEndpoints, list[str]] | None:
        """The address of a path with the values of its parameters, or None."""
        return _descend(self._root, path.split("/"), 1, [])


def _descend(node: _Node, parts: Sequence[str], at: int, values: list[str]) -> tuple[PathEndpoints, list[str]] | None:
    if at == len(parts):
        return (node.address, values) if node.address else None
    part = parts[at]
    fixed = node.children.get(part)
    if fixed is not None and (found := _descend(fixed, parts, at + 1, values)):
        return found
    if node.parameter is not None and part:
        return _descend(node.parameter, parts, at + 1, [*values, part])
    return None
