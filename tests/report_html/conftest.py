"""A recorded run with its page, and a real browser to load it, without a network."""

import os
import shutil
from types import SimpleNamespace

import madefleet
import pytest
from madefleet import HOSTILE, paged
from playwright.sync_api import sync_playwright

CHROMIUM = os.environ.get("FLEETCHECK_CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome") or ""
NO_BROWSER = "no browser: apt install chromium, or name one in FLEETCHECK_CHROMIUM"


@pytest.fixture(scope="session")
def small(tmp_path_factory):
    """A run of 16 nodes in two racks after a complete one: one node was broken already, one is now, one healed, one says hostile things."""
    folder = tmp_path_factory.mktemp("small")
    text, checks = madefleet.inventory_text(16), madefleet.entries(24)
    per = len(checks)
    before, now = "20261129-031500-0000", "20261130-031500-3f2a"
    listed = madefleet.names(16)
    old = madefleet.fleet_results(before, 16, checks)
    old[per * 2] = madefleet.result(before, checks[0], listed[2])
    old[per * 7 + 5] = madefleet.result(before, checks[5], listed[7], "failed", "degraded", message="fan 3 stands still")
    evidence = [madefleet.facts(before, name, number, 8) for number, name in enumerate(listed)]
    madefleet.record(folder, before, old, evidence, text, began="2026-11-29T03:15:00+00:00")
    results = madefleet.fleet_results(now, 16, checks)
    results[per * 9 + 6] = madefleet.result(now, checks[6], listed[9], "failed", "fatal", "reboot", message=f"{HOSTILE} said the node",
                                           parts=({"kind": "gpu", "label": HOSTILE, "slot": HOSTILE, "serial": HOSTILE},))
    results[per * 11 + 7] = madefleet.result(now, checks[7], listed[11], "error", message=f"{listed[11]}: {HOSTILE}")
    results += madefleet.pair_results(now, listed, slow=listed[9])
    evidence = [madefleet.facts(now, name, number, 8) for number, name in enumerate(listed)]
    evidence += [madefleet.load(now, name, 30, 8, hot=5, events=[{"t": 100.0, "kind": "xid", "text": HOSTILE}]) for name in listed[:4]]
    evidence[4] = madefleet.facts(now, listed[4], 4, 8, scheduler={"state": "DRAIN", "reason": "new fans [anna@2026-11-29T18:00:00]"})
    run = madefleet.record(folder, now, results, evidence, text)
    return SimpleNamespace(run=run, path=paged(run), names=listed, checks=checks)


@pytest.fixture(scope="session")
def chromium():
    """A headless Chromium."""
    if not CHROMIUM:
        pytest.skip(NO_BROWSER)
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def opened(chromium, request):
    """open(path) → a page; console errors, script errors and requests beyond the file fail the test."""
    pages = []

    def open_page(path, **settings):
        page = chromium.new_page(viewport={"width": 1400, "height": 1000}, **settings)
        wrong = []
        page.on("console", lambda said: wrong.append(said.text) if said.type in ("error", "warning") else None)
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("request", lambda asked: wrong.append(asked.url) if asked.url != path.as_uri() else None)
        page.goto(path.as_uri())
        pages.append((page, wrong))
        return page

    yield open_page
    for page, wrong in pages:
        page.close()
        assert [] == wrong
