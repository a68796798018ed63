"""What the node must reach: its way out, names, ports, and packets of full size."""

import pytest


@pytest.mark.check(component="network", severity="degraded", action="fix-config")
def test_default_route_is_there(reach):
    """The kernel has a default route that is up, where the profile asks for one. Look at the interface's configuration."""
    routes = reach.needs_route and reach.default_routes
    assert len(routes) > 0, "no default route"


@pytest.mark.check(component="network", severity="degraded", action="fix-config")
def test_names_resolve(reach):
    """The node's resolver knows the names the profile lists. Look at resolv.conf and the name servers."""
    assert not reach.names.offending(lambda name: name.unknown)


@pytest.mark.check(component="network", severity="degraded", action="fix-config")
def test_endpoints_answer(reach):
    """Every port of the profile answers from here. Silent for all nodes: that service or a firewall before it."""
    assert not reach.endpoints.offending(lambda endpoint: endpoint.closed)


@pytest.mark.check(component="network", severity="degraded", action="fix-config")
def test_full_packets_reach_endpoints(reach):
    """Packets of the size the profile gives reach their endpoint whole. Compare the MTU of every hop."""
    assert not reach.wide_endpoints.offending(lambda endpoint: endpoint.narrow)
