"""How large the page becomes: 64 nodes with every check, serial numbers and curves; thousands of nodes stay usable."""

import madefleet
from madefleet import paged


def test_64_loaded_nodes_with_all_checks_stay_below_two_megabytes(tmp_path):
    run = "20261130-031500-3f2a"
    listed, checks = madefleet.names(64), madefleet.entries()
    evidence = [madefleet.facts(run, name, number, 8) for number, name in enumerate(listed)]
    evidence += [madefleet.load(run, name, 60, 8) for name in listed]
    results = madefleet.fleet_results(run, 64, checks) + madefleet.pair_results(run, listed)
    path = paged(madefleet.record(tmp_path, run, results, evidence, madefleet.inventory_text(64)))
    assert 100_000 < path.stat().st_size < 2_000_000


def test_thousands_of_nodes_draw_racks_first_and_rows_as_they_are_needed(tmp_path, opened):
    run, count = "20261130-031500-3f2a", 2000
    listed, checks = madefleet.names(count), madefleet.entries(4)
    evidence = [madefleet.facts(run, name, number, 2) for number, name in enumerate(listed)]
    path = paged(madefleet.record(tmp_path, run, madefleet.fleet_results(run, count, checks), evidence, madefleet.inventory_text(count)))
    page = opened(path)
    assert page.locator("#nodes-body tbody tr").count() < 400
    assert page.inner_text("#map-extent").startswith("250 racks of 2,000 nodes")
    page.evaluate("setFilter({rack: 'rack 01'})")
    assert "8 nodes" == page.inner_text("#map-extent")
    page.evaluate("setFilter({rack: null, words: 'gpu_is_lost'})")
    assert ["n0003"] == page.locator("#nodes-body .link").all_inner_texts()
