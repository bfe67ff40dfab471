"""Which handler answers which address."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any
from urllib.parse import unquote

import msgspec

from lastblock.serve.http import Body, Handler, Request
from lastblock.serve.keys import Right
from lastblock.serve.problems import ProblemError, explained
from lastblock.support.spelling import advice

REMEMBERED = 4096
"""How many addresses the router remembers before it forgets them all."""


@dataclass(frozen=True)
class Parameter:
    """A parameter of the query or a header, by which requests are both checked and described."""

    name: str
    text: str
    kind: Any = str
    """The type that `msgspec` makes of its text."""
    place: str = "query"

    @cached_property
    def header(self) -> bytes:
        """Its name as a request has it, if it is a header."""
        return self.name.lower().encode()

    def read(self, text: str) -> Any:
        """Return the value of the parameter, or raise a `ProblemError`."""
        try:
            return msgspec.convert(text, self.kind, strict=False)
        except msgspec.ValidationError as error:
            words = explained(error, self.kind)
            raise ProblemError("invalid", f"{self.name}={text!r}: {words}") from None


@dataclass(frozen=True)
class Route:
    """An operation of the API: where it is, who may use it, what it takes and returns.

    The docstring of its handler is its summary in the description of the API.
    """

    method: str
    path: str
    handler: Handler
    needs: Right | None = None
    """The right that a key must have; None if nobody needs a key."""
    takes: Body[Any] | None = None
    returns: Mapping[int, Any] = field(default_factory=dict)
    """The type of the body for each status, or several that it may have; None for no body."""
    problems: Sequence[str] = ()
    """The kinds of problems besides those that every operation may have."""
    parameters: Sequence[Parameter] = ()
    media_type: str | Sequence[str] = "application/json"
    """The content type of the body, or several that it may have."""

    @property
    def names(self) -> list[str]:
        """The names of the parameters in the path."""
        return [part[1:-1] for part in self.path.split("/") if part.startswith("{")]

    def read_options(self, request: Request) -> Iterator[tuple[str, Any]]:
        """Yield the parameters of a request by name, or raise a `ProblemError` for a wrong one."""
        given = request.pairs()
        for place, (name, text) in enumerate(given):
            known = {each.name: each for each in self.parameters if each.place == "query"}
            if name not in known:
                hint = advice(name, known)
                raise ProblemError("invalid", f"there is no query parameter {name!r}; {hint}")
            if any(name == other for other, _ in given[:place]):
                raise ProblemError("invalid", f"the query has {name!r} twice; give it once")
            yield name, known[name].read(text)
        for each in self.parameters:
            if each.place == "header" and (found := request.header(each.header)) is not None:
                yield each.name, each.read(found)


class _Node:
    def __init__(self) -> None:
        self.literal: dict[str, _Node] = {}
        self.any: _Node | None = None
        self.routes: dict[str, Route] = {}
        self.is_asked_again = True
        """Whether the same address will come again: not if it has the token of one decision."""


class Router:
    """Finds the route of a request.

    A part of an address that stands for a name may hold any characters, also an escaped slash.

    Parameters
    ----------
    routes
        All routes. Literal parts come before parameters.
    """

    def __init__(self, routes: Iterable[Route]) -> None:
        self.routes = list(routes)
        self._top = _Node()
        self._found: dict[bytes, tuple[dict[str, Route], tuple[str, ...]]] = {}
        for route in self.routes:
            node = self._top
            for part in route.path.strip("/").split("/"):
                if part.startswith("{"):
                    node.any = node.any or _Node()
                    node = node.any
                else:
                    node = node.literal.setdefault(part, _Node())
            node.routes[route.method] = route
            node.is_asked_again = "token" not in route.names

    def find(self, method: str, path: bytes) -> tuple[Route, tuple[str, ...]]:
        """Return the route of an address, and the parameters in it, or raise a `ProblemError`.

        Parameters
        ----------
        method
            The method of the request.
        path
            The address as it was sent, escapes included, without a query.
        """
        found = self._found.get(path)
        if found is None:
            node, parameters = self._look_up(path)
            found = node.routes, parameters
            if node.is_asked_again:
                if len(self._found) >= REMEMBERED:
                    self._found.clear()
                self._found[path] = found
        routes, parameters = found
        route = routes.get(method)
        if route is None:
            allowed = ", ".join(sorted(routes))
            raise ProblemError("method-not-allowed", f"use one of: {allowed}", {"Allow": allowed})
        return route, parameters

    def _look_up(self, path: bytes) -> tuple[_Node, tuple[str, ...]]:
        node: _Node | None = self._top
        parameters = []
        try:
            parts = path.decode("ascii").split("/")[1:]
            if b"%" in path:
                parts = [unquote(part, errors="strict") for part in parts]
        except UnicodeDecodeError:
            raise ProblemError("bad-request", "the address is not UTF-8 text") from None
        for part in parts:
            following = node.literal.get(part) if node is not None else None
            if following is None and node is not None and node.any is not None and part:
                following = node.any
                parameters.append(part)
            node = following
        if node is None or not node.routes:
            raise ProblemError("not-found", "there is nothing at this address; see /openapi.json")
        return node, tuple(parameters)
