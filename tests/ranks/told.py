"""What members of a trial say, made by hand for tests of those who read it."""

from __future__ import annotations

from fleetcheck.collective.bench import Bench
from fleetcheck.records import Answer, Evidence, Failure

BENCHES = (Bench("all_reduce", (8, 1 << 20), iterations=5),)


def bench(op="all_reduce", size=1 << 20, seconds=(0.002,) * 5, **more):
    return {"op": op, "bytes": size, "moved_bytes": size, "rail": "", "seconds": list(seconds), "entered": [0.1 * at for at in range(len(seconds))],
            "wrong": 0, "wrong_from": {}, **more}


def rank(number, benches=None, **more):
    return {"rank": number, "local_rank": 0, "arrived": True, "ended": "exit 0", "at": "leaving", "failed": "", "why": "", "missing": [],
            "bench": [bench(size=8), bench()] if benches is None else benches, "output": "", "transport": [], "software": {"torch": "2.7"}, **more}


def answered(node, ranks, **more):
    data = {"arrived": all(each["arrived"] for each in ranks), "failed": next((each["failed"] for each in ranks if each["failed"]), ""), "why": "",
            "boot_id": f"boot-{node}", "ranks": ranks, "seconds": 1.0, **more}
    return Evidence("r", "pairs", "trial", node, "", 1.0, answers={"rank_run": Answer(ok=True, data=data)})


def unanswered(node, kind, message="no"):
    return Evidence("r", "pairs", "trial", node, "", 1.0, failure=Failure(kind, f"{node}: {message}"))
