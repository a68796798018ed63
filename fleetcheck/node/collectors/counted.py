"""Runs on the node: numbers out of what programs print, each held to what it can be at all; else absent with the reason."""

import json
import re
import threading
from typing import Any, Callable, Dict, List, Optional

UNKNOWN_FROM = 1 << 63
"""All ones in a counter is a device that does not answer; no counter of a real part gets here."""
_NUMBER = re.compile(r"-?\d+(\.\d+)?([eE][-+]?\d+)?$")


def whole(value: Any, what: str, low: int = 0, high: int = UNKNOWN_FROM - 1) -> Any:
    """A whole number within [low, high]; texts of digits, with , between thousands, count as well."""
    if isinstance(value, dict):
        return value if set(value) == {"absent"} else whole(value.get("value"), what, low, high)
    if isinstance(value, str) and re.match(r"-?\d{1,3}(,\d{3})+$|-?\d+$", value.strip()):
        value = int(value.replace(",", ""))
    if isinstance(value, float) and value.is_integer():
        value = int(value)  # nvme-cli 1.13 to 1.16 on json-c writes its counters of 128 bits as 3.0
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        return {"absent": "%s is %.40r" % (what, value) if value is not None else "%s is missing" % what}
    return value


def real(text: Any, what: str) -> Any:
    """A number with or without decimals: ``47``, ``23.500``, ``15E-255``."""
    if isinstance(text, str) and _NUMBER.match(text.strip()):
        return float(text)
    if isinstance(text, (int, float)) and not isinstance(text, bool):
        return float(text)
    return {"absent": "%s is %.40r" % (what, text) if text is not None else "%s is missing" % what}


def document(said: Dict[str, Any], what: str) -> Any:
    """The JSON object a program printed, or absent with what it said instead."""
    if "absent" in said:
        return said
    try:
        found = json.loads(said["stdout"])
    except ValueError:
        return {"absent": "%s ended with %d and no JSON: %s" % (what, said["status"], excerpt(said))}
    return found if isinstance(found, dict) else {"absent": "%s printed no JSON object: %.60r" % (what, found)}


def excerpt(said: Dict[str, Any]) -> str:
    """The first words of what a program complained of, or printed."""
    return " ".join((said["stderr"].strip() or said["stdout"].strip() or "nothing was printed").split())[:120]


def at_once(names: List[str], ask: Callable[[str], Any], seconds: float, most: int = 4) -> Dict[str, Any]:
    """{name: ask(name)} of all, a few at a time, so that one part that hangs costs only itself."""
    answers: Dict[str, Any] = {}
    waiting = list(reversed(names))

    def work() -> None:
        while waiting:
            try:
                name = waiting.pop()
            except IndexError:
                return
            answers[name] = answered(ask, name)

    threads = [threading.Thread(target=work, daemon=True) for _ in range(min(most, len(names)))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(seconds)
    return {name: answers.get(name, {"absent": "no answer within %g s: %s" % (seconds, name)}) for name in names}


def answered(ask: Callable[[str], Any], name: str) -> Any:
    """What was answered; a part that breaks its reader is absent, and costs no other."""
    try:
        return ask(name)
    except Exception as error:  # noqa: BLE001 - one odd answer must not cost the other parts theirs
        return {"absent": "%s: %s: %.80s" % (name, type(error).__name__, error)}


def within(mapping: Any, *keys: str) -> Optional[Any]:
    """A value deep in nested objects; None when a step is missing or no object."""
    for key in keys:
        mapping = mapping.get(key) if isinstance(mapping, dict) else None
    return mapping
