"""What the programs of a node answer: base machine, kernel log and description, merged by program and words. Pure."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from fleetcheck.sandbox import kernel_log
from fleetcheck.sandbox.kernel_log import Boot
from fleetcheck.sandbox.values import command_name

Answer = Mapping[str, Any]
Programs = dict[str, list[tuple[tuple[str, ...], Answer]]]
"""Program → entries: the words that must be among a call's arguments, and the answer."""
MOST_BASE_WORDS = 32
NO_BOOT = 'Data from the specified boot (-1) is not available: No such boot ID in journal\n'
JOURNAL_STAMPS = {
    "short": "%b %d %H:%M:%S", "short-iso": "%Y-%m-%dT%H:%M:%S+00:00", "short-precise": "%b %d %H:%M:%S.%f",
}


def programs(base: Mapping[str, Answer], described: Mapping[str, Answer | None]) -> Programs:
    """Program → its entries. What is described wins over the base machine, whose words no description can know: a bare
    name replaces all the program's answers, one with words is asked before them, None takes answers away."""
    overrides = {_words(name): answer for name, answer in described.items()}
    replaced = {words[0] for words in overrides if len(words) == 1}
    found: dict[str, list[tuple[tuple[str, ...], Answer]]] = {}
    for name, answer in base.items():
        words = _words(name)
        if words[0] not in replaced and words not in overrides:
            found.setdefault(words[0], []).append((words[1:], answer))
    for words, said in overrides.items():
        if said is not None:
            found.setdefault(words[0], []).append((_weighty(words[1:]), said))
    return found


@cache
def _words(name: str) -> tuple[str, ...]:
    """The program and its words in one canonical order."""
    return tuple(shlex.split(command_name(name)))


def _weighty(words: tuple[str, ...]) -> tuple[str, ...]:
    """Words that outnumber those of any base entry: of the entries that fit a call the one with most words answers."""
    return words + words[:1] * MOST_BASE_WORDS


def logs(boots: Sequence[Boot], hostname: str) -> dict[str, Answer]:
    """dmesg and journalctl -k of a node; boots: this one first."""
    return {name: {"stdout": text} for name, text in _dmesg(boots[0]).items()} | _journalctl(boots, hostname)


def _dmesg(boot: Boot) -> dict[str, str]:
    iso = kernel_log.dmesg_iso(boot)
    return {
        "dmesg": kernel_log.dmesg(boot.records),
        "dmesg -r": kernel_log.dmesg_raw(boot.records), "dmesg --raw": kernel_log.dmesg_raw(boot.records),
        "dmesg -x": kernel_log.dmesg_decoded(boot.records), "dmesg --decode": kernel_log.dmesg_decoded(boot.records),
        "dmesg -T": kernel_log.dmesg_ctime(boot), "dmesg --ctime": kernel_log.dmesg_ctime(boot),
        "dmesg --time-format iso": iso, "dmesg --time-format=iso": iso,
    }


def _journalctl(boots: Sequence[Boot], hostname: str) -> dict[str, Answer]:
    answers: dict[str, Answer] = {"journalctl --list-boots": {"stdout": kernel_log.journal_boots(boots)}}
    for words, text in _formats(boots[0], hostname).items():
        answers[f"journalctl {words}"] = {"stdout": text}
    earlier = boots[1] if len(boots) > 1 else None
    formats: Mapping[str, str | None] = _formats(earlier, hostname) if earlier else dict.fromkeys(_spellings(""), None)
    for spelling in ("-b -1", "-b-1", "--boot=-1"):
        for words, previous in formats.items():
            told: Answer = {"stderr": NO_BOOT, "exit": 1} if previous is None else {"stdout": previous}
            answers[f"journalctl {spelling} {words}"] = told
    return answers


def _formats(boot: Boot, hostname: str) -> dict[str, str]:
    """Words → text, for every output format and spelling of it; no words: the short one."""
    texts = {name: kernel_log.journal_short(boot, hostname, stamp) for name, stamp in JOURNAL_STAMPS.items()}
    texts["short-monotonic"] = kernel_log.journal_monotonic(boot, hostname)
    texts["short-unix"] = kernel_log.journal_unix(boot, hostname)
    texts["json"] = kernel_log.journal_json(boot, hostname)
    spelled = {words: text for name, text in texts.items() for words in _spellings(name)}
    return {"": texts["short"], **spelled}


def _spellings(form: str) -> tuple[str, ...]:
    return (f"-o {form}", f"--output={form}") if form else ("",)
