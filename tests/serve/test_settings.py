"""Flags come before the environment; every mistake is named."""

import pytest

from lastblock.serve.settings import SettingError, Settings, read_settings


def test_a_flag_comes_before_the_environment():
    environ = {
        "LASTBLOCK_STORE": "a.db",
        "LASTBLOCK_PORT": "2",
        "LASTBLOCK_HOST": "::1",
        "LASTBLOCK_INSECURE": "yes",
        "LASTBLOCK_KEEP_EVENTS": "0",
        "LASTBLOCK_DRAIN": "1.5",
        "LASTBLOCK_TRACEBACK": "1",  # of the program, not of the service
    }
    given = {"host": "::1", "insecure": True, "keep_events": False, "drain": 1.5}
    assert read_settings({}, environ) == Settings(store="a.db", port=2, **given)
    alerts = {"alert_url": "https://x.example", "alert_secret": "a secret of the webhook"}
    assert alerts["alert_secret"] not in repr(read_settings(alerts, environ))
    found = read_settings({"port": 3, "host": None, "other": 1}, environ)
    assert found == Settings(store="a.db", port=3, **given)


@pytest.mark.parametrize(
    ("flags", "environ", "words"),
    [
        ({}, {}, "which store"),
        ({"store": "a"}, {"LASTBLOCK_PORT": "eighty"}, "LASTBLOCK_PORT='eighty' must be a whole"),
        ({"store": "a"}, {"LASTBLOCK_DRAIN": "long"}, "LASTBLOCK_DRAIN='long' must be a number"),
        ({"store": "a"}, {"LASTBLOCK_DRAIN": "nan"}, "LASTBLOCK_DRAIN=nan must lie between"),
        ({"store": "a", "port": 70000}, {}, "--port=70000 must lie between 0 and 65,535"),
        ({"store": "a"}, {"LASTBLOCK_INSECURE": "maybe"}, "must be true or false"),
        ({"store": "a"}, {"LASTBLOCK_DURABILITY": "nevr"}, "did you mean 'never'"),
        ({"store": "a\0b"}, {}, "must not contain a zero byte"),
        ({"store": "a", "tls_cert": "x"}, {}, "tls_key is missing"),
        ({"store": "a", "tls_cert": "x", "tls_key": "y"}, {}, "there is no file 'x'"),
        ({"store": "a", "tls_cert": __file__, "tls_key": __file__}, {}, "a certificate in PEM"),
        ({"store": "a", "root_path": "x/"}, {}, "must begin with a slash"),
        ({"store": "a", "advertise": "shop:8000"}, {}, "advertise='shop:8000' must be like http"),
        ({"store": "a", "alert_url": "x"}, {}, "alert_url must begin with https"),
        ({"store": "a", "alert_url": "https://x.example"}, {}, "needs an alert_secret"),
    ],
)
def test_mistakes_are_named(flags, environ, words):
    with pytest.raises(SettingError, match=words):
        read_settings(flags, environ)


@pytest.mark.parametrize(
    ("host", "is_local"),
    [("127.0.0.1", True), ("localhost", True), ("::1", True), ("0.0.0.0", False), ("::", False)],
)
def test_only_the_loopback_is_local(host, is_local):
    assert Settings(host=host).is_local == is_local
    assert Settings(host=host, uds="/run/x").is_local
