"""Old runs go, and nothing else: what there is of each, by its age."""

import datetime
import json

import pytest
from typer.testing import CliRunner

from fleetcheck.cli import app
from fleetcheck.prune import old
from fleetcheck.run import RunError

NOW = datetime.datetime(2026, 11, 30, 12, 0, tzinfo=datetime.UTC)
FILES = ("plan.jsonl", "evidence.jsonl", "loads.jsonl", "gather.log", "results.jsonl", "verdicts.json", "junit.xml")


def made(reports, days, complete=False, fleet="f", tier="quick"):
    """A run that began so many days ago."""
    path = reports / f"{NOW - datetime.timedelta(days=days):%Y%m%d-%H%M%S}-abcd"
    path.mkdir(parents=True)
    for name in FILES:
        (path / name).write_text("x" * 100)
    (path / "run.json").write_text(json.dumps({"fleet": fleet, "tier": tier, "complete": complete}))
    return path


def told(reports):
    return {each.run.id: (each.what, sorted(path.name for path in each.paths)) for each in old(reports, NOW)}


def test_evidence_goes_after_a_month_and_the_rest_after_a_year(tmp_path):
    young, month, year = made(tmp_path, 29), made(tmp_path, 30), made(tmp_path, 400)
    assert {month.name: ("evidence", ["evidence.jsonl", "gather.log", "loads.jsonl"]), year.name: ("the whole run", [year.name])} == told(tmp_path)
    for each in old(tmp_path, NOW):
        each.remove()
    assert sorted(path.name for path in month.iterdir()) == ["junit.xml", "plan.jsonl", "results.jsonl", "run.json", "verdicts.json"]
    assert not year.exists() and (young / "evidence.jsonl").exists() and {} == told(tmp_path)


def test_the_latest_complete_run_of_each_fleet_and_tier_stays(tmp_path):
    older, latest = made(tmp_path, 800, complete=True), made(tmp_path, 700, complete=True)
    other, burnin = made(tmp_path, 600, complete=True, fleet="g"), made(tmp_path, 650, complete=True, tier="burnin")
    partial = made(tmp_path, 500)
    assert {older.name, partial.name} == set(told(tmp_path))
    assert all(path.exists() for path in (latest, other, burnin))


def test_the_run_that_latest_names_stays(tmp_path):
    path = made(tmp_path, 500)
    (tmp_path / "latest").symlink_to(path.name)
    assert {} == told(tmp_path)


def test_what_is_no_run_is_left_alone(tmp_path):
    (tmp_path / "notes").mkdir()
    (tmp_path / "20200101-backup").mkdir()
    (tmp_path / "20200101-000000-abcd").write_text("a file")
    elsewhere = made(tmp_path / "elsewhere", 500)
    (tmp_path / "20200101-000000-beef").symlink_to(elsewhere)
    assert {} == told(tmp_path)


def test_a_link_inside_an_old_run_is_removed_not_followed(tmp_path):
    path, kept = made(tmp_path / "reports", 500), tmp_path / "kept"
    kept.mkdir()
    (kept / "file").write_text("x")
    (path / "link").symlink_to(kept)
    for each in old(tmp_path / "reports", NOW):
        assert each.bytes < 2000
        each.remove()
    assert (kept / "file").exists() and not path.exists()


def test_a_run_whose_file_is_damaged_is_pruned_like_any_other(tmp_path):
    path = made(tmp_path, 500)
    (path / "run.json").write_text("{")
    assert {path.name} == set(told(tmp_path))


def test_nothing_goes_without_apply(tmp_path):
    path = made(tmp_path, 500)
    dry = CliRunner().invoke(app, ["prune", "--reports", str(tmp_path)])
    assert 0 == dry.exit_code and "(would go)" in dry.output and "would remove 1; --apply does it" in dry.output and path.exists()
    done = CliRunner().invoke(app, ["prune", "--reports", str(tmp_path), "--apply"])
    assert "removed 1" in done.output and not path.exists()


def test_a_missing_folder_is_said_so(tmp_path):
    with pytest.raises(RunError, match="no such folder"):
        old(tmp_path / "reports", NOW)
