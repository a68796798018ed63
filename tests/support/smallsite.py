"""A small site: a few checks, three nodes, and a recorded run of theirs, judged by pytest as a user starts it."""

import json
import textwrap

from fleetrun import run_pytest, start

from fleetcheck.records import Answer, Evidence, as_line

CHECKS = """
    import pytest

    @pytest.mark.check(component="os", severity="fatal", action="reboot")
    def test_name_is_known(system):
        assert system.hostname != "n3", "nobody knows n3"

    @pytest.mark.check(component="os", severity="warn", action="observe", tiers=("quick", "full"))
    def test_kernel_is_told(system):
        assert system.hostname

    @pytest.mark.check(component="disk", severity="degraded", action="replace")
    def test_disks_are_whole(filesystems):
        assert len(filesystems)
"""
INVENTORY = "fleet: f\ndefaults: {profile: cpu-host}\nnodes: {'n[1-3]': }\ngroups: {first: 'n1'}\n"
MARK = '@pytest.mark.check(component="os", severity="fatal", action="reboot")'


def line_of(node, **failure):
    system = Answer(ok=True, data={"hostname": node, "boot_id": f"boot-{node}"})
    evidence = Evidence("r", "facts", "facts-fast", node, "", 1.0, answers={"system": system})
    return json.dumps(as_line(evidence), separators=(",", ":"))


class Site:
    """A folder with checks, an inventory and a recorded run."""

    def __init__(self, folder):
        self.folder = folder
        self.checks = folder / "checks" / "node"
        self.checks.mkdir(parents=True)
        self.write(CHECKS)
        (folder / "pytest.ini").write_text("[pytest]\n")
        (folder / "x.yaml").write_text(INVENTORY)
        self.recorded = folder / "recorded"
        self.recorded.mkdir()
        (self.recorded / "plan.jsonl").touch()
        self.record(line_of(name) for name in ("n1", "n2", "n3"))

    def write(self, checks, name="test_some.py"):
        (self.checks / name).write_text(textwrap.dedent(checks))

    def record(self, lines):
        (self.recorded / "evidence.jsonl").write_text("\n".join(lines) + "\n")

    def run(self, *argv, **more):
        return run_pytest(*argv, cwd=more.pop("cwd", self.folder), **{"reports": self.folder / "reports", **more})

    def replay(self, *argv, paths=("checks",), **more):
        return self.run(*paths, "--inventory", "x.yaml", "--replay", "recorded", *argv, **more)

    def start(self, *argv):
        """The same, left running; what it prints goes to output.txt."""
        return start(*argv, cwd=self.folder, output=self.folder / "output.txt")

    def runs(self):
        reports = self.folder / "reports"
        return sorted(path for path in reports.iterdir() if path.is_dir() and not path.is_symlink()) if reports.exists() else []
