"""Answer the requests of fronts on which speed depends without a task for each."""

import time
from collections.abc import Callable
from functools import partial

from lastblock.serve.app import App
from lastblock.serve.commits import not_written
from lastblock.serve.http import Response
from lastblock.serve.problems import ProblemError
from lastblock.serve.quick import answer_quickly
from lastblock.serve.routing import Route
from lastblock.serve.workers.frames import Answer, Ask
from lastblock.serve.workers.owner import Quickly
from lastblock.support.errors import StoreError


def quickly(app: App) -> Quickly:
    """Return what answers most decisions and rewards for fronts of an application."""
    state, router = app.state, app.router

    def answer(ask: Ask, send: Callable[[Answer, int], object]) -> bool:
        began = time.perf_counter()
        if ask.query:
            return False
        try:
            route, parameters = router.find(ask.method, ask.path)
        except ProblemError:
            return False
        if route.quick is None:
            return False
        response = answer_quickly(state, route, parameters, dict(ask.headers), ask.body)
        if response is None:
            return False
        state.metrics.in_flight += 1
        finish = partial(_finish, app, ask.id, send, route, response, began)
        state.host.commits.when_written(finish)
        return True

    return answer


def _finish(
    app: App,
    id: int,
    send: Callable[[Answer, int], object],
    route: Route,
    response: Response,
    began: float,
    error: StoreError | None,
) -> None:
    """Send an answer, now that its events are written or cannot be."""
    if error is not None:
        response = Response.problem(not_written(error))
    send(Answer(id, response.status, response.head(), response.body, False), len(response.body))
    metrics = app.state.metrics
    metrics.in_flight -= 1
    metrics.count(route.method, route.path, response.status, time.perf_counter() - began)
