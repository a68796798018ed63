"""A recorded run of any size, as a fleet run leaves it on disk: plan, results, evidence, verdicts."""

import math
from pathlib import Path

from fleetcheck import checkbook, inventory, rejudge
from fleetcheck.journal import Journal
from fleetcheck.records import Answer, Evidence, Planned, Result
from fleetcheck.report import earlier, html
from fleetcheck.run import Run, keep_inventory

HOSTILE = "</script><img src=x onerror=\"document.title='owned'\"><script>document.title='owned'</script><!-- {{ 7*7 }} \x1b[31m\u202egpj"
GPU = {"kind": "gpu", "label": "GPU 5", "slot": "0000:5d:00.0", "serial": "1654922003245"}
INVENTORY = "fleet: made\ndefaults: {{profile: h100-sxm5-8}}\nnodes:\n{nodes}"


def names(count):
    return [f"n{number:0{len(str(count))}}" for number in range(1, count + 1)]


def inventory_text(count, racks=True):
    listed = names(count)
    if not racks:
        return INVENTORY.format(nodes=f"  n[{listed[0][1:]}-{listed[-1][1:]}]: {{}}\n")
    blocks = [listed[start : start + 8] for start in range(0, count, 8)]
    return INVENTORY.format(nodes="".join(f"  n[{block[0][1:]}-{block[-1][1:]}]: {{rack: {number + 1:02}}}\n" for number, block in enumerate(blocks)))


def entries(count=None):
    """Shipped checks as (name, file, component, statement)."""
    found = [(entry.name, entry.file, str(entry.words.get("component", "gpu")), entry.statement) for entry in checkbook.read(checkbook.shipped_checks())]
    return found[:: max(1, len(found) // count)] if count else found


def result(run, check, node, outcome="passed", severity="degraded", action="isolate", **more):
    name, file, component, says = check
    return Result(run=run, stage=more.pop("stage", "facts"), check=name, component=component, node=node, outcome=outcome, severity=severity,
                  action=action, nodeid=f"{file}::{name}[{node or '-'.join(more.get('nodes', ()))}]", description=says, **more)


def planned(each):
    return Planned(run=each.run, stage=each.stage, check=each.check, node=each.node, nodeid=each.nodeid, component=each.component,
                   severity=each.severity, action=each.action, nodes=each.nodes)


def facts(run, node, number, parts, scheduler=None):
    """What names a node's parts."""
    data = {
        "system": {"serial": f"S{number:05}", "machine": {"board_name": "X13", "board_serial": f"B{number:05}"}, "busy": []},
        "scheduler": {"scontrol": scheduler or {"state": "IDLE", "reason": ""}},
        "gpu": {"gpus": [{"index": gpu, "identity": {"serial": f"165{number:06}{gpu:02}"}} for gpu in range(parts)]},
        "rdma": {"devices": {f"mlx5_{port}": {"node_guid": f"946d:ae03:{number:04x}:{port:04x}"} for port in range(parts)}},
        "drives": {"nvme": {f"nvme{drive}": {"serial": f"S64GNE{number:06}{drive:02}"} for drive in range(6)}},
        "dimms": {"slots": [{"locator": f"P1-DIMM{slot:02}", "serial": f"S{number:06}{slot:03}"} for slot in range(4 * parts)]},
    }
    return Evidence(run=run, stage="facts", probe="facts-fast", node=node, started="2026-11-30T03:15:00+00:00", seconds=1.0,
                    answers={name: Answer(True, data=each) for name, each in data.items()})


def window(at, gpus, hot=None):
    """One window of telemetry; hot: the GPU that runs away."""
    def one(gpu):
        heat = 61 + gpu + 8 * math.sin(at / 90) + (min(at / 30, 22) if gpu == hot else 0)
        clock = 1755 - (max(0, heat - 80) * 40)
        return {"temperature": [heat - 2, heat, heat + 1.5], "power": [640.0, 680.5 - gpu, 699.0], "sm_clock": [clock - 60, clock, 1980.0],
                "utilisation": [97.0, 99.5, 100.0]}
    load = ("gemm", "hbm", "hostlink")[int(at // 200) % 3]
    return {"t": at, "seconds": 10.0, "load": load, "samples": 10, "gpus": {str(gpu): one(gpu) for gpu in range(gpus)},
            "metrics": {str(gpu): {"tflops_bf16": [600.0, 640.0 - gpu, 660.0]} for gpu in range(gpus)}}


def load(run, node, windows, gpus, hot=None, events=()):
    told = {"windows": [window(10.0 * number, gpus, hot) for number in range(windows)], "events": list(events)}
    return Evidence(run=run, stage="load", probe="load", node=node, started="2026-11-30T03:16:00+00:00", seconds=900.0,
                    answers={"telemetry": Answer(True, data=told)})


def write(path, records):
    journal = Journal(path)
    for each in records:
        journal.append(each)
    journal.close()


def record(folder, run_id, results, evidence, text, tier="burnin", began="2026-11-30T03:15:00+00:00", **about):
    """A judged run under folder/reports; text: its inventory."""
    source = folder / "made.yaml"
    source.write_text(text)
    run = Run(folder / "reports" / run_id)
    run.path.mkdir(parents=True)
    plan = [planned(each) for each in results]
    write(run.plan, plan)
    write(run.results, results)
    write(run.evidence, evidence)
    keep_inventory(run, inventory.load(source))
    told = {"run": run_id, "fleet": "made", "tier": tier, "started": began, "ended": began.replace("03:15", "03:31"), "interrupted": False,
            "inventory": "made.yaml", "inventory_path": str(source), "complete": True, **about}
    run.describe(told)
    rejudge.judge_again(run)
    return run


def fleet_results(run, count, checks):
    """A fleet with a lost GPU, a degraded one, gaps, a node nobody measured, and passes with limits."""
    bound = {"low": 8.0, "high": 8.0, "unit": "GPUs"}
    listed = names(count)
    rows = [result(run, check, node, metrics={"driver.device_count": 8}, bound=bound, source="HGX H100 datasheet, table 2 (2026-11-30)")
            for node in listed for check in checks]
    per = len(checks)
    special = {
        2: {0: ("failed", "fatal", "reboot", "GPU 5: NVML returned GPU_IS_LOST", (GPU,))},
        4: {1: ("failed", "degraded", "reset-gpu", "GPU 5: remap.pending 1", (GPU,))},
        count - 2: {2: ("error", "degraded", "isolate", "journalctl: permission denied", ())},
        count - 1: {3: ("failed", "warn", "observe", "uptime 400 days", ())},
    }
    for node, found in special.items():
        for check, (outcome, severity, action, message, parts) in found.items():
            rows[node * per + check] = result(run, checks[check], listed[node], outcome, severity, action, message=message, parts=parts)
    return rows


def pair_results(run, listed, slow=None):
    """The bandwidth of every pair of these nodes; slow: the node at half speed."""
    check = ("test_pairs_reach_bandwidth", "checks/interconnect/test_pairs.py", "fabric", "Every pair reaches the bandwidth promised.")
    return [result(run, check, "", stage="pairs", nodes=(one, other), metrics={"send_recv.busbw_gb_s": 24.1 if slow in (one, other) else 47.5 + ((7 * place + len(other) + int(other[1:])) % 20) / 10})
            for place, one in enumerate(listed) for other in listed[place + 1 :]]


def paged(run):
    """Write the page of a judged run; its path."""
    verdicts, nodes = run.conclusions(), rejudge.selected(run, run.inventory())
    compared = earlier.compared(run, verdicts, list(run.judged()))
    return html.write(run, verdicts, nodes, compared, Path("reports") / run.id, "made.yaml")
