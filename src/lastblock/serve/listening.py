"""The sockets at which a server listens."""

import contextlib
import os
import socket
import stat

from lastblock.serve.settings import SettingError, Settings

BACKLOG = 2048
"""How many connections may wait until the server takes them."""


def bound(settings: Settings) -> socket.socket:
    """Return a socket at the address, or raise a `SettingError` that says why there is none."""
    if settings.uds:
        return _bound_path(settings.uds)
    host, port = settings.host, settings.port
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=BACKLOG)
    except OSError as error:
        raise SettingError(
            f"cannot listen at {host}, port {port}: {error.strerror}; choose another --port or "
            "--host"
        ) from None


def _bound_path(path: str) -> socket.socket:
    """Return a Unix socket at a path; one that an earlier server has left is replaced."""
    if not hasattr(socket, "AF_UNIX"):
        raise SettingError(
            f"uds={path!r} needs Unix sockets, which this system does not have; choose a --port"
        )
    _check_left(path)
    made = socket.socket(socket.AF_UNIX)
    try:
        with contextlib.suppress(FileNotFoundError):
            if stat.S_ISSOCK(os.stat(path).st_mode):
                os.unlink(path)
        made.bind(path)
        os.chmod(path, 0o666)  # whoever enters the folder may connect
        made.listen(BACKLOG)
    except OSError as error:
        made.close()
        raise SettingError(f"cannot listen at {path}: {error.strerror or error}") from None
    return made


def _check_left(path: str) -> None:
    """Raise a `SettingError` if a server listens at a path still."""
    with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX) as probe:
        probe.connect(path)
        raise SettingError(f"cannot listen at {path}: another server does; choose another --uds")
