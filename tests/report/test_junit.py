"""What CI reads: valid, complete, and safe whatever a node said."""

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from junitparser import JUnitXml
from lxml import etree

from fleetcheck.report import junit
from fleetcheck.run import RunError

SCHEMA = etree.XMLSchema(etree.parse(Path(__file__).parents[1] / "data" / "jenkins-junit.xsd"))
HOSTILE = "\x1b[2J ]]> </failure> & \x00 \x9b31m \ud800 \ufffe \u202e evil <!--"


def written(folder, made, results, nodes, **more):
    verdicts = made.judged(results, nodes, **more)
    return junit.write(folder, verdicts, results, nodes)


def cases(paths):
    """(suite, classname, name) → the tags of what is inside."""
    found = {}
    for path in paths:
        for suite in etree.parse(path).getroot():
            for case in suite.iter("testcase"):
                key = suite.get("name"), case.get("classname"), case.get("name")
                assert key not in found
                found[key] = [child.tag for child in case]
    return found


def rich_run(made):
    nodes = [made.node("n1", serials={"chassis": "SN1"}), made.node("n2"), made.node("n3", state="maintenance")]
    results = [
        made.result("n1", message="GPU 5: lost", parts=(made.GPU,), metrics={"gpu.temperature": {"GPU 5": 40}},
                    bound={"low": 8, "high": 8, "unit": "GPUs"}, source="HGX datasheet (2026-11-30)",
                    coverage="7 of 8 GPUs", **made.FATAL),
        made.result("n1", "test_ecc", seconds=0.0000123),
        made.result("n1", "test_nvlink", "skipped", message="no NVLink in this profile"),
        made.result("n2", message="n2: refused", outcome="error"),
        made.result("", "test_pair", "failed", nodes=("n1", "n2"), nodeid="test_pairs.py::test_pair[n1-n2]"),
    ]
    return nodes, results


def test_a_report_is_valid_against_the_schema_jenkins_reads(tmp_path, made):
    nodes, results = rich_run(made)
    (path,) = written(tmp_path, made, results, nodes, failures={"n2": made.Failure("refused", "n2: refused")})
    SCHEMA.assertValid(etree.parse(path))


def test_every_node_is_a_suite_with_verdict_action_and_serial(tmp_path, made):
    nodes, results = rich_run(made)
    (path,) = written(tmp_path, made, results, nodes)
    suites = {suite.name: {each.name: each.value for each in suite.properties()}
              for suite in JUnitXml.fromfile(str(path))}
    assert ["n1", "n2", "n3", "fleet"] == list(suites)
    assert ("failed", "false", "reboot", "in-service", "SN1", "h100", "2 of 2") == tuple(
        suites["n1"][key] for key in ("verdict", "certified", "action", "state", "serial", "profile", "coverage"))
    assert ("unknown", "maintenance") == (suites["n3"]["verdict"], suites["n3"]["state"])


def test_each_outcome_is_what_ci_calls_it(tmp_path, made):
    nodes, results = rich_run(made)
    tags = cases(written(tmp_path, made, results, nodes))
    assert ["failure", "system-out"] == tags["n1", "n1.gpu", "test_no_gpu_is_lost"]
    assert ["system-out"] == tags["n1", "n1.gpu", "test_ecc"]
    assert ["skipped", "system-out"] == tags["n1", "n1.gpu", "test_nvlink"]
    assert ["error", "system-out"] == tags["n2", "n2.gpu", "test_no_gpu_is_lost"]
    assert ["failure", "system-out"] == tags["fleet", "fleet.gpu", "test_pair"]


def test_a_finding_carries_measured_value_limit_source_and_part(tmp_path, made):
    nodes, results = rich_run(made)
    (path,) = written(tmp_path, made, results, nodes)
    text = etree.parse(path).find(".//testcase").findtext("system-out")
    assert "measured: gpu.temperature = GPU 5: 40" in text
    assert "limit: 8 GPUs" in text
    assert "source: HGX datasheet (2026-11-30)" in text
    assert "part: GPU 5 at 0000:5D:00.0 serial 1654922003245" in text


def test_header_counts_are_those_of_the_cases(tmp_path, made):
    nodes, results = rich_run(made)
    (path,) = written(tmp_path, made, results, nodes)
    root = etree.parse(path).getroot()
    for suite in [root, *root]:
        tags = Counter(child.tag for case in suite.iter("testcase") for child in case)
        assert (len([*suite.iter("testcase")]), tags["failure"], tags["error"]) == tuple(
            int(suite.get(key)) for key in ("tests", "failures", "errors"))


def test_an_item_without_an_outcome_is_an_error_in_the_report(tmp_path, made):
    results = [made.result("n1", "test_a"), made.result("n1", "test_b")]
    paths = written(tmp_path, made, results[:1], [made.node("n1")], planned=made.plan(results))
    assert ["error"] == cases(paths)["n1", "n1.gpu", "test_b"]
    SCHEMA.assertValid(etree.parse(paths[0]))


def test_a_node_that_is_still_failed_is_not_green(tmp_path, made):
    results = [made.result("n1", "test_a"), made.result("n1", "test_lost", "error", message="no answer"), made.result("n2", "test_a")]
    verdicts = made.judged(results, [made.node("n1"), made.node("n2")])
    open_one = {"check": "test_lost", "component": "gpu", "severity": "fatal", "action": "reboot", "message": "GPU 5: \x1b lost", "parts": [made.GPU],
                "common_cause": False, "since": "2026-11-28T02:00:00", "open_since": "20261128-020000-ab12", "tier": "full"}
    below = {**open_one, "check": "below_its_peers", "component": "peers", "severity": "degraded", "open_since": "", "message": "12 % below"}
    verdicts["nodes"]["n1"]["findings"] = [open_one, below, {**below, "message": "7 % below"}]
    paths = junit.write(tmp_path, verdicts, results, [made.node("n1"), made.node("n2")])
    found = cases(paths)
    assert ["failure", "system-out"] == found["n1", "n1.gpu", "test_lost (open)"] == found["n1", "n1.peers", "below_its_peers"]
    assert "error" in found["n1", "n1.gpu", "test_lost"] and "failure" not in found["n2", "n2.gpu", "test_a"]
    root = etree.parse(paths[0])
    SCHEMA.assertValid(root)
    said, lower = (each.text for each in root.iter("failure"))
    assert "GPU 5: \\x1b lost (since 2026-11-28 02:00, not measured again since run 20261128-020000-ab12, tier full)" == said and "12 % below" in lower and "7 % below" in lower
    assert ["5", "2"] == [root.getroot().get(key) for key in ("tests", "failures")]


def test_hostile_text_stays_text(tmp_path, made):
    results = [made.result("n1", outcome=outcome, check=f"test_{outcome}", message=HOSTILE, source=HOSTILE,
                           metrics={HOSTILE: HOSTILE}, parts=({"kind": HOSTILE, "label": HOSTILE, "serial": HOSTILE},))
               for outcome in ("failed", "error", "skipped", "passed")]
    (path,) = written(tmp_path, made, results, [made.node("n1")], failures={"n1": made.Failure("refused", HOSTILE)})
    document = etree.parse(path)
    SCHEMA.assertValid(document)
    assert r"\x1b[2J ]]> </failure> & \x00 \x9b31m \ud800 \ufffe \u202e evil <!--" == document.findtext(".//failure")


def test_long_texts_are_cut_and_say_so(tmp_path, made):
    (path,) = written(tmp_path, made, [made.result("n1", message="x" * 200_000, **made.FATAL)], [made.node("n1")])
    failure = etree.parse(path).find(".//failure")
    assert len(failure.text) <= 16_384
    assert "more characters" in failure.text
    assert len(failure.get("message")) <= 300


def test_above_512_nodes_every_rack_has_a_file_and_nothing_is_lost(tmp_path, made):
    racks = ["a1", "a/1", "A1", "../../etc", ""]
    nodes = [made.node(f"n{number:03}", labels={"rack": racks[number % 5]} if number % 5 != 4 else {})
             for number in range(600)]
    results = [made.result(each.name, f"test_{check}") for each in nodes for check in range(3)]
    results.append(made.result("", "test_pair", "error", nodes=("n001", "n002"), nodeid="test_pairs.py::test_pair"))
    paths = written(tmp_path, made, results, nodes)
    stems = ("junit", "junit-a1", "junit-a_1", "junit-A1-2", "junit-.._.._etc", "junit-no-rack")
    assert {f"{stem}.xml" for stem in stems} == {path.name for path in paths}
    assert {path.parent for path in paths} == {tmp_path}
    assert len(results) == len(cases(paths))
    for path in paths:
        SCHEMA.assertValid(etree.parse(path))


def test_one_file_up_to_512_nodes(tmp_path, made):
    nodes = [made.node(f"n{number:03}", labels={"rack": str(number % 4)}) for number in range(512)]
    assert ["junit.xml"] == [path.name for path in written(tmp_path, made, [made.result(n.name) for n in nodes], nodes)]


def test_files_of_an_earlier_rendering_do_not_stay(tmp_path, made):
    (tmp_path / "junit-rack1.xml").write_text("stale")
    written(tmp_path, made, [made.result("n1")], [made.node("n1")])
    assert ["junit.xml"] == [path.name for path in tmp_path.iterdir()]


def test_a_node_called_fleet_keeps_its_own_suite(tmp_path, made):
    paths = written(tmp_path, made, [made.result("fleet")], [made.node("fleet")])
    assert ["fleet", "fleet"] == [suite.get("name") for suite in etree.parse(paths[0]).getroot()]


def test_a_report_that_cannot_be_written_names_the_file_and_leaves_nothing_behind(tmp_path, made):
    (tmp_path / "junit.xml").mkdir()
    with pytest.raises(RunError, match=r"junit\.xml.*fleetcheck report"):
        written(tmp_path, made, [made.result("n1")], [made.node("n1")])
    assert ["junit.xml"] == [path.name for path in tmp_path.iterdir()]


def test_very_short_and_very_long_times_are_written_as_the_schema_wants(tmp_path, made):
    base = made.result("n1")
    results = [replace(base, check=f"test_{number}", nodeid=f"t[{number}]", seconds=seconds)
               for number, seconds in enumerate((0.0, 1e-9, 0.0000123, 0.00012, 3600.5, 86_400.0 * 30))]
    (path,) = written(tmp_path, made, results, [made.node("n1")])
    SCHEMA.assertValid(etree.parse(path))
    assert not [case for case in etree.parse(path).iter("testcase") if "e" in case.get("time")]
