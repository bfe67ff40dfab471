"""Frames between fronts and the owner, and what a front answers when the owner ends."""

import asyncio
import tempfile

import pytest

from lastblock.serve.settings import Settings
from lastblock.serve.workers.frames import Answer, AnswerPart, Ask, Link, More, ToFront, ToOwner
from lastblock.serve.workers.front import Front
from lastblock.serve.workers.owner import WINDOW, Offices


class Wire:
    """A transport that keeps what is written."""

    def __init__(self):
        self.frames, self.is_closed = [], False

    def write(self, data):
        self.frames.append(bytes(data))

    def close(self):
        self.is_closed = True


def asks(number):
    return [Ask(n, "POST", b"/x", b"", [(b"a", b"b")], "", "http", b"y" * n) for n in range(number)]


@pytest.mark.parametrize("size", [1, 3, 7, 100, 10_000])
def test_messages_of_a_moment_are_one_frame_and_come_in_pieces_of_any_size(size):
    async def talk():
        got, wire = [], Wire()
        here, there = Link(ToFront, got.append), Link(ToOwner, got.append)
        here.connection_made(wire)
        for message in asks(20):
            here.send(message)
        await asyncio.sleep(0)
        here.send(More(7))
        await asyncio.sleep(0)
        assert len(wire.frames) == 2
        data = b"".join(wire.frames)
        for start in range(0, len(data), size):
            there.data_received(data[start : start + size])
        assert got == [*asks(20), More(7)]

    asyncio.run(talk())


def test_large_messages_do_not_wait_for_others():
    async def talk():
        wire = Wire()
        link = Link(ToFront, print)
        link.connection_made(wire)
        for number in range(3):
            link.send(AnswerPart(number, b"x" * 600_000, False), 600_000)
        assert len(wire.frames) == 1
        await asyncio.sleep(0)
        assert len(wire.frames) == 2

    asyncio.run(talk())


class House:
    """A front and an owner in one process, whose application is a test's."""

    def __init__(self, app):
        self.app = app

    async def __aenter__(self):
        self.folder = tempfile.TemporaryDirectory()
        path = f"{self.folder.name}/owner.sock"
        self.offices = Offices(self.app, lambda ask, send: False)
        loop = asyncio.get_running_loop()
        self.server = await loop.create_unix_server(self.offices.meet, path)
        self.front = Front(Settings(store="x"), path)
        self.work = asyncio.ensure_future(self.front.work())
        await self.front.is_linked.wait()
        return self

    async def __aexit__(self, *_):
        self.work.cancel()
        self.server.close()
        await asyncio.wait([self.work])
        for task in list(self.offices.tasks):
            task.cancel()
        await self.offices.quiet()
        await asyncio.sleep(0.01)
        self.folder.cleanup()

    def lose_owner(self):
        self.server.close()
        for link in list(self.offices.links):
            link.close()

    async def get(self, sent, path="/x"):
        """Send a request; `sent` is called with each message of the answer."""
        scope = {"type": "http", "method": "GET", "path": path, "query_string": b"", "headers": []}
        told = [{"type": "http.request", "body": b"", "more_body": False}]

        async def receive():
            if told:
                return told.pop()
            return await asyncio.get_running_loop().create_future()

        await self.front(scope, receive, sent)


def keeping():
    got = []

    async def sent(message):
        got.append(message)

    return got, sent


def test_requests_under_way_get_a_503_when_the_owner_ends():
    async def hang(scope, receive, send):
        begun.set()
        await asyncio.Event().wait()

    begun = asyncio.Event()

    async def live():
        async with House(hang) as house:
            got, sent = keeping()
            asking = asyncio.ensure_future(house.get(sent))
            await begun.wait()
            house.lose_owner()
            await asyncio.wait_for(asking, 10)
            assert got[0]["status"] == 503
            assert (b"retry-after", b"1") in got[0]["headers"]
            got.clear()
            await house.get(sent)
            assert got[0]["status"] == 503
            got.clear()
            await house.get(sent, "/livez")
            assert got[0]["status"] == 200

    asyncio.run(live())


@pytest.mark.parametrize(
    ("kind", "ends"), [(b"text/event-stream", True), (b"application/octet-stream", False)]
)
def test_half_a_file_is_cut_off_and_a_stream_of_events_ends(kind, ends):
    async def stream(scope, receive, send):
        headers = [(b"content-type", kind)]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": b"half", "more_body": True})
        await asyncio.Event().wait()

    async def live():
        async with House(stream) as house:
            got, sent = keeping()
            asking = asyncio.ensure_future(house.get(sent))
            while len(got) < 2:
                await asyncio.sleep(0.001)
            house.lose_owner()
            await asyncio.wait_for(asking, 10)
            assert got[1]["body"] == b"half"
            assert (not got[-1].get("more_body")) == ends

    asyncio.run(live())


def test_an_answer_that_never_comes_is_a_503():
    async def nothing(scope, receive, send):
        return

    async def live():
        async with House(nothing) as house:
            got, sent = keeping()
            await asyncio.wait_for(house.get(sent), 10)
            assert got[0]["status"] == 503

    asyncio.run(live())


def test_a_slow_reader_stops_its_own_stream():
    made = []

    async def many(scope, receive, send):
        await send({"type": "http.response.start", "status": 200, "headers": []})
        for number in range(50):
            await send({"type": "http.response.body", "body": b"part", "more_body": True})
            made.append(number)
        await send({"type": "http.response.body", "body": b""})

    async def live():
        async with House(many) as house:
            got, goes = [], asyncio.Event()

            async def slow(message):
                got.append(message)
                await goes.wait()

            asking = asyncio.ensure_future(house.get(slow))
            await asyncio.sleep(0.2)
            assert len(made) <= WINDOW + 2
            goes.set()
            await asyncio.wait_for(asking, 10)
            assert len(made) == 50
            assert sum(each.get("body") == b"part" for each in got) == 50
            assert got[-1]["more_body"] is False

    asyncio.run(live())


def test_answers_without_parts_need_one_message():
    async def hello(scope, receive, send):
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": scope["method"].encode()})

    async def live():
        got = []
        offices = Offices(hello, lambda ask, send: False)
        link, wire = offices.meet(), Wire()
        link.connection_made(wire)
        link._take(asks(1)[0])
        await offices.quiet()
        await asyncio.sleep(0)
        Link(ToFront, got.append).data_received(b"".join(wire.frames))
        assert got == [Answer(0, 200, [], b"POST", False)]

    asyncio.run(live())
