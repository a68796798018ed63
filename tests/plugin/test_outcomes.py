"""What a check does decides its outcome: only a broken assertion in its body is a finding."""

import json

import pytest
from smallsite import MARK, line_of

ODD = f"""
import pytest

@pytest.fixture
def wrong_setup(system):
    assert system.hostname == "nobody"

@pytest.fixture
def wrong_teardown(system):
    yield
    raise OSError("left over")

{MARK}
def test_raises(system):
    {{}}["key"]

{MARK}
def test_setup_asserts(wrong_setup):
    pass

{MARK}
def test_teardown_breaks(wrong_teardown):
    pass

{MARK}
def test_fails_and_teardown_breaks(wrong_teardown, system):
    assert not system.hostname, "found"

{MARK}
def test_does_not_apply(system):
    pytest.skip("no such part")

{MARK}
def test_says_fail(system):
    pytest.fail("found by hand")

{MARK}
def test_expected_to_fail(system):
    pytest.xfail("known")

{MARK}
def test_needs_what_was_not_gathered(clock):
    assert clock

{MARK}
def test_warns(system):
    import warnings
    warnings.warn("old", DeprecationWarning)
    assert system.hostname
"""
EXPECTED = {
    "test_raises": "error", "test_setup_asserts": "error", "test_teardown_breaks": "error", "test_fails_and_teardown_breaks": "failed",
    "test_does_not_apply": "skipped", "test_says_fail": "failed", "test_expected_to_fail": "failed",
    "test_needs_what_was_not_gathered": "error", "test_warns": "passed",
}


@pytest.fixture
def odd(site):
    site.write(ODD)
    return site


def words(done):
    return {each["check"]: each["outcome"] for each in done.lines("results")}


def test_only_a_broken_assertion_in_the_body_is_a_finding(odd):
    done = odd.replay("--nodes", "n1")
    assert words(done) == EXPECTED
    messages = {each["check"]: each["message"] for each in done.lines("results")}
    assert "KeyError: 'key'" in messages["test_raises"]
    assert "found" in messages["test_fails_and_teardown_breaks"]
    assert "no such part" in messages["test_does_not_apply"]
    assert "was not gathered" in messages["test_needs_what_was_not_gathered"]


@pytest.mark.parametrize("more", [
    {"argv": ("-W", "error")}, {"python": ("-W", "error")}, {"PYTHONWARNINGS": "error"}, {"argv": ("-o", "filterwarnings=error")},
], ids=["-W", "python -W", "PYTHONWARNINGS", "filterwarnings"])
def test_warnings_as_errors_change_no_verdict(odd, more):
    argv = more.pop("argv", ()) if "argv" in more else ()
    done = odd.replay("--nodes", "n1", *argv, **{key: value for key, value in more.items() if key != "argv"})
    assert words(done) == EXPECTED


def test_a_replay_is_a_new_run_that_names_its_source_and_becomes_latest(site):
    first = site.replay().verdicts
    second = site.run("checks", "--replay", "latest").verdicts
    assert ("recorded", first["run"]) == (first["replay_of"], second["replay_of"])
    assert len(site.runs()) == 2 and first["counts"] == second["counts"]


def test_a_replay_needs_no_original_inventory_not_even_a_replay_of_a_replay(site):
    site.replay()
    (site.folder / "x.yaml").unlink()
    site.run("checks", "--replay", "latest")
    done = site.run("checks", "--replay", "latest")
    assert done.verdicts["complete"] is True and len(done.lines("results")) == 9
    told = json.loads((done.run / "run.json").read_text())
    assert told["inventory_path"] == str(site.folder / "x.yaml")


def test_a_replay_keeps_the_nodes_and_the_tier_of_its_run(site):
    site.replay("--nodes", "n1", "--tier", "full")
    done = site.run("checks", "--replay", "latest")
    assert {each["node"] for each in done.lines("results")} == {"n1"} and done.verdicts["tier"] == "full"


def test_a_replay_judges_by_the_limits_of_the_inventory_it_is_given(site):
    site.write(f"import pytest\n{MARK}\ndef test_profile(profile, system):\n    assert profile.name == 'cpu-host'\n")
    (site.folder / "y.yaml").write_text((site.folder / "x.yaml").read_text().replace("cpu-host", "h100-sxm5-8"))
    assert set(site.replay().outcomes().values()) == {"passed"}
    assert set(site.run("checks", "--inventory", "y.yaml", "--replay", "latest").outcomes().values()) == {"failed"}


def test_a_replay_invents_no_evidence_for_a_node_without_any(site):
    site.record([line_of("n1"), line_of("n2")])
    done = site.replay()
    assert {each["outcome"] for each in done.lines("results") if each["node"] == "n3"} == {"error"}
    assert done.verdicts["nodes"]["n3"]["verdict"] == "unknown"


def test_a_replay_leaves_the_run_it_replays_as_it_was(site):
    before = {path: path.read_bytes() for path in site.recorded.rglob("*") if path.is_file()}
    site.replay()
    assert before == {path: path.read_bytes() for path in site.recorded.rglob("*") if path.is_file()}


def test_results_carry_boot_id_and_what_the_check_says(site):
    site.write(f"import pytest\n{MARK}\ndef test_some(system):\n    '''A name is told.'''\n    assert system.hostname\n")
    result = site.replay("--nodes", "n2").lines("results")[0]
    assert ("boot-n2", "A name is told.") == (result["boot_id"], result["description"])
