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


def test_a_browser_is_asked_to_print_no_more_nodes_than_it_can_and_says_which(tmp_path, opened):
    run, count = "20261130-031500-3f2a", 1100
    checks = madefleet.entries(4)
    page = opened(paged(madefleet.record(tmp_path, run, madefleet.fleet_results(run, count, checks), [], madefleet.inventory_text(count))))
    said = "1,100 of 1,100 nodes; the first 1,024 are printed: choose a rack to print its nodes"
    assert said == page.inner_text("#serials-extent") and 20 == page.locator("#serials tbody tr").count()
    page.evaluate("paper()")
    assert 1024 == page.locator("#serials tbody tr").count()
    page.evaluate("setFilter({rack: 'rack 02'}), paper()")
    assert "8 of 1,100 nodes" == page.inner_text("#serials-extent") and 8 == page.locator("#serials tbody tr").count()
