"""The settings of the service: flags come before the environment."""

import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import cached_property
from ipaddress import ip_address
from pathlib import Path
from typing import Any, Final, NamedTuple, get_args
from urllib.parse import urlsplit

from lastblock.store.store import Durability
from lastblock.support.errors import short
from lastblock.support.spelling import advice

PREFIX: Final = "LASTBLOCK_"
LOOPBACK: Final = ("127.0.0.1", "::1", "localhost")

_TRUE, _FALSE = ("1", "true", "yes", "on"), ("0", "false", "no", "off")


class SettingError(ValueError):
    """Raised for a setting that is wrong; the message says which, where it is from, and why."""


class AboutSetting(NamedTuple):
    """What is known of a setting besides its type."""

    text: str
    """One line of help."""
    metavar: str = ""
    low: float | None = None
    high: float | None = None
    choices: tuple[str, ...] = ()


def _setting(default: Any, text: str, *, is_secret: bool = False, **about: Any) -> Any:
    return field(
        default=default, repr=not is_secret, metadata={"about": AboutSetting(text, **about)}
    )


@dataclass(frozen=True)
class Settings:
    """All settings of ``lastblock serve``."""

    store: str = _setting("", "an SQLite file, created if missing, or postgresql://…")
    host: str = _setting("127.0.0.1", "listen at this address", metavar="HOST")
    port: int = _setting(
        8000, "listen at this port; 0 for any free one", metavar="PORT", low=0, high=65535
    )
    uds: str = _setting("", "listen at this Unix socket instead", metavar="PATH")
    advertise: str = _setting(
        "",
        "where other servers on the same database reach this one; without it, where it listens",
        metavar="URL",
    )
    root_path: str = _setting("", "the path under which a proxy shows the service", metavar="PATH")
    forwarded_allow_ips: str = _setting(
        "",
        "believe these proxies which address a request is from; commas between them",
        metavar="LIST",
    )
    tls_cert: str = _setting("", "a file with the certificate, for HTTPS", metavar="FILE")
    tls_key: str = _setting("", "a file with the certificate's private key", metavar="FILE")
    insecure: bool = _setting(False, "let everybody do everything, without keys")
    allowed_hosts: str = _setting(
        "",
        "with --insecure, the server's names besides localhost and addresses; commas between them",
        metavar="LIST",
    )
    durability: str = _setting(
        "always",
        "when to answer: always (on the disk), interval (within 10 ms), never (no sync)",
        choices=get_args(Durability),
    )
    keep_events: bool = _setting(True, "keep all events, for explanations, exports and replays")
    rate_limit: float = _setting(
        0.0, "the most requests a second of each key; 0 for no limit", metavar="N", low=0, high=1e9
    )
    connections_per_address: int = _setting(
        384,
        "the most connections from one address, except those of proxies; 0 for no limit",
        metavar="N",
        low=0,
        high=1_000_000,
    )
    alert_url: str = _setting("", "send alerts to this webhook", metavar="URL")
    alert_secret: str = _setting(
        "",
        "sign alerts with this; better in LASTBLOCK_ALERT_SECRET",
        metavar="TEXT",
        is_secret=True,
    )
    drain: float = _setting(
        0.0,
        "seconds between the signal to end and the last new connection",
        metavar="SECONDS",
        low=0,
        high=3600,
    )

    @property
    def is_local(self) -> bool:
        """Whether only this machine can reach the service."""
        return bool(self.uds) or self.host in LOOPBACK or self.host.startswith("127.")

    @cached_property
    def allowed_names(self) -> frozenset[str]:
        """The names in `allowed_hosts`."""
        return frozenset(name.strip().lower() for name in self.allowed_hosts.split(","))

    def answers_for(self, host: str) -> bool:
        """Whether a field Host has a name of this server, or an address: it leads nowhere else."""
        try:
            name = urlsplit(f"//{host}").hostname or "?"
            own = "localhost", self.host, urlsplit(self.advertise).hostname
            return name in own or name in self.allowed_names or bool(ip_address(name))
        except ValueError:
            return False


NAMES: Final = tuple(each.name for each in fields(Settings))


def about(name: str) -> AboutSetting:
    """Return what is known of a setting."""
    (found,) = [each.metadata["about"] for each in fields(Settings) if each.name == name]
    known: AboutSetting = found
    return known


def kind_of(name: str) -> type[Any]:
    """Return the type of a setting."""
    return type(getattr(Settings(), name))


def read_settings(flags: Mapping[str, Any], environ: Mapping[str, str]) -> Settings:
    """Return the settings: flags come before the environment.

    Parameters
    ----------
    flags
        What the command line gives, by the names of settings; None for what it does not give.
    environ
        The environment, with variables such as ``LASTBLOCK_PORT``.

    Raises
    ------
    SettingError
        If a setting is of the wrong type, or out of range, or does not fit the others.
    """
    values: dict[str, Any] = {}
    for name in NAMES:
        variable = f"{PREFIX}{name.upper()}"
        if flags.get(name) is not None:
            values[name] = _checked(flags[name], name, f"--{name.replace('_', '-')}")
        elif variable in environ:
            values[name] = _checked(_parsed(environ[variable], name, variable), name, variable)
    return _fitting(Settings(**values))


def _parsed(text: str, name: str, where: str) -> Any:
    """Return a setting that the environment gives as text."""
    kind = kind_of(name)
    if kind is bool:
        word = text.strip().lower()
        if word not in _TRUE + _FALSE:
            raise SettingError(f"{where}={text!r} must be true or false")
        return word in _TRUE
    try:
        return kind(text)
    except ValueError:
        what = "a whole number" if kind is int else "a number"
        raise SettingError(f"{where}={text!r} must be {what}") from None


def _checked(value: Any, name: str, where: str) -> Any:
    """Return a value of a setting, or raise a `SettingError` that says where it comes from."""
    known = about(name)
    if known.choices and value not in known.choices:
        raise SettingError(f"{where}={value!r}: {advice(value, known.choices)}")
    if known.low is not None and known.high is not None and not known.low <= value <= known.high:
        raise SettingError(f"{where}={value} must lie between {known.low:,} and {known.high:,}")
    if isinstance(value, str) and "\0" in value:
        raise SettingError(f"{where}={short(value)} must not contain a zero byte")
    return value


def check_certificate(certificate: str, key: str) -> None:
    """Raise a `SettingError` if files are not a certificate in PEM and its private key."""
    try:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key, password="")  # nobody is asked for one
    except (OSError, ValueError) as error:  # an SSLError is an OSError
        raise SettingError(
            f"tls_cert={certificate!r} and tls_key={key!r} must be a certificate in PEM and its "
            f"private key, without a password: {error}"
        ) from None


def _fitting(settings: Settings) -> Settings:
    """Return settings, or raise a `SettingError` if one does not fit another."""
    if not settings.store:
        raise SettingError(
            "which store? Give the path of a file, such as shop.db, or postgresql://…"
        )
    if bool(settings.tls_cert) != bool(settings.tls_key):
        missing = "tls_key" if settings.tls_cert else "tls_cert"
        raise SettingError(f"HTTPS needs both tls_cert and tls_key; {missing} is missing")
    for name in ("tls_cert", "tls_key"):
        path = getattr(settings, name)
        if path and not Path(path).is_file():
            raise SettingError(f"{name}: there is no file {path!r}")
    if settings.tls_cert:
        check_certificate(settings.tls_cert, settings.tls_key)
    if settings.alert_url:
        parts = urlsplit(settings.alert_url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise SettingError("alert_url must begin with https:// or http:// and name a host")
        if len(settings.alert_secret) < 16:
            raise SettingError(
                "alert_url needs an alert_secret of at least 16 characters, with which alerts are "
                "signed; set LASTBLOCK_ALERT_SECRET"
            )
    if settings.advertise:
        where = urlsplit(settings.advertise)
        if where.scheme not in ("http", "https") or not where.hostname:
            raise SettingError(
                f"advertise={settings.advertise!r} must be like http://10.0.0.7:8000"
            )
    if settings.root_path and (
        not settings.root_path.startswith("/") or settings.root_path.endswith("/")
    ):
        raise SettingError(
            f"root_path={settings.root_path!r} must begin with a slash and end without one"
        )
    return settings
