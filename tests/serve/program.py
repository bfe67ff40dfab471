"""A running `lastblock serve`, in processes of its own."""

import json
import os
import re
import signal
import ssl
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request

NEW = {"name": "button", "policy": "LBSDAGM", "arms": ["red", "green", "blue"], "seed": 1}
WITHOUT_JIT = {"NUMBA_DISABLE_JIT": "1"}
"""The variable of a process that compiles nothing."""


class Program:
    """A running `lastblock serve`.

    Its bandits decide in plain Python, unless `jit` is true: few decisions are taken, and to import
    the compiler takes as long as all the rest.
    """

    def __init__(self, store, *flags, jit=False, patience=None, finish=8):
        variables = {} if jit else WITHOUT_JIT
        command = [sys.executable, "-m", "lastblock"]
        if patience is not None:
            words = "from lastblock.cli import program; from lastblock.serve import http, server"
            words += f"; http.PATIENCE, server.FINISH = {patience}, {finish}; program()"
            command[1:] = ["-c", words]
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115  # `__exit__` closes it
        self.process = subprocess.Popen(
            [*command, "serve", str(store), "--port", "0", *flags],
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
            env={**os.environ, **variables},
        )
        self.said = self.process.stdout.readline()
        found = re.search(r"https?://127\.0\.0\.1:(\d+)", self.said)
        assert found, self.said
        self.url, self.at = found[0], ("127.0.0.1", int(found[1]))
        self.trust = None
        if "--tls-cert" in flags:
            self.trust = ssl.create_default_context(cafile=flags[flags.index("--tls-cert") + 1])
        self.key = ""
        line = self.process.stdout.readline()
        if "first admin key" in line:
            self.key = line.split()[-1]
        assert self.call("GET", "/readyz")[0] == 200

    def call(self, method, path, body=None, timeout=30):
        request = urllib.request.Request(
            f"{self.url}{path}",
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={"Content-Type": "application/json", "Authorization": f"Bearer {self.key}"},
        )
        try:
            with urllib.request.urlopen(request, timeout=timeout, context=self.trust) as answer:
                text = answer.read()
                return answer.status, json.loads(text) if text else None
        except urllib.error.HTTPError as error:
            return error.code, json.loads(error.read())

    def logged(self):
        """Return what it has written to the standard error."""
        return os.pread(self._errors.fileno(), 1 << 20, 0).decode()  # it shares our place there

    def end(self, number=signal.SIGTERM):
        self.process.send_signal(number)
        return self.process.wait(30)

    def __enter__(self):
        return self

    def __exit__(self, *error):
        """End it if it still runs."""
        if self.process.poll() is None:
            self.end(signal.SIGKILL)
        self.process.stdout.close()
        self._errors.close()
