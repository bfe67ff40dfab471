"""Clients that retry, send twice, late, slowly and garbage, and leave, while everything is killed.

Several servers may share a PostgreSQL database, which is killed, restarted, made read-only and set
back to a copy; the disk of a file becomes full. Servers read their certificates again. A bandit is
damaged now and then, and mended. At the end every decision and reward that was acknowledged must be
in the log exactly once, and the log must verify. What a copy did not have must be named as lost in
the logs of the servers.

    python tests/serve/soak.py SECONDS sqlite|postgres
"""

import collections
import contextlib
import json
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
import uuid
from datetime import timedelta
from pathlib import Path
from typing import NamedTuple

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))

import lastblock as lb
from lastblock.client import Client, ServiceError
from store.databases import fetch
from store.postgres_server import Server as Database
from store.postgres_server import free_port

NAMES = ["button", "price", "late", "frail"]
"""Rewards of "late" come too late now and then; "frail" is damaged now and then."""

SWITCH = "UPDATE bandits SET last_event = -1 - last_event WHERE name = 'frail' AND last_event"
HURT, HEAL = f"{SWITCH} >= 0", f"{SWITCH} < 0"
IS_HURT = "SELECT last_event < 0 FROM bandits WHERE name = 'frail'"
MENDED = 30.0
"""Seconds within which a bandit that was mended is served again."""

CLIENTS = 6
WINDOW = 3.0
"""Seconds in which rewards of "late" must come."""

SIGNS = ("Traceback", "defect")
"""What must not be in the log of a server."""


class Found(NamedTuple):
    kills: collections.Counter
    decided: int
    """How many decisions were acknowledged, and how many rewards were `told`."""
    told: int
    lost: int
    """How many events the servers have named as lost, and how many acknowledged ones are."""
    missing: int
    wrong: list


class Server:
    """A server that can be killed and started again at the same address."""

    def __init__(self, store, log):
        self.store, self.port, self.process = store, free_port(), None
        self.log = log
        self.url = f"http://127.0.0.1:{self.port}"

    def start(self):
        command = [sys.executable, "-m", "lastblock", "serve", str(self.store), "--insecure"]
        command += ["--port", str(self.port)]
        with open(self.log, "a") as log:
            self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True)
        assert "serves" in self.process.stdout.readline(), Path(self.log).read_text()[-2000:]

    def end(self, number):
        """End it, and wait until it has ended."""
        self.process.send_signal(number)
        assert self.process.wait(90) == (0 if number == signal.SIGTERM else -number)
        self.process.stdout.close()


class Visitor(threading.Thread):
    """One client of one or several servers, with what was acknowledged to it."""

    def __init__(self, urls, seed, stop, killer):
        super().__init__()
        self.random, self.stop, self.urls = random.Random(seed), stop, urls
        self.killer = killer
        self.clients = [Client(url, timeout=20.0, retries=200) for url in self.urls]
        self.decided = {}  # token: name of the bandit
        self.told = {}  # token: reward
        self.failures = []

    def run(self):
        waiting = []
        while not self.stop.is_set():
            try:
                self.step(self.random.choice(self.clients), waiting)
            except ServiceError as error:
                if error.status is not None and error.status != 503:
                    self.failures.append(str(error))
            except Exception as error:  # a thread's error must reach the test
                self.failures.append(repr(error))
                return
        for client in self.clients:
            client.close()

    def step(self, client, waiting):
        chance, name = self.random.random(), self.random.choice(NAMES)
        if chance < 0.5:
            key, era = uuid.uuid4().hex, self.killer.era
            made = client.decide(name, key=key)
            self.decided[made.token] = name
            waiting.append(made.token)
            if self.random.random() < 0.2:  # sent twice, elsewhere maybe: the same decision
                again = self.random.choice(self.clients).decide(name, key=key)
                assert again.token == made.token or self.killer.era > era
        elif chance < 0.9 and waiting:
            token = waiting.pop(self.random.randrange(len(waiting)))  # in any order, late
            reward = float(self.random.random() < 0.3)
            self.tell(client, token, reward)
            if self.random.random() < 0.2:
                self.tell(self.random.choice(self.clients), token, reward)
        elif chance < 0.95:
            self.disturb()

    def tell(self, client, token, reward):
        try:
            client.reward(token, reward)
        except ServiceError as error:
            # An answer may be lost, and the reward of the second attempt be too late.
            is_late = error.status in (409, 410) and self.decided[token] == "late"
            if not (is_late or (error.status == 404 and self.killer.era)):
                raise
        else:
            self.told[token] = reward

    def disturb(self):
        """Send garbage, or half a request, and leave."""
        head = b"POST /v1/bandits/button/decisions HTTP/1.1\r\nHost: x"
        texts = [b"\x00\xff garbage\r\n\r\n", head, head + b"\r\nContent-Length: 50\r\n\r\n{"]
        port = int(self.random.choice(self.urls).rpartition(":")[2])
        with (
            contextlib.suppress(OSError),
            socket.create_connection(("127.0.0.1", port), timeout=1) as connection,
        ):
            connection.sendall(self.random.choice(texts))


class Snail(threading.Thread):
    """A client that sends a byte now and then, or many requests whose answers it does not read."""

    def __init__(self, urls, seed, stop):
        super().__init__()
        self.random, self.stop, self.urls = random.Random(seed), stop, urls

    def run(self):
        while not self.stop.is_set():
            host = self.random.choice(self.urls).removeprefix("http://")
            port = int(host.rpartition(":")[2])
            read = f"GET /v1/bandits HTTP/1.1\r\nHost: {host}\r\n\r\n".encode()
            with (
                contextlib.suppress(OSError),
                socket.create_connection(("127.0.0.1", port), timeout=1) as connection,
            ):
                if self.random.random() < 0.5:
                    connection.sendall(500 * read)
                    self.stop.wait(3.0)
                for byte in read[: self.random.randrange(20)]:
                    connection.sendall(bytes([byte]))
                    self.stop.wait(0.3)
            self.stop.wait(0.1)


class Killer:
    """Kills servers and the database, fills the disk and damages data, one at a time, and counts.

    `disk` is the folder of a small disk on which the store is; None if there is none.
    """

    def __init__(self, servers, store, database, disk, seed):
        self.servers, self.store = servers, store
        self.database, self.disk, self.dice = database, disk, random.Random(seed)
        self.ways = ["kill", "stop", "renew", "damage"]
        self.ways += ["full"] if disk is not None else []
        if database is not None:
            self.ways += ["base", "restart", "read_only", "freeze", "rewind"]
        self.era = 0  # how often the database was set back
        self.turns, self.kills, self.wrong = [], collections.Counter(), []

    def strike(self):
        """Kill something, and start it again if nobody else does."""
        if not self.turns:
            self.turns = self.dice.sample(self.ways, len(self.ways))
        way = self.turns.pop()
        self.kills[way] += 1
        getattr(self, way)(self.dice.choice(self.servers))

    def damage(self, _):
        """Damage the state of a bandit while no server runs, and mend it when they run again."""
        for server in self.servers:
            server.end(signal.SIGKILL)
        fetch(self.store, HURT)
        for server in self.servers:
            server.start()
        if fetch(self.store, IS_HURT)[0][0]:  # and no transaction on its way has written it since
            with urllib.request.urlopen(f"{self.servers[0].url}/v1/bandits", timeout=30) as answer:
                shown = {each["name"]: each["damage"] for each in json.load(answer)["bandits"]}
            if [name for name in NAMES if shown[name] is not None] != ["frail"]:
                self.wrong.append(f"damaged ones are shown as {shown}")
        time.sleep(self.dice.uniform(0.0, 3.0))
        fetch(self.store, HEAL)

    def full(self, _):
        """Fill the disk for a while."""
        ballast = self.disk / "ballast"
        with contextlib.suppress(OSError), ballast.open("wb") as file:
            while True:
                file.write(bytes(1 << 14))
                file.flush()
        time.sleep(self.dice.uniform(0.5, 3.0))
        ballast.unlink()

    def kill(self, server):
        server.end(signal.SIGKILL)
        server.start()

    def stop(self, server):
        server.end(signal.SIGTERM)
        server.start()

    def renew(self, server):
        """Have a server read its certificate again several times, as more connections come."""
        for _ in range(4):
            server.process.send_signal(signal.SIGHUP)
            time.sleep(self.dice.uniform(0.0, 0.3))

    def freeze(self, server):
        """Stop who has the bandits, for longer than a lease maybe, and let it go on."""
        server.process.send_signal(signal.SIGSTOP)
        time.sleep(self.dice.uniform(1.0, 15.0))
        server.process.send_signal(signal.SIGCONT)

    def base(self, _):
        self.database.kill()
        time.sleep(self.dice.uniform(0.0, 2.0))
        self.database.start()

    def restart(self, _):
        """Restart the database in order, after a while: longer than a lease, maybe."""
        self.database.stop()
        time.sleep(self.dice.uniform(0.0, 12.0))
        self.database.start()

    def read_only(self, _):
        """Have the database refuse all changes for a while."""
        for state in ("on", "off"):
            self.database.execute(f"ALTER SYSTEM SET default_transaction_read_only = {state}")
            self.database.execute("SELECT pg_reload_conf()")
            if state == "on":
                time.sleep(self.dice.uniform(0.5, 3.0))

    def rewind(self, _):
        """Set the database back to a copy, and give the owners of bandits time to notice."""
        data, copy = self.database.data, self.database.folder / "copy"
        for place, other in ((data, copy), (copy, data)):
            self.database.stop()
            shutil.rmtree(other, ignore_errors=True)
            subprocess.run(["cp", "-a", str(place), str(other)], check=True)
            self.era += place is copy
            self.database.start()
            time.sleep(self.dice.uniform(1.0, 4.0))
        time.sleep(8.0)


@contextlib.contextmanager
def small_disk(folder):
    """A folder on a small disk of its own; None where none can be mounted."""
    disk = folder / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=64m", "none", str(disk)]
    if shutil.which("mount") is None or subprocess.run(mount, check=False).returncode != 0:
        yield None
        return
    try:
        yield disk
    finally:
        subprocess.run(["umount", str(disk)], check=True)


def soak(folder, seconds, seed=1, *, database=None, servers=1, pause=(0.3, 2.0)):
    """Let clients and kills happen for some seconds, and return what was found."""
    folder = Path(folder)
    if database is not None:
        return _soak(folder, seconds, seed, database, None, servers, pause)
    with small_disk(folder) as disk:
        return _soak(folder, seconds, seed, None, disk, servers, pause)


def _soak(folder, seconds, seed, database, disk, servers, pause):
    store = (disk or folder) / "shop.db" if database is None else database.url(schema="soak")
    running = [Server(store, folder / f"log{each}") for each in range(servers)]
    stop, killer = threading.Event(), Killer(running, store, database, disk, seed)
    for server in running:
        server.start()
    with Client(running[0].url, timeout=30.0) as admin:
        for name in NAMES:
            more = {"reward_window": WINDOW, "default_reward": 0.0} if name == "late" else {}
            admin.create(name, ["red", "green", "blue"], policy="LBSDAGM", seed=seed, **more)
    urls = [server.url for server in running]
    visitors = [Visitor(urls, seed + place, stop, killer) for place in range(CLIENTS)]
    threads = [*visitors, Snail(urls, seed, stop)]
    for thread in threads:
        thread.start()
    until = time.monotonic() + seconds
    try:
        while time.monotonic() < until:
            time.sleep(killer.dice.uniform(*pause))
            killer.strike()
        with Client(running[0].url, timeout=MENDED, retries=1000) as client:
            decide_all(client, time.monotonic() + MENDED)
    finally:
        stop.set()
        for thread in threads:
            thread.join(60)
        for server in running:
            server.end(signal.SIGTERM)
    wrong = killer.wrong + [failure for visitor in visitors for failure in visitor.failures]
    lines = [line for each in running for line in Path(each.log).read_text().splitlines()]
    wrong += [line for line in lines if any(sign in line for sign in SIGNS)]
    decided = {token: name for each in visitors for token, name in each.decided.items()}
    told = {token: reward for each in visitors for token, reward in each.told.items()}
    lost = named(lines)
    missing, more = compare(store, decided, told, lost)
    return Found(killer.kills, len(decided), len(told), lost.total(), missing, wrong + more)


def named(lines):
    """How many events of each bandit servers have named as lost."""
    loss = re.compile(r"bandit '(\w+)': .* went back .* events (\d+) to (\d+) are lost")
    count = collections.Counter()
    for name, first, last in {match.groups() for match in map(loss.match, lines) if match}:
        count[name] += int(last) - int(first) + 1
    return count


def decide_all(client, until):
    """Wait until all bandits decide again."""
    waiting = list(NAMES)
    while waiting:
        try:
            client.decide(waiting[-1])
            waiting.pop()
        except ServiceError as error:
            if error.status not in (None, 503) or time.monotonic() > until:
                raise
            time.sleep(0.2)


def compare(place, decided, told, lost):
    """Compare the log with what was acknowledged.

    Returns how many decisions and rewards are missing, and what is wrong beyond `lost` events.
    """
    wrong, missing = [], 0
    with lb.Store(place, keep_events=True) as store:
        for name in set(decided.values()):
            store.verify(name)
            store.bandit(name).expire(older_than=timedelta(0))  # rewards may wait for that
            asked, rewards = collections.Counter(), {}
            for event in store.events(name, limit=10_000_000):
                if event.kind == "ask":
                    asked[event.id] += 1
                elif event.kind == "tell":
                    rewards.setdefault(event.id, []).append(event.value)
            differs = []
            for token in (token for token, owner in decided.items() if owner == name):
                _, id = store.read_token(token)
                if asked[id] != 1:
                    differs.append(f"{name}: decision {id} is {asked[id]} times in the log")
                if token in told and rewards.get(id) != [told[token]]:
                    differs.append(f"{name}: decision {id} has rewards {rewards.get(id)}")
            missing += len(differs)
            if len(differs) > lost[name]:
                wrong += [f"{name}: {lost[name]} events are named as lost", *differs]
            if any(len(values) > 1 for values in rewards.values()) or max(asked.values()) > 1:
                wrong.append(f"{name}: a decision was taken or told twice")
    return missing, wrong


if __name__ == "__main__":
    seconds, kind = float(sys.argv[1]), sys.argv[2]
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as closing:
        options = {}
        if kind == "postgres":
            options = {"database": Database(fsync="on"), "servers": 2, "pause": (1.0, 9.0)}
            closing.callback(options["database"].close)
        print(json.dumps(soak(folder, seconds, **options)._asdict(), indent=1))
