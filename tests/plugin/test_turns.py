"""Nodes are judged in the order in which they answer; what belongs to the session stays set up meanwhile."""

import time

CHECKS = """
    import pytest

    @pytest.fixture(scope="session")
    def book():
        print("OPENED")
        yield
        print("CLOSED")

    @pytest.mark.check(component="os", severity="fatal", action="reboot")
    def test_kernel_is_told(system, book):
        assert system.kernel

    @pytest.mark.check(component="os", severity="fatal", action="reboot")
    def test_name_is_told(system, book):
        assert system.hostname
"""
RACK = "fleet: rack\ndefaults: {profile: cpu-host}\nnodes: {'sim-[01-03]': }\nsandbox: {nodes: {%s}}\n"
HUNG = "sim-01: {commands: {python3: {hang: true}}}"


def test_a_node_that_keeps_silent_holds_up_nobody(site):
    site.write(CHECKS)
    (site.folder / "rack.yaml").write_text(RACK % HUNG)
    process = site.start("checks", "--inventory", "rack.yaml")
    try:
        while not (site.runs() and (site.runs()[0] / "results.jsonl").exists()
                   and (site.runs()[0] / "results.jsonl").read_text().count("\n") == 4):
            assert process.poll() is None, (site.folder / "output.txt").read_text()
            time.sleep(0.05)
        assert "sim-01" not in (site.runs()[0] / "results.jsonl").read_text()
    finally:
        process.terminate()
        process.wait()


def test_every_item_runs_once_with_one_session(site):
    site.write(CHECKS)
    (site.folder / "rack.yaml").write_text(RACK % "sim-02: {unreachable: refused}")
    done = site.run("checks", "--inventory", "rack.yaml", "-s")
    assert done.output.count("OPENED") == done.output.count("CLOSED") == 1
    assert sorted(done.outcomes()) == [f"test_{word}_is_told[sim-0{n}]" for word in ("kernel", "name") for n in (1, 2, 3)]
