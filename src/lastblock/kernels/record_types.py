"""Numba's types of records and of their arrays, see `record_arrays`.

In compiled code a record is two addresses: that of its data and that of its table.

Indices of a record's arrays are not negative in kernels. So there is no test for negative ones,
which would take as long as the access, unless the code checks its indices anyway (`bounds`).
"""

import functools
import hashlib
import operator
from typing import Any

import numpy as np
from llvmlite import ir
from numba import extending
from numba.core import cgutils, datamodel, imputils, typeconv, types
from numba.core.typing import templates
from numba.np import arrayobj, numpy_support

from lastblock.kernels.record_arrays import Field, Outline, RecordArray

# Typed as Any, because numba's annotations are incomplete.
_arrays: Any = arrayobj
_cgutils: Any = cgutils
_extending: Any = extending
_imputils: Any = imputils
_models: Any = datamodel
_safe: Any = typeconv.Conversion.safe  # type: ignore[attr-defined]
_templates: Any = templates
_types: Any = types

_WORD = ir.IntType(64)


class RecordType(types.Type):
    """The type of a record with this outline."""

    def __init__(self, outline: Outline) -> None:
        self.outline = outline
        self.fields = {field.name: field for field in outline}
        digest = hashlib.blake2b(repr(outline).encode(), digest_size=8).hexdigest()
        super().__init__(name=f"Record({digest})")

    @property
    def key(self) -> Outline:
        """What makes two types equal."""
        return self.outline

    def can_convert_to(self, _context: Any, other: Any) -> Any:
        """Let a record pass for one of some of its fields."""
        is_part = isinstance(other, RecordType) and set(other.outline) <= set(self.outline)
        return _safe if is_part else None

    def part(self, names: tuple[str, ...]) -> "RecordType":
        """Return the type of a record with only those of its fields."""
        return record_type(tuple(field for field in self.outline if field.name in names))


class RecordArrayType(types.Type):
    """The type of a `RecordArray`."""

    def __init__(self, record: RecordType) -> None:
        self.record = record
        super().__init__(name=f"RecordArray({record})")


class FieldArrayType(types.Array):
    """The type of an array that is a field of a record; see `_accessed` for why it has a name."""

    def __init__(self, dtype: Any, ndim: int, field: str) -> None:
        self.field = field
        super().__init__(dtype, ndim, "C", name=f"FieldArray({dtype}, {ndim}, {field})")

    @property
    def key(self) -> Any:
        """What makes two types equal."""
        return self.dtype, self.ndim, self.field

    def can_convert_to(self, context: Any, other: Any) -> Any:
        """Let the array pass for any other with these numbers and dimensions."""
        if type(other) is types.Array and (other.dtype, other.ndim) == (self.dtype, self.ndim):
            return _safe
        return super().can_convert_to(context, other)

    def unify(self, context: Any, other: Any) -> Any:
        """Return the type of a variable that is this array or another one."""
        return types.Array(self.dtype, self.ndim, "C").unify(context, other)


@functools.cache
def record_type(outline: Outline) -> RecordType:
    """Return the type of records with this outline."""
    return RecordType(outline)


@functools.cache
def _kind_of(field: Field) -> Any:
    """Return the type of a field."""
    if field.outline:
        return record_type(field.outline)
    kind = numpy_support.from_dtype(np.dtype(field.code))
    return FieldArrayType(kind, field.dimensions, field.name) if field.dimensions else kind


class _RecordModel(_models.models.StructModel):  # type: ignore[misc]  # numba has no types
    def __init__(self, manager: Any, kind: Any) -> None:
        members = [("data", types.voidptr), ("places", _types.CPointer(types.int64))]
        super().__init__(manager, kind, members)


class _RecordArrayModel(_models.models.StructModel):  # type: ignore[misc]  # numba has no types
    def __init__(self, manager: Any, kind: Any) -> None:
        places = _types.CPointer(types.int64)
        super().__init__(
            manager, kind, [("data", types.voidptr), ("size", types.intp), ("places", places)]
        )


_models.register_default(RecordType)(_RecordModel)
_models.register_default(RecordArrayType)(_RecordArrayModel)
_models.register_default(FieldArrayType)(_models.models.ArrayModel)


def _typeof(records: RecordArray, _context: Any) -> RecordArrayType:
    return RecordArrayType(record_type(records.outline))


def _unbox(kind: Any, value: Any, c: Any) -> Any:
    numbers = types.Array(types.int64, 1, "C")
    read = c.unbox(numbers, value)
    array = c.context.make_array(numbers)(c.context, c.builder, read.value)
    made = _cgutils.create_struct_proxy(kind)(c.context, c.builder)
    for place, name in enumerate(("data", "size", "places")):
        number = c.builder.load(c.builder.gep(array.data, [_WORD(place)]))
        whole = getattr(made, name)
        is_address = isinstance(whole.type, ir.PointerType)
        setattr(made, name, c.builder.inttoptr(number, whole.type) if is_address else number)
    return _extending.NativeValue(made._getvalue(), is_error=read.is_error)


def address_in(context: Any, builder: Any, kind: Any, value: Any, index: Any) -> Any:
    """Return the address of a record of an array."""
    array = _cgutils.create_struct_proxy(kind)(context, builder, value)
    return builder.gep(array.data, [builder.mul(array.size, index)])


def _record_at(context: Any, builder: Any, kind: Any, value: Any, index: Any) -> Any:
    record = _cgutils.create_struct_proxy(kind.record)(context, builder)
    record.data = address_in(context, builder, kind, value, index)
    record.places = _cgutils.create_struct_proxy(kind)(context, builder, value).places
    return record._getvalue()


def _declare_item(_typing: Any, states: Any, _i: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return _record_at(context, builder, signature.args[0], *arguments)

    return states.record(states, types.intp), generate


def _declare_set_item(_typing: Any, states: Any, _i: Any, record: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kind = signature.args[0]
        target = _record_at(context, builder, kind, *arguments[:2])
        size = _cgutils.create_struct_proxy(kind)(context, builder, arguments[0]).size
        both = [address_of(context, builder, kind.record, each) for each in (target, arguments[2])]
        _cgutils.raw_memcpy(builder, *both, size, 1)
        return context.get_dummy_value()

    return types.void(states, types.intp, record), generate


_item: Any = _extending.intrinsic(_declare_item)
_set_item: Any = _extending.intrinsic(_declare_set_item)


def _get_item(states: Any, i: Any) -> Any:
    if not isinstance(states, RecordArrayType):
        return None

    def get(states: Any, i: Any) -> Any:
        return _item(states, i)

    return get


def _copy_into(states: Any, i: Any, record: Any) -> Any:
    if not isinstance(states, RecordArrayType):
        return None

    def copy(states: Any, i: Any, record: Any) -> Any:
        return _set_item(states, i, record)

    return copy


def address_of(context: Any, builder: Any, kind: Any, record: Any) -> Any:
    """Return the address of a record in compiled code."""
    return _cgutils.create_struct_proxy(kind)(context, builder, record).data


def _place(builder: Any, places: Any, place: int) -> Any:
    """Return the number in the table at a place, or the constant that the place stands for."""
    if place < 0:
        return _WORD(~place)
    number = builder.load(builder.gep(places, [_WORD(place)]))
    number.set_metadata("invariant.load", builder.module.add_metadata([]))
    return number


def _accessed(builder: Any, instruction: Any, name: str) -> Any:
    """Say which field an instruction reads or writes, and return it.

    So LLVM knows that a write to one field leaves the others as they are.
    """
    if isinstance(instruction, ir.instructions.LoadInstr | ir.instructions.StoreInstr):
        add = builder.module.add_metadata
        field = add([name, add(["fields of records"]), _WORD(0)])
        instruction.set_metadata("tbaa", add([field, field, _WORD(0)]))
    return instruction


def _lengths(builder: Any, places: Any, field: Field) -> list[Any]:
    if field.lengths:
        return [_WORD(length) for length in field.lengths]
    return [_place(builder, places, field.place + 1 + d) for d in range(field.dimensions)]


def _size(builder: Any, record: Any, field: Field) -> Any:
    """Return how many numbers a field has."""
    size: Any = _WORD(1)
    for length in _lengths(builder, record.places, field):
        size = builder.mul(size, length)
    return size


class _Fields(_templates.AttributeTemplate):  # type: ignore[misc]  # numba has no types
    key = RecordType

    def generic_resolve(self, record: Any, name: str) -> Any:
        """Return the type of a field; raise a `KeyError` if there is no such field."""
        return _kind_of(record.fields[name])


def _found(context: Any, builder: Any, kind: Any, value: Any, name: str) -> Any:
    """Return the record's parts, the field, its type and its address."""
    field = kind.fields[name]
    record = _cgutils.create_struct_proxy(kind)(context, builder, value)
    address = builder.gep(record.data, [_place(builder, record.places, field.place)])
    return record, field, _kind_of(field), address


def _get_field(context: Any, builder: Any, kind: Any, value: Any, name: str) -> Any:
    record, field, found, address = _found(context, builder, kind, value, name)
    if field.outline:
        inner = _cgutils.create_struct_proxy(found)(context, builder)
        inner.data = address
        inner.places = builder.gep(record.places, [_WORD(field.place + 1)])
        return inner._getvalue()
    typed = builder.bitcast(
        address, context.get_data_type(getattr(found, "dtype", found)).as_pointer()
    )
    if not field.dimensions:
        return _accessed(builder, context.unpack_value(builder, found, typed), name)
    lengths = _lengths(builder, record.places, field)
    size = np.dtype(field.code).itemsize
    strides = [_WORD(size)]
    for length in reversed(lengths[1:]):
        strides.insert(0, builder.mul(strides[0], length, flags=("nsw",)))
    array = context.make_array(found)(context, builder)
    _arrays.populate_array(
        array,
        data=typed,
        shape=_cgutils.pack_array(builder, lengths, ty=_WORD),
        strides=_cgutils.pack_array(builder, strides, ty=_WORD),
        itemsize=_WORD(size),
        meminfo=None,
    )
    return array._getvalue()


def _set_field(context: Any, builder: Any, signature: Any, arguments: Any, name: str) -> None:
    record, field, found, address = _found(context, builder, signature.args[0], arguments[0], name)
    if field.outline:
        raise NotImplementedError(f"{name!r} is a record; set its fields one by one")
    if field.dimensions:  # as many numbers as both arrays have, for the sake of memory
        given = context.make_array(signature.args[1])(context, builder, arguments[1])
        most = given.nitems
        own = _size(builder, record, field)
        count = builder.select(builder.icmp_signed("<", most, own), most, own)
        _cgutils.raw_memcpy(builder, address, given.data, count, np.dtype(field.code).itemsize)
        return
    number = context.cast(builder, arguments[1], signature.args[1], found)
    context.pack_value(
        builder, found, number, builder.bitcast(address, context.get_data_type(found).as_pointer())
    )
    _accessed(builder, builder.block.instructions[-1], name)


def _same(_context: Any, _builder: Any, _kind: Any, _target: Any, value: Any) -> Any:
    return value


def _item_address(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    """Return the address of an item; None if it is not one item, or is to be checked."""
    kind, index = signature.args[:2]
    indices = index.types if isinstance(index, _types.BaseTuple) else (index,)
    is_item = len(indices) == kind.ndim and all(isinstance(i, types.Integer) for i in indices)
    if not is_item or context.enable_boundscheck:
        return None
    array = context.make_array(kind)(context, builder, arguments[0])
    numbers = [arguments[1]]
    if isinstance(index, _types.BaseTuple):
        numbers = _cgutils.unpack_tuple(builder, arguments[1], kind.ndim)
    lengths = _cgutils.unpack_tuple(builder, array.shape, kind.ndim)
    place: Any = None
    for number, i, length in zip(numbers, indices, lengths, strict=True):
        word = context.cast(builder, number, i, types.int64 if i.signed else types.uint64)
        place = word if place is None else builder.add(builder.mul(place, length), word)
    return builder.gep(array.data, [place], inbounds=True)


def _get(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    address = _item_address(context, builder, signature, arguments)
    if address is not None:
        loaded = _arrays.load_item(context, builder, signature.args[0], address)
        return _accessed(builder, loaded, signature.args[0].field)
    if isinstance(signature.args[1], types.Integer):
        return _arrays.getitem_arraynd_intp(context, builder, signature, arguments)
    return _arrays.getitem_array_tuple(context, builder, signature, arguments)


def _set(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    address = _item_address(context, builder, signature, arguments)
    kind, _, given = signature.args
    if address is None:
        return _arrays.setitem_array(context, builder, signature, arguments)
    number = context.cast(builder, arguments[2], given, kind.dtype)
    _arrays.store_item(context, builder, kind, number, address)
    _accessed(builder, builder.block.instructions[-1], kind.field)
    return context.get_dummy_value()


def zero_fields(context: Any, builder: Any, kind: Any, value: Any, kept: tuple[str, ...]) -> None:
    """Fill the numbers and arrays of a record with zeros, but for the fields `kept`."""
    for field in kind.outline:
        if field.name not in kept and not field.outline:
            record, _, _, address = _found(context, builder, kind, value, field.name)
            size = _WORD(np.dtype(field.code).itemsize)
            _cgutils.memset(builder, address, builder.mul(size, _size(builder, record, field)), 0)


_extending.typeof_impl.register(RecordArray)(_typeof)
_extending.unbox(RecordArrayType)(_unbox)
_extending.overload(operator.getitem, jit_options={"_nrt": False})(_get_item)
_extending.overload(operator.setitem, jit_options={"_nrt": False})(_copy_into)
_templates.infer_getattr(_Fields)
_imputils.lower_getattr_generic(RecordType)(_get_field)
_imputils.lower_setattr_generic(RecordType)(_set_field)
_imputils.lower_cast(RecordType, RecordType)(_same)
_imputils.lower_cast(FieldArrayType, types.Array)(_same)
for _index in (types.Integer, types.BaseTuple):
    _extending.lower_builtin(operator.getitem, FieldArrayType, _index)(_get)
    _extending.lower_builtin(operator.setitem, FieldArrayType, _index, types.Any)(_set)
