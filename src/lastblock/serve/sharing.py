"""Rewards for bandits of several servers, in one request."""

from collections.abc import Mapping
from typing import Final, NamedTuple

import msgspec

from lastblock.serve.forwarding import HEADER
from lastblock.serve.http import Request, Response
from lastblock.serve.messages import NewRewards, RewardOf
from lastblock.serve.peers import ElsewhereError
from lastblock.serve.state import State

_CHECK: Final = b"lastblock-only-check"
"""The header of rewards that another server is to check, and not to take yet."""


class Away(NamedTuple):
    """Rewards for bandits of another server."""

    where: ElsewhereError
    rewards: list[RewardOf]


def is_only_check(request: Request) -> bool:
    """Return whether another server asks if rewards would be taken."""
    return request.header(_CHECK) is not None and request.header(HEADER) is not None


async def tell_others(
    state: State, request: Request, elsewhere: Mapping[str, Away], *, is_alone: bool
) -> Response | None:
    """Send rewards to the servers that have their bandits: to all of them, or none on an error.

    First all servers check theirs, then each takes them. If one ends in between, the client gets a
    503 and sends all of them again; those that were taken are then the same once more.

    Parameters
    ----------
    state, request
        The service, and the request that brought the rewards.
    elsewhere
        The rewards for each of the other servers.
    is_alone
        Whether this server has none of the bandits.

    Returns
    -------
    Response or None
        What to answer if a server refused; None if they were taken.
    """
    if not elsewhere:
        return None
    if is_alone and len(elsewhere) == 1:
        (only,) = elsewhere.values()
        return await state.forward(request, "tell", only.where)
    for header in ((_CHECK, b"1"), None):
        for where, rewards in elsewhere.values():
            body = msgspec.json.encode(NewRewards(rewards=rewards))
            more = [] if header is None else [header]
            answer = await state.forward(request, "tell", where, body, more)
            if answer.status != 204:
                return answer
            await answer.whole()
    return None
