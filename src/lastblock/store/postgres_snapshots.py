"""Write a snapshot to PostgreSQL, with the decisions that are out at its moment."""

from typing import Any

from lastblock.engine.events import ASK, REMEMBERED
from lastblock.store.postgres_connections import Connection, run
from lastblock.store.postgres_rows import COPY_PENDING, copy_in, lines
from lastblock.store.storage import Snapshot
from lastblock.support.errors import StoreError

_ANSWERS = (
    "SELECT decision FROM events WHERE bandit = %(bandit)s AND event > %(last)s "
    "AND event <= %(event)s AND kind IN (1, 2)"
)
ADD_ASKED = (
    'INSERT INTO pending (bandit, decision, arm, probability, "time") '
    'SELECT bandit, decision, arm, probability, "time" FROM events '
    f"WHERE bandit = %(bandit)s AND event > %(last)s AND event <= %(event)s AND kind = {ASK} "
    # Not "not exists": for a young table, PostgreSQL would look through all answers for each ask.
    f"AND decision NOT IN ({_ANSWERS} AND decision IS NOT NULL) ON CONFLICT DO NOTHING"
)
_KEEP_ANSWERED = (
    "UPDATE pending SET answered = %(event)s WHERE bandit = %(bandit)s "
    f"AND decision IN ({_ANSWERS} AND decision < %(first_asked)s)"
)
DROP_ANSWERED = (
    "DELETE FROM pending WHERE bandit = %(bandit)s "
    f"AND decision IN ({_ANSWERS} AND decision >= %(first_asked)s AND decision < %(since)s)"
)


def keep_snapshot(
    connection: Connection, snapshot: Snapshot, label: str, keep_events: bool
) -> None:
    """Replace the snapshot of a bandit, and drop the events that it includes unless they are kept.

    Parameters
    ----------
    connection
        In the transaction that writes the snapshot's last event.
    snapshot
        The snapshot.
    label
        The name of the storage in messages.
    keep_events
        Whether to keep events that a snapshot includes.
    """
    bandit = snapshot.bandit
    found = run(
        connection,
        "SELECT last_event, asked, first_asked FROM bandits WHERE bandit = %s",
        [bandit],
    ).fetchone()
    if found is None:
        raise StoreError(f"{label} no longer has this bandit (number {bandit}): it was deleted")
    last, asked, first_asked = found
    # Earlier events were dropped before; their entries in the index, which last until the next
    # vacuum, need not be looked at again.
    pruned = -1 if first_asked is not None else last
    if keep_events and first_asked is None:
        run(
            connection,
            "UPDATE bandits SET beginning = snapshot, first_event = last_event, "
            "first_asked = asked WHERE bandit = %s",
            [bandit],
        )
        first_asked = asked
    elif not keep_events and first_asked is not None:
        run(
            connection,
            "DELETE FROM pending WHERE bandit = %s AND answered IS NOT NULL",
            [bandit],
        )
        run(
            connection,
            "UPDATE bandits SET beginning = NULL, first_event = NULL, first_asked = NULL"
            " WHERE bandit = %s",
            [bandit],
        )
        first_asked = None
    values: dict[str, Any] = {
        "bandit": bandit,
        "last": last,
        "event": snapshot.event,
        "since": max(asked, snapshot.since),
        "first_asked": first_asked or 0,
    }
    # Earlier decisions that are out are stored already.
    out = [(bandit, *each[:3], None, each[3]) for each in snapshot.out if each[0] >= asked]
    if out:
        copy_in(connection, COPY_PENDING, lines(out))
    run(connection, ADD_ASKED, values)
    if first_asked:
        run(connection, _KEEP_ANSWERED, values)
    run(connection, DROP_ANSWERED, values)
    if not keep_events:
        first = min(snapshot.remembers, snapshot.event + 1)  # of the bandit's memory
        run(
            connection,
            "DELETE FROM events WHERE bandit = %s AND event > %s AND event <= %s "
            f"AND (event < %s OR kind NOT IN {REMEMBERED})",
            [bandit, pruned, snapshot.event, first],
        )
        run(
            connection,
            "DELETE FROM events WHERE bandit = %s AND event <= %s AND kind > 5",
            [bandit, min(pruned, first - 1)],
        )
    run(
        connection,
        "UPDATE bandits SET policy = %s, layout = %s, snapshot = %s, last_event = %s, "
        "asked = %s WHERE bandit = %s",
        [
            snapshot.policy,
            snapshot.layout,
            snapshot.body,
            snapshot.event,
            snapshot.asked,
            bandit,
        ],
    )
