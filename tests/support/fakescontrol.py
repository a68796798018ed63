"""A program called ``scontrol`` that keeps nodes in a folder and can be made to fail: as the real one words it, in milliseconds."""

import json
import stat
import sys
from pathlib import Path

PROGRAM = '''#!{python}
import json, pathlib, sys, time
folder = pathlib.Path({folder!r})
nodes = json.loads((folder / "nodes").read_text())
trouble = json.loads((folder / "trouble").read_text())
calls = folder / "calls"
calls.write_text((calls.read_text() if calls.exists() else "") + json.dumps(sys.argv[1:]) + "\\n")
number = len(calls.read_text().splitlines())

def shown(name):
    node = nodes[name]
    reason = "   Reason=%s [%s@2026-11-30T03:15:00]\\n" % (node["reason"], node.get("by", "root")) if node["reason"] else ""
    return "NodeName=%s Arch=x86_64\\n   State=%s ThreadsPerCore=1\\n   Partitions=batch \\n   BootTime=None\\n%s\\n" % (name, node["state"], reason)

def end(text, code=1):
    sys.stderr.write(text + "\\n"); sys.exit(code)

if number >= trouble.get("gone_from", 10**9):
    end("slurm_load_node error: Unable to contact slurm controller (connect failure)")
if "hang" in trouble:
    time.sleep(60)
if sys.argv[1] == "show":
    name = sys.argv[3] if len(sys.argv) > 3 else ""
    if name and name not in nodes:
        sys.stdout.write("Node %s not found\\n" % name); sys.exit(1)
    sys.stdout.write("".join(shown(each) for each in ([name] if name else nodes)))
    between = trouble.get("between", {{}}).get(str(number))
    if between:
        nodes.update(between); (folder / "nodes").write_text(json.dumps(nodes))
    sys.exit(0)
words = dict(word.split("=", 1) for word in sys.argv[2:])
node = nodes[words["NodeName"]]
if "refuse" in trouble:
    end(trouble["refuse"])
if "ignore" not in trouble:
    flags = [flag for flag in node["state"].split("+") if flag != "DRAIN"]
    if words["State"] == "DRAIN":
        node.update(state="+".join([*flags, "DRAIN"]), reason=words["Reason"], by="root")
    else:
        node.update(state="+".join(flags), reason="")
    (folder / "nodes").write_text(json.dumps(nodes))
if "lost" in trouble:
    end("slurm_update error: Socket timed out on send/recv operation")
'''


class FakeSlurm:
    def __init__(self, folder, nodes):
        self.folder = folder
        (folder / "bin").mkdir(parents=True)
        program = folder / "bin" / "scontrol"
        program.write_text(PROGRAM.format(python=sys.executable, folder=str(folder)))
        program.chmod(program.stat().st_mode | stat.S_IXUSR)
        self.nodes = {name: {"state": "IDLE", "reason": ""} for name in nodes}
        self.trouble()

    def trouble(self, **what):
        (self.folder / "trouble").write_text(json.dumps(what))

    @property
    def nodes(self):
        return json.loads((self.folder / "nodes").read_text())

    @nodes.setter
    def nodes(self, nodes):
        (self.folder / "nodes").write_text(json.dumps(nodes))

    def set(self, name, state, reason="", by="root"):
        self.nodes = {**self.nodes, name: {"state": state, "reason": reason, "by": by}}

    @property
    def updates(self):
        calls = Path(self.folder / "calls")
        told = [json.loads(line) for line in calls.read_text().splitlines()] if calls.exists() else []
        return [call for call in told if call[0] == "update"]
