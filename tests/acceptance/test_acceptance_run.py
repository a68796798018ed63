"""An acceptance of a simulated node through pytest as a user starts it: serials, firmware and energy are told, its hours are too few."""

import json

from smallsite import Site

CHECKS = """
    import pytest

    @pytest.mark.check(component="gpu", severity="fatal", action="reboot", tiers=("acceptance",), needs="idle")
    def test_loads_end(load_life, gpu_profile):
        assert not load_life.broke_off()

    @pytest.mark.check(component="gpu", severity="fatal", action="reboot")
    def test_gpus_are_told(gpus):
        assert not gpus.offending(lambda gpu: gpu.ecc.volatile_uncorrected)

    @pytest.fixture
    def gpu_profile(profile):
        return profile.gpu
"""
RACK = """fleet: rack
defaults: {profile: h100-sxm5-8, claim: none, load: {device: cpu, devices: 2, loads: [cpu], acceptance_hours: 24}}
nodes: {sim-01: }
sandbox: {}
"""


def test_an_acceptance_tells_what_stood_there_and_what_is_lacking(tmp_path):
    site = Site(tmp_path)
    site.write(CHECKS)
    (site.folder / "rack.yaml").write_text(RACK)
    done = site.run("checks", "--inventory", "rack.yaml", "--tier", "acceptance", "--duration", "9s", timeout=300)
    told = done.verdicts["nodes"]["sim-01"]
    assert "healthy" == told["verdict"] and not told["certified"], done.output
    reason, hours = told["reason"], told["acceptance"]["loaded_hours"]
    assert 0 < hours < 0.01 and f"{hours:.4g} of 24 hours under load" in reason and "the inventory leaves out gemm, hbm" in reason
    assert "sim-01: 0.00" in done.output and "h, 24 asked for (inventory)" in done.output, done.output
    line = json.loads((done.run / "acceptance.jsonl").read_text())
    assert "" == told["acceptance"]["restarted"] and line["began"]["boot_id"] == line["ended"]["boot_id"] != ""
    energy = [(line["began"]["grown"][gpu]["energy_joules"], line["ended"]["grown"][gpu]["energy_joules"]) for gpu in line["began"]["grown"]]
    assert 8 == len(energy) and all(0 < before < after for before, after in energy)
    assert 8 == sum(name.startswith("gpu ") and name.endswith("vbios") for name in line["ended"]["firmware"])
