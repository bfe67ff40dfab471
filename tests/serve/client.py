"""A client that calls the ASGI application itself, without a network."""

import asyncio
import json
from dataclasses import dataclass
from typing import Any

from lastblock.serve.alerts import Watcher
from lastblock.serve.app import App
from lastblock.serve.server import expire, open_service
from lastblock.serve.settings import Settings

ARMS = ["red", "green", "blue"]


@dataclass
class Answer:
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def kind(self) -> str:
        """The kind of the problem."""
        assert self.headers["content-type"] == "application/problem+json", self.body
        assert self.json["status"] == self.status
        return self.json["type"].removeprefix("urn:lastblock:problem:")


class Service:
    """An open service, with an admin key."""

    def __init__(self, place, **settings):
        self.runner = asyncio.Runner()
        self.state = open_service(Settings(store=str(place), **settings))
        self.key, self.admin = self.state.keys.create(["admin"])
        self.app = App(self.state)
        self.watcher = Watcher(self.state.host, self.state.alerts)
        self.is_closed = False
        self.runner.run(self.state.host.open())

    def close(self):
        if not self.is_closed:
            self.is_closed = True
            self.runner.run(self.state.host.close())
            self.runner.close()

    def look(self):
        """Look for what alerts tell of."""
        self.runner.run(self.watcher.look())

    def expire(self):
        """End the wait for rewards that are too late."""
        return expire(self.state, self.state.host.bandits.values())

    def send(self, *requests):
        """Send requests at once, each a dictionary of `request`'s arguments."""

        async def all_of_them():
            return await asyncio.gather(*[self.request(**each) for each in requests])

        return self.runner.run(all_of_them())

    async def request(self, method, path, body=None, key=None, headers=None, raw=None, until=bool):
        """Send a request, and go once `until` holds for the body of the answer so far."""
        sent = raw if raw is not None else b"" if body is None else json.dumps(body).encode()
        key = self.key if key is None else key
        lines = {"host": "localhost", "content-type": "application/json", **(headers or {})}
        if key:
            lines["authorization"] = f"Bearer {key}"
        path, _, query = path.partition("?")
        scope = {
            "type": "http",
            "method": method,
            "path": path,
            "raw_path": path.encode(),
            "query_string": query.encode(),
            "headers": [(k.lower().encode(), v.encode()) for k, v in lines.items()],
            "client": ("192.0.2.1", 5),
        }
        parts = [{"type": "http.request", "body": sent, "more_body": False}]
        got, enough = [], asyncio.Event()

        async def receive():
            if parts:
                return parts.pop()
            await enough.wait()
            return {"type": "http.disconnect"}

        async def send(message):
            got.append(message)
            if until(b"".join(each.get("body", b"") for each in got)):
                enough.set()

        await self.app(scope, receive, send)
        start, *bodies = got
        found = {k.decode(): v.decode() for k, v in start["headers"]}
        return Answer(start["status"], found, b"".join(each["body"] for each in bodies))

    def call(self, method, path, body=None, **more):
        return self.runner.run(self.request(method, path, body, **more))

    def get(self, path, **more):
        return self.call("GET", path, **more)

    def post(self, path, body=None, **more):
        return self.call("POST", path, body, **more)

    def put(self, path, body=None, **more):
        return self.call("PUT", path, body, **more)

    def patch(self, path, body=None, **more):
        return self.call("PATCH", path, body, **more)

    def delete(self, path, **more):
        return self.call("DELETE", path, **more)

    def create(self, name="button", **more):
        """Make a bandit, of three arms if nothing else is said."""
        new = {"name": name, "policy": "LBSDAGM", "arms": ARMS, "seed": 1, **more}
        made = self.post("/v1/bandits", new)
        assert made.status == 201, made.body
        return made

    def decide(self, name="button", key="", **asked):
        """Ask for a decision, with a key that makes it safe to ask again."""
        headers = {"Idempotency-Key": key} if key else {}
        return self.post(f"/v1/bandits/{name}/decisions", asked, headers=headers)

    def reward(self, token, reward, **more):
        return self.put(f"/v1/decisions/{token}/reward", {"reward": reward, **more})

    def learn(self, rewards, name="button", **asked):
        """Take a decision for each reward, and return the decisions."""
        made = []
        for reward in rewards:
            made.append(self.decide(name, **asked).json)
            assert self.reward(made[-1]["token"], reward).status == 204
        return made

    def summary(self, name="button"):
        return self.get(f"/v1/bandits/{name}/summary").json
