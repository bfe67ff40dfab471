"""Quicker forms of what numba does around its passes, for every call, array and instruction.

- It times its two locks for every compilation, so that each call of LLVM tells a dozen listeners.
- It compiles a function that it has compiled already by looking for it behind these locks, and then
  rates all its signatures, one for each policy, although one fits exactly.
- It computes where each variable lives after each of ten passes; two of them read it.
- It asks for every array whether its type stands for another array, and reads all its registries
  once more because it finds no answer.
- It lets LLVM read a module to learn the size of an integer.

The forms here give the same results. `quicker_numba` has others, and says when they hold.
"""

import weakref
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Any


def quicken_events() -> None:
    """Start and stop numba's own timers directly, without an object for each event."""
    from numba.core import event  # noqa: PLC0415  # slow to import

    module: Any = event
    timing, registered, timer = module.TimingListener, module._registered, module.timer
    numbas_start, numbas_end = module.start_event, module.end_event
    if hasattr(numbas_start, "is_quick"):
        return
    timers_only = {timing}

    def start(kind: str, data: Any = None) -> None:
        listeners = registered[kind]
        if not timers_only.issuperset(map(type, listeners)):
            numbas_start(kind, data)
            return
        for listener in listeners:
            if listener._depth == 0:
                listener._ts = timer()
            listener._depth += 1

    def end(kind: str, data: Any = None, exc_details: Any = None) -> None:
        listeners = registered[kind]
        if not timers_only.issuperset(map(type, listeners)):
            numbas_end(kind, data, exc_details)
            return
        for listener in listeners:
            listener._depth -= 1
            if listener._depth == 0:
                passed = timer() - listener._ts
                listener._duration = passed + getattr(listener, "_duration", 0)

    start.is_quick = True  # type: ignore[attr-defined]  # a mark
    module.start_event, module.end_event = start, end


def quicken_error_contexts() -> None:
    """Say where an error was raised by a plain object instead of a generator."""
    from numba.core import errors, lowering, typeinfer  # noqa: PLC0415  # slow to import

    module: Any = errors
    numbas = module.new_error_context
    if hasattr(numbas, "is_quick"):
        return
    folder, told, spell = module._numba_path, module.loc_info, module._format_msg
    numba_error = module.NumbaError

    class Context:
        __slots__ = ("_args", "_format", "_words")
        is_quick = True

        def __init__(self, fmt_: str, *args: Any, **kwargs: Any) -> None:
            self._format, self._args, self._words = fmt_, args, kwargs

        def __enter__(self) -> None:
            place = self._words.get("loc")
            if place is not None and not place.filename.startswith(folder):
                told.update(self._words)

        def __exit__(
            self,
            kind: type[BaseException] | None,
            error: BaseException | None,
            trace: TracebackType | None,
        ) -> None:
            if isinstance(error, numba_error):
                error.add_context(spell(self._format, self._args, self._words))

    for user in (errors, lowering, typeinfer):
        if getattr(user, "new_error_context", None) is numbas:
            user.new_error_context = Context  # type: ignore[attr-defined]  # numba's name


def quicken_lifetimes() -> None:
    """Compute where variables live when something reads it."""
    from numba.core import analysis, postproc, transforms  # noqa: PLC0415  # slow to import

    processor: Any = postproc.PostProcessor
    lifetime: Any = postproc.VariableLifetime
    live_variables: Any = analysis.compute_live_variables
    canonical: Any = transforms.canonicalize_cfg
    numbas = processor.run
    if hasattr(numbas, "is_quick"):
        return

    class EntryVariables(dict[Any, Any]):
        """The variables that are live where a block begins, by block."""

        def __init__(self, blocks: Mapping[int, Any], lives: Any) -> None:
            super().__init__()
            self._of = blocks, lives

        def __missing__(self, block: Any) -> Any:
            blocks, lives = self._of
            found = live_variables(lives.cfg, blocks, lives.usedefs.defmap, lives.deadmaps.combined)
            self.update((each, found[place]) for place, each in blocks.items())
            if block not in self:
                raise KeyError(block)
            return self[block]

    def run(self: Any, emit_dels: bool = False, extend_lifetimes: bool = False) -> None:
        code = self.func_ir
        if emit_dels or code.is_generator:
            code.block_entry_vars = dict(code.block_entry_vars)
            numbas(self, emit_dels, extend_lifetimes)
            return
        code.blocks = canonical(code.blocks)
        code.variable_lifetime = lifetime(code.blocks)
        code.block_entry_vars = EntryVariables(code.blocks, code.variable_lifetime)
        code.generator_info = None

    run.is_quick = True  # type: ignore[attr-defined]  # a mark
    processor.run = run


def quicken_calls() -> None:
    """Find a function that is compiled for exactly these types without a search."""
    from numba.core.dispatcher import Dispatcher  # noqa: PLC0415  # slow to import
    from numba.core.typing import templates  # noqa: PLC0415  # slow to import

    dispatcher: Any = Dispatcher
    numbas_compile, numbas_template = dispatcher.compile, dispatcher.get_call_template
    concrete_template: Any = templates.make_concrete_template
    if hasattr(numbas_compile, "is_quick"):
        return

    def compile_(self: Any, sig: Any) -> Any:
        if type(sig) is tuple and self._can_compile:
            known = self.overloads.get(sig)
            if known is not None:
                return known.entry_point
        return numbas_compile(self, sig)

    def template(self: Any, args: Any, kws: Any) -> Any:
        if not self._can_compile:
            return numbas_template(self, args, kws)
        pysig, args = self._compiler.fold_argument_types(args, kws)
        exact = tuple(args)
        self.compile(exact)
        known = self.overloads.get(exact)
        if known is None or known.objectmode:
            return numbas_template(self, args, {})
        name = self.py_func.__name__
        made = concrete_template(f"CallTemplate({name})", name, [known.signature])
        return made, pysig, args, {}

    compile_.is_quick = True  # type: ignore[attr-defined]  # a mark
    dispatcher.compile, dispatcher.get_call_template = compile_, template


def quicken_arrays() -> None:
    """Make the class that reads an array once for each type of array."""
    from numba.np import arrayobj  # noqa: PLC0415  # slow to import

    module: Any = arrayobj
    numbas = module.make_array
    if hasattr(numbas, "is_quick"):
        return
    made: dict[Any, Any] = {}

    def make(array_type: Any) -> Any:
        if array_type not in made:
            made[array_type] = _reading_once(numbas(array_type))
        return made[array_type]

    make.is_quick = True  # type: ignore[attr-defined]  # a mark
    module.make_array = make


def _reading_once(structure: Any) -> Any:
    """Let a class look for another array that its type stands for only if any type does."""
    look = structure._make_refs
    plainly = super(structure, structure)._make_refs

    def make_refs(self: Any, ref: Any) -> Any:
        ways = self._context._defns["__array__"].versions
        return look(self, ref) if ways else plainly(self, ref)

    structure._make_refs = make_refs
    return structure


def quicken_sizes() -> None:
    """Remember the size and the alignment of LLVM's types that have no name."""
    from llvmlite.ir import types  # noqa: PLC0415  # slow to import

    kind: Any = types.Type
    if hasattr(kind.get_abi_size, "is_quick"):
        return

    def remembering(numbas: Any) -> Any:
        known: dict[str, int] = {}
        targets: list[Any] = [None]  # the one that they are known for

        def measure(self: Any, target_data: Any, context: Any = None) -> Any:
            spelt = str(self)
            if context is not None or "%" in spelt:  # what a name means depends on the context
                return numbas(self, target_data, context)
            if targets[0] is not target_data:
                known.clear()
                targets[0] = target_data
            if spelt not in known:
                known[spelt] = numbas(self, target_data)
            return known[spelt]

        measure.is_quick = True  # type: ignore[attr-defined]  # a mark
        return measure

    kind.get_abi_size = remembering(kind.get_abi_size)
    kind.get_abi_alignment = remembering(kind.get_abi_alignment)


def quicken_places() -> None:
    """Remember which of numba's own functions want to know the place of a call."""
    from numba.core import base  # noqa: PLC0415  # slow to import

    module: Any = base
    numbas = module._has_loc
    if hasattr(numbas, "is_quick"):
        return
    known: weakref.WeakKeyDictionary[Any, bool] = weakref.WeakKeyDictionary()

    def has_place(function: Any) -> bool:
        found = known.get(function)
        if found is None:
            found = known[function] = bool(numbas(function))
        return found

    has_place.is_quick = True  # type: ignore[attr-defined]  # a mark
    module._has_loc = has_place


CHANGES: list[Callable[[], None]] = [
    quicken_events,
    quicken_error_contexts,
    quicken_lifetimes,
    quicken_calls,
    quicken_arrays,
    quicken_sizes,
    quicken_places,
]
"""What gives numba the quicker forms."""
