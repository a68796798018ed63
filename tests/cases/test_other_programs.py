"""What DCGM, ibstat, the error daemons, other suites' JUnit files and Ansible write, also cut, wrapped or strange."""

from __future__ import annotations

import json

import pytest

from fleetcheck import ansible
from fleetcheck.absent import NotMeasured
from fleetcheck.facts import dcgm, ibstat, ras
from fleetcheck.report import junit_reader


def third(**status: str) -> str:
    """A document of schema 3: GPU 1 and 2 ids as strings."""
    tests = [{"name": name.replace("_", " "), "results": [{"gpu_ids": "1,2", "status": word}]} for name, word in status.items()]
    return json.dumps({"DCGM GPU Diagnostic": {"test_categories": [
        {"category": "Deployment", "tests": [{"name": "Denylist", "results": [{"status": "PASS"}]}]},
        {"category": "Hardware", "tests": tests}]}})


def fourth(*statuses: str, warning: str = "") -> str:
    """A document of schema 4: one entity each."""
    results = [{"entity_group": "GPU", "entity_group_id": 1, "entity_id": number, "status": word,
                **({"warnings": [{"warning": warning, "error_id": 7}]} if warning and word == "Fail" else {})}
               for number, word in enumerate(statuses)]
    return json.dumps({"DCGM Diagnostic": {"test_categories": [{"category": "Hardware", "tests": [
        {"name": "memory", "results": [*results, {"entity_group": "CPU", "entity_id": 0, "status": "Skip"}], "test_summary": {"status": "Pass"}}]}]},
        "metadata": {"version": "4.2.3"}})


BUSY = "CUDA-capable device(s) is/are busy or unavailable"
TABLE = """+---------------------------+------------------------------------------------+
| Diagnostic                | Result                                         |
+===========================+================================================+
|-----  Metadata  ----------+------------------------------------------------|
| DCGM Version              | 3.3.5                                          |
+-----  Deployment  --------+------------------------------------------------+
| Denylist                  | Pass                                           |
+-----  Hardware  ----------+------------------------------------------------+
| GPU Memory                | Fail - GPU: 3                                  |
|                           | Pass - GPUs: 0, 1                              |
| Warning                   | GPU 3 Error using CUDA API cuCtxCreate Unable  |
|                           |  to create CUDA context: 'CUDA-capable device( |
|                           | s) is/are busy or unavailable'.                |
| Info                      | GPU 1 to Host bandwidth: 12.4 GB/s             |
+-----  Stress  ------------+------------------------------------------------+
| Targeted Stress           | Skip - All                                     |
+---------------------------+------------------------------------------------+
"""


@pytest.mark.parametrize(("text", "expected"), [
    pytest.param(third(PCIe="Skip", GPU_Memory="SKIP"), {1: "error", 2: "error"}, id="only the installation was tested"),
    pytest.param(third(PCIe="Pass", GPU_Memory="Skip"), {1: "passed", 2: "passed"}, id="schema 3"),
    pytest.param(fourth("Pass", "Fail", warning="row remap failed"), {0: "passed", 1: "failed"}, id="schema 4"),
    pytest.param(fourth("Pass", "Fail", warning=f"cuCtxCreate: '{BUSY}'"), {0: "passed", 1: "error"}, id="busy or broken"),
    pytest.param(fourth("Pass", "Not Run"), {0: "passed", 1: "error"}, id="a status of no meaning"),
    pytest.param("Successfully ran diagnostic for group.\n" + fourth("Pass"), {0: "passed"}, id="words before the document"),
    pytest.param(TABLE, {0: "passed", 1: "passed", 3: "error"}, id="table wrapped inside words"),
])
def test_a_diagnostic_of_dcgm(text, expected):
    assert expected == {gpu: judged.outcome for gpu, judged in dcgm.judge(dcgm.parse(text)).items()}


def fifth(*tests: dict[str, object], category: str = "Hardware") -> str:
    """A document of schema 4 with tests as given."""
    return json.dumps({"DCGM Diagnostic": {"test_categories": [{"category": category, "tests": list(tests)}]}})


def of(name: str, *statuses: str, summary: str = "Pass", **more: object) -> dict[str, object]:
    results = [{"entity_group": "GPU", "entity_id": gpu, "status": status, **more} for gpu, status in enumerate(statuses)]
    return {"name": name, "results": results, "test_summary": {"status": summary}}


@pytest.mark.parametrize(("text", "expected", "words"), [
    pytest.param(fifth(of("memory", "Pass", warnings=[{"warning": "only 40 % could be allocated", "error_id": 59}])), "error", "40 %",
                 id="a pass with an error beside it"),
    pytest.param(fifth(of("memory", "Pass"), of("diagnostic", summary="Fail")), "error", "diagnostic: status 'fails as a whole",
                 id="a test that failed and names no GPU"),
    pytest.param("{notice} the collector is new\n" + fifth(of("memory", "Pass")), "passed", "memory", id="braces in a line before it"),
])
def test_a_diagnostic_that_contradicts_itself(text, expected, words):
    judged = dcgm.judge(dcgm.parse(text))[0]
    assert expected == judged.outcome
    assert words in judged.message


def test_a_diagnostic_that_broke_off_says_why():
    with pytest.raises(NotMeasured, match="broke off: Unable to complete"):
        dcgm.parse('{"DCGM Diagnostic": {"runtime_error": "Unable to complete diagnostic for group 1"}}')


INSTALLED = """|-----  Deployment  --------+------------------------------------------------|
| Persistence Mode          | {0}                                           |
| Warning                   | Persistence mode for GPU 0 is disabled.        |
| Page Retirement/Row Remap | {1}                                           |
| Warning                   | GPU 0 has uncorrectable row remaps pending.    |
+-----  Hardware  ----------+------------------------------------------------+
| GPU Memory                | {2} - All                                     |
"""


@pytest.mark.parametrize(("statuses", "expected"), [
    (("Warn", "Pass", "Pass"), ("failed", "warn", "fix-config")),
    (("Fail", "Pass", "Pass"), ("failed", "degraded", "fix-config")),
    (("Fail", "Fail", "Pass"), ("failed", "", "")),
    (("Warn", "Pass", "Skip"), ("error", "", "")),
    (("Fail", "Pass", "Fail"), ("failed", "", "")),
])
def test_a_setting_of_the_node_blames_no_gpu(statuses, expected):
    judged = dcgm.judge(dcgm.parse(INSTALLED.format(*statuses)))[None]
    assert expected == (judged.outcome, judged.severity, judged.action)


def test_dcgm_4_names_the_setting_in_its_words():
    text = json.dumps({"DCGM Diagnostic": {"test_categories": [
        {"category": "Deployment", "tests": [of("software", "Fail", warnings=[{"warning": "Persistence Mode: it is disabled for GPU 0."}])]},
        {"category": "Hardware", "tests": [of("memory", "Pass")]}]}})
    judged = dcgm.judge(dcgm.parse(text))[0]
    assert ("failed", "degraded", "fix-config") == (judged.outcome, judged.severity, judged.action)


def test_busy_is_believed_when_it_repeats():
    results = dcgm.parse(TABLE)

    assert "failed" == dcgm.judge(results, again=True)[3].outcome
    assert BUSY in dcgm.judge(results, again=True)[3].message


@pytest.mark.parametrize("text", [
    "", "Error: unable to establish a connection to the specified host: localhost", fourth("Pass")[:-40],
    third(PCIe="Skip").replace('{"name"', '{"..."}, {"name"', 1), '{"DCGM Diagnostic": {"test_categories": {}}}',
    '{"DCGM Diagnostic": {"test_categories": [{"category": "x", "tests": [{"name": "y"}]}]}}', '{"error": "busy"}', "\x00\xff{",
])
def test_what_is_no_diagnostic_is_not_measured(text):
    with pytest.raises(NotMeasured):
        dcgm.parse(text)


FOURTH = """
|-----  Deployment  --------+------------------------------------------------|
| software                  | Pass                                           |
|                           | GPU0: Pass                                     |
|                           | GPU1: Pass                                     |
+-----  Hardware  ----------+------------------------------------------------+
| memory                    | {0}                                           |
|                           | GPU0: Pass                                     |
|                           | GPU1: {0}                                     |
{1}"""
"""DCGM 4 gives each GPU a line (NVIDIA/DCGM#253)."""


def test_a_table_of_dcgm_4_blames_the_gpu_it_names():
    judged = dcgm.judge(dcgm.parse(FOURTH.format("Fail", "| Warning: GPU1             | GPU 1 failed row remapping.                    |\n")))
    assert ("passed", "failed", "memory: GPU 1 failed row remapping.") == (judged[0].outcome, judged[1].outcome, judged[1].message)


def test_an_installation_that_passes_is_no_test_of_the_hardware():
    judged = dcgm.judge(dcgm.parse(FOURTH.format("Skip", "")))
    assert ("passed", "error") == (judged[0].outcome, judged[1].outcome)


def block(name: str, state: str = "Active", physical: str = "LinkUp") -> str:
    return (f"CA '{name}'\n\tCA type: MT4129\n\tNumber of ports: 1\n\tFirmware version: ...\n\tPort 1:\n\t\tState: {state}\n"
            f"\t\tPhysical state: {physical}\n\t\tRate: 400\n\t\tLink layer: InfiniBand\n")


PANIC = "ibpanic: [70114] main: stat of IB device 'mlx5_2' failed: No such file or directory\n"


def test_nothing_printed_and_no_status_is_not_measured():
    assert "error" == ibstat.judge(ibstat.parse(""), ["mlx4_0"])["mlx4_0"][0]


SECOND = "\tPort 2:\n\t\tState: {0}\n\t\tPhysical state: {1}\n\t\tRate: 56\n"


@pytest.mark.parametrize(("text", "outcome"), [
    (block("mlx4_0", "Down", "Disabled") + SECOND.format("Active", "LinkUp"), "passed"),
    (block("mlx4_0", "Down", "Polling") + SECOND.format("Active", "LinkUp"), "failed"),
    (block("mlx4_0") + SECOND.format("Down", "Disabled"), "passed"),
    (block("mlx4_0", "Down", "Disabled") + SECOND.format("Down", "Disabled"), "failed"),
    (block("mlx4_0", "Down", "Disabled"), "failed"),
    (block("mlx4_0") + SECOND.format("...", "..."), "error"),
    ("\x1b[0m" + block("mlx4_0").replace("\n", "\r\n"), "passed"),
    ("", "failed"),
])
def test_a_card_of_several_ports_is_judged_by_those_in_use(text, outcome):
    assert outcome == ibstat.judge(ibstat.parse(text), ["mlx4_0"], 0)["mlx4_0"][0]


@pytest.mark.parametrize(("text", "status", "expected"), [
    pytest.param(block("mlx5_0") + block("mlx5_1") + PANIC, 255, ["passed", "passed", "failed", "error"], id="stopped at one that is gone"),
    pytest.param(block("mlx5_0") + block("mlx5_1", "Down", "Polling") + block("mlx5_2") + block("mlx5_3"), 0,
                 ["passed", "failed", "passed", "passed"], id="one is down"),
    pytest.param(block("mlx5_0") + block("mlx5_1", "...", "...") + block("mlx5_2") + block("mlx5_3"), 0,
                 ["passed", "error", "passed", "passed"], id="values left out"),
    pytest.param(block("mlx5_0")[:60], 0, ["error", "failed", "failed", "failed"], id="cut"),
    pytest.param("", 1, ["error"] * 4, id="nothing, and a status"),
    pytest.param("", 0, ["failed"] * 4, id="nothing at all"),
])
def test_a_listing_of_ibstat(text, status, expected):
    names = [f"mlx5_{number}" for number in range(4)]
    judged = ibstat.judge(ibstat.parse(text), names, status)

    assert expected == [judged[name][0] for name in names]


@pytest.mark.parametrize(("text", "expected"), [
    ("No Memory errors.\n\nNo MCE errors.\n", []),
    ("MCE records summary:\n\t1 Corrected error, no action required. errors\n", ["mce"]),
    ("MCE records summary:\n\t0 Corrected error, no action required. errors\n", []),
    ("PCIe AER events summary:\n\t3 Corrected errors: Receiver Error\n\nDisk errors summary:\n\t0:0 has 5 errors\n", []),
    ("Memory controller events summary:\n\tCorrected on DIMM Label(s): 'A1' location: 0:0:0:-1 errors: 12\n", ["memory"]),
    ("Extlog records summary:\n\tnew words of a later version\n", ["extlog"]),
    ("No Extlog errors.\n\nDisk errors summary:\n\t259:0 has 3 errors\nNo Memory failure errors.\n", []),
    ("ARM processor events summary:\n\tCPU(mpidr=0x81000000) has 1 errors\n\nNo Extlog errors.\n", ["arm"]),
    ("DBI connect failed\n", []),
])
def test_a_summary_of_rasdaemon(text, expected):
    assert expected == [each.section for each in ras.summed(text)]


OLD_RASDAEMON = ("Memory controller events:\n1 2026-11-30 10:00:00 +0000 1 Corrected error(s): memory read error at CPU_SrcID#0_Chan#1_DIMM#0\n\n"
                 "No PCIe AER errors.\n\nNo Extlog errors.\n\n")
NO_TABLE = "DBD::SQLite::db prepare failed: no such table: devlink_event at /usr/sbin/ras-mc-ctl line 1199.\n"


def test_disk_errors_below_a_heading_without_a_colon_are_no_memory_errors():
    text = ("No Extlog errors.\n\nDisk errors\n1 2026-11-30 10:00:00 +0000 error: dev=259:0, sector=100, nr_sector=8, error='I/O error', \n\n"
            "Memory failure events:\n2 2026-11-30 10:00:00 +0000 error: pfn=0x1234, page_type=free buddy page, action_result=Delayed\n\n")
    assert ["memory"] == [each.section for each in ras.listed(text)]


def test_what_a_client_printed_before_it_broke_off_is_not_lost():
    nothing = {"absent": "mcelog: program not found"}
    said = {"status": 2, "stdout": OLD_RASDAEMON, "stderr": NO_TABLE}
    found = ras.Ras({"errors": said, "summary": nothing, "mcelog": nothing, "boot_time_seconds": 1_790_000_000}, "ras").since_boot()
    assert ["memory"] == [each.recorded.section for each in found.present]
    assert "update rasdaemon" in " ".join(found.gaps())


def test_a_daemon_that_never_recorded_is_no_clean_record():
    nothing = {"absent": "mcelog: program not found"}
    said = {"status": 255, "stdout": "", "stderr": "DBI connect('dbname=/var/lib/rasdaemon/ras-mc_event.db','',...) failed: unable to open database file\n"}
    found = ras.Ras({"errors": said, "summary": said, "mcelog": nothing, "boot_time_seconds": 1_790_000_000}, "ras").since_boot()
    assert not found.present and "is rasdaemon running" in found.gaps()[0]


def test_only_a_view_of_rasdaemon_counts_as_one():
    assert not ras.sections("DBI connect failed\n")[1]
    assert ras.sections("No Memory errors.\n")[1]


BROKE = '<error message="test teardown failure">E  Exception: burn process left</error>'


def suite(*cases: str, root: str = "testsuite", header: str = 'errors="1" failures="0" skips="0" tests="2"') -> str:
    body = f"<testsuite name='pytest' {header}>{''.join(cases)}</testsuite>"
    return '<?xml version="1.0" encoding="utf-8"?>\n' + (body if root == "testsuite" else f"<testsuites>{body}</testsuites>")


def case(name: str, *children: str) -> str:
    return f'<testcase classname="t" name="{name}" time="0.01"><system-out>in setup</system-out>{"".join(children)}</testcase>'


@pytest.mark.parametrize(("text", "expected"), [
    pytest.param(suite(case("a", BROKE, "<system-out>in teardown</system-out>")), {"a": "error"}, id="teardown broke"),
    pytest.param(suite(case("a"), case("a", BROKE)), {"a": "error"}, id="as two elements"),
    pytest.param(suite(case("a", "<failure message='x'/>", BROKE)), {"a": "error"}, id="failed and broke"),
    pytest.param(suite(case("a"), case("b", "<skipped/>"), root="testsuites", header='skipped="1" tests="7"'), {"a": "passed", "b": "skipped"},
                 id="other root, other spelling, wrong counts"),
    pytest.param(suite(case("a")).replace("<testsuite", "<testsuite xmlns='urn:x'", 1), {"a": "passed"}, id="with a namespace"),
    pytest.param("3 collected\n" + suite(case("a", BROKE)), {"a": "error"}, id="lines before it"),
    pytest.param(suite(case("a", "<failure message='\x1b[31mred'/>")), {"a": "failed"}, id="a terminal's characters"),
    pytest.param(suite(case("a").replace("<testcase", "<testcase status='notrun'", 1), case("b").replace("<testcase", "<testcase status='run' result='completed'", 1),
                       case("c").replace("<testcase", "<testcase result='skipped'", 1)), {"a": "skipped", "b": "passed", "c": "skipped"}, id="not run, by an attribute"),
    pytest.param("<testsuite name='s'><error message='its setup broke'/>" + case("a") + "</testsuite>", {"s": "error", "a": "passed"}, id="a suite that broke"),
])
def test_a_junit_file_is_told_by_its_testcases(text, expected):
    assert expected == {each.name: each.outcome for each in junit_reader.parse(text)}


@pytest.mark.parametrize("text", ["", "<html/>", suite(), "<testsuites tests='3'/>", suite(case("a"))[:-20], '<!DOCTYPE x [<!ENTITY a "b">]><testsuite/>', "\x00"])
def test_what_is_no_junit_file_is_refused(text):
    with pytest.raises(junit_reader.JUnitError):
        junit_reader.parse(text)


INI = """[servers]
node-[1:30] ansible_host=192.0.2.[31:60]
evo1[1:1]
srv-[01:09:4].dc1  # every fourth
host-[1:2]-[1:2].example.com
gate-[1:3].example.com:2222
db-[a:c]
[rest:vars]
ansible_user=root
[rest:children]
other
[other]
2001:db8:0:1::10
[fe80::7]:22
[1:2].foo.bar.example.com
"""


def test_hosts_are_expanded_as_ansible_does():
    found = {entry.line: (entry.names, entry.port) for entry in ansible.entries(INI)}

    assert (("evo11",), None) == found[3]
    assert (("srv-01.dc1", "srv-05.dc1", "srv-09.dc1"), None) == found[4]
    assert (("host-1-1.example.com", "host-1-2.example.com", "host-2-1.example.com", "host-2-2.example.com"), None) == found[5]
    assert (("gate-1.example.com", "gate-2.example.com", "gate-3.example.com"), 2222) == found[6]
    assert (("db-a", "db-b", "db-c"), None) == found[7]
    assert (("2001:db8:0:1::10",), None) == found[13]
    assert (("[fe80::7]",), 22) == found[14]
    assert (("1.foo.bar.example.com", "2.foo.bar.example.com"), None) == found[15]
    assert 30 == len(found[2][0])


@pytest.mark.parametrize(("text", "line", "words"), [
    (INI, 2, "literal value for 30 nodes"),
    ("[g]\nn[1:3]\n", 1, "expected YAML"),
    ("[g]\nn[3:a]\n", 1, "bad range '[3:a]'"),
    ("[g]\nn[1:99999999]\n", 1, "names more than"),
    ("[g]\nm1\nn[3:1]\n", 1, "bad range '[3:1]'"),
    ("[g]\nm1\nn[c:a]\n", 1, "bad range '[c:a]'"),
])
def test_an_inventory_of_ansible_is_refused_with_its_line(text, line, words):
    assert ansible.is_ini(text)
    found, said = ansible.refusal(text)
    assert (line, True) == (found, words in said), said


@pytest.mark.parametrize(("said", "missing"), [
    ({"status": 1, "stdout": "", "stderr": "mcelog: ERROR: AMD Processor family 25: mcelog does not support this processor.\n"}, True),
    ({"status": 1, "stdout": "", "stderr": "mcelog: client connect: No such file or directory\n"}, True),
    ({"status": 1, "stdout": "", "stderr": "mcelog: client connect: Permission denied\n"}, False),
    ({"status": 0, "stdout": "Memory errors\n", "stderr": ""}, False),
    ({"absent": "mcelog: program not found"}, True),
])
def test_a_daemon_that_does_not_run_here_records_nothing(said, missing):
    data = {"errors": {"absent": "ras-mc-ctl: program not found"}, "summary": {"absent": "ras-mc-ctl: program not found"}, "mcelog": said}
    assert missing is not ras.installed(data)
