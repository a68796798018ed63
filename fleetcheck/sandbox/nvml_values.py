"""The values of NVML rules as bytes in the outputs of a call. Controller side."""

from __future__ import annotations

import struct
import uuid
from collections.abc import Iterable, Mapping
from typing import Any

import pynvml

from fleetcheck.sandbox.errors import SandboxError, unknown
from fleetcheck.sandbox.growing import Growing, growing
from fleetcheck.sandbox.nvml_surface import FIELD_VALUES, Function, Target
from fleetcheck.sandbox.tables import number, text
from fleetcheck.sandbox.tables import value as table_value

INTEGER, TEXT, LENGTH, HANDLE = range(4)
UINT_MAX = 0xFFFF_FFFF


def writes(function: Function, value: Any) -> list[bytes]:
    """What a value sets, in the form that native/nvml_state.h reads."""
    if value is None:
        return []
    if not function.targets:
        raise SandboxError(f"{function.name} has no output that a value could set: give it a return")
    if function.has_list:
        return _list(function, value)
    return _element(function, _typed(value) if function.name == FIELD_VALUES else _in_order(function, value), 0)


def constant(value: object) -> int:
    """A whole number, or the name of one of NVML's constants.

    >>> constant("NVML_FI_DEV_MEMORY_TEMP"), constant("0x10")
    (82, 16)
    """
    if isinstance(value, int) or (isinstance(value, float) and value.is_integer()):
        return int(value)
    if isinstance(value, str):
        named = getattr(pynvml, value, None)
        named = named[0] if isinstance(named, tuple) else named  # NVML_P2P_CAPS_INDEX_READ is (0,) by mistake
        if isinstance(named, int):
            return named
        if value.startswith("NVML_"):
            raise unknown("NVML constant", value, [name for name in vars(pynvml) if name.startswith("NVML_")])
    return _parsed(value)


def _parsed(value: object) -> int:
    try:
        return int(str(value), 0)
    except ValueError:
        raise SandboxError(f"expected a whole number or the name of an NVML constant, not {value!r}") from None


def _in_order(function: Function, value: Any) -> Any:
    """A list of what a call with several output parameters tells, in the order of nvml.h, under their names."""
    targets = list(function.targets)
    if not isinstance(value, list | tuple) or len(targets) < 2 or len(targets) != len(function.outputs):
        return value
    if len(value) != len(targets):
        raise SandboxError(f"{function.name}: expected {len(targets)} values, of {', '.join(targets)}, not {value!r:.60}")
    return dict(zip(targets, value, strict=True))


def _list(function: Function, value: Any) -> list[bytes]:
    if isinstance(value, str | bytes | Mapping) or not isinstance(value, Iterable):
        raise SandboxError(f"the value of {function.name} is a list, not {value!r}")
    elements = list(value)
    length = _write(LENGTH, 0, 0, 0) + table_value(len(elements))
    return [length, *(write for i, element in enumerate(elements) for write in _element(function, element, i))]


def _element(function: Function, value: Any, index: int) -> list[bytes]:
    targets = function.targets
    named = _flat(function, value) if isinstance(value, Mapping) and not growing(value) else {_first(function, value): value}
    outputs = {_output(function, name): of for name, of in named.items()}
    return [w for name, of in outputs.items() for w in _set(function, targets[name], of, index * targets[name].stride)]


def _flat(function: Function, value: Mapping[str, Any]) -> dict[str, Any]:
    """Fields given under the name of the struct parameter that holds them stand beside the others."""
    structs = {output.name for output in function.outputs} - set(function.targets)
    flat: dict[str, Any] = {}
    for name, of in value.items():
        flat.update(of if name in structs and isinstance(of, Mapping) and not growing(of) else {name: of})
    return flat


def _output(function: Function, name: str) -> str:
    """An output's name as nvml.h spells it; the flag prefix of newer headers (``bUnrepairableMemory``) may be left out."""
    if name in function.targets:
        return name
    plain = str(name).lower()
    alike = [target for target in function.targets if target.lower() in (plain, f"b{plain}")]
    if len(alike) != 1:
        raise unknown(f"output of {function.name}", name, function.targets)
    return alike[0]


def _first(function: Function, value: Any) -> str:
    """Which output a bare value sets: the first parameter, or the one field of a struct."""
    if function.name == FIELD_VALUES:
        return "value"
    targets = list(function.targets)
    if len(function.outputs) == 1 and len(targets) > 1:
        raise SandboxError(f"{function.name}: expected a mapping of {', '.join(targets)}, not {value!r}")
    return targets[0]


def _set(function: Function, target: Target, value: Any, start: int) -> list[bytes]:
    of, kind = target.field, target.field.type
    at = start + of.offset
    if kind == "unsigned char" and of.width > 1:
        return [_write(INTEGER, target.output, at + i, 8) + table_value(part) for i, part in _halves(value)]
    if kind == "char":
        width = of.width if of.width > 1 else 0
        return [_write(TEXT, target.output, at, width) + text(_text(function, value))]
    whole = growing(value) or constant(value)
    _check_width(function, target, whole)
    return [_write(HANDLE if kind == "nvmlDevice_t" else INTEGER, target.output, at, of.width) + table_value(whole)]


def _write(kind: int, output: int, offset: int, width: int) -> bytes:
    return number(kind) + number(output) + number(offset) + number(width)


def _text(function: Function, value: Any) -> str:
    if isinstance(value, Mapping | Growing) or not isinstance(value, str | int):
        raise SandboxError(f"{function.name}: expected text, not {value!r}")
    return str(value)


def _halves(value: Any) -> list[tuple[int, int]]:
    """The 16 bytes of a UUID as two numbers, by offset."""
    try:
        raw = uuid.UUID(str(value)).bytes
    except ValueError:
        raise SandboxError(f"expected a UUID such as 8a4d4b14-3bd3-4a3c-9e3c-0c4f1c1b6a11, not {value!r}") from None
    return [(i, int.from_bytes(raw[i:i + 8], "little")) for i in (0, 8)]


def _check_width(function: Function, target: Target, whole: int | Growing) -> None:
    bits = target.field.width * 8
    low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if target.field.signed else (0, (1 << bits) - 1)
    if target.field.name == "value" and function.name == FIELD_VALUES:
        low = -(1 << 63)
    if isinstance(whole, int) and not low <= whole <= high:
        raise SandboxError(f"{function.name}: {target.field.name} holds {low} to {high}, not {whole}")


def _typed(value: Any) -> Any:
    """A field's value with its type: as given, else the narrowest of NVML's types that is usual for such a number."""
    named = dict(value) if isinstance(value, Mapping) and not growing(value) else {"value": value}
    if "value" not in named:
        return named
    content = named["value"]
    kind = constant(named.get("valueType", _value_type(content)))
    if kind == pynvml.NVML_VALUE_TYPE_DOUBLE and isinstance(content, int | float):
        content = int.from_bytes(struct.pack("<d", content), "little")
    return {**named, "value": content, "valueType": kind}


def _value_type(content: Any) -> int:
    if growing(content):
        return int(pynvml.NVML_VALUE_TYPE_UNSIGNED_LONG_LONG)
    if isinstance(content, float):
        return int(pynvml.NVML_VALUE_TYPE_DOUBLE)
    whole = constant(content)
    if whole < 0:
        wide = whole < -(1 << 31)
        return int(pynvml.NVML_VALUE_TYPE_SIGNED_LONG_LONG if wide else pynvml.NVML_VALUE_TYPE_SIGNED_INT)
    wide = whole > UINT_MAX
    return int(pynvml.NVML_VALUE_TYPE_UNSIGNED_LONG_LONG if wide else pynvml.NVML_VALUE_TYPE_UNSIGNED_INT)
