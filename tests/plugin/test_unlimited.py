"""An unlimited value (LimitMEMLOCK=infinity) is measured, judged and recorded like any other."""

from smallsite import MARK

CHECK = f"""
import math

import pytest

from fleetcheck.facts.growth import noted

{MARK}
def test_nothing_is_limited(system):
    assert noted("system.limit", math.inf) > len(system.hostname)
"""


def test_an_infinite_metric_is_recorded_in_words(site):
    site.write(CHECK)
    done = site.replay("--nodes", "n1")
    assert [("passed", "inf")] == [(each["outcome"], each["metrics"]["system.limit"]) for each in done.lines("results")]
