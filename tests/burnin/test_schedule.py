"""How long each node is loaded, with what, by which clock."""

import datetime

import pytest
from fakeloads import inventory_of

from fleetcheck.burnin import clock, schedule
from fleetcheck.burnin.terms import Asked, LoadRefused, settle

NOW = datetime.datetime(2026, 11, 30, 2, 0, tzinfo=datetime.UTC)
SIX = NOW.replace(hour=6)


def settled(inventory, tier="burnin", needed=schedule.LOADS, now=NOW, **asked):
    wanted = {node.name: needed for node in inventory.nodes}
    return settle(Asked(tier, **asked), inventory, wanted, now, which=lambda name: name)


@pytest.mark.parametrize(("text", "seconds"), [("4h", 14400), ("90min", 5400), ("90m", 5400), ("1h30m", 5400), ("1.5h", 5400), ("45s", 45), ("2 d", 172800)])
def test_durations_are_read_as_typed(text, seconds):
    assert seconds == clock.duration(text)


@pytest.mark.parametrize("text", ["", "4", "h", "4 hours", "-4h", "0s", "40d", "4h;rm", "1h 30"])
def test_no_duration_is_guessed(text):
    with pytest.raises(ValueError, match="no duration; expected one such as 4h"):
        clock.duration(text)


@pytest.mark.parametrize(("now", "day"), [("2026-11-30 22:00", 1), ("2026-12-01 05:59", 1), ("2026-12-01 06:00", 2)])
def test_until_is_the_next_time_the_clock_shows_it(now, day):
    assert (2026, 12, day, 6, 0) == clock.until("06:00", datetime.datetime.fromisoformat(now)).timetuple()[:5]


def test_until_takes_a_moment_as_it_is():
    assert SIX == clock.until("2026-11-30T06:00:00+00:00", datetime.datetime(2027, 1, 1))


def test_a_night_with_a_clock_change_ends_by_the_wall(monkeypatch):
    import time

    monkeypatch.setenv("TZ", "Europe/Berlin")
    time.tzset()
    try:
        ends = clock.until("06:00", datetime.datetime(2026, 10, 24, 22, 0))  # clocks go back at 03:00
        assert 9 == (ends - datetime.datetime(2026, 10, 24, 20, 0, tzinfo=datetime.UTC)).total_seconds() / 3600
    finally:
        monkeypatch.undo()
        time.tzset()


@pytest.mark.parametrize("text", ["", "25:00", "6", "06:60", "tomorrow", "06:00:00pm"])
def test_no_time_is_guessed(text):
    with pytest.raises(ValueError, match="expected one such as 06:00"):
        clock.until(text, datetime.datetime(2026, 11, 30))


def test_the_full_tier_stays_short_with_every_load():
    assert schedule.course("full", schedule.chosen("full", schedule.LOADS, ())).seconds < 480


def test_full_and_longer_tiers_run_every_load():
    for tier in ("full", "burnin", "acceptance"):
        assert set(schedule.LOADS) == set(schedule.chosen(tier, schedule.LOADS, ()))


def test_only_what_checks_ask_for_and_the_site_allows_is_run():
    assert ("gemm",) == schedule.chosen("full", {"gemm", "telemetry"}, ())
    assert ("hbm", "cpu") == schedule.chosen("full", {"telemetry"}, ("cpu", "hbm"))


def test_a_long_load_repeats_its_round_until_its_end():
    course = schedule.course("burnin", ("gemm", "hbm"), 14400)
    assert course.repeat and 14400 == course.seconds and [300, 120] == [slot.seconds for slot in course.slots]


def test_a_round_is_made_shorter_so_that_every_load_has_its_turn():
    course = schedule.course("burnin", schedule.LOADS, 600)
    assert len(schedule.LOADS) == len(course.slots) and course.round_seconds <= 601


def test_windows_become_longer_rather_than_too_many():
    assert schedule.MOST_WINDOWS >= 72 * 3600 / schedule.window(72 * 3600) and 10 == schedule.window(14400)


def test_waves_share_the_time_that_is_left(tmp_path):
    terms = settled(inventory_of(tmp_path, "n[01-64]"), duration=14400, until=SIX)
    assert 2 == len(terms.waves) and 7200 - clock.MARGIN_SECONDS == terms.seconds


def test_an_end_alone_is_duration_enough(tmp_path):
    assert 14400 - clock.MARGIN_SECONDS == settled(inventory_of(tmp_path), until=SIX).seconds


def test_a_late_start_gets_what_is_left_or_nothing(tmp_path):
    terms = settled(inventory_of(tmp_path), duration=14400, until=SIX, needed=("gemm",))
    assert 3570 == terms.course("n1", SIX - datetime.timedelta(hours=1)).seconds
    assert terms.course("n1", SIX - datetime.timedelta(seconds=35)) is None


@pytest.mark.parametrize(("asked", "said"), [
    ({"tier": "burnin"}, "--tier burnin needs an end; give --duration 4h, --until 06:00, or both"),
    ({"tier": "full", "duration": 3600.0}, "--duration is for --tier burnin and acceptance"),
    ({"tier": "quick"}, "--tier quick loads no node, and a check asks for"),
    ({"tier": "burnin", "duration": 20.0}, "--duration 20 s is too short: one round of the loads takes"),
    ({"tier": "burnin", "until": NOW + datetime.timedelta(minutes=7), "max_loaded": 1}, "7 min until 02:07 are too short for 3 waves of"),
])
def test_what_cannot_be_is_refused_before_anything_starts(tmp_path, asked, said):
    with pytest.raises(LoadRefused) as refused:
        settled(inventory_of(tmp_path), **asked)
    assert said in str(refused.value)


def test_a_resumed_run_whose_end_has_passed_still_fetches(tmp_path):
    inventory = inventory_of(tmp_path)
    wanted = {node.name: ("gemm",) for node in inventory.nodes}
    terms = settle(Asked("burnin", 14400.0, SIX), inventory, wanted, SIX + datetime.timedelta(hours=1), which=lambda name: name, resumed=True)
    assert terms.course("n1", SIX + datetime.timedelta(hours=1)) is None


def test_a_node_is_told_all_it_needs(tmp_path):
    inventory = inventory_of(tmp_path, more=", torch_python: /t/python, scratch: /s, load: {device: cpu, devices: 2, prefix: enroot exec, settings: {gemm: {size: 512}}}")
    node = inventory.nodes[0]
    told = schedule.start("r1", node, inventory.profiles[node.profile], schedule.course("full", ("gemm",)))
    assert told["schedule"] == [{"load": "gemm", "seconds": 45, "settings": {"size": 512}}]
    assert ("r1", "n1", "/t/python", ["enroot", "exec"], "cpu", 2, "/s", False) == tuple(
        told[key] for key in ("id", "node", "torch_python", "prefix", "device", "devices", "scratch", "repeat"))
    assert told["seconds"] > 51 + 59 and 10 == told["window_seconds"]
