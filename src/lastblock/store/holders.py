"""Which process holds a lease, and whether it still runs."""

import os
import socket
from pathlib import Path
from typing import NamedTuple


class Holder(NamedTuple):
    """A process, as other machines and other processes of this machine know it."""

    process: int
    host: str
    identity: str
    """Boot of the machine, namespace, number and start of the process; empty if unknown."""

    def is_this(self) -> bool:
        """Return whether it is this process."""
        return self == this_process()

    def has_ended(self) -> bool:
        """Return whether the process has certainly ended; False for one of another machine."""
        here, mine = self.identity.split(), _identity(self.process).split()
        ours = _identity(os.getpid()).split()
        if not here or not ours or here[:2] != ours[:2]:
            return False
        return here != mine

    def place(self) -> str:
        """Return words for the process, for messages."""
        if self.is_this():
            return "another Store of this process"
        where = "" if self.host == socket.gethostname() else f" on {self.host}"
        return f"process {self.process}{where}"


def this_process() -> Holder:
    """Return the process that calls this."""
    return Holder(os.getpid(), socket.gethostname(), _identity(os.getpid()))


def _identity(process: int) -> str:
    """Return what no other process has had; empty if it has ended or the system cannot tell."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        space = os.readlink("/proc/self/ns/pid")
        words = Path(f"/proc/{process}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    state, *rest = words.rpartition(")")[2].split()
    if state in "ZX":  # it has ended, and its parent has not noticed yet
        return ""
    return f"{boot} {space} {process} {rest[18]}"
