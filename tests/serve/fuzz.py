"""Requests of many kinds to every operation of the API, as its description allows and forbids them.

What comes back must be an answer that the description has, with a body of the type that it says,
and never a 5xx. A request that the description forbids is refused. One that it allows is accepted,
or refused for what the bandits are, never for its form. Names, labels and tokens of requests are
mostly those of bandits that exist.
"""

import json
from collections import Counter
from urllib.parse import quote, urlencode

import requests
import schemathesis
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from schemathesis import GenerationMode
from schemathesis.core.transport import Response
from schemathesis.specs.openapi.checks import negative_data_rejection

from lastblock.serve.http import Request
from lastblock.serve.routing import Router

RAIL = {"control": "red", "worse": "higher"}
ARMS = ["red", "green", 3, {"label": "blue", "payload": {"price": 7}}]
BANDITS = {
    "plain": {},
    "guarded": {"guardrail": RAIL, "floor": 0.1, "reward_window": 60, "default_reward": 0},
    "held": {"holdout": {"share": 0.5, "control": "red"}},
    "split": {"segments": 2},
    "summed": {"aggregation": "sum", "floor": {"red": 0.2}},
    "adaptive": {"policy": "AdaptiveLBSDA"},
}
ASKED = [{}, {"n": 2}, {"unit": "a"}, {"segment": "de", "unit": "b"}, {"without": ["red"]}]


class Fuzzer:
    """A service with some bandits, to which requests are sent.

    Parameters
    ----------
    service
        The service.
    """

    def __init__(self, service):
        self.service = service
        schema = schemathesis.openapi.from_dict(service.get("/openapi.json").json)
        self.operations = [each.ok() for each in schema.get_all_operations()]
        self.router = Router(service.app.api)
        self.statuses, self.accepted = Counter(), Counter()
        self.fill()

    def fill(self):
        """Make the bandits that requests are about, with tokens of all kinds."""
        self.tokens = ["", "nonsense", "lb1.x.y"]
        for name, more in BANDITS.items():
            self.service.delete(f"/v1/bandits/{name}")
            self.service.create(name, arms=ARMS, **more)
            for asked in ASKED:
                found = self.service.decide(name, **asked)
                if found.status == 201:
                    several = found.json.get("decisions", [found.json])
                    self.tokens += [each["token"] for each in several]
        for token in self.tokens[::3]:
            self.service.reward(token, 1.0)
        self.ids = [self.service.state.keys.create(["read"])[1].id for _ in range(5)]

    def cases(self, operation):
        """Return requests to an operation: half as it should be, half as it should not."""
        here = {
            "name": st.sampled_from([*BANDITS, "split@de", "held@@holdout"]),
            "label": st.sampled_from(["red", "green", "3", "blue", "grey"]),
            "token": st.sampled_from(self.tokens),
            "id": st.sampled_from(self.ids),
        }

        @st.composite
        def made(draw):
            mode = draw(st.sampled_from([GenerationMode.POSITIVE, GenerationMode.NEGATIVE]))
            case = draw(operation.as_strategy(generation_mode=mode))
            for name in case.path_parameters or {}:
                if name in here and draw(st.sampled_from([True] * 7 + [False])):
                    case.path_parameters[name] = quote(draw(here[name]), safe="")
            # So that some requests fit a bandit that exists.
            if mode is GenerationMode.POSITIVE and isinstance(case.body, dict):
                told = {"token": draw(here["token"]), "reward": 0.5}
                fit = {
                    "among": ["red"],
                    "control": "red",
                    "observations": [{"arm": "red", "reward": 0.5}],
                    "policies": ["UCB1"],
                    "rewards": [told, {**told, "reward": 1e300}],
                }
                for name, value in fit.items():
                    if name in case.body and draw(st.booleans()):
                        case.body[name] = value
                for name in ("replications", "bootstrap"):  # as few as make no difference
                    if name in case.body:
                        case.body[name] = min(case.body[name], 3)
            return case

        return made()

    def send(self, case):
        """Send a request, and check what comes back."""
        path = case.path
        for name, value in (case.path_parameters or {}).items():
            path = path.replace(f"{{{name}}}", str(value))  # it is encoded already
        query = urlencode(list(_pairs(case.query or {})), errors="replace")
        headers = {
            name: str(value).encode("latin-1", "replace").decode("latin-1")
            for name, value in (case.headers or {}).items()
            if name.lower() != "authorization" and value is not None
        }
        raw = b""
        if not isinstance(case.body, schemathesis.core.NotSet):
            raw = case.body if isinstance(case.body, bytes) else _encoded(case.body)
        method = case.method.upper()
        target = path + f"?{query}" * bool(query)
        is_negative = case.meta.generation.mode.is_negative
        is_known = not is_negative or "Authorization" in (case.headers or {})
        key = None if is_known else ""  # the service's, or none
        answer = self.service.call(method, target, raw=raw, headers=headers, key=key)
        self.statuses[answer.status] += 1
        about = f"{method} {target}\n{headers}\n{raw!r}\n→ {answer.status} {answer.body[:500]!r}"
        assert answer.status < 500, about
        allowed = case.operation.definition.raw["responses"]
        assert str(answer.status) in allowed or "default" in allowed, about
        prepared = requests.Request(method, f"http://127.0.0.1{target}").prepare()
        lines = {name: [value] for name, value in answer.headers.items()}
        found = Response(answer.status, lines, answer.body, prepared, 0.1, verify=False)
        label = case.operation.label
        self.accepted[label] += answer.status < 400
        try:
            case.operation.validate_response(found)
            if is_negative and answer.status != 413:  # schemathesis does not expect it
                case.validate_response(found, checks=[negative_data_rejection])
            else:
                self.check_form(method, path, query, headers, raw)
        except Exception as error:
            raise AssertionError(f"{error}\n{about}") from None

    def check_form(self, method, path, query, headers, raw):
        """Raise a `ProblemError` if the server refuses the form of a request."""
        route, _ = self.router.find(method, path.encode())
        pairs = [
            (name.lower().encode(), value.encode("latin-1")) for name, value in headers.items()
        ]
        scope = {"query_string": query.encode(), "headers": pairs}
        dict(route.read_options(Request(scope, None)))
        if route.takes is not None:
            route.takes.read(raw)

    def try_all(self, examples):
        """Send many requests to every operation."""
        for number, operation in enumerate(self.operations):

            @seed(number)
            @settings(
                max_examples=examples,
                deadline=None,
                database=None,
                phases=[Phase.generate],
                suppress_health_check=list(HealthCheck),
            )
            @given(self.cases(operation))
            def try_one(case):
                self.send(case)

            try_one()
            if operation.method in ("delete", "patch"):
                self.fill()  # what was deleted, retired or paused


def _pairs(query):
    for name, value in query.items():
        for each in value if isinstance(value, list) else [value]:
            yield name, each if isinstance(each, str) else json.dumps(each)


def _encoded(body):
    try:
        return json.dumps(body).encode()
    except (TypeError, ValueError):
        return repr(body).encode()
