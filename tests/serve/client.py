"""A client that calls the ASGI application itself, or its connections without a network."""

import asyncio
import json
from dataclasses import dataclass
from typing import Any

import uvicorn
from uvicorn.server import ServerState

from lastblock.serve.quick import protocol_for
from lastblock.serve.server import application, open_service
from lastblock.serve.settings import Settings


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


class Wire(asyncio.Transport):
    """What a connection writes to; a client may look at it or wait for an answer."""

    def __init__(self, connection):
        super().__init__()
        self.connection = connection
        self.written, self.is_closed, self.is_paused = b"", False, False
        self.news = asyncio.Event()
        connection.connection_made(self)

    def get_extra_info(self, name, default=None):
        places = {"peername": ("192.0.2.1", 5), "sockname": ("192.0.2.2", 80)}
        return places.get(name, default)

    def write(self, data):
        assert not self.is_closed
        self.written += data
        self.news.set()

    def is_closing(self):
        return self.is_closed

    def close(self):
        if not self.is_closed:
            self.is_closed = True
            self.news.set()
            asyncio.get_running_loop().call_soon(self.connection.connection_lost, None)

    def pause_reading(self):
        self.is_paused = True

    def resume_reading(self):
        self.is_paused = False

    async def answer(self, has_body=True):
        """Return the next answer; None if the connection is closed without one."""
        while True:
            head, found, rest = self.written.partition(b"\r\n\r\n")
            first, *lines = head.decode("latin-1").split("\r\n")
            headers = dict(line.split(": ", 1) for line in lines)
            size = int(headers.get("content-length", 0)) if has_body else 0
            if found and len(rest) >= size:
                self.written = rest[size:]
                return Answer(int(first.split()[1]), headers, rest[:size])
            if self.is_closed:
                return None
            self.news.clear()
            await self.news.wait()


class Service:
    """An open service, with an admin key.

    `way` is what requests are given to: "application", or "connection" for one after the other of
    those that the server makes.
    """

    def __init__(self, place, way="application", **settings):
        self.way = way
        self.runner = asyncio.Runner()
        self.state = open_service(Settings(store=str(place), **settings))
        self.key, self.admin = self.state.keys.create(["admin"])
        self.app, self.around = application(self.state)
        self.is_closed = False
        self.runner.run(self.state.host.open())

    def close(self):
        if not self.is_closed:
            self.is_closed = True
            self.runner.run(self.state.host.close())
            self.runner.close()

    def send(self, *requests):
        """Send requests at once, each a dictionary of `request`'s arguments."""

        async def all_of_them():
            return await asyncio.gather(*[self.request(**each) for each in requests])

        return self.runner.run(all_of_them())

    async def request(self, method, path, body=None, key=None, headers=None, raw=None):
        sent = raw if raw is not None else b"" if body is None else json.dumps(body).encode()
        key = self.key if key is None else key
        lines = {"content-type": "application/json", **(headers or {})}
        if key:
            lines["authorization"] = f"Bearer {key}"
        if self.way == "connection":
            wire = self.connect()
            wire.connection.data_received(written(method, path, lines, sent))
            answer = await wire.answer(has_body=method != "HEAD")
            wire.close()
            return answer
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
        got = []

        async def receive():
            return parts.pop() if parts else {"type": "http.disconnect"}

        async def send(message):
            got.append(message)

        await self.around(scope, receive, send)
        start, *bodies = got
        found = {k.decode(): v.decode() for k, v in start["headers"]}
        return Answer(start["status"], found, b"".join(each["body"] for each in bodies))

    def connect(self):
        """Return a new connection, of which the server knows as of a client's."""
        settings = {"lifespan": "off", "ws": "none", "log_config": None, "access_log": False}
        config = uvicorn.Config(self.around, http=protocol_for(self.app), **settings)
        config.load()
        state = ServerState()
        return Wire(config.http_protocol_class(config, state, {}, asyncio.get_running_loop()))

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


def written(method, path, headers, body=b""):
    """Return a request as it is on the wire."""
    lines = [f"{method} {path} HTTP/1.1", f"content-length: {len(body)}"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    return "\r\n".join([*lines, "", ""]).encode("utf-8") + body
