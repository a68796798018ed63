"""Options of pytest mean what its users expect, and a narrowed run certifies nobody."""

import xml.etree.ElementTree as ET

import pytest
from fleetrun import CHECKS


def names(outcome):
    return sorted(outcome.outcomes())


def certified(outcome):
    return [name for name, node in outcome.verdicts["nodes"].items() if node["certified"]]


def test_every_check_runs_on_every_node_node_by_node(site):
    done = site.replay()
    assert [f"{each['node']}" for each in done.lines("results")] == ["n1"] * 3 + ["n2"] * 3 + ["n3"] * 3
    assert [each["nodeid"] for each in done.lines("plan")] == [each["nodeid"] for each in done.lines("results")]
    assert done.verdicts["complete"] is True
    assert done.status == 1


def test_n_is_connections_in_threads_and_no_worker_starts(site):
    done = site.replay("-n", "7")
    assert "workers" not in done.output and "[gw" not in done.output
    assert '"connections": 7' in (done.run / "run.json").read_text()


def test_the_header_says_what_n_means(site):
    assert "7 connections in flight, threads of this process" in site.run(
        "checks", "--inventory", "x.yaml", "-n", "7", "--collect-only").output


def test_without_an_inventory_n_keeps_the_meaning_xdist_gives_it(site):
    (site.folder / "test_plain.py").write_text("def test_one():\n    pass\n")
    done = site.run("test_plain.py", "-n", "2")
    assert done.status == 0 and "2 workers" in done.output


@pytest.mark.parametrize(("option", "selected"), [
    (("-k", "name"), ["test_name_is_known"]), (("-m", "check", "-k", "not disks"), ["test_kernel_is_told", "test_name_is_known"]),
    (("--deselect", "checks/node/test_some.py::test_disks_are_whole"), ["test_kernel_is_told", "test_name_is_known"]),
])
def test_a_selection_by_option_is_partial_and_certifies_nobody(site, option, selected):
    done = site.replay(*option)
    assert selected == sorted({each["check"] for each in done.lines("results")})
    assert done.verdicts["complete"] is False and certified(done) == []
    assert option[0] in done.verdicts["narrowed"]


def test_a_deselection_by_a_plugin_is_partial_too(site):
    (site.folder / "conftest.py").write_text(
        "def pytest_collection_modifyitems(config, items):\n    config.hook.pytest_deselected(items=[items.pop()])\n")
    done = site.replay()
    assert done.verdicts["complete"] is False and done.verdicts["narrowed"] == "1 items deselected"


@pytest.mark.parametrize("path", ["checks/node", "checks/node/test_some.py", "checks/node/test_some.py::test_kernel_is_told"])
def test_a_path_below_the_checks_is_partial(site, path):
    done = site.replay(paths=(path,))
    assert done.verdicts["complete"] is False and certified(done) == []


def test_a_node_id_names_one_check_of_one_node(site):
    done = site.replay(paths=("checks/node/test_some.py::test_name_is_known[n3]",))
    assert done.outcomes() == {"test_name_is_known[n3]": "failed"}
    assert done.verdicts["complete"] is False


@pytest.mark.parametrize(("paths", "made"), [
    (("checks/node/test_some.py::test_name_is_known", "checks/node/test_some.py::test_disks_are_whole[n2]"), 2),
    (("checks/node/test_some.py::test_name_is_known", "checks/node"), 3),
])
def test_only_checks_asked_for_by_name_are_made_into_items(site, paths, made):
    (site.folder / "conftest.py").write_text("""
def pytest_generate_tests(metafunc):
    print("MADE", metafunc.function.__name__)
""")
    printed = site.run(*paths, "--inventory", "x.yaml", "--collect-only", "-q", "-s").output
    assert made == len({line for line in printed.splitlines() if line.startswith("MADE")})


def test_a_check_that_reads_the_log_gets_it(site):
    site.write("""
import logging, pytest
@pytest.mark.check(component="os", severity="warn", action="observe")
def test_log_is_heard(system, caplog):
    logging.getLogger().warning("heard")
    assert "heard" in caplog.text and system.hostname
""")
    done = site.replay()
    assert {"passed"} == {each["outcome"] for each in done.lines("results")}


@pytest.mark.parametrize("option", [("--nodes", "n1"), ("--group", "first")])
def test_a_selection_of_nodes_is_complete(site, option):
    done = site.replay("-q", *option, paths=("checks",))
    assert {each["node"] for each in done.lines("results")} == {"n1"}
    assert done.verdicts["complete"] is True


def test_last_failed_repeats_what_failed_and_what_was_not_measured(site):
    first = site.replay()
    again = site.replay("--lf")
    broken = sorted(key for key, word in first.outcomes().items() if word in ("failed", "error"))
    assert broken == names(again) and len(broken) == 4
    assert again.verdicts["complete"] is False and again.verdicts["narrowed"] == "--lf"


def test_failed_first_changes_the_order_and_nothing_else(site):
    first = site.replay()
    again = site.replay("--ff")
    assert again.lines("results")[0]["outcome"] in ("failed", "error")
    assert first.outcomes() == again.outcomes() and again.verdicts["complete"] is True


@pytest.mark.parametrize(("option", "found"), [(("-x",), 1), (("--maxfail", "2"), 2)])
def test_x_and_maxfail_stop_and_keep_what_there_is(site, option, found):
    done = site.replay(*option)
    assert found == sum(word in ("failed", "error") for word in done.outcomes().values())
    assert done.verdicts["complete"] is False and len(done.verdicts["missing"]) > 0
    assert done.status == (1 if "failed" in done.outcomes().values() else 6)


def test_collect_only_lists_items_and_makes_no_run(site):
    done = site.run("checks", "--inventory", "x.yaml", "--collect-only", "-q")
    assert "checks/node/test_some.py::test_name_is_known[n3]" in done.output
    assert done.status == 0 and site.runs() == []


def test_setup_only_passes_nothing(site):
    done = site.replay("--setup-only")
    assert "passed" not in done.outcomes().values()
    assert done.verdicts["complete"] is False


def test_verbose_names_items_and_quiet_still_ends_with_the_page(site):
    loud, quiet = site.replay("-v"), site.replay("-q")
    assert "test_some.py::test_name_is_known[n3] FAILED" in loud.output
    assert "test_some.py::test_disks_are_whole[n1] ERROR" in loud.output
    assert "nobody knows" in quiet.output


def test_a_traceback_is_shown_where_tb_asks_for_one(site):
    assert "in test_name_is_known" in site.replay("--tb=short").output
    assert "in test_name_is_known" not in site.replay().output


def test_junitxml_of_pytest_is_written_alongside(site):
    site.replay("--junitxml", "own.xml")
    suite = ET.parse(site.folder / "own.xml").getroot().find("testsuite")
    assert ("9", "1", "3") == (suite.get("tests"), suite.get("failures"), suite.get("errors"))


def test_options_from_the_environment_count_and_narrow(site):
    done = site.replay("-p", "no:cacheprovider", PYTEST_ADDOPTS="-k name")
    assert done.verdicts["narrowed"] == "-k name" and len(done.lines("results")) == 3
    assert not (site.folder / ".pytest_cache").exists()


def test_pytest_starts_from_anywhere(site, tmp_path_factory):
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    done = site.run(site.folder / "checks", "--inventory", site.folder / "x.yaml", "--replay", site.recorded,
                    cwd=elsewhere, reports=elsewhere / "reports")
    assert done.verdicts["complete"] is True and len(done.lines("results")) == 9


def test_the_shipped_checks_run_from_anywhere(healthy_run, tmp_path):
    from fleetrun import run_pytest

    done = run_pytest(CHECKS, "--replay", healthy_run, "-p", "fleetcheck.plugin", "--nodes", "sim-01", cwd=tmp_path)
    assert done.verdicts["complete"] is True and done.status == 0, done.output
    assert done.verdicts["nodes"]["sim-01"]["certified"] is True


def test_a_tier_leaves_other_checks_out_without_narrowing(site):
    done = site.replay("--tier", "burnin")
    assert "test_kernel_is_told" not in {each["check"] for each in done.lines("results")}
    assert done.verdicts["complete"] is True
