"""Errors of the service, as RFC 9457 describes them: ``application/problem+json``."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import msgspec
import msgspec.inspect

from lastblock.support.errors import short
from lastblock.support.spelling import advice

MEDIA_TYPE: Final = "application/problem+json"

TITLES: Final[Mapping[str, tuple[int, str]]] = {
    "bad-request": (400, "The request cannot be understood"),
    "unauthorized": (401, "A valid key is needed"),
    "forbidden": (403, "The key does not allow this"),
    "not-found": (404, "There is no such thing"),
    "method-not-allowed": (405, "This address takes other methods"),
    "timeout": (408, "The request took too long to arrive"),
    "conflict": (409, "This contradicts what is there"),
    "paused": (409, "The bandit is paused"),
    "gone": (410, "It is too late for this"),
    "changed-meanwhile": (412, "Somebody else has changed it"),
    "too-large": (413, "The body is too large"),
    "wrong-type": (415, "The body must be plain JSON"),
    "misdirected": (421, "The server has another name"),
    "invalid": (422, "A value is not valid"),
    "key-reused": (422, "The key belongs to another request"),
    "too-many-requests": (429, "Too many requests"),
    "head-too-large": (431, "The head of the request is too large"),
    "defect": (500, "A defect of the server"),
    "damaged": (503, "The bandit is damaged"),
    "unavailable": (503, "The server cannot do this now"),
}
"""Every kind of problem: its HTTP status and its title."""


class Problem(msgspec.Struct, kw_only=True, omit_defaults=True, rename={"kind": "type"}):
    """What went wrong, and what to do about it."""

    kind: str
    """The kind of the problem, such as ``urn:lastblock:problem:not-found``; it never changes."""
    title: str
    """The kind in words."""
    status: int
    """The HTTP status."""
    detail: str = ""
    """What is wrong with this request, and what to do."""
    place: int | msgspec.UnsetType = msgspec.UNSET
    """Which of several rewards is refused, counted from 0, if all were to be taken or none."""
    token: str | msgspec.UnsetType = msgspec.UNSET
    """Its token."""


class ProblemError(Exception):
    """Ends a request with a problem.

    Parameters
    ----------
    kind
        A name in `TITLES`.
    detail
        What is wrong with this request, and what to do.
    headers
        More headers of the response.
    """

    def __init__(self, kind: str, detail: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(detail)
        self.kind, self.detail = kind, detail
        self.headers: dict[str, str] = dict(headers or {})
        self.place: int | msgspec.UnsetType = msgspec.UNSET
        self.token: str | msgspec.UnsetType = msgspec.UNSET
        self.status, self.title = TITLES[kind]

    def about(self, place: int, token: str) -> "ProblemError":
        """Return the problem of a request of which this reward is refused."""
        at = f"rewards[{place}], token {short(token)}"
        whole = ProblemError(self.kind, f"{at}: {self.detail}", self.headers)
        whole.place, whole.token = place, token
        return whole

    def body(self) -> Problem:
        """Return what the client reads."""
        return Problem(
            kind=f"urn:lastblock:problem:{self.kind}",
            title=self.title,
            status=self.status,
            detail=self.detail,
            place=self.place,
            token=self.token,
        )


def of_problem(problem: Problem) -> ProblemError:
    """Return the error for a problem of which another server has told."""
    kind = problem.kind.rpartition(":")[2]
    headers = {"Retry-After": "1"} if problem.status in (429, 503) else None
    return ProblemError(kind if kind in TITLES else "defect", problem.detail, headers)


def unavailable(detail: str, seconds: int = 1) -> ProblemError:
    """Return the problem of a server that may be able to answer in some seconds."""
    return ProblemError("unavailable", detail, {"Retry-After": str(seconds)})


def explained(error: msgspec.ValidationError, kind: Any = None) -> str:
    """Return what is wrong with a body; `msgspec` writes ``$.n`` for the field n.

    Parameters
    ----------
    error
        What `msgspec` says.
    kind
        The type of the body, whose fields are suggested for a misspelt one.
    """
    what, at, place = str(error).partition(" - at `$")
    _, is_unknown, rest = what.partition("unknown field `")
    if what.endswith("unknown field `context`"):
        what += (
            '; there is no context but a segment: send {"segment": "de-mobile"}, say, and each '
            "segment learns by itself"
        )
    elif what.startswith("Invalid enum value") and (choices := _choices(kind, place)):
        *most, last = choices
        what = f"{what}; choose {', '.join(most)} or {last}" if most else f"{what}; send {last}"
    elif is_unknown and not at:
        known = getattr(kind, "__struct_fields__", ())
        what = f"there is no field {rest.rstrip('`')!r}; {advice(rest.rstrip('`'), known)}"
    return f"{place.rstrip('`').removeprefix('.')}: {what}" if at and place != "`" else what


def _choices(kind: Any, place: str) -> list[str]:
    """Return the words that a field may have, in quotes; `place` is where `msgspec` found it."""
    found = [msgspec.inspect.type_info(kind)] if kind is not None else []
    for name in re.findall(r"\.(\w+)|\[", place):
        inner: list[Any] = []
        for each in _alternatives(found):
            if name:
                fields = getattr(each, "fields", ())
                inner += [field.type for field in fields if field.encode_name == name]
            elif hasattr(each, "item_type"):
                inner.append(each.item_type)
        found = inner
    return [repr(value) for each in _alternatives(found) for value in getattr(each, "values", ())]


def _alternatives(types: Sequence[Any]) -> Iterator[Any]:
    """Yield types, and for a union those that it unites; metadata about a type is left out."""
    for each in types:
        if isinstance(each, msgspec.inspect.UnionType):
            yield from _alternatives(each.types)
        elif isinstance(each, msgspec.inspect.Metadata):
            yield from _alternatives([each.type])
        else:
            yield each
