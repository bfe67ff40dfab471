"""Flags come before the environment, and that before a file; every mistake is named."""

import pytest

from lastblock.serve.settings import SettingError, Settings, read_settings


def test_a_flag_comes_before_the_environment_and_that_before_a_file(tmp_path):
    file = tmp_path / "serve.toml"
    origins = "https://a.example", "https://b.example"
    lines = ['store = "a.db"', "port = 1", 'root-path = "/x"', "rate_limit = 5"]
    file.write_text("\n".join([*lines, f"cors = {list(origins)}"]))
    environ = {"LASTBLOCK_PORT": "2", "LASTBLOCK_HOST": "::1", "LASTBLOCK_CONFIG": str(file)}
    found = read_settings({"port": 3, "host": None, "other": 1}, environ)
    assert found == Settings(
        store="a.db", port=3, root_path="/x", rate_limit=5.0, cors=origins, host="::1"
    )
    assert read_settings({}, environ).port == 2
    assert read_settings({}, {}, str(file)).port == 1


def test_the_environment_gives_texts():
    environ = {
        "LASTBLOCK_STORE": "a.db",
        "LASTBLOCK_INSECURE": "yes",
        "LASTBLOCK_KEEP_EVENTS": "0",
        "LASTBLOCK_CORS": "https://a.example, https://b.example",
        "LASTBLOCK_DRAIN": "1.5",
        "LASTBLOCK_TRACEBACK": "1",  # of the program, not of the service
    }
    found = read_settings({}, environ)
    assert found.insecure
    assert not found.keep_events
    assert found.cors == ("https://a.example", "https://b.example")
    assert found.drain == 1.5


@pytest.mark.parametrize(
    ("flags", "environ", "words"),
    [
        ({}, {}, "which store"),
        ({"store": "a"}, {"LASTBLOCK_PORT": "eighty"}, "LASTBLOCK_PORT='eighty' must be a whole"),
        ({"store": "a", "port": 70000}, {}, "--port=70000 must lie between 0 and 65,535"),
        ({"store": "a"}, {"LASTBLOCK_INSECURE": "maybe"}, "must be true or false"),
        ({"store": "a"}, {"LASTBLOCK_LOG_LEVEL": "debgu"}, "did you mean 'debug'"),
        ({"store": "a", "tls_cert": "x"}, {}, "tls_key is missing"),
        ({"store": "a", "tls_cert": "x", "tls_key": "y"}, {}, "there is no file 'x'"),
        ({"store": "a", "tls_cert": __file__, "tls_key": __file__}, {}, "a certificate in PEM"),
        ({"store": "a", "root_path": "x/"}, {}, "must begin with a slash"),
        ({"store": "a", "cors": ["shop.example"]}, {}, "must be like https://shop.example"),
        ({"store": "a"}, {"LASTBLOCK_CORS": "https://a.b/c"}, "must be like https://shop.example"),
        ({"store": "a"}, {"LASTBLOCK_CONFIG": "no.toml"}, "cannot read 'no.toml'"),
    ],
)
def test_mistakes_are_named(flags, environ, words):
    with pytest.raises(SettingError, match=words):
        read_settings(flags, environ)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("prot = 1", "unknown setting 'prot'; did you mean 'port'"),
        ("port = '1'", "port='1' must be a whole number"),
        ("port = true", "port=True must be a whole number"),
        ("cors = [1]", r"cors=\(1,\) must be a list of texts"),
        ("port =", "serve.toml: "),
    ],
)
def test_mistakes_of_a_file_are_named(tmp_path, text, words):
    file = tmp_path / "serve.toml"
    file.write_text(f"{text}\n")
    with pytest.raises(SettingError, match=words):
        read_settings({"store": "a"}, {}, str(file))


@pytest.mark.parametrize(
    ("host", "is_local"),
    [("127.0.0.1", True), ("localhost", True), ("::1", True), ("0.0.0.0", False), ("::", False)],
)
def test_only_the_loopback_is_local(host, is_local):
    assert Settings(host=host).is_local == is_local
    assert Settings(host=host, uds="/run/x").is_local
