"""report.html in a real browser: it loads without network and errors, filters, and shows what nodes say as text."""

import re

import pytest
from madefleet import HOSTILE


def test_first_screen_says_what_is_new_still_and_healed(small, opened):
    page = opened(small.path)
    assert "COMPLETE" in page.inner_text(".banner")
    assert "n10" in page.inner_text(".change.new") and "n03" in page.inner_text(".change.new")
    still = page.inner_text(".change.still")
    assert "n05" in still and "since 2026-11-29 03:15" in still and "serial 1654922003245" in still
    assert "scheduler: DRAIN; new fans [anna@2026-11-29T18:00:00]" in still
    assert "n08" in page.inner_text(".change.healed") and "fan 3 stands still" in page.inner_text(".change.healed")
    assert "--nodes n05" in page.inner_text(".change.still code")


def test_what_nodes_say_is_shown_as_text_and_never_run(small, opened):
    page = opened(small.path)
    assert "owned" != page.title()
    page.evaluate("openNode(byName.get('n10'))")
    shown = page.inner_text("dialog")
    assert HOSTILE.partition("\x1b")[0].strip() in shown and r"\x1b[31m\u202egpj" in shown and "49" not in shown.partition("Commands")[0]
    page.evaluate("openNode(byName.get('n12')); document.getElementById('node').close(); showLoad('n01')")
    assert "<script>" in page.inner_text("#curves")
    assert 0 == page.locator("img").count()
    assert "owned" != page.title()


def test_the_file_contains_no_markup_of_a_node(small):
    text = small.path.read_text()
    assert "<img src=x" not in text and "\x1b" not in text and "\u202e" not in text
    assert 2 == text.count("</script>")


def test_the_page_reaches_for_nothing_outside(small):
    text = small.path.read_text()
    assert "default-src 'none'" in text
    assert [] == re.findall(r"(?:src|href)=[\"']?(?:https?:)?//", text)


@pytest.mark.parametrize(("words", "found"), [
    ("n05", ["n05"]), ("gpu_is_lost", ["n03"]), ("rack 02 permission", ["n15"]), ("nobody", []), ("s00011", ["n12"]), ("<img", ["n10", "n12"]),
])
def test_search_finds_nodes_by_name_rack_message_and_serial(small, opened, words, found):
    page = opened(small.path)
    page.fill("#find", words)
    assert found == sorted(page.locator("#nodes-body .link").all_inner_texts())
    page.click("#clear") if found != small.names else None
    assert len(small.names) == page.locator("#nodes-body .link").count()


def test_filters_by_verdict_rack_and_component_narrow_table_and_map(small, opened):
    page = opened(small.path)
    page.click("#verdicts [data-verdict=degraded]")
    assert ["n05"] == page.locator("#nodes-body .link").all_inner_texts()
    assert "1 node" == page.inner_text("#map-extent")
    page.click("#clear")
    page.select_option("#rack", "rack 02")
    assert 8 == page.locator("#nodes-body .link").count()
    page.select_option("#component", small.checks[6][2])
    assert "n10" in page.locator("#nodes-body .link").all_inner_texts()


def test_checks_show_limit_source_and_date(small, opened):
    page = opened(small.path)
    page.fill("#find-check", small.checks[8][0])
    row = page.inner_text("#checks-body tbody tr")
    assert "8 GPUs" in row and "HGX H100 datasheet, table 2" in row and "2026-11-30" in row
    page.fill("#find-check", "")
    page.check("#trouble")
    assert small.checks[0][0] in page.inner_text("#checks-body") and small.checks[8][0] not in page.inner_text("#checks-body")


def test_pairs_name_the_slow_node(small, opened):
    page = opened(small.path)
    words = page.inner_text("#pairs-body")
    assert "120 pairs of 16 nodes: lowest 24.1" in words and "n10: 24.1 (50 % of the fleet's median)" in words


def test_curves_are_drawn_for_loaded_nodes(small, opened):
    page = opened(small.path)
    page.locator("#load").scroll_into_view_if_needed()
    page.wait_for_selector("#curves canvas")
    assert {"Temperature, highest (°C)", "SM clock, mean (MHz)", "tflops_bf16"} <= set(page.locator(".u-title").all_inner_texts())
    assert 4 == page.locator(".card").count()
    page.click(".card[data-node=n02]")
    assert "n02" in page.inner_text("#curves h3")


def test_a_node_opens_from_the_table_and_closes_with_escape(small, opened):
    page = opened(small.path, color_scheme="dark")
    page.click("#nodes-body .link >> text=n05")
    assert "reset-gpu" in page.inner_text("dialog") and "P1-DIMM00" in page.inner_text("dialog")
    page.keyboard.press("Escape")
    assert not page.is_visible("dialog")


def test_a_node_says_since_when_it_is_bad_and_what_it_was_suspected_of(small, opened):
    page = opened(small.path)
    page.click("#nodes-body .link >> text=n05")
    assert "since 2026-11-29 03:15, 2 runs, failed in 2 of the last 2 runs" in page.inner_text("dialog")
    page.keyboard.press("Escape")
    page.click("#nodes-body .link >> text=n08")
    said = page.inner_text("dialog").lower()
    assert "suspects of the last weeks" in said and "failed in 1 of 2 runs, last 2026-11-29 03:15, passed since" in said


def test_a_phone_shows_everything_without_scrolling_sideways(small, opened):
    page = opened(small.path)
    page.set_viewport_size({"width": 390, "height": 844})
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    run, find = page.locator(".top .who .quiet").bounding_box(), page.locator("#find").bounding_box()
    assert run["x"] + run["width"] <= find["x"]


def test_what_to_type_next_stands_apart_from_its_words(small, opened):
    page = opened(small.path)
    typed = page.locator("#next code").all_inner_texts()
    assert [each.split()[0] for each in typed if "isolate" in each] == ["fleetcheck"]


def test_prints_as_a_certificate_with_serial_numbers(small, opened, tmp_path):
    page = opened(small.path)
    page.emulate_media(media="print")
    page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    shown = page.inner_text("main")
    assert "State of the fleet, not an acceptance" in shown and "S00011" in shown and "16500000307" in shown and "P1-DIMM31" in shown
    assert not page.is_visible(".banner")
    page.pdf(path=tmp_path / "certificate.pdf", prefer_css_page_size=True)
    assert (tmp_path / "certificate.pdf").read_bytes().startswith(b"%PDF")
