"""A browser without a browser: it keeps a cookie and sends forms."""

import re
from html import unescape
from urllib.parse import urlencode


class Visitor:
    def __init__(self, service, key=None):
        self.service, self.cookie, self.token = service, "", ""
        if key is not None:
            self.sign_in(key)

    def get(self, path="", **headers):
        lines = {"cookie": self.cookie, **headers}
        return self.service.get(f"/dashboard{path}", key="", headers=lines)

    def read(self, path=""):
        """The words of a page."""
        return text_of(self.get(path))

    def post(self, path, fields=(), headers=None, token=None):
        pairs = {**dict(fields), "token": self.token if token is None else token}
        lines = {
            "cookie": self.cookie,
            "content-type": "application/x-www-form-urlencoded",
            **(headers or {}),
        }
        raw = urlencode(pairs).encode()
        return self.service.call("POST", f"/dashboard{path}", raw=raw, key="", headers=lines)

    def sign_in(self, key, **fields):
        answer = self.post("/sign-in", {"key": key, **fields})
        if answer.status == 303:
            self.cookie = answer.headers["set-cookie"].partition(";")[0]
            page = self.get().body.decode()
            self.token = re.search(r'name="token" value="(\w+)"', page)[1]
        return answer


def text_of(answer):
    """The words of a page, without its markup."""
    plain = re.sub(r"<[^>]*>", " ", answer.body.decode())
    return " ".join(unescape(plain).split())
