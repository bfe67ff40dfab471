"""A bandit behind a web page: `/show`, `/answer?decision=17&reward=1` and `/summary`."""

import json
import os
from collections.abc import Callable, Iterable
from typing import Any
from urllib.parse import parse_qs

import lastblock as lb

store = lb.Store(os.environ.get("STORE", "shop.db"), durability="interval")
button = store.get_or_create(
    "button",
    lb.Thompson(),
    arms=["red", "green"],
    floor=0.05,
    wait=30,  # the container that this one replaces may still be closing it
)


def show() -> dict[str, object]:
    """Return which version to show, and the id under which to report the answer."""
    return button.ask().to_dict()


def answer(decision: int, reward: float) -> dict[str, object]:
    """Learn whether the visitor clicked."""
    button.tell(decision, reward)
    return {"ok": True}


def app(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
    """Answer a request; any server for WSGI can run this."""
    query = {key: values[0] for key, values in parse_qs(environ.get("QUERY_STRING", "")).items()}
    status, body = "200 OK", {}
    try:
        match environ["PATH_INFO"]:
            case "/show":
                body = show()
            case "/answer":
                body = answer(int(query["decision"]), float(query["reward"]))
            case "/summary":
                body = button.summary().to_dict()
            case _:
                status, body = "404 Not Found", {"error": "use /show, /answer or /summary"}
    except (KeyError, ValueError) as error:  # also a decision that is not out
        status, body = "400 Bad Request", {"error": str(error)}
    start_response(status, [("Content-Type", "application/json")])
    return [json.dumps(body).encode()]
