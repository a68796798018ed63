"""A folder with the shipped checks of several nodes, sixteen H100 nodes in leaves of four, and a recorded run with a campaign over them."""

import json
import shutil

from fleetrun import CHECKS, run_pytest
from standinlauncher import StandIn

from fleetcheck import inventory
from fleetcheck.collective.campaign.campaign import Campaign
from fleetcheck.collective.campaign.course import Course
from fleetcheck.collective.campaign.launch import stand_in
from fleetcheck.collective.campaign.limits import limits
from fleetcheck.collective.campaign.record import Begun, campaign_line, node_line
from fleetcheck.collective.topology import topology
from fleetcheck.journal import Journal
from fleetcheck.records import Answer, Evidence, Failure

NAMES = [f"n{at:04d}" for at in range(16)]
INVENTORY = """fleet: f
defaults: {{profile: {profile}, claim: none}}
nodes:
  n[0000-0003]: {{leaf: L000}}
  n[0004-0007]: {{leaf: L001}}
  n[0008-0011]: {{leaf: L002}}
  n[0012-0015]: {{leaf: L003}}
"""
RAILS = "all_reduce_busbw_gb_s_128MiB"
WHOLE = "all_reduce_busbw_gb_s_256MiB"


class TrialSite:
    """profile: of all nodes; extra: profile files by name."""

    def __init__(self, folder, profile="h100-sxm5-8", extra=None):
        self.folder = folder
        shutil.copytree(CHECKS / "interconnect", folder / "checks" / "interconnect", ignore=shutil.ignore_patterns("__pycache__", "test_cabling.py"))
        (folder / "pytest.ini").write_text("[pytest]\n")
        (folder / "x.yaml").write_text(INVENTORY.format(profile=profile))
        self.profiles(extra or {})
        self.inventory = inventory.load(folder / "x.yaml")
        self.profile = profile

    def profiles(self, texts):
        (self.folder / "profiles").mkdir(exist_ok=True)
        for name, text in texts.items():
            (self.folder / "profiles" / f"{name}.yaml").write_text(text)

    def record(self, culprits=(), left_out=None, campaign=True, tier="full", **more):
        """A run with a campaign of these culprits; left_out: node → Failure."""
        self.tier = tier
        left_out = left_out or {}
        folder = self.folder / "recorded"
        folder.mkdir()
        (folder / "plan.jsonl").touch()
        (folder / "run.json").write_text(json.dumps({"run": "r", "fleet": "f", "tier": tier, "pairs": "quick"}))
        journal = Journal(folder / "evidence.jsonl")
        for name in NAMES:
            journal.append(Evidence("r", "facts", "facts-fast", name, "", 1.0, answers={"system": Answer(True, data={
                "hostname": name, "serial": f"S{name}", "boot_id": "b", "busy": []})}))
        if campaign:
            self.campaign(journal, culprits, left_out, more)
        journal.close()
        return self

    def campaign(self, journal, culprits, left_out, more):
        over = more.pop("over", True)
        entered = tuple(name for name in NAMES if name not in left_out)
        labels = {node.name: node.labels for node in self.inventory.nodes}
        first = self.inventory.nodes[0]
        limit = limits(self.inventory.profiles[self.profile], stand_in(first, self.inventory))
        launcher = StandIn(topology(labels), culprits, **{"metric": RAILS if more.get("rails", 4) else WHOLE, **more})
        done = Campaign("r", [Course(topology(labels), "quick", limit, self.tier == "acceptance")], launcher, journal.append, lost=dict.fromkeys(left_out, "left out"))
        done.go()
        journal.append(campaign_line("r", Begun("quick", {self.profile: entered}, left_out, over=over), ""))
        for name in NAMES:
            journal.append(node_line("r", name, "", left_out.get(name)))

    def replay(self, *argv):
        return run_pytest("checks", "--inventory", "x.yaml", "--replay", "recorded", "--no-html", *argv, cwd=self.folder,
                          reports=self.folder / "reports")


def refusal(kind, message):
    """Why a node is left out."""
    return Failure(kind, message)
