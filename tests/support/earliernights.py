"""Earlier nights of one node, as history tells them."""

from dataclasses import replace

from fleetcheck.past import Past, Told
from fleetcheck.policy import Repeats

GPU3 = {"kind": "gpu", "label": "GPU 3", "slot": "0000:61:00.0", "serial": "1650003"}
GPU5 = {"kind": "gpu", "label": "GPU 5", "slot": "0000:65:00.0", "serial": "1650005"}
TONIGHT = 30
"""Day of November on which the run under judgement began."""


def told(day, outcome="failed", part=GPU3, check="test_ecc", severity="fatal", action="reset-gpu", **more):
    """One line of the night of a day of November."""
    about = dict(part or {}) if outcome != "passed" else {}
    started = f"2026-11-{day:02d}T02:00:00"
    line = Told(f"202611{day:02d}-020000-aa", started, "quick", True, "n1", "SN-1", check, outcome, severity, action, "gpu", "GPU 3: bad", **about)
    return replace(line, **more)


def nights(word, last=TONIGHT - 1, **more):
    """One letter a night, the last letter yesterday's: F failed, P passed, a dot says nothing. Newest first, as history tells them."""
    outcomes = {"F": "failed", "P": "passed"}
    first = last - len(word) + 1
    lines = [told(first + number, outcomes[letter], **more) for number, letter in enumerate(word) if letter != "."]
    return lines[::-1]


def past(*lines, node="n1"):
    ordered = sorted(lines, key=lambda each: each.run, reverse=True)
    return Past({node: tuple(ordered)}, runs=len({each.run for each in ordered}))


def judged_tonight(made, results, lines=(), repeats=None, **more):
    """The verdict of n1, and the whole of what the run concluded."""
    run = more.pop("run", made.info(run=f"202611{TONIGHT}-020000-aa", started=f"2026-11-{TONIGHT}T02:00:00+00:00", **more.pop("about", {})))
    verdicts = made.judged(results, run=run, past=past(*lines) if lines else Past(), repeats=Repeats(**(repeats or {})), **more)
    return verdicts["nodes"]["n1"], verdicts
