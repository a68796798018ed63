"""512 nodes under load for 15 minutes, answering from recordings: what the controller costs. Its clock runs five times as fast."""

import json
import sys

from measured_process import measured

NODES, SECONDS, PACE = 512, 900, 5

PROGRAM = """
import json, sys
from pathlib import Path
from fakeloads import RESULT, Fleet, controlled, inventory_of, window
from fleetcheck import frame
from fleetcheck.burnin.ends import Patience

NODES, SECONDS, PACE = {nodes}, {seconds}, {pace}
folder = Path(sys.argv[1])
WINDOW = json.dumps(window(0))

class Recorded(Fleet):
    '''Polls answer as text, parsed as a node's is.'''
    def _load_poll(self, name, asked):
        held, first = self.loads[name], asked["after"]["windows"]
        passed = min(self.clock() - held.began, held.seconds)
        last = int(passed / held.window_seconds)
        over = passed >= held.seconds
        windows = "[" + ",".join([WINDOW] * (last - first)) + "]"
        head = json.dumps({{"state": "ended" if over else "running", "boot_id": held.boot, "started_boot_id": held.boot, "current": "gemm",
                           "ends_in": held.seconds - passed, "ended_why": "done" if over else "", "events": [], "more": False,
                           "results": {{"gemm": RESULT}} if over else {{}}, "snapshots": {{}}}})
        data = head[:-1] + ', "windows": ' + windows + "}}"
        body = '{{"runtime": {{}}, "answers": {{"load_poll": {{"ok": true, "seconds": 0.1, "error": "", "data": ' + data + ', "metrics": {{}}, "coverage": ""}}}}}}'
        return frame.answers(body.encode())["load_poll"]

fleet, inventory = Recorded(), inventory_of(folder, f"n[0001-{{NODES:04d}}]")
with controlled(folder, fleet, inventory, duration=float(SECONDS), max_loaded=NODES, pace=PACE, needed=("gemm",), connections=32,
                patience=Patience()) as (loads, futures):
    for name in futures:
        loads.ready(name, None)
    for future in futures.values():
        future.result()
polls = fleet.count("load_poll")
print(json.dumps({{"polls": sum(polls.values()), "every": loads.every, "windows": sum(each.kept.windows for each in loads.under.values())}}))
"""


def test_512_nodes_under_load(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(PROGRAM.format(nodes=NODES, seconds=SECONDS, pace=PACE))
    path = [entry for entry in sys.path if entry]
    cost = measured([sys.executable, "-c", f"import sys; sys.path[:0] = {path!r}; sys.argv[1:] = [{str(tmp_path)!r}]; exec(open({str(program)!r}).read())"], tmp_path)
    assert cost.status == 0, cost.output[-3000:]
    told = json.loads(cost.output.splitlines()[-1])
    size = (tmp_path / "evidence.jsonl").stat().st_size
    print(f"\n{NODES} nodes, {SECONDS / 60:g} min, {told['polls']} polls, one every {told['every']:.0f} s a node; {told['windows']} windows, {size / 1e6:.0f} MB of evidence")
    print(f"controller: {cost.cpu_seconds:.0f} CPU s, {100 * cost.cpu_seconds / SECONDS:.2f} % of one core, {cost.peak_mbytes:.0f} MB")
    assert told["windows"] == NODES * SECONDS / 10
    assert cost.cpu_seconds <= 0.05 * SECONDS and cost.peak_mbytes < 300
