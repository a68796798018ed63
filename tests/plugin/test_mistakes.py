"""A mistake of whoever types or writes is one line and exit code 4, never a traceback."""

import json

import pytest
from smallsite import MARK

from fleetcheck import checkbook


def refused(done, *words):
    assert done.status == 4, done.output
    assert "Traceback" not in done.output and "INTERNALERROR" not in done.output
    said = [line for line in done.output.splitlines() if line.startswith("ERROR: ")]
    assert len(said) == 1, done.output
    for word in words:
        assert word in said[0]


@pytest.mark.parametrize(("argv", "words"), [
    (("checks",), ("checks need a fleet", "--inventory FILE")),
    (("checks", "--inventory", "nowhere.yaml"), ("nowhere.yaml",)),
    (("checks", "--inventory", "x.yaml", "--nodes", "n9"), ("n9",)),
    (("checks", "--inventory", "x.yaml", "--group", "second"), ("second",)),
    (("checks", "--replay", "yesterday"), ("no run 'yesterday'", "reports is no folder", "--reports DIR")),
    (("checks", "--replay", "yesterday", "--reports", "checks"), ("no run 'yesterday'", "ls checks shows the runs")),
    (("checks", "--resume", "yesterday"), ("no run 'yesterday'",)),
    (("checks", "--replay", "recorded", "--resume", "recorded"), ("either --replay or --resume",)),
    (("checks", "--inventory", "x.yaml", "-n", "-3"), ("-n -3 is no number of connections",)),
    (("checks", "--inventory", "x.yaml", "-k", "and and"), ("and and",)),
    (("checks", "--replay", "recorded"), ("no inventory was kept", "--inventory")),
])
def test_a_wrong_command_line_is_refused_in_one_line(site, argv, words):
    refused(site.run(*argv), *words)
    assert site.runs() == []


def test_shipped_checks_without_a_fleet_are_refused_before_any_worker_starts(site):
    refused(site.run(str(checkbook.shipped_checks()), "-n", "2"), "checks need a fleet")


@pytest.mark.parametrize("option", ["--inventory", "--nodes", "--group", "--replay", "--resume", "--metrics-dir"])
@pytest.mark.parametrize("value", ["", " "])
def test_an_option_with_nothing_in_it_never_means_the_whole_fleet(site, option, value):
    done = site.run("checks", "--inventory", "x.yaml", option, value)
    assert done.status == 4 and f"argument {option}: nothing is given" in done.output
    assert site.runs() == []


@pytest.mark.parametrize(("check", "words"), [
    ("def test_plain(system):\n    pass\n", ("test_plain", "not marked @pytest.mark.check")),
    ("import pytest\n@pytest.mark.check(component='os', severity='bad', action='none')\ndef test_odd(system):\n    pass\n",
     ("test_odd", "severity is one of warn, degraded, fatal")),
    ("import pytest\n@pytest.mark.check(component='os', severity='warn')\ndef test_odd(system):\n    pass\n", ("lacks action",)),
    ("import pytest\n@pytest.mark.check('os', severity='warn', action='none')\ndef test_odd(system):\n    pass\n", ("words need their names",)),
    ("import pytest\n@pytest.mark.check(component='os', severity='warn', action='none', tiers='quick')\ndef test_odd(system):\n    pass\n",
     ("tiers is a tuple",)),
    ("import pytest\n@pytest.mark.check(component='os', severity='warn', action='none', need='idle')\ndef test_odd(system):\n    pass\n",
     ("unknown words: need",)),
    (f"import pytest\n{MARK}\ndef test_kernel_is_told(system):\n    pass\n", ("two checks share a name", "test_kernel_is_told")),
])
def test_a_check_written_wrongly_is_refused_in_one_line(site, check, words):
    site.write(check, "test_wrong.py")
    refused(site.replay(), *words)


def test_a_check_file_that_cannot_be_read_contacts_nobody(site):
    site.write("import nothing_of_this_name\n", "test_wrong.py")
    done = site.replay()
    assert done.status == 4 and "nothing_of_this_name" in done.output
    assert site.runs() == []


def test_a_replay_cannot_be_resumed(site):
    first = site.replay()
    refused(site.run("checks", "--resume", "latest"), "is a replay", json.loads((first.run / "run.json").read_text())["replay_of"])


def test_reports_that_cannot_be_written_are_named(site):
    (site.folder / "reports").write_text("a file")
    refused(site.replay(), "cannot write reports under reports", "--reports DIR")


def test_a_damaged_line_of_evidence_is_named_by_file_and_line(site):
    lines = (site.recorded / "evidence.jsonl").read_text().splitlines()
    site.record([lines[0], lines[1][:40], lines[2]])
    done = site.replay()
    assert done.status == 3 and "evidence.jsonl:2: damaged line" in done.output
    assert "Traceback" not in done.output and "INTERNALERROR" not in done.output


def test_a_last_line_cut_short_is_evidence_that_never_came(site):
    lines = (site.recorded / "evidence.jsonl").read_text().splitlines()
    (site.recorded / "evidence.jsonl").write_text("\n".join(lines)[:-30])
    done = site.replay()
    assert done.outcomes()["test_kernel_is_told[n2]"] == "passed"
    assert done.outcomes()["test_kernel_is_told[n3]"] == "error"
