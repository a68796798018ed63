"""One door to NVML (node side): every call passes here, and every failure becomes its code's name, never a default."""

import ctypes
from typing import Any, Callable, Dict, List, Sequence, Tuple, Union

import pynvml

Value = Any
Field = Union[int, Tuple[int, int]]

UNAVAILABLE = (0xFFFFFFFF, 0xFFFFFFFFFFFFFFFF)  # NVML_VALUE_NOT_AVAILABLE as 32 and 64 bits
BAD_CODES = ("GPU_IS_LOST", "RESET_REQUIRED", "UNKNOWN", "INSUFFICIENT_POWER", "IRQ_ISSUE", "CORRUPTED_INFOROM")
UNSUPPORTED = ("NOT_SUPPORTED", "INVALID_ARGUMENT", "FUNCTION_NOT_FOUND")
_MEMBERS = ("dVal", "uiVal", "ulVal", "ullVal", "sllVal", "siVal", "usVal")  # by nvmlValueType_t


def code_names() -> Dict[int, str]:
    """NVML's return codes by number, without the NVML_ERROR_ prefix."""
    prefix = "NVML_ERROR_"
    names = {getattr(pynvml, name): name[len(prefix):] for name in dir(pynvml) if name.startswith(prefix)}
    names[0] = "SUCCESS"
    return names


def absent(reason: str) -> Dict[str, str]:
    """What stands where a value should be."""
    return {"absent": reason}


def is_absent(value: Value) -> bool:
    """Whether a value is a reason instead."""
    return isinstance(value, dict) and set(value) == {"absent"}


def plain(value: Value) -> Value:
    """A result as JSON can carry it; NVML's "not available" numbers become a reason."""
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if isinstance(value, int) and value in UNAVAILABLE:
        return absent("NOT_AVAILABLE")
    return value


class Nvml:
    """Calls about one GPU (or the system): notes each before it is made, counts the codes that mean a broken GPU."""

    def __init__(self, label: str, note: Callable[[str], None]) -> None:
        self.label = label
        self.made = 0
        self.bad: Dict[str, List[str]] = {code: [] for code in BAD_CODES}
        self.note = note
        self._names = code_names()

    def attempt(self, function: Callable[..., Value], *args: Value) -> Tuple[str, Value]:
        """The code's name and, on SUCCESS, the value of one call."""
        name = function.__name__
        self.note("%s: %s" % (self.label, name))
        self.made += 1
        try:
            return "SUCCESS", function(*args)
        except pynvml.NVMLError as error:
            code = self._names.get(error.value, "ERROR_%d" % error.value)
        except (ValueError, AttributeError) as error:  # text that is no UTF-8; a struct this binding lacks
            code = "unreadable: %s" % error
        self._count(code, name)
        return code, None

    def ask(self, function: Callable[..., Value], *args: Value) -> Value:
        """The value of one call, or its code as the reason."""
        code, value = self.attempt(function, *args)
        return plain(value) if code == "SUCCESS" else absent(code)

    def code(self, function: Callable[..., Value], *args: Value) -> str:
        """Only the code of one call, for calls that answer with nothing else."""
        return self.attempt(function, *args)[0]

    def spread(self, names: Sequence[str], function: Callable[..., Value], *args: Value) -> Dict[str, Value]:
        """A call with several outputs, by name; each carries the reason when it failed."""
        code, values = self.attempt(function, *args)
        if code != "SUCCESS":
            return {name: absent(code) for name in names}
        return {name: plain(value) for name, value in zip(names, values)}

    def struct(self, members: Dict[str, str], function: Callable[..., Value], *args: Value) -> Dict[str, Value]:
        """A call that returns a struct: our name -> its member."""
        code, value = self.attempt(function, *args)
        if code != "SUCCESS":
            return {name: absent(code) for name in members}
        return {name: plain(getattr(value, member)) for name, member in members.items()}

    def filled(self, members: Dict[str, str], function: Callable[..., Value], handle: Value,
               struct: Value) -> Dict[str, Value]:
        """A call that fills a struct it is given: our name -> its member."""
        code, _ = self.attempt(function, handle, ctypes.byref(struct))
        if code != "SUCCESS":
            return {name: absent(code) for name in members}
        return {name: plain(getattr(struct, member)) for name, member in members.items()}

    def fields(self, handle: Value, wanted: Dict[str, Field]) -> Dict[str, Value]:
        """Field values by name; each field has a return code of its own (nvmlFieldValue_t.nvmlReturn)."""
        code, values = self.attempt(pynvml.nvmlDeviceGetFieldValues, handle, list(wanted.values()))
        if code != "SUCCESS":
            return {name: absent(code) for name in wanted}
        return {name: self._field(value) for name, value in zip(wanted, values)}

    def _field(self, value: Value) -> Value:
        if value.nvmlReturn == 0:
            return _union(value)
        code = self._names.get(value.nvmlReturn, "ERROR_%d" % value.nvmlReturn)
        self._count(code, "nvmlDeviceGetFieldValues")
        return absent(code)

    def _count(self, code: str, name: str) -> None:
        if name not in self.bad.get(code, [name]):
            self.bad[code].append(name)


def _union(value: Value) -> Value:
    kind = value.valueType
    if not 0 <= kind < len(_MEMBERS):
        return absent("value type %d" % kind)
    return plain(getattr(value.value, _MEMBERS[kind]))
