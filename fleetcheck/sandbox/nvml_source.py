"""C source of the simulated NVML: native/nvml.c with an exported function for each call of nvml.h. Controller side."""

from __future__ import annotations

import re
from collections.abc import Collection
from functools import cache

from fleetcheck.sandbox.nvml_surface import EMBEDDED_INPUTS, GSP_VERSION_BYTES, SOURCES, Function, Parameter, functions


def source(absent: Collection[str] = ()) -> str:
    """One translation unit; calls in ``absent`` are not exported."""
    numbers = ",\n".join(f"    ID_{name} = {number}" for number, name in enumerate(functions(), 1))
    exported = "\n".join(_definition(f) for name, f in functions().items() if name not in absent)
    return f'enum {{\n{numbers}\n}};\n\n#include "nvml.c"\n\n{exported}'


@cache
def _own() -> frozenset[str]:
    return frozenset(re.findall(r"^static .*?\bown_(\w+)\(", (SOURCES / "nvml_own.h").read_text(), re.MULTILINE))


def _definition(function: Function) -> str:
    call = _forwarded(function) if function.name in _own() else _described(function)
    return f"{function.returns} {function.name}({function.arguments})\n{{\n    return {call};\n}}\n"


def _forwarded(function: Function) -> str:
    return f"own_{function.name}({', '.join(p.name for p in function.parameters)})"


def _described(function: Function) -> str:
    parts = [f".function = ID_{function.name}", *(_member(p) for p in function.parameters if _member(p))]
    if function.inputs:
        parts.append(f".inputs = {{{', '.join(_input(function, name) for name in function.inputs)}}}")
    if function.outputs:
        parts.append(f".outputs = {{{', '.join(_output(function, p) for p in function.outputs)}}}")
    return f"answer(&(struct call){{{', '.join(parts)}}})"


def _member(parameter: Parameter) -> str:
    members = {"device": ".has_device = 1, .device", "peer": ".peer", "count": ".count"}
    return f"{members[parameter.role]} = {parameter.name}" if parameter.role in members else ""


def _input(function: Function, name: str) -> str:
    peers = [p.name for p in function.parameters if p.role == "peer"]
    if name in EMBEDDED_INPUTS and name not in {p.name for p in function.parameters}:
        struct = function.outputs[0].name
        return f"{struct} ? {struct}->{name} : 0"
    return f"gpu_of({name})" if name in peers else f"(uint64_t){name}"


def _output(function: Function, parameter: Parameter) -> str:
    name = parameter.name
    if parameter.role == "string":
        lengths = [p.name for p in function.parameters if p.role == "length"]
        return f"{{.form = STRING, .at = {name}, .size = {lengths[0] if lengths else GSP_VERSION_BYTES}}}"
    if parameter.role == "array":
        return f"{{.form = ARRAY, .at = {name}, .size = sizeof *{name}}}"
    kept = _kept(function, parameter)
    size = f"versioned({name}, sizeof *{name})" if kept else f"sizeof *{name}"
    return f"{{.at = {name}, .size = {size}, .keep = {kept}}}"


def _kept(function: Function, parameter: Parameter) -> int:
    """The leading bytes of a versioned struct that are the caller's: its version and what it asks for."""
    fields = function.structs.get(parameter.type, ())
    kept = [f.offset + f.width for f in fields if f.name in {"version", *EMBEDDED_INPUTS}]
    return max(kept, default=0)
