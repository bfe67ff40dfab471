"""For policies that wrap another one and keep its whole record as their field `inner`.

The functions here prepare that record; the wrapper then calls the wrapped policy itself. A shared
function could not do that: where a wrapper wraps a wrapper it would call itself with other types,
which numba cannot compile.
"""

from lastblock.core.checked import check_round
from lastblock.core.protocol import Record
from lastblock.core.rounds import clear_fields, enqueue
from lastblock.kernels.jit import kernel
from lastblock.kernels.streams import expand, next_word


@kernel
def share_stream(s: Record) -> None:
    """Give the inner policy the random stream that it would have alone, and keep another one.

    As long as the wrapper does nothing, the inner policy then decides exactly as it would alone.
    """
    for word in range(s.stream.shape[0]):
        s.inner.stream[word] = s.stream[word]
    expand(s.stream, next_word(s.stream))


@kernel
def share_counts(s: Record) -> None:
    """Tell the inner policy how many decisions are out, and how many are lost."""
    for k in range(s.out.shape[0]):
        s.inner.out[k] = s.out[k]
        s.inner.stale[k] = s.stale[k]
        s.inner.lost[k] = s.lost[k]


@kernel
def ready_to_start(s: Record) -> Record:
    """Return the inner record, prepared for `start`; it keeps its random stream."""
    inner = s.inner
    inner.round = 1
    inner.arms = s.arms
    inner.queued = 0
    inner.taken = 0
    inner.end = 0
    for k in range(inner.queue.shape[0]):
        inner.queue[k] = 0
    share_counts(s)
    clear_fields(inner)
    return inner


@kernel
def ready_to_plan(s: Record) -> Record:
    """Return the inner record, prepared for `plan`; call `planned` afterwards.

    As in `rounds.plan_if_due`, the policy still finds the last round in `queue[:taken]`.
    """
    inner = s.inner
    inner.round += 1
    inner.taken = inner.queued
    inner.queued = 0
    share_counts(s)
    return inner


@kernel
def planned(s: Record) -> None:
    """After the inner policy has planned, stop waiting for what it no longer waits for."""
    s.inner.taken = 0
    for k in range(s.out.shape[0]):
        s.out[k] = s.inner.out[k]
        s.stale[k] = s.inner.stale[k]
        s.lost[k] = s.inner.lost[k]


@kernel
def ready_to_observe(s: Record) -> Record:
    """Return the inner record, prepared for `observe`."""
    share_counts(s)
    return s.inner


@kernel
def take_next(s: Record) -> None:
    """Hand out the next arm of the inner policy's round."""
    if s.inner.taken == 0:
        check_round(s.inner)
    enqueue(s, s.inner.queue[s.inner.taken])
    s.inner.taken += 1
