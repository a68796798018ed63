"""Rules that answer NVML calls, checked and written down for the simulated library. Controller side."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from fleetcheck.sandbox.errors import SandboxError, unknown
from fleetcheck.sandbox.nvml_surface import Function, functions, returns
from fleetcheck.sandbox.nvml_values import constant, writes
from fleetcheck.sandbox.tables import double, number

EVERY_CALL = "*"
MAX_GPUS = 64
MAX_CODE = 0xFFFF
INITS = ("nvmlInitWithFlags", "nvmlInit_v2")
"""A real driver has one way to start: a rule for either name answers both."""


@dataclass(frozen=True)
class NvmlRule:
    """How one call is answered. A later rule wins; its value replaces only the outputs and struct fields it names.

    call: a symbol, or '*' for every call on a GPU. gpu: its number in the machine, None for any; on a call that hands
    out a handle, the GPU asked for. args: input parameters by their C names, omitted ones match anything. ret: a name
    without NVML_ERROR_ or a number; None is SUCCESS. For nvmlDeviceGetFieldValues args are field and scope, and value
    and ret are those of the field.
    """

    call: str
    gpu: int | None = None
    args: Mapping[str, int | str] = field(default_factory=dict)
    value: Any = None
    ret: int | str | None = None
    hang: bool = False


def nvml_state(rules: Iterable[NvmlRule], gpus: Sequence[int], epoch: float) -> bytes:
    """The file ``nvml.state`` beside a node's libnvidia-ml.so.1.

    gpus: the numbers of the GPUs that NVML enumerates, in the order of their indices. epoch: time.time() from which
    growing values count.
    """
    lines = [_rule(rule) for every in (_defaults(gpus), rules) for rule in _both_inits(every)]
    return b"".join((double(epoch), number(len(gpus)), *map(number, gpus), number(len(lines)), *lines))


def _defaults(gpus: Sequence[int]) -> Iterator[NvmlRule]:
    """What any driver does: it starts, hands out handles and counts; no event ever comes."""
    succeed = [name for name in functions() if "GetHandleBy" in name]
    succeed += [INITS[0], "nvmlShutdown", "nvmlEventSetCreate", "nvmlEventSetFree", "nvmlDeviceRegisterEvents"]
    yield from map(NvmlRule, succeed)
    yield NvmlRule("nvmlEventSetWait_v2", ret="TIMEOUT")
    yield NvmlRule("nvmlDeviceGetCount_v2", value=len(gpus))
    for index, gpu in enumerate(gpus):
        yield NvmlRule("nvmlDeviceGetIndex", gpu, value=index)


def _both_inits(rules: Iterable[NvmlRule]) -> Iterator[NvmlRule]:
    for rule in rules:
        for name in INITS if rule.call in INITS else (rule.call,):
            yield NvmlRule(name, rule.gpu, rule.args, rule.value, rule.ret, rule.hang)


def _rule(rule: NvmlRule) -> bytes:
    """One rule in the form that native/nvml_state.h reads."""
    if rule.gpu is not None and not 0 <= rule.gpu < MAX_GPUS:
        raise SandboxError(f"{rule.call}: gpu must be from 0 to {MAX_GPUS - 1}, not {rule.gpu!r}")
    head = number(_call_number(rule)) + number(0 if rule.gpu is None else rule.gpu + 1)
    filled = _every(rule) if rule.call == EVERY_CALL else writes(functions()[rule.call], rule.value)
    wanted = b"" if rule.call == EVERY_CALL else _wanted(functions()[rule.call], rule.args)
    outcome = number(rule.hang) + number(_code(rule))
    return head + number(len(rule.args)) + wanted + outcome + number(len(filled)) + b"".join(filled)


def _call_number(rule: NvmlRule) -> int:
    if rule.call == EVERY_CALL:
        return 0
    if rule.call not in functions():
        raise unknown("NVML call", rule.call, functions())
    if rule.gpu is not None and not functions()[rule.call].has_device:
        raise SandboxError(f"{rule.call} is no call on a GPU: leave gpu out")
    return list(functions()).index(rule.call) + 1


def _every(rule: NvmlRule) -> list[bytes]:
    if rule.args or rule.value is not None or (rule.ret is None and not rule.hang):
        raise SandboxError("call '*' takes gpu and either return or hang, nothing else")
    return []


def _wanted(function: Function, args: Mapping[str, int | str]) -> bytes:
    for name in args:
        if name not in function.inputs:
            raise unknown(f"argument of {function.name}", name, function.inputs)
    return b"".join(number(function.inputs.index(name)) + number(constant(value)) for name, value in args.items())


def _code(rule: NvmlRule) -> int:
    if rule.ret is None:
        return 0
    name = str(rule.ret).removeprefix("NVML_ERROR_").removeprefix("NVML_")
    if name in returns():
        return returns()[name]
    if isinstance(rule.ret, bool) or not isinstance(rule.ret, int) or not 0 <= rule.ret <= MAX_CODE:
        raise unknown(f"return code of {rule.call}", rule.ret, returns())
    return rule.ret
