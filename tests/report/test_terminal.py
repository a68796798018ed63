"""What somebody woken at 3 a.m. reads: complete or not, what is broken, where, what to type."""

import io
import os
import pty
from pathlib import Path

import pytest

from fleetcheck.report import terminal
from fleetcheck.report.lines import Line

RUN = Path("reports/20261130-031500-3f2a")


def page(made, results, nodes, everything=False, inventory="rack12.yaml", **more):
    verdicts = made.judged(results, nodes, **more)
    return terminal.summary(verdicts, results, nodes, RUN, inventory, everything)


def names(count):
    return [f"sim-{number:02}" for number in range(1, count + 1)]


def healthy(made, count, check="test_a"):
    return [made.result(name, check) for name in names(count)], [made.node(name) for name in names(count)]


def test_the_page_answers_in_the_order_of_need(made):
    results, nodes = healthy(made, 40)
    results += [made.result(name, "test_time", "error", message=f"{name}: no chrony") for name in names(40)[10:20]]
    results += [made.result("sim-02", "test_gpu", message="GPU 5: lost", parts=(made.GPU,), **made.FATAL),
                made.result("sim-03", "test_remap", message="GPU 1: pending", **made.DEGRADED),
                made.result("sim-04", "test_warn", "failed", "warn", "observe", message="noted"),
                made.result("sim-05", "test_gap", "error", message="sim-05: truncated")]
    results[6] = made.result("sim-07", "test_a", "error", message="sim-07: refused")
    text = page(made, results, [*nodes, made.node("sim-99", state="rma", note="sent in")],
                failures={"sim-07": made.Failure("refused", "sim-07: refused")})
    order = ["COMPLETE", "CONTROLLER AND CONFIGURATION: 1", "test_time: 10 not measured of 39 nodes",
             "sim-[11-20]: no chrony",
             "UNREACHABLE: 1 node",
             "sim-07: powered off or network (refused)",
             "FAILED: 1 node", "sim-02: GPU 5: lost  [fatal → reboot, test_gpu]", "serial 1654922003245",
             "DEGRADED: 1 node", "sim-03: GPU 1: pending  [degraded → reset-gpu, test_remap]",
             "WARNINGS", "sim-04: noted", "NOT MEASURED", "sim-05: test_gap: truncated",
             "OUT OF SERVICE", "sim-99: rma, sent in", "certified for quick: 25 of 40",
             "isolate: sim-02", "next", "files:"]
    places = [text.index(words) for words in order]
    assert sorted(places) == places


def test_the_same_message_is_folded_over_nodes_with_the_serials_of_each(made):
    results, nodes = healthy(made, 8)
    nodes = [made.node(each.name, serials={"chassis": f"SN-{each.name}"}) for each in nodes]
    results += [made.result(name, "test_gpu", message=f"{name}: GPU 5 is lost", parts=(made.GPU,), **made.FATAL)
                for name in ("sim-02", "sim-07")]
    text = page(made, results, nodes)
    assert "sim-[02,07]: GPU 5 is lost  [fatal → reboot, test_gpu]" in text
    assert "sim-07: machine serial SN-sim-07, GPU 5 at 0000:5D:00.0 serial 1654922003245" in text


def test_one_gpu_under_two_names_is_one_part(made):
    seen_by_kernel = {"kind": "gpu", "label": "GPU 0000:5D:00.0", "slot": "0000:5d:00.0", "serial": ""}
    results = [made.result("sim-01", "test_gpu", message="GPU 5: lost", parts=(made.GPU,), **made.FATAL),
               made.result("sim-01", "test_xid", message="Xid 79", parts=(seen_by_kernel,), **made.FATAL)]
    text = page(made, results, [made.node("sim-01")])
    assert "sim-01: GPU 5 at 0000:5D:00.0 serial 1654922003245\n" in text
    assert "1 more finding follows: test_xid" in text


def test_a_healthy_node_with_wrong_configuration_is_work_to_do(made):
    drift = made.result("sim-01", "test_driver", "failed", "warn", "fix-config", message="driver 535 (limit 570)")
    assert "sim-01: correct the configuration" in page(made, [drift], [made.node("sim-01")])


def test_what_follows_from_a_dead_part_is_named_beside_its_cause_and_a_second_fault_is_told_whole(made):
    other = {**made.GPU, "label": "GPU 1", "slot": "0000:1B:00.0"}
    results = [made.result("sim-01", "test_gpu", message="GPU 5: lost", parts=(made.GPU,), **made.FATAL),
               made.result("sim-01", "test_link", message="GPU 5: no link", parts=(made.GPU,), **made.DEGRADED),
               made.result("sim-01", "test_ecc", message="GPU 1: 3 errors", parts=(other,), **made.DEGRADED)]
    text = page(made, results, [made.node("sim-01")])
    assert "sim-01: GPU 5: lost" in text
    assert "GPU 1: 3 errors  [degraded → reset-gpu, test_ecc]" in text
    assert "1 more finding follows: test_link" in text


@pytest.mark.parametrize(("info", "words"), [
    ({"narrowed": "-k ecc"}, "narrowed by -k ecc"), ({"interrupted": True}, "interrupted"),
])
def test_a_partial_run_says_why_first(made, info, words):
    lines = page(made, *healthy(made, 2), **info).splitlines()
    assert lines[1].startswith("PARTIAL")
    assert words in lines[1]


def test_items_without_an_outcome_are_named_and_how_to_finish_the_run(made):
    results, nodes = healthy(made, 3)
    text = page(made, results[:1], nodes, planned=made.plan(results))
    assert "sim-[02-03]: test_a" in text
    assert f"pytest checks/ --resume {RUN}" in text


def test_a_fleet_that_refuses_the_login_is_a_problem_of_the_controller(made):
    results = [made.result(name, outcome="error", message="denied") for name in names(8)]
    failures = {name: made.Failure("authentication", f"{name}: publickey denied for ops") for name in names(8)}
    text = page(made, results, [made.node(name) for name in names(8)], failures=failures)
    assert text.index("login (authentication): 8 not measured of 8 nodes") < text.index("UNREACHABLE")
    assert "sim-[01-08]: publickey denied for ops" in text


def test_the_next_commands_can_be_pasted(made):
    results, nodes = healthy(made, 3)
    results += [made.result("sim-01", "test_gpu", message="lost", **made.FATAL),
                made.result("sim-03", "test_gpu", message="worn", **made.DEGRADED)]
    text = page(made, results, nodes, inventory="my fleet.yaml")
    assert "pytest checks/ --inventory 'my fleet.yaml' --tier quick --nodes 'sim-[01,03]'" in text
    assert f"pytest checks/ --replay {RUN} --nodes 'sim-[01,03]' -vv" in text
    assert "sim-01: reboot" in text
    assert "sim-03: reset the GPU when idle" in text


def test_healthy_nodes_without_a_certificate_say_why(made):
    results, nodes = healthy(made, 3)
    results.append(made.result("sim-02", "test_b", "error", message="cut short"))
    assert "sim-02: 1 of 2 checks not measured" in page(made, results, nodes)


def test_nodes_with_something_unmeasured_are_led_to_doctor(made):
    results, nodes = healthy(made, 3)
    assert "doctor" not in page(made, results, nodes)
    results.append(made.result("sim-02", "test_b", "error", message="sim-02: ipmitool: no permission"))
    text = page(made, results, nodes)
    assert "see what cannot be read there, and the fix: fleetcheck doctor --inventory rack12.yaml --nodes sim-02" in text


def test_the_reason_of_several_nodes_has_no_placeholder(made):
    results, nodes = healthy(made, 3)
    results += [made.result(name, "test_b", "error", message=f"cpu: {name}: it was not run") for name in names(2)]
    text = page(made, results, nodes)
    assert "sim-[01-02]: test_b: cpu: it was not run" in text and "<node>" not in text


def test_a_node_that_a_narrowed_run_asked_nothing_is_no_work(made):
    results, nodes = healthy(made, 2)
    results = [results[0], made.result("sim-01", "test_gpu", message="lost", **made.FATAL)]
    text = page(made, results, nodes, narrowed="x[sim-01]")
    assert "sim-01: reboot" in text and "find out why" not in text and "--nodes sim-01\n" in text


def test_text_of_a_node_is_never_obeyed(made):
    evil = "\x1b]0;owned\x07[red]boom[/red]\r\n:bomb: \x9b2J\u202e"
    results = [made.result("sim-01", check=f"test_{number}", message=evil, **more)
               for number, more in enumerate((made.FATAL, made.DEGRADED, {"outcome": "error"}))]
    text = page(made, results, [made.node("sim-01")])
    assert r"\x1b]0;owned\x07[red]boom[/red]\r :bomb: \x9b2J\u202e" in text
    assert not set(text) & set("\x1b\x07\r\x9b\u202e")


def broken_fleet(made, count):
    nodes = [made.node(name, serials={"chassis": f"SN{name}"}) for name in names(count)]
    kinds = (made.FATAL, made.DEGRADED, {"outcome": "failed", "severity": "warn"}, {"outcome": "error"})
    results = [made.result(each.name, f"test_{number:03}", message=f"{each.name}: GPU {number} odd {number}",
                           parts=(made.GPU,), **kinds[number % 4])
               for number, each in enumerate(nodes)]
    lost = {each.name: made.Failure(kind, f"{each.name}: gone") for each, kind in
            zip(nodes[3::9], ["refused", "no-banner", "authentication", "host-key-changed", "jump"] * 9, strict=False)}
    return results, nodes, lost


def test_64_broken_nodes_fit_on_a_page_and_what_is_left_out_is_said(made):
    results, nodes, failures = broken_fleet(made, 64)
    text = page(made, results, nodes, failures=failures, interrupted=True)
    assert len(text.splitlines()) <= 60
    assert "more, see --all" in text


def test_everything_leaves_nothing_out(made):
    results, nodes, failures = broken_fleet(made, 64)
    text = page(made, results, nodes, everything=True, failures=failures)
    assert "see --all" not in text
    assert not [each for each in results if each.outcome == "failed" and f"{each.check}]" not in text]


class Log(io.StringIO):
    encoding = "ascii"


def test_a_log_gets_plain_text_that_its_encoding_can_hold():
    stream = Log()
    terminal.show([Line("a → b " + "long " * 60, 1, "bold red")], stream)
    assert ["    a \\u2192 b " + "long " * 60] == stream.getvalue().split("\n")[:-1]


def test_a_terminal_gets_colour_and_its_own_width(monkeypatch):
    monkeypatch.setenv("COLUMNS", "40")
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    ours, theirs = pty.openpty()
    with os.fdopen(theirs, "w") as stream:
        terminal.show([Line("word " * 20, 1, "bold red"), Line("pytest " * 9, 1, whole=True)], stream)
        stream.flush()
        shown = ""
        while shown.count("pytest") < 9:
            shown += os.read(ours, 4096).decode()
    os.close(ours)
    assert "\x1b[1;31m" in shown
    wrapped, command = shown.split("pytest", 1)
    assert len(wrapped.splitlines()) >= 3
    assert "\n" not in command.rstrip()
