"""The description of the API, OpenAPI 3.1, made from its operations and their types."""

from collections.abc import Sequence
from typing import Any

import msgspec

import lastblock
from lastblock.serve import policies
from lastblock.serve.problems import MEDIA_TYPE, TITLES, Problem
from lastblock.serve.routing import Route

_ALWAYS = ["bad-request", "head-too-large", "invalid", "misdirected", "unavailable", "wrong-type"]
_WITH_BODY = ("bad-request", "timeout", "too-large", "wrong-type", "invalid")
_WITH_KEY = ("unauthorized", "forbidden", "too-many-requests")
_TEXT = """\
Bandits that decide and learn, behind HTTP. There is no context but a segment: with
`{"segment": "de-mobile"}` in a request for a decision, each segment has a bandit that learns by
itself, and nothing else about who is asking changes a decision.
"""


def _needs(field: str, other: str, *, value: dict[str, Any], of_other: str) -> dict[str, Any]:
    """Return the rule that a field with such a value needs another field, of a type."""
    given = {"properties": {field: value}, "required": [field]}
    needed = {"properties": {other: {"type": of_other}}, "required": [other]}
    return {"if": given, "then": needed}


_DISTINCT = _needs("distinct", "n", value={"const": True}, of_other="integer")
_RULES = {
    "NewDecision": _DISTINCT,
    "KeyedDecision": _DISTINCT,
    "NewBandit": _needs(
        "default_reward", "reward_window", value={"type": "number"}, of_other="number"
    ),
}
"""What the types of bodies cannot say."""


def describe(routes: Sequence[Route], root_path: str = "") -> bytes:
    """Return the description of these operations as JSON.

    Parameters
    ----------
    routes
        All operations.
    root_path
        The path under which a proxy shows the service.
    """
    kinds: list[Any] = [Problem]
    for route in routes:
        kinds += [each.kind for each in route.parameters]
        kinds += [route.takes.kind] if route.takes is not None else []
        for kind in route.returns.values():
            kinds += [each for each in _each(kind) if each not in (None, str, dict, bytes)]
    found, components = msgspec.json.schema_components(
        kinds, ref_template="#/components/schemas/{name}"
    )
    for name, rule in _RULES.items():
        components[name] |= rule
    components |= policies.schemas()
    schemas = {repr(kind): schema for kind, schema in zip(kinds, found, strict=True)}
    paths: dict[str, dict[str, Any]] = {}
    for route in routes:
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(route, schemas)
    document = {
        "openapi": "3.1.0",
        "info": {"title": "lastblock", "version": lastblock.__version__, "description": _TEXT},
        "servers": [{"url": root_path or "/"}],
        "paths": paths,
        "components": {
            "schemas": components,
            "securitySchemes": {
                "key": {"type": "http", "scheme": "bearer", "bearerFormat": "lb_<id>_<secret>"}
            },
        },
    }
    return msgspec.json.format(msgspec.json.encode(document), indent=1)


def _operation(route: Route, schemas: dict[str, Any]) -> dict[str, Any]:
    operation: dict[str, Any] = {
        "operationId": route.handler.__qualname__.rpartition(".")[2]
        + "".join(
            part.title() for part in route.path.replace(":", "/").split("/") if part.isalnum()
        ),
        "summary": route.handler.__doc__,
        "parameters": [
            *(
                {"name": name, "in": "path", "required": True, "schema": _TEXT_SCHEMA}
                for name in route.names
            ),
            *(
                {
                    "name": each.name,
                    "in": each.place,
                    "description": each.text,
                    "schema": schemas[repr(each.kind)],
                }
                for each in route.parameters
            ),
        ],
        "responses": {
            str(status): _response(route, status, kind, schemas)
            for status, kind in route.returns.items()
        },
    }
    if route.needs is not None:
        operation["security"] = [{"key": []}]
        operation["description"] = f"Needs a key with the scope `{route.needs}`."
    else:
        operation["security"] = []
    if route.takes is not None:
        operation["requestBody"] = {
            "required": not route.takes.is_optional,
            "content": {"application/json": {"schema": schemas[repr(route.takes.kind)]}},
        }
    kinds = {*route.problems, *_ALWAYS}
    kinds |= set(_WITH_BODY) if route.takes is not None else set()
    kinds |= set(_WITH_KEY) if route.needs is not None else set()
    kinds |= {"damaged"} if {"name", "token"} & set(route.names) else set()
    titles: dict[int, list[str]] = {}
    for kind in sorted(kinds):
        status, title = TITLES[kind]
        titles.setdefault(status, []).append(title)
    for status, words in titles.items():
        said = operation["responses"].setdefault(
            str(status),
            {
                "description": "; or ".join(words),
                "content": {MEDIA_TYPE: {"schema": schemas[repr(Problem)]}},
            },
        )
        if status in (429, 503):
            said["headers"] = {
                "Retry-After": {
                    "description": "Seconds to wait.",
                    "schema": {"type": "integer"},
                }
            }
    return operation


_TEXT_SCHEMA = {"type": "string", "minLength": 1}


def _response(route: Route, status: int, kind: Any, schemas: dict[str, Any]) -> dict[str, Any]:
    words = {200: "Done.", 201: "Made.", 204: "Done; there is nothing to say.", 304: "As it was."}
    said: dict[str, Any] = {"description": words.get(status, "Not now.")}
    if kind is not None:
        plain = {"type": "object" if kind is dict else "string"}
        found = [schemas.get(repr(each), plain) for each in _each(kind)]
        schema = found[0] if len(found) == 1 else {"anyOf": found}
        # A stream has no end, and so no schema; each of its events is an object as `data` says.
        kinds = [route.media_type] if isinstance(route.media_type, str) else route.media_type
        said["content"] = {
            each: {} if each == "text/event-stream" else {"schema": schema} for each in kinds
        }
    return said


def _each(kind: Any) -> tuple[Any, ...]:
    """Return the types that a response may have."""
    return kind if isinstance(kind, tuple) else (kind,)
