"""The seal of one record, while a bandit of the fleet changes the record."""

from collections.abc import Iterator
from contextlib import contextmanager

from lastblock.engine.fleet import BLOCK
from lastblock.fleet.batches import Records
from lastblock.kernels.seals import break_seal, seal_beginning


class RecordSeal:
    """The seal of one record of a fleet."""

    def __init__(self, records: Records, number: int) -> None:
        self._records, self._number = records, number

    @contextmanager
    def broken(self) -> Iterator[None]:
        """Break the seal while the record changes, so that one left half changed is detected."""
        states, memory, touched, sealed = self._records
        s = states[self._number]
        break_seal(s)
        try:
            yield
        finally:
            seal_beginning(s, memory, sealed, self._number)
            touched[self._number // BLOCK] = 1
