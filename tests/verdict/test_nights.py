"""Nights of a simulated rack over real SSH: a degraded node that repeats is isolated, an open finding outlives a silent night, healing closes both."""

import json
import sys

import pytest
from smallsite import Site

from fleetcheck import cli

CHECKS = """
    import pytest

    @pytest.mark.check(component="gpu", severity="fatal", action="reboot")
    def test_gpus_answer(gpu_handles):
        assert not gpu_handles.offending(lambda gpu: gpu.lost)

    @pytest.mark.check(component="gpu-memory", severity="degraded", action="reset-gpu")
    def test_no_remap_is_pending(gpus):
        assert not gpus.offending(lambda gpu: gpu.remap.pending)
"""
RACK = "fleet: rack\ndefaults: {{profile: h100-sxm5-8}}\nnodes: {{'sim-[01-03]': }}\nsandbox: {{nodes: {{{faults}}}}}\n"
NIGHTS = (
    "sim-01: {faults: [row-remap-pending]}, sim-02: {faults: [gpu-lost]}",
    "sim-01: {faults: [row-remap-pending]}, sim-02: {unreachable: refused}",
    "",
)


@pytest.fixture(scope="module")
def nights(tmp_path_factory):
    """The outcomes of three nights, and the folder of their runs."""
    site = Site(tmp_path_factory.mktemp("nights"))
    site.write(CHECKS)
    return [_night(site, faults) for faults in NIGHTS], site.folder / "reports"


def _night(site, faults):
    (site.folder / "rack.yaml").write_text(RACK.format(faults=faults))
    ended = site.run("checks", "--inventory", "rack.yaml", "-n", "3", "-p", "no:cacheprovider", "--no-html")
    return ended.output, ended.verdicts


def test_the_first_night_isolates_the_hard_fault_and_suspects_the_soft_one(nights):
    output, verdicts = nights[0][0]
    assert ("degraded", "sim-02") == (verdicts["nodes"]["sim-01"]["verdict"], verdicts["isolate"]), output
    assert ["failing"] == [each["state"] for each in verdicts["nodes"]["sim-01"]["suspects"]]
    assert "judged by this run alone" in verdicts["history"]["note"]


def test_the_second_night_isolates_the_degraded_node_and_keeps_the_silent_one_failed(nights):
    output, verdicts = nights[0][1]
    again, silent = verdicts["nodes"]["sim-01"], verdicts["nodes"]["sim-02"]
    assert ("degraded", True, "sim-[01-02]") == (again["verdict"], again["findings"][0]["isolates"], verdicts["isolate"]), output
    assert ("failed", "refused") == (silent["verdict"], silent["unreachable"]["kind"])
    first = nights[0][0][1]
    assert {first["started"][:19]} == {each["findings"][0]["since"][:19] for each in (again, silent)}
    assert first["run"] == silent["findings"][0]["open_since"]


def test_the_third_night_heals_both_and_remembers_them_as_suspects(nights):
    output, verdicts = nights[0][2]
    assert ("", {"healthy"}) == (verdicts["isolate"], {node["verdict"] for node in verdicts["nodes"].values()}), output
    assert [True] * 3 == [node["certified"] for node in verdicts["nodes"].values()]
    assert [["passed since"], ["passed since"], []] == [[each["state"] for each in node["suspects"]] for node in verdicts["nodes"].values()]


def test_a_night_judged_again_is_judged_by_the_nights_before_it(nights, monkeypatch):
    _, verdicts = nights[0][1]
    monkeypatch.setattr(sys, "argv", ["fleetcheck", "judge", verdicts["run"], "--reports", str(nights[1])])
    with pytest.raises(SystemExit):
        cli.main()
    again = json.loads((nights[1] / verdicts["run"] / "verdicts.json").read_text())
    assert verdicts == again
