"""What both clients share: requests, how they are sent, and what answers mean."""

import http.client
import json
import logging
import ssl
import time
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple
from urllib.parse import quote, urlsplit

from lastblock.client.messages import RewardResult, ServedDecision, ServiceError
from lastblock.client.options import create_fields, decide_fields, finite

log = logging.getLogger("lastblock.client")

AGAIN = (408, 429, 502, 503, 504)
"""The statuses after which the same request may succeed later."""

BATCH = "/v1/rewards:batch"

PAUSE = 0.05
"""Seconds before the second attempt; each further one waits twice as long."""


class Address(NamedTuple):
    """Where the service is."""

    is_secure: bool
    host: str
    port: int
    path: str


@dataclass(frozen=True)
class Call:
    """One request to the service, which may be sent several times."""

    method: str
    path: str
    data: bytes = b""
    """Its body, written before anything is sent, so that a mistake is found at once."""
    key: str | None = None
    """The same for all attempts, so that the request has its effect once."""


def with_body(method: str, path: str, body: Any, key: str | None = None) -> Call:
    """Return a request with a body, or raise a ValueError if that cannot be JSON."""
    try:
        data = json.dumps(body, allow_nan=False).encode()
    except ValueError as error:
        raise ValueError(f"the request cannot be written as JSON: {error}") from None
    return Call(method, path, data, key)


def read_address(url: str) -> Address:
    """Return the parts of a URL, or raise a ValueError."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError(f"url={url!r} must be like http://localhost:8000")
    is_secure = parts.scheme == "https"
    port = parts.port or (443 if is_secure else 80)
    return Address(is_secure, parts.hostname, port, parts.path.rstrip("/"))


class Attempts:
    """Counts the attempts of one call, and says whether and when to make another one.

    Parameters
    ----------
    retries
        How often to try again.
    timeout
        The most seconds for all attempts together.
    """

    def __init__(self, retries: int, timeout: float) -> None:
        self._left, self._until = retries, time.monotonic() + timeout
        self._pause = PAUSE

    @property
    def seconds(self) -> float:
        """How many seconds are left; at least a millisecond."""
        return max(0.001, self._until - time.monotonic())

    def pause(self, retry_after: str | None = None) -> float | None:
        """Return how many seconds to wait before the next attempt; None to give up."""
        wait = self._pause
        if retry_after is not None and retry_after.isascii() and retry_after.isdigit():
            wait = max(wait, float(retry_after))
        self._left, self._pause = self._left - 1, 2.0 * self._pause
        if self._left < 0 or time.monotonic() + wait >= self._until:
            return None
        return wait


class Service:
    """The service at an address: sends requests, again where that may help, and reads answers.

    Threads may share it: each call has a connection of its own.

    Parameters
    ----------
    url
        The address of the service, such as ``http://localhost:8000``.
    key
        Your key.
    timeout
        The most seconds that a call may take, all attempts together.
    retries
        How often to try again.
    context
        Whose certificates to trust at an https address; None for those that Python trusts.
    """

    def __init__(
        self,
        url: str,
        key: str | None,
        *,
        timeout: float,
        retries: int,
        context: ssl.SSLContext | None,
    ) -> None:
        self.address = read_address(url)
        if not timeout > 0.0:
            raise ValueError(f"timeout={timeout} must be positive, in seconds")
        if retries < 0:
            raise ValueError(f"retries={retries} must not be negative")
        self.timeout, self.retries = timeout, retries
        self._key, self._context = key, context
        self._idle: list[http.client.HTTPConnection] = []

    def call(self, call: Call) -> Any:
        """Return the value of the answer, or raise a `ServiceError`."""
        attempts = Attempts(self.retries, self.timeout)
        headers = self._headers(call)
        while True:
            after = None
            try:
                status, after, body = self._send(call, headers, attempts.seconds)
                if status not in AGAIN and not is_partly_later(call, body):
                    return answer_of(status, body)
                failure: BaseException | None = None
            except (OSError, http.client.HTTPException) as error:
                self.close()  # the others may be as old as the one that failed
                failure = error
            wait = attempts.pause(after)
            if wait is None:
                if failure is not None:
                    raise unreachable(failure, self.address) from failure
                return answer_of(status, body)
            time.sleep(wait)

    def close(self) -> None:
        """Close all connections that wait for a call."""
        idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()

    def _send(
        self, call: Call, headers: dict[str, str], seconds: float
    ) -> tuple[int, str | None, bytes]:
        try:
            connection = self._idle.pop()
        except IndexError:
            connection = self._connection()
        connection.timeout = seconds
        if connection.sock is not None:
            connection.sock.settimeout(seconds)
        is_whole = False
        try:
            target = f"{self.address.path}{call.path}"
            connection.request(call.method, target, call.data or None, headers)
            answer = connection.getresponse()
            body = answer.read()
            is_whole = True
        finally:
            if is_whole:
                self._idle.append(connection)
            else:  # what comes later on this connection would answer another request
                connection.close()
        return answer.status, answer.getheader("Retry-After"), body

    def _connection(self) -> http.client.HTTPConnection:
        address = self.address
        if address.is_secure:
            context = self._context or ssl.create_default_context()
            return http.client.HTTPSConnection(address.host, address.port, context=context)
        return http.client.HTTPConnection(address.host, address.port)

    def _headers(self, call: Call) -> dict[str, str]:
        """Return the headers of a request, or raise a ValueError if one cannot be sent."""
        headers = {"Accept": "application/json"}
        if self._key:
            headers["Authorization"] = f"Bearer {self._key}"
        if call.data:
            headers["Content-Type"] = "application/json"
        if call.key is not None:
            headers["Idempotency-Key"] = call.key
        for name, value in headers.items():
            if not all(" " <= letter <= "ÿ" and letter != "\x7f" for letter in value):
                raise ValueError(f"the header {name} must be one line in Latin-1; correct the key")
        return headers


def is_partly_later(call: Call, body: bytes) -> bool:
    """Return whether some of several rewards may be taken later; the others are then the same."""
    return call.path == BATCH and b'"status":503' in body


def answer_of(status: int, body: bytes) -> Any:
    """Return the value of an answer, or raise a `ServiceError`."""
    try:
        value = json.loads(body) if body else None
    except ValueError:
        value = None
    if status < 300:
        return value
    raise error_of(value if isinstance(value, dict) else {}, status)


def error_of(problem: dict[str, Any], status: int) -> ServiceError:
    """Return the error for a problem that the service has described."""
    kind = str(problem.get("type", "")).rpartition(":")[2] or None
    detail = problem.get("detail") or problem.get("title") or f"the service answered {status}"
    return ServiceError(str(detail), status, kind)


def unreachable(error: BaseException, address: Address) -> ServiceError:
    """Return the error for a service that does not answer."""
    words = str(error) or type(error).__name__
    return ServiceError(f"the service at {address.host}:{address.port} does not answer: {words}")


# The calls of the API.


def decide(
    bandit: str,
    n: int | None,
    options: Mapping[str, Any],
    *,
    fallback: str | int | None,
    key: str | None,
    why: bool,
) -> Call:
    """Return the request for decisions."""
    body = decide_fields(options, fallback)
    if n is not None:
        body["n"] = n
    if why:
        body["why"] = True
    return with_body("POST", bandit_path(bandit, "decisions"), body, key or uuid.uuid4().hex)


def create(name: str, arms: Sequence[Any], options: Mapping[str, Any]) -> Call:
    """Return the request for a new bandit."""
    return with_body("POST", "/v1/bandits", {"name": name, **create_fields(arms, options)})


_MORE = ("payload", "probability", "why", "segment", "held_out")
"""What a decision may have besides its arm and its token."""


def decisions_of(answer: Any, n: int | None) -> list[ServedDecision]:
    """Return the decisions in an answer."""
    rows = [answer] if n is None else answer["decisions"]
    return [
        ServedDecision(
            row["arm"],
            row["token"],
            **{name: row[name] for name in _MORE if name in row},
        )
        for row in rows
    ]


def fallen_back(arm: str | int | None, n: int | None, error: ServiceError) -> list[ServedDecision]:
    """Return decisions for the arm to use if the service does not decide.

    An error that says that the request is wrong is raised: it would come every time, and the
    service would never learn anything.
    """
    if arm is None or not decides_later(error):
        raise error
    log.warning("using the fallback arm %r: %s", arm, error)
    return [ServedDecision(arm, None)] * (n or 1)


def decides_later(error: ServiceError) -> bool:
    """Return whether the service has not answered, or has said that it does not decide now.

    Whoever pauses a bandit must not break the pages that ask it.
    """
    status, is_paused = error.status, error.kind == "paused"
    return status is None or status in (408, 429) or status >= 500 or is_paused


def token_of(decision: ServedDecision | str) -> str | None:
    """Return the token of a decision; None of a fallback."""
    return decision.token if isinstance(decision, ServedDecision) else decision


def reward(
    decision: ServedDecision | str, value: float, key: str | None, guardrail: float | None = None
) -> Call | None:
    """Return the request that tells a reward; None if it is of a fallback."""
    body = {"reward": finite(value, "reward", "if there is no reward, tell none")}
    if guardrail is not None:
        body["guardrail"] = finite(guardrail, "guardrail", "leave it out")
    token = token_of(decision)
    if token is None:
        return None
    path = f"/v1/decisions/{quote(token, safe='')}/reward"
    return with_body("PUT", path, body, key or uuid.uuid4().hex)


def observations(bandit: str, pairs: Sequence[tuple[str | int, float]], key: str | None) -> Call:
    """Return the request that tells what others have decided and got."""
    seen = [
        {"arm": arm, "reward": finite(value, f"observations[{place}]: reward", "leave it out")}
        for place, (arm, value) in enumerate(pairs)
    ]
    path = bandit_path(bandit, "observations")
    return with_body("POST", path, {"observations": seen}, key or uuid.uuid4().hex)


def rewards(
    pairs: Sequence[tuple[ServedDecision | str, float]], key: str | None, *, atomic: bool
) -> Call | None:
    """Return the request that tells several rewards; None if all are of fallbacks."""
    told = [
        {
            "token": token_of(decision),
            "reward": finite(value, f"rewards[{place}]: reward", "leave it out"),
        }
        for place, (decision, value) in enumerate(pairs)
    ]
    told = [each for each in told if each["token"] is not None]
    if not told:
        return None
    body = {"rewards": told, "atomic": atomic}
    return with_body("POST", BATCH, body, key or uuid.uuid4().hex)


def results_of(
    answer: Any, pairs: Sequence[tuple[ServedDecision | str, float]]
) -> list[RewardResult]:
    """Return what became of each of several rewards; `answer` is None if none was sent."""
    rows = iter([] if answer is None else answer["results"])
    found = []
    for decision, _ in pairs:
        token = token_of(decision)
        problem = None if token is None else next(rows).get("problem")
        error = None if problem is None else error_of(problem, problem["status"])
        found.append(RewardResult(token, token is not None and error is None, error))
    refused = [each.error for each in found if each.error is not None]
    if refused:
        log.warning("%d of %d rewards are refused: %s", len(refused), len(found), refused[0])
    return found


def bandit_path(name: str, *more: str) -> str:
    """Return the path of a bandit, or of a part of it."""
    return "/".join(["/v1/bandits", quote(name, safe=""), *more])
