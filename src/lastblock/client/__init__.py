"""A client of ``lastblock serve``, for programs with and without asyncio.

It needs nothing but Python's standard library.
"""

from lastblock.client.async_client import AsyncClient
from lastblock.client.messages import RewardResult, ServedDecision, ServiceError
from lastblock.client.sync_client import Client
from lastblock.support.signatures import is_signed

__all__ = ["AsyncClient", "Client", "RewardResult", "ServedDecision", "ServiceError", "is_signed"]
