"""A PostgreSQL server of our own, in a temporary folder: started, killed and started again.

It runs on a port of the loopback interface, as a user without rights. Its programs are those of
Debian's package, or of whatever is in the path, or of the wheel `pgserver`.
"""

import contextlib
import ctypes
import functools
import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path

PATIENCE = 60.0
USER = "postgres"  # the server refuses to run as root


@functools.cache
def programs():
    """The folder with `initdb` and `postgres`; None if there is none."""
    places = [Path(found).resolve().parent for found in [shutil.which("initdb")] if found]
    places += sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    with contextlib.suppress(ImportError, AttributeError):
        places.append(Path(find_spec("pgserver").origin).parent / "pginstall" / "bin")
    return next((place for place in places if (place / "initdb").exists()), None)


def account():
    """Arguments of `subprocess` for a user who may run the server; None if there is none."""
    if os.geteuid() != 0:
        return {}
    for name in (USER, "nobody"):
        with contextlib.suppress(KeyError):
            user = pwd.getpwnam(name)
            return {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
    return None


def why_not():
    """Why there can be no server here; empty if there can."""
    if programs() is None:
        return "there is no PostgreSQL: install Debian's package postgresql, or the wheel pgserver"
    return "" if account() is not None else "there is no user for a PostgreSQL server"


class Server:
    """A server; `url(database)` leads to it. Settings are those of `postgresql.conf`.

    `place` is the folder in which it makes its own.
    """

    def __init__(self, place=None, **settings):
        self.folder = Path(tempfile.mkdtemp(prefix="lb-postgres-", dir=place))
        self.folder.chmod(0o755)
        self.port = free_port()
        self._process = None
        self._account = account()
        if self._account:
            os.chown(self.folder, self._account["user"], self._account["group"])
        self.data = self.folder / "data"
        self._run(
            "initdb",
            *("-D", self.data, "-U", "shop", "-A", "scram-sha-256", "--no-sync"),
            f"--pwfile={self._password_file()}",
            "--encoding=UTF8",
            "--locale=C",
        )
        chosen = {
            "port": self.port,
            "listen_addresses": "'127.0.0.1'",
            "unix_socket_directories": "''",
            "max_connections": 100,
            "fsync": "off",
            "log_min_messages": "fatal",
            **settings,
        }
        with (self.data / "postgresql.conf").open("a") as file:
            file.writelines(f"{name} = {value}\n" for name, value in chosen.items())
        self.start()

    def _password_file(self):
        file = self.folder / "password"
        file.write_text("secret\n")
        file.chmod(0o644)
        return file

    def copy(self, *more):
        """Copy the running server as a backup does; `become` restores the copy."""
        place = self.folder / f"copy {time.monotonic_ns()}"
        self._run("pg_basebackup", "-d", self.url(), "-D", place, "-c", "fast", "-N", *more)
        return place

    def replica(self):
        """Start a replica that follows this server; `promote` has it take this one's place."""
        place = self.copy("-R")
        with (self.folder / "log").open("ab") as log:
            follower = subprocess.Popen(
                [str(programs() / "postgres"), "-D", str(place), "-p", str(free_port())],
                stdout=log,
                stderr=log,
                cwd=self.folder,
                start_new_session=True,
                preexec_fn=_end_with_parent,  # noqa: PLW1509  # it takes no lock
                **self._account,
            )
        until = time.monotonic() + PATIENCE
        while not self.execute("SELECT 1 FROM pg_stat_replication WHERE state = 'streaming'"):
            assert follower.poll() is None, (self.folder / "log").read_text()
            assert time.monotonic() < until, "the replica does not follow"
            time.sleep(0.02)
        return place, follower

    def cut_off(self, replica):
        """Let a replica get nothing more: from now on it is behind."""
        place, follower = replica
        with (place / "postgresql.auto.conf").open("a") as file:
            file.write("primary_conninfo = ''\n")
        follower.send_signal(signal.SIGHUP)
        until = time.monotonic() + PATIENCE
        while self.execute("SELECT 1 FROM pg_stat_replication"):
            assert time.monotonic() < until, "the replica still follows"
            time.sleep(0.005)

    def promote(self, replica):
        """Kill this server, and have a replica take its place, at the same address."""
        place, follower = replica
        self.kill()
        self._run("pg_ctl", "promote", "-w", "-D", place)
        follower.send_signal(signal.SIGINT)
        follower.wait()
        self.become(place)

    def become(self, place):
        """Kill this server, and start a copy of it in its place."""
        if self._process.poll() is None:
            self.kill()
        shutil.rmtree(self.data)
        place.rename(self.data)
        self.start()

    def _run(self, program, *arguments):
        subprocess.run(
            [str(word) for word in (programs() / program, *arguments)],
            check=True,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL if program == "pg_ctl" else subprocess.PIPE,
            cwd=self.folder,
            **self._account,
        )

    def url(self, database="postgres", *, schema=None, user="shop", password="secret"):
        words = f"?schema={schema}" if schema else ""
        return f"postgresql://{user}:{password}@127.0.0.1:{self.port}/{database}{words}"

    def start(self):
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [str(programs() / "postgres"), "-D", str(self.data)],
                stdout=log,
                stderr=log,
                cwd=self.folder,
                start_new_session=True,
                preexec_fn=_end_with_parent,  # noqa: PLW1509  # it takes no lock
                **self._account,
            )
        self.wait()

    def wait(self):
        """Wait until it takes connections."""
        import psycopg  # noqa: PLC0415  # optional

        until = time.monotonic() + PATIENCE
        while True:
            assert self._process.poll() is None, (self.folder / "log").read_text()
            try:
                psycopg.connect(self.url(), connect_timeout=5).close()
            except psycopg.OperationalError:
                assert time.monotonic() < until, (self.folder / "log").read_text()
                time.sleep(0.02)
            else:
                return

    def kill(self):
        """As the system would: the server and all its processes, at once."""
        os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        # Its processes are in sessions of their own; they end when they notice, and hold memory.
        until = time.monotonic() + PATIENCE
        while _has_children(self.data) and time.monotonic() < until:
            time.sleep(0.005)

    def stop(self):
        if self._process is not None and self._process.poll() is None:
            self._process.send_signal(signal.SIGINT)  # a fast shutdown
            self._process.wait()

    def close(self):
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGQUIT)  # at once: nobody needs the data any more
            self._process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    def execute(self, query):
        import psycopg  # noqa: PLC0415  # optional

        with psycopg.connect(self.url(), autocommit=True) as connection:
            cursor = connection.execute(query)
            return cursor.fetchall() if cursor.description else []


def _end_with_parent():
    """Have the system end the server if the tests are killed, where it can do that."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(1, signal.SIGQUIT)  # PR_SET_PDEATHSIG


def _has_children(data):
    """Whether a process of a killed server still runs: each has the folder as its own."""
    for place in Path("/proc").glob("[0-9]*/cwd"):
        with contextlib.suppress(OSError):
            if place.readlink() == data:
                return True
    return False


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]
