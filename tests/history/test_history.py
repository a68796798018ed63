"""History: measurements of earlier runs, questions over them, damaged files, exchanged parts, a replay that leaves none."""

import io
import json
import shutil
import tarfile
from pathlib import Path

import pytest
from nights import command

from fleetcheck import consistency, history_page
from fleetcheck import history_queries as asks
from fleetcheck import inventory as inventories
from fleetcheck.conclude import conclude
from fleetcheck.exchanged import Place, exchanges
from fleetcheck.history import History
from fleetcheck.measured import Machine, installed_rows, result_rows
from fleetcheck.measurements import FILE, Draft, connect
from fleetcheck.recording import Part
from fleetcheck.records import Answer, Evidence, Result, as_line
from fleetcheck.run import Run, RunError

GPU = {"kind": "gpu", "label": "GPU 3", "slot": "0000:61:00.0", "serial": ""}


def result(node, check="test_ecc", outcome="passed", value=100.0, metrics=("gemm.tflops_bf16",), **more):
    return Result(run="r", stage="facts", check=check, component="gpu", node=node, outcome=outcome, severity="fatal", action="reboot",
                  metrics={metric: {"GPU 3": value} for metric in metrics}, **more)


def night(reports, day, results, serial="165000001", nodes=("n1", "n2")):
    """One recorded night, day of November."""
    run = Run(reports / f"202611{day:02d}-020000-ab12")
    run.path.mkdir(parents=True)
    machines = {node: Machine("h100", f"SN-{node}", {"GPU 3": Part("gpu", "GPU 3", "0000:61:00.0", f"{serial}{node}")}) for node in nodes}
    with Draft(run) as draft:
        for node, machine in machines.items():
            draft.add(installed_rows(node, machine))
        draft.add(result_rows(results, machines))
        draft.keep({"started": f"2026-11-{day:02d}T02:00:00+00:00", "tier": "quick", "fleet": "f"}, True)
    return run.path / FILE


@pytest.fixture
def reports(tmp_path, nights):
    """The nights, for one test to spoil."""
    return Path(shutil.copytree(nights, tmp_path / "reports"))


@pytest.fixture(scope="module")
def nights(tmp_path_factory):
    """Twenty nights of two nodes; n1 fails on the 10th, 12th and 20th and slows down in the last three."""
    tmp_path = tmp_path_factory.mktemp("nights")
    for day in range(1, 21):
        bad = day in (10, 12, 20)
        night(tmp_path, day, [result("n1", outcome="failed" if bad else "passed", parts=(GPU,) if bad else (), message="GPU 3: lost" if bad else "",
                                     value=80.0 if day > 17 else 100.0 + day % 3), result("n2", value=100.0 + day % 2)])
    return tmp_path


def test_a_file_holds_outcomes_numbers_and_pieces(reports):
    path = reports / "20261110-020000-ab12" / FILE
    rows = connect().execute(f"SELECT node, metric, value, unit, serial, outcome, message FROM '{path}' WHERE node = 'n1' ORDER BY metric, serial").fetchall()
    assert [("n1", "", None, "", "165000001n1", "failed", "GPU 3: lost"),
            ("n1", "gemm.tflops_bf16", 101.0, "TFLOP/s", "165000001n1", "failed", ""),
            ("n1", "installed", None, "", "165000001n1", "", ""), ("n1", "installed", None, "", "SN-n1", "", "")] == rows


@pytest.mark.parametrize("what", ["n1", "165000001n1", "SN-n1", "test_ecc"])
def test_a_node_a_serial_and_a_check_have_a_history(reports, monkeypatch, capsys, what):
    code, out, _ = command(monkeypatch, capsys, "history", what, "--reports", reports)
    assert 0 == code
    failed = next(line for line in out.splitlines() if "GPU 3: lost" in line)
    assert ["n1", "test_ecc", "165000001n1"] == failed.split()[:3] and " 3 " in failed and " 20 " in failed
    drift = next(line for line in out.splitlines() if "tflops_bf16" in line)
    assert "-0.2" in drift


def test_the_fleets_history_names_offenders_suspects_and_failures(reports, monkeypatch, capsys):
    with History(reports) as history:
        since = {"since": "2026-11-01"}
        assert [("165000001n1", 3)] == [(row["place"], row["runs"]) for row in history.ask(asks.OFFENDERS, since)]
        suspect = next(iter(history.ask(asks.SUSPECTS, since)))
        assert (False, True) == (suspect["passed_since"], suspect["flaky"])
        assert [("gpu", 2, 20.0)] == [(row["component"], row["failures"], row["mtbf_days"]) for row in history.ask(asks.MTBF)]
    assert 0 == command(monkeypatch, capsys, "history", "--reports", reports)[0]


def test_a_node_that_fails_of_something_else_each_time_is_named(tmp_path):
    """n1: three faults of three parts, each gone the next night; n2: one fault thrice; n3: one fault."""
    gone = {2: ("n1", "test_ecc", "GPU 1"), 9: ("n1", "test_xid", "GPU 5"), 16: ("n1", "test_link", "GPU 7"),
            5: ("n2", "test_ecc", "GPU 3"), 8: ("n2", "test_ecc", "GPU 3"), 11: ("n2", "test_ecc", "GPU 3"), 12: ("n3", "test_ecc", "GPU 3")}
    for day in range(1, 18):
        node, check, label = gone.get(day, ("", "", ""))
        failed = result(node, check, "failed", parts=({"kind": "gpu", "label": label, "slot": label, "serial": ""},), message="bad")
        night(tmp_path, day, [*([failed] if node else []), *(result(name) for name in ("n1", "n2", "n3") if name != node)], nodes=("n1", "n2", "n3"))
    with History(tmp_path) as history:
        told = [(row["node"], row["runs"], row["parts"]) for row in history.ask(asks.OFFENDING_NODES, {"since": "2026-11-01"})]
    assert [("n1", 3, 3)] == told


@pytest.mark.parametrize(("values", "drifts"), [
    ([100 - 0.5 * day + 0.3 * (-1) ** day for day in range(30)], True), ([100 + 3 * (-1) ** day for day in range(30)], False),
    ([100 - 0.1 * day for day in range(30)], False), ([100.0] * 27 + [93.0] * 3, True), ([100.0] * 29 + [80.0], False),
], ids=["sinks every night", "noise", "sinks too little", "falls", "one bad night"])
def test_what_sinks_a_little_every_night_is_told(tmp_path, values, drifts):
    for day, value in enumerate(values, 1):
        night(tmp_path, day, [result("n1", value=value)], nodes=("n1",))
    with History(tmp_path) as history:
        assert drifts == bool(history.ask(asks.DRIFT.format(about=asks.ABOUT["node"]), {"what": "n1"}).rows)


@pytest.mark.parametrize("content", [b"", b"PAR1 no parquet", b"PAR1" + b"\0" * 100 + b"PAR1"])
def test_a_damaged_file_is_told_and_left_out(reports, monkeypatch, capsys, content):
    (reports / "20261112-020000-ab12" / FILE).write_bytes(content)
    code, out, _ = command(monkeypatch, capsys, "history", "n1", "--reports", reports)
    assert 0 == code and 1 == out.count("damaged, left out") and "20261112" in out
    assert " 2 " in next(line for line in out.splitlines() if "GPU 3: lost" in line)


def test_a_file_cut_in_the_middle_is_left_out(reports, monkeypatch, capsys):
    path = reports / "20261112-020000-ab12" / FILE
    whole = path.read_bytes()
    path.write_bytes(whole[:200] + bytes(400) + whole[600:])
    code, out, _ = command(monkeypatch, capsys, "history", "n1", "--reports", reports)
    assert 0 == code and "GPU 3: lost" in out


def test_nodes_are_counted_without_the_fleets_own_rows(reports, monkeypatch, capsys):
    with History(reports) as history:
        known = {row[0] for row in history.ask("SELECT DISTINCT node FROM m WHERE node != ''").rows}
        assert [(20, len(known))] == [(row[0], row[3]) for row in history.ask(asks.RUNS).rows]


def test_a_terminal_too_narrow_for_a_table_breaks_its_lines_and_no_column(reports, monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self):
            return True
    monkeypatch.setenv("COLUMNS", "40")
    page = Terminal()
    history_page.show(reports, "n1", page)
    assert "GPU 3: lost" in page.getvalue()


def test_mistakes_are_one_line(reports, tmp_path, monkeypatch, capsys):
    (tmp_path / "empty").mkdir()
    for words, said in ((("n9", "--reports", reports), "'n9' is no node, serial number or check of the 20 runs"),
                        (("n1", "--reports", tmp_path / "none"), "no such folder"), (("n1", "--reports", tmp_path / "empty"), "no run there")):
        code, _, err = command(monkeypatch, capsys, "history", *words)
        assert 4 == code and said in err and 1 == err.count("\n")


def test_the_link_latest_counts_no_run_twice(reports):
    (reports / "latest").symlink_to("20261120-020000-ab12")
    with History(reports) as history:
        assert 20 == len(history.files)
    with History(reports, before="20261110-020000-ab12") as history:
        assert 9 == len(history.files)


def test_a_refusing_query_is_no_files_fault(reports):
    with History(reports) as history, pytest.raises(RunError, match="history of"):
        history.ask("SELECT nothing_such FROM m")


CHASSIS = ("chassis", "machine")


def places(**nodes):
    """{node: (machine's serial, GPU's serial)} as places."""
    return {place: serial for node, (machine, gpu) in nodes.items()
            for place, serial in ((Place(node, *CHASSIS), machine), (Place(node, "gpu", "0"), gpu))}


@pytest.mark.parametrize(("now", "before", "kinds"), [
    (places(a=("M1", "G1")), places(a=("M1", "G1")), []),
    (places(a=("M1", "G1")), {}, []),
    (places(a=("M1", "G9")), places(a=("M1", "G1")), ["swapped-part"]),
    (places(a=("M1", "G2"), b=("M2", "G1")), places(a=("M1", "G1"), b=("M2", "G2")), ["moved-part", "moved-part"]),
    (places(a=("M9", "G9")), places(a=("M1", "G1")), ["another-machine"]),
    (places(a=("M1", "G1"), b=("M1", "G1")), {}, ["two-names"]),
    (places(a=("M1", "G1"), b=("M2", "G1")), {}, ["two-names"]),
    (places(c=("M1", "G1")), places(a=("M1", "G1")), ["two-names"]),
    (places(a=("Default string", "")), places(a=("M1", "G1")), []),
    (places(**{f"n{i}": ("FILLER-1", f"G{i}0") for i in range(8)}), {}, []),
    (places(a=("M1", "")), places(a=("M1", "G1")), []),
])
def test_exchanges_are_noticed_and_nothing_else(now, before, kinds):
    assert kinds == [each.kind for each in exchanges(now, before)]


def test_a_run_keeps_measurements_and_a_replay_none(healthy_run):
    told = json.loads((healthy_run / "run.json").read_text())
    rows = connect().execute(f"SELECT DISTINCT run, tier, complete, fleet FROM '{healthy_run / FILE}'").fetchall()
    assert [(healthy_run.name, told["tier"], told["complete"], "healthy")] == rows
    assert [] == list(healthy_run.glob(".measure*"))


def test_a_vendor_gets_serials_evidence_and_history_and_no_secret(reports, tmp_path, monkeypatch, capsys):
    run = reports / "20261120-020000-ab12"
    failed = as_line(result("n1", outcome="failed", parts=(GPU,), message="GPU 3: lost, token=abc"))
    (run / "results.jsonl").write_text(json.dumps(failed) + "\n")
    answers = {"gpu": Answer(True, data={"serial": "G", "password": "hunter2"}), "security": Answer(True, data={"users": ["root"]})}
    (run / "evidence.jsonl").write_text(json.dumps(as_line(Evidence("r", "facts", "facts-fast", "n1", "", 1.0, answers=answers))) + "\n")
    code, _, err = command(monkeypatch, capsys, "rma", "n1", "--reports", reports, "--output", tmp_path / "x.tar.gz")
    assert 0 == code, err
    with tarfile.open(tmp_path / "x.tar.gz") as archive:
        texts = {name: archive.extractfile(name).read().decode() for name in archive.getnames()}
    assert {f"rma-n1/{name}" for name in ("README.txt", "findings.json", "parts.json", "history.txt", f"evidence/{run.name}.json")} == set(texts)
    assert "machine serial SN-n1" in texts["rma-n1/README.txt"] and "serial 165000001n1, slot 0000:61:00.0" in texts["rma-n1/README.txt"]
    assert not any(word in text for word in ("hunter2", "abc", "root") for text in texts.values())
    code, _, err = command(monkeypatch, capsys, "rma", "n9", "--reports", reports)
    assert 4 == code and "'n9' is no node" in err and 1 == err.count("\n")


@pytest.mark.parametrize("metrics", [("gemm.metrics.tflops_bf16", "gemm.tflops_bf16"), ("hbm.metrics.copy_gb_s", "hbm.copy_gb_s"),
                                     ("dram.metrics.dram_gb_s",), ("peerlink.links.gb_s",), ("gemm.tflops_bf16",)])
def test_a_node_below_its_peers_again_and_again_is_degraded_and_nobody_else(tmp_path, metrics):
    """Three nights of 40 nodes: the first two only say it, the third blames."""
    source = tmp_path / "fleet.yaml"
    source.write_text("fleet: f\ndefaults: {profile: h100-sxm5-8}\nnodes: {'n[01-40]': }\n")
    inventory = inventories.load(source)
    said = []
    for day in (1, 2, 3):
        run = Run(tmp_path / "reports" / f"202611{day:02d}-020000-ab12")
        run.path.mkdir(parents=True)
        results = [result(node.name, value=70.0 if node.name == "n07" else 100.0, metrics=metrics) for node in inventory.nodes]
        with Draft(run) as draft:
            found = conclude(run, draft, results, {node.name: Machine(node.profile) for node in inventory.nodes}, inventory.nodes, inventory)
            draft.keep({"started": f"2026-11-{day:02d}T02:00:00+00:00", "tier": "quick", "fleet": "f"}, True)
        said.append(([(each.node, each.severity) for each in found.concluded], [(each["kind"], each["nodes"]) for each in found.observations]))
    assert [([], [("below-peers", "n07")]), ([], [("below-peers", "n07")]), ([("n07", "degraded")], [])] == said


def test_what_nodes_are_compared_by_is_told_by_their_checks(healthy_run):
    told = {metric for line in (healthy_run / "results.jsonl").read_text().splitlines() for metric in json.loads(line)["metrics"]}
    assert set() == {name for name in consistency.SETTINGS if not name.startswith("software.")} - told
