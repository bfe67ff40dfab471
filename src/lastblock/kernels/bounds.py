"""Two versions of each kernel: one that checks its indices, and one that does not.

The policies of this package are compiled without a check of any index, because the tests have run
every line of them with the JIT off, where numpy checks. A user's class may be wrong, and a wrong
index in compiled code ends the process. So its methods are compiled with `CHECKED`, and every
kernel that they call is compiled once more, with `CHECKED`, too: numba asks the type of a kernel
for the code to call, and that type answers by the flags of the caller.

Many kernels read the first fields of a record only, which are the same for all policies. The type
of such a kernel lets numba compile it for a record of these fields, once and not for each policy.
"""

from collections.abc import Callable
from typing import Any

from numba.core import datamodel, targetconfig, types

from lastblock.kernels.record_types import RecordType

# Typed as Any, because numba's annotations are incomplete.
_config: Any = targetconfig
_models: Any = datamodel

CHECKED = {"boundscheck": True}
"""The option for a function that checks its indices, and calls such kernels only."""


class KernelType(types.Dispatcher):
    """The type of a kernel in the code that calls it.

    Parameters
    ----------
    dispatcher
        Compiles the kernel without checks.
    make_checked
        Returns what compiles it with checks; called when that is first needed.
    fields
        The fields of records that it may read; empty for all.
    """

    def __init__(
        self, dispatcher: Any, make_checked: Callable[[], Any], fields: tuple[str, ...] = ()
    ) -> None:
        super().__init__(dispatcher)
        self._make_checked = make_checked
        self._checked: Any = None
        self._fields = fields

    @property
    def dispatcher(self) -> Any:
        """The version that checks indices if the caller does; otherwise the other one."""
        flags: Any = _config.ConfigStack.top_or_none()
        unchecked: Any = super().dispatcher
        if flags is None or not flags.boundscheck:
            return unchecked
        if self._checked is None:
            self._checked = self._make_checked()
        return self._checked

    def get_call_type(self, context: Any, args: Any, kws: Any) -> Any:
        """Return the signature of the code to call; the kernel is compiled for it."""
        if self._fields:
            args = tuple(_part_of(each, self._fields) for each in args)
        return super().get_call_type(context, args, kws)


def _part_of(kind: Any, fields: tuple[str, ...]) -> Any:
    """Return the type of a record with only those of its fields; another type as it is."""
    return kind.part(fields) if isinstance(kind, RecordType) else kind


_models.register_default(KernelType)(_models.models.OpaqueModel)
