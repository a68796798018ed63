"""What fleetcheck explain and docs/checks.md say of checks comes from the checks themselves."""

from __future__ import annotations

import ast
import textwrap
from pathlib import Path

import pytest
from typer.testing import CliRunner

from fleetcheck import checkbook, cli, explain, named_limits, readings
from fleetcheck.bound import Bound
from fleetcheck.facts.registry import FACTS, LOAD, PAIRS
from fleetcheck.groups import BY_NODE

PAGE = Path(__file__).parents[2] / "docs" / "checks.md"
CONFTEST = """
    import pytest

    @pytest.fixture
    def gpu_profile(profile):
        if profile.gpu is None:
            pytest.skip("none")
        return profile.gpu
"""
CHECKS = '''
    import pytest

    from fleetcheck.facts.applies import limit as optional
    from fleetcheck.facts.applies import promised
    from fleetcheck.facts.bundles import allowed

    pytestmark = pytest.mark.usefixtures("gpu_profile")

    @pytest.fixture
    def able(gpus):
        return gpus

    @pytest.fixture
    def width(gpu_profile):
        return promised(gpu_profile, "pcie_width")

    @pytest.mark.check(component="pcie", severity="degraded", action="reboot", tiers=("full",), needs="idle")
    def test_width(able, width):
        """Links are of full width, i.e. all lanes. Reboot, then reseat."""
        assert able.width in width

    @pytest.mark.check(component="os", severity="warn", action="observe")
    def test_several(system, profile, gpu_profile, filesystems):
        """Everything is in order."""
        assert system.kernel in allowed(profile, "kernel")
        assert system.count in gpu_profile.count
        assert system.cores in profile.cpu.cores
        assert system.load in optional(profile, "a_default_limit")
        assert system.other in profile.limits["of_nobody"]
        assert not filesystems.offending(lambda mount: mount.free not in mount.expected.free_percent)

    def test_of_another_suite(system):
        pass
'''


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    root = tmp_path / "checks"
    (root / "node").mkdir(parents=True)
    (root / "conftest.py").write_text(textwrap.dedent(CONFTEST))
    (root / "node" / "test_some.py").write_text(textwrap.dedent(CHECKS))
    return root


def test_only_marked_functions_are_checks(folder):
    assert {"test_width", "test_several"} == checkbook.names([folder])


def test_a_docstring_is_the_healthy_statement_and_what_to_do(folder):
    entry = explain.explanation("test_width", folder).entry
    assert ("Links are of full width, i.e. all lanes.", "Reboot, then reseat.") == (entry.statement, entry.advice)
    assert ("Everything is in order.", "") == checkbook.split("Everything is in\n  order.")


def test_fixtures_lead_through_files_to_facts_and_collectors(folder):
    said = explain.explanation("width", folder)
    assert {"able", "width", "gpus", "gpu_profile", "profile"} == set(said.entry.fixtures)
    assert [("facts-fast", "gpu")] == [(probe, collector.name) for probe, collector in said.collectors]


def test_limits_are_found_by_every_way_of_naming_them(folder):
    entries = {entry.name: entry for entry in checkbook.read(folder)}
    profiles = named_limits.shipped()
    assert ["gpu.pcie_width"] == [each.key for each in named_limits.named(entries["test_width"], profiles)]
    assert {"bundles.kernel", "gpu.count", "cpu.cores", "limits.a_default_limit", "limits.of_nobody",
            "filesystems.free_percent"} == {each.key for each in named_limits.named(entries["test_several"], profiles)}


def test_limits_show_value_and_source_of_each_shipped_profile(folder, monkeypatch):
    monkeypatch.setitem(named_limits.LIMITS, "a_default_limit", Bound(high=4, unit="", source="us", date="2026-11-30"))
    text = explain.as_text(explain.explanation("several", folder))
    assert "gpu.count: 4 GPUs in gb200-nvl72-tray (NVIDIA GB200 NVL72 datasheet" in text
    assert "limits.a_default_limit: ≤ 4 in every shipped profile (us, 2026-11-30)" in text
    assert "limits.of_nobody: set by no shipped profile; without it the check is skipped" in text


def test_the_text_names_grade_tiers_and_privileges(folder):
    text = explain.as_text(explain.explanation("test_width[n1]", folder))
    assert "pcie: degraded → reboot; full, only on an idle node" in text
    assert "gpu (facts-fast), root: SRAM error status of NVML" in text


def test_a_misspelt_check_is_refused_with_what_comes_near():
    done = CliRunner().invoke(cli.app, ["explain", "test_nvlinks_are_upp"])
    assert isinstance(done.exception, explain.UnknownCheck)
    assert "(did you mean 'test_nvlinks_are_up'?)" in str(done.exception)


def test_every_check_is_listed_without_a_name():
    done = CliRunner().invoke(cli.app, ["explain"])
    assert len(checkbook.names([checkbook.shipped_checks()])) == len(done.stdout.splitlines())


def test_every_shipped_check_says_a_healthy_statement_and_reads_a_known_fact():
    facts = {fact.name for fact in FACTS}
    entries = [entry for entry in checkbook.read(checkbook.shipped_checks()) if "/node/" in entry.file]
    spoken = {entry.name for entry in entries if entry.statement.endswith((".", "?")) and facts & {name.removesuffix(BY_NODE) for name in entry.fixtures}}
    assert set() == {entry.name for entry in entries} - spoken


def test_every_look_alike_belongs_to_a_check():
    assert set() == set(explain.lookalikes()) - checkbook.names([checkbook.shipped_checks()])


def test_every_collector_says_what_it_reads_and_with_which_privilege():
    silent = [name for name, each in readings.collectors().items() if not each.reads]
    assert [] == silent, "give these collectors a READS tuple"
    reads = [reading for each in readings.collectors().values() for reading in each.reads]
    ways = {way for reading in reads for way in reading.privilege.split(" or ")}
    assert set() == {way for way in ways if way not in ("any user", "root") and "=" not in way and way[:6] != "group "}


def test_reads_are_literals_beside_the_imports():
    for path in readings.FOLDER.glob("*.py"):
        given = readings._assigned(ast.parse(path.read_text()), "READS")
        assert given is None or all(len(row) == 2 for row in ast.literal_eval(given)), path.name


def test_every_fact_has_a_collector_of_the_node_code():
    assert set() == {fact.collector for fact in FACTS if fact.probe not in (LOAD, PAIRS)} - set(readings.collectors())


def test_the_page_of_all_checks_is_current():
    page = explain.as_page(explain.explanations(checkbook.shipped_checks()))
    assert page == PAGE.read_text(encoding="utf-8"), "docs/checks.md is old: make docs"


def test_make_docs_writes_the_page(tmp_path, folder):
    done = CliRunner().invoke(cli.app, ["explain", "--checks", str(folder), "--write", str(tmp_path / "page.md")])
    assert 0 == done.exit_code, done.output
    assert "### test_width\n\nLinks are of full width, i.e. all lanes.\n" in (tmp_path / "page.md").read_text()
