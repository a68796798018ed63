"""Judged nights of a small fleet on disk, and the commands that act on them."""

import datetime
import sys
from dataclasses import replace

import madefleet

from fleetcheck import cli, inventory, rejudge
from fleetcheck.records import Answer, Evidence
from fleetcheck.run import Run, as_json, keep_inventory, write_atomically
from fleetcheck.verdict import RunInfo, judge

CHECKS = (
    ("test_no_gpu_is_lost", "checks/node/test_gpu.py", "gpu", "No GPU is lost."),
    ("test_kernel_is_known", "checks/node/test_os.py", "os", "The kernel is known."),
)
FAULT = ("failed", "fatal", "reboot", "GPU 3: lost")
INVENTORY = "fleet: made\ndefaults: {{profile: h100-sxm5-8}}\nnodes:\n{nodes}{more}"


def now():
    return datetime.datetime.now(datetime.UTC)


def inventory_text(count, more="", racks=2):
    rows = "".join(f"  {name}: {{rack: {1 + number % racks}}}\n" for number, name in enumerate(madefleet.names(count)))
    return INVENTORY.format(nodes=rows, more=more)


def night(folder, run_id, failing=None, *, count=4, text=None, tier="quick", age_seconds=60.0, complete=True, silent=(), weighed=False, **about):
    """One judged run. failing: node → (outcome, severity, action, message) of its first check; silent: nodes without evidence;
    weighed: judged by the nights before as well, which takes half a second."""
    source = folder / "made.yaml"
    source.write_text(text or inventory_text(count))
    loaded = inventory.load(source)
    chosen = inventory.select(loaded, about.get("nodes", ""))
    began = now() - datetime.timedelta(seconds=age_seconds)
    run = Run(folder / "reports" / run_id)
    run.path.mkdir(parents=True)
    results = []
    for node in chosen:
        for number, check in enumerate(CHECKS):
            outcome, severity, action, message = ({**(failing or {})}.get(node.name) if number == 0 else None) or ("passed", "degraded", "isolate", "")
            results.append(madefleet.result(run_id, check, node.name, outcome, severity, action, message=message))
    madefleet.write(run.plan, [replace(madefleet.planned(each), probes=("facts-fast",)) for each in results])
    madefleet.write(run.results, results if complete else results[:-1])
    madefleet.write(run.evidence, [answer(run_id, node.name, began) for node in chosen if node.name not in silent])
    keep_inventory(run, loaded)
    run.describe({"run": run_id, "fleet": "made", "tier": tier, "started": began.isoformat(), "ended": began.isoformat(), "interrupted": False,
                  "inventory": "made.yaml", "inventory_path": str(source), "complete": complete, **about})
    if weighed:
        rejudge.judge_again(run)
        return run
    info = RunInfo(run_id, "made", tier, began.isoformat(), about.get("narrowed", ""), replay_of=about.get("replay_of", ""))
    write_atomically(run.verdicts, as_json(judge(info, chosen, list(run.planned()), list(run.judged()), {})))
    return run


def answer(run_id, node, began):
    return Evidence(run=run_id, stage="facts", probe="facts-fast", node=node, started=began.isoformat(timespec="milliseconds"), seconds=1.0,
                    answers={"system": Answer(True, data={"serial": f"S-{node}", "busy": []})})


def command(monkeypatch, capsys, *words):
    """Exit code, standard output and standard error of one fleetcheck command."""
    monkeypatch.setattr(sys, "argv", ["fleetcheck", *map(str, words)])
    try:
        cli.main()
        code = 0
    except SystemExit as end:
        code = end.code or 0
    said = capsys.readouterr()
    return code, said.out, said.err
