"""A run under a site's policy, from plan to verdict: waived checks never begin, never pass, and are always named."""

from __future__ import annotations

import json
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from fleetcheck.records import Answer, Evidence, as_line

CHECKS = """
    import pytest

    @pytest.fixture
    def trap(node):
        raise RuntimeError("a waived check's fixtures must not run")

    @pytest.mark.check(component="os", severity="fatal", action="reboot")
    def test_name_is_known(system):
        assert system.hostname == "somebody else"

    @pytest.mark.check(component="os", severity="fatal", action="reboot")
    def test_trap(trap):
        pass

    @pytest.mark.check(component="os", severity="fatal", action="reboot")
    def test_fine(system):
        assert system.hostname
"""


@pytest.fixture
def fleet(tmp_path: Path):
    """Replays two recorded nodes under a policy; gives back the process and its run."""
    folder = tmp_path / "checks" / "node"
    folder.mkdir(parents=True)
    (folder / "test_some.py").write_text(textwrap.dedent(CHECKS))
    run = tmp_path / "recorded"
    run.mkdir()
    (run / "plan.jsonl").touch()
    system = Answer(ok=True, data={"hostname": "n"})
    told = [Evidence("r", "facts", "facts-fast", name, "", 1.0, answers={"system": system}) for name in ("n1", "n2")]
    (run / "evidence.jsonl").write_text("".join(json.dumps(as_line(each)) + "\n" for each in told))

    def replay(policy: str, *words: str):
        text = "fleet: f\ndefaults: {profile: cpu-host}\nnodes: {'n[1-2]': }\n"
        (tmp_path / "x.yaml").write_text(text + textwrap.dedent(policy))
        argv = [sys.executable, "-m", "pytest", "-p", "fleetcheck.plugin", "-p", "no:cacheprovider",
                *(words or ("checks",)), "--inventory", "x.yaml", "--replay", "recorded"]
        done = subprocess.run(argv, cwd=tmp_path, capture_output=True, text=True, check=False)
        return done, tmp_path / "reports" / "latest"
    return replay


WAIVED = """
    policy:
      test_name_is_known: {waivers: [{nodes: 'n[1-2]', until: 9999-12-24, reason: renamed next year}]}
      test_trap: {waivers: [{nodes: 'n[1-2]', until: 9999-12-24, reason: hangs}]}
"""


def test_a_waived_check_is_skipped_before_its_fixtures_with_the_reason(fleet):
    done, run = fleet(WAIVED)
    results = [json.loads(line) for line in (run / "results.jsonl").read_text().splitlines()]
    assert 0 == done.returncode, done.stdout + done.stderr
    assert {("test_trap", "skipped", "waived until 9999-12-24: hangs"), ("test_fine", "passed", ""),
            ("test_name_is_known", "skipped", "waived until 9999-12-24: renamed next year")} == {
        (each["check"], each["outcome"], each["message"]) for each in results}


def test_a_waiver_stands_beside_the_certificate_and_in_the_page(fleet):
    done, run = fleet(WAIVED)
    node = json.loads((run / "verdicts.json").read_text())["nodes"]["n1"]
    assert (True, {"planned": 1, "measured": 1}) == (node["certified"], node["coverage"])
    assert {"check": "test_trap", "until": "9999-12-24", "reason": "hangs"} in node["waived"]
    assert "n[1-2]: test_trap until 9999-12-24: hangs" in done.stdout
    assert '<skipped message="waived until 9999-12-24: hangs" type="waived"/>' in (run / "junit.xml").read_text()


def test_what_is_wholly_waived_is_not_gathered_and_certifies_nothing(fleet):
    _, run = fleet(WAIVED + "      test_fine: {waivers: [{nodes: n1, until: 9999-12-24, reason: r}]}\n")
    node = json.loads((run / "verdicts.json").read_text())["nodes"]["n1"]
    assert ("unknown", False, 3) == (node["verdict"], node["certified"], len(node["waived"]))


def test_an_expired_waiver_no_longer_counts_and_is_named(fleet):
    done, run = fleet("policy:\n  test_trap: {waivers: [{nodes: n1, until: 2026-01-01, reason: was once}]}\n")
    sentence = "waiver of test_trap for n1 (x.yaml:5) expired after 2026-01-01: was once"
    assert f"fleetcheck: {sentence}" in done.stdout
    assert [sentence] == json.loads((run / "verdicts.json").read_text())["expired_waivers"]
    assert "EXPIRED WAIVERS" in done.stdout and "must not run" in (run / "results.jsonl").read_text()


def test_severity_and_action_of_the_site_reach_result_and_verdict(fleet):
    said = "{severity: warn, action: observe, reason: names move}"
    _, run = fleet(f"policy: {{test_name_is_known: {said}}}\n", "checks", "-k", "name")
    node = json.loads((run / "verdicts.json").read_text())["nodes"]["n2"]
    finding, = node["findings"]
    assert ("healthy", "warn", "observe") == (node["verdict"], finding["severity"], finding["action"])


@pytest.mark.parametrize("words", [(), ("checks/node/test_some.py::test_fine[n1]",), ("checks", "-k", "fine")])
def test_a_misspelt_check_is_refused_and_others_are_not_however_narrow_the_run(fleet, words):
    done, _ = fleet("policy: {test_trapp: {severity: warn}}\n", *words)
    assert 4 == done.returncode
    assert "x.yaml:4: policy of an unknown check 'test_trapp'" in done.stderr + done.stdout
    assert "(did you mean 'test_trap'?)" in done.stderr + done.stdout
    done, _ = fleet("policy: {test_trap: {severity: warn}}\n", *words)
    assert 4 != done.returncode
