"""What the simulated NVML exports: calls, parameters and structs, read from native/nvml*.h. Controller side."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

SOURCES = Path(__file__).parent / "native"
FIELD_VALUES = "nvmlDeviceGetFieldValues"
GSP_VERSION_BYTES = 64
WIDTHS = {"char": 1, "int": 4, "long long": 8}
EMBEDDED_INPUTS = {"sensorType"}
"""Fields of an output struct in which the caller says what it asks for."""
_PROTOTYPE = re.compile(r"^(nvmlReturn_t|const char \*) ?(nvml\w+)\((.*)\);$", re.MULTILINE)
_STRUCT = re.compile(r"^typedef struct \{\n(.*?)\n\} (\w+);", re.MULTILINE | re.DOTALL)
_DECLARATION = re.compile(r"^\s*(?P<type>.*?[\s*])(?P<name>\w+)(?:\[(?P<count>\d+)\])?;?$")


@dataclass(frozen=True)
class Field:
    """A number, text or raw bytes inside an output: where it lies and what fits."""

    name: str
    type: str
    offset: int
    width: int

    @property
    def signed(self) -> bool:
        """Whether it holds negative numbers."""
        return self.type in ("int", "long long")


@dataclass(frozen=True)
class Parameter:
    """One C parameter. role: device, peer, input, length, ignored, count, output, string or array."""

    name: str
    type: str
    role: str


@dataclass(frozen=True)
class Target:
    """What a rule may set by name: a field of output number ``output``, whose elements are ``stride`` bytes."""

    output: int
    stride: int
    field: Field


@dataclass(frozen=True)
class Function:
    """One exported call."""

    name: str
    returns: str
    arguments: str
    parameters: tuple[Parameter, ...]
    structs: Mapping[str, tuple[Field, ...]]

    @cached_property
    def outputs(self) -> tuple[Parameter, ...]:
        """The parameters that a rule's value fills."""
        return tuple(p for p in self.parameters if p.role in ("output", "string", "array"))

    @cached_property
    def has_list(self) -> bool:
        """Whether it returns a list in a buffer of the caller's."""
        return any(p.role == "array" for p in self.parameters)

    @cached_property
    def has_device(self) -> bool:
        """Whether it is a call on one GPU or hands one out."""
        return any(p.type == "nvmlDevice_t" for p in self.parameters)

    @cached_property
    def inputs(self) -> tuple[str, ...]:
        """The names that a rule's args may use, in the order in which the library compares them."""
        if self.name == FIELD_VALUES:
            return ("field", "scope")
        embedded = [f.name for p in self.outputs for f in self.structs.get(p.type, ()) if f.name in EMBEDDED_INPUTS]
        return (*(p.name for p in self.parameters if p.role in ("input", "peer")), *embedded)

    @cached_property
    def targets(self) -> dict[str, Target]:
        """Everything a rule's value may name; a struct by its fields, anything else by its parameter."""
        return {
            field.name: Target(number, self.size(parameter), field)
            for number, parameter in enumerate(self.outputs) for field in self._fields(parameter)
        }

    def _fields(self, parameter: Parameter) -> tuple[Field, ...]:
        if parameter.type not in self.structs:
            return (Field(parameter.name, parameter.type, 0, self.size(parameter)),)
        asked = {"version", "fieldId", "scopeId", "nvmlReturn", *EMBEDDED_INPUTS}
        return tuple(field for field in self.structs[parameter.type] if field.name not in asked)

    def size(self, parameter: Parameter) -> int:
        """Bytes of one element of an output."""
        fields = self.structs.get(parameter.type)
        if not fields:
            return width(parameter.type)
        return _aligned(fields[-1].offset + fields[-1].width, max(width(field.type) for field in fields))


@cache
def functions() -> Mapping[str, Function]:
    """All exported calls by name, in the order of nvml.h."""
    header, types = (SOURCES / "nvml.h").read_text(), (SOURCES / "nvml_types.h").read_text()
    structs = {name: _layout(body) for body, name in _STRUCT.findall(types)}
    return {
        name: Function(name, returns, arguments, _parameters(name, arguments), structs)
        for returns, name, arguments in _PROTOTYPE.findall(header)
    }


@cache
def returns() -> Mapping[str, int]:
    """Return codes by name without NVML_ERROR_."""
    text = (SOURCES / "nvml_returns.h").read_text()
    return {name: int(code) for name, code in re.findall(r'^NVML_RETURN\((\w+), (\d+), "', text, re.MULTILINE)}


def width(c_type: str) -> int:
    """Bytes of a number of this C type: enumerations and other names of NVML's own are four bytes, but for one."""
    if c_type == "nvmlDevice_t":
        return 8
    return 1 if c_type == "nvmlGpuFabricState_t" else WIDTHS.get(c_type.replace("unsigned ", ""), 4)


def _aligned(offset: int, boundary: int) -> int:
    return -(-offset // boundary) * boundary


def _declared(text: str) -> tuple[str, str, int]:
    """Type, name and number of elements of one C declaration; the type keeps its star."""
    match = _DECLARATION.match(text)
    assert match, text
    return match["type"].strip(), match["name"], int(match["count"] or 1)


def _layout(body: str) -> tuple[Field, ...]:
    fields: list[Field] = []
    for c_type, name, count in map(_declared, body.splitlines()):
        end = fields[-1].offset + fields[-1].width if fields else 0
        fields.append(Field(name, c_type, _aligned(end, width(c_type)), width(c_type) * count))
    return tuple(fields)


def _parameters(name: str, arguments: str) -> tuple[Parameter, ...]:
    declared = [_declared(text) for text in arguments.split(", ") if text != "void"]
    roles: list[Parameter] = []
    for position, (c_type, parameter, _) in enumerate(declared):
        role = _role(c_type, parameter, roles, pointers_follow=any("*" in t for t, _, _ in declared[position + 1:]))
        roles.append(Parameter(parameter, c_type.removesuffix("*").strip(), role))
    return tuple(roles)


def _role(c_type: str, name: str, before: list[Parameter], pointers_follow: bool) -> str:
    if c_type in ("const char *", "nvmlDevice_t *") or c_type.startswith("nvmlEventSet_t"):
        return "ignored"
    if c_type == "nvmlDevice_t":
        return "peer" if before else "device"
    if "*" not in c_type:
        return "length" if before and before[-1].role == "string" else "input"
    if c_type == "char *":
        return "string"
    if c_type == "unsigned int *" and name.lower().endswith("count") and pointers_follow:
        return "count"
    return "array" if any(p.role == "count" for p in before) else "output"
