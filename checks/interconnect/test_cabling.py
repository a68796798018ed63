"""Cables against the inventory: which port of which switch each should end in."""

import pytest

from fleetcheck.facts.cabling import swapped_between


@pytest.mark.check(component="cabling", severity="degraded", action="fix-config")
def test_cables_end_where_they_should(cabling):
    """Every cable that the inventory names ends in its port of its switch. Put it there, or correct the inventory."""
    assert not cabling.wrong


@pytest.mark.check(component="cabling", severity="degraded", action="fix-config", per="fleet")
def test_no_cables_of_two_nodes_are_swapped(group, cabling_by_node):
    """No cable ends in the place of another node's cable, and that one in its. Exchange the two at the switch."""
    assert not swapped_between(cabling_by_node)
