"""RDMA ports of the compute fabric, as the profile names them. Ports of other devices (management, unused) may be down."""

import pytest

from fleetcheck.facts.defaults import limit
from fleetcheck.facts.rdma import FAR_END, RECEIVE, RETRIES


@pytest.mark.check(component="rdma", severity="fatal", action="isolate")
def test_ports_are_active(hcas):
    """Every port is ACTIVE and its link up. DOWN: cable, module, switch port. INIT: the subnet manager, not this node.

    A device of the profile that is gone counts as a port that is down; it takes nothing from those listed before or after it.
    """
    assert not hcas.offending(lambda hca: hca.down)


@pytest.mark.check(component="rdma", severity="degraded", action="isolate")
def test_ports_have_their_rate(hcas, profile):
    """Every port trained to its rate. Lower: clean or replace the cable; a split cable halves it by design (profile)."""
    assert not hcas.offending(lambda hca: hca.rate_gbits_per_second not in profile.hcas.rate_gbits_per_second)


@pytest.mark.check(component="rdma", severity="degraded", action="fix-config")
def test_ports_have_their_link_layer(hcas, profile):
    """Every port speaks the fabric's protocol. Another: set LINK_TYPE with mlxconfig and reboot."""
    assert not hcas.offending(lambda hca: hca.link_layer not in profile.hcas.link_layer)


@pytest.mark.check(component="rdma", severity="degraded", action="fix-config")
def test_fabric_interfaces_have_large_packets(hcas, profile):
    """Interfaces of the compute fabric have its MTU, not that of an office network. Set it as on the other nodes."""
    bound = limit(profile, "fabric_mtu_bytes")
    assert not hcas.offending(lambda hca: hca.small_packets(bound))


@pytest.mark.check(component="rdma", severity="warn", action="fix-config")
def test_devices_run_the_same_firmware(hcas):
    """All devices of the fabric run one firmware. Update the odd ones."""
    first = hcas[0].firmware
    assert not hcas.offending(lambda hca: hca.firmware != first)


@pytest.mark.check(component="rdma", severity="degraded", action="isolate")
def test_ports_have_few_symbol_errors(hcas, profile):
    """Symbol errors do not grow; the total since boot says nothing, training alone counts some. Replace the cable."""
    bound = limit(profile, "symbol_errors_per_second")
    assert not hcas.offending(lambda hca: hca.errors_per_second("symbol_error") not in bound)


@pytest.mark.check(component="rdma", severity="degraded", action="isolate")
def test_ports_receive_without_errors(hcas, profile):
    """Receive errors do not grow; port_xmit_wait is congestion and is not read. Clean or replace cable and module."""
    bound = limit(profile, "receive_errors_per_second")
    assert not hcas.offending(lambda hca: hca.errors_per_second(*RECEIVE) not in bound)


@pytest.mark.check(component="rdma", severity="degraded", action="observe")
def test_peers_send_without_errors(hcas, profile):
    """No packet arrives that the far end already marked bad. Look at the peer or the switch, not at this node."""
    bound = limit(profile, "receive_errors_per_second")
    assert not hcas.offending(lambda hca: hca.errors_per_second(*FAR_END) not in bound)


@pytest.mark.check(component="rdma", severity="degraded", action="observe")
def test_links_do_not_retrain(hcas, profile):
    """Link recoveries stay under a few a minute; a cable being reseated counts some."""
    bound = limit(profile, "link_recoveries_per_second")
    assert not hcas.offending(lambda hca: hca.errors_per_second("link_error_recovery") not in bound)


@pytest.mark.check(component="rdma", severity="degraded", action="observe")
def test_transport_does_not_retry(hcas, profile):
    """No timeouts, negative acknowledgements or sequence errors grow. A dead peer causes them too: ask its side first."""
    bound = limit(profile, "transport_retries_per_second")
    assert not hcas.offending(lambda hca: hca.errors_per_second(*RETRIES, kind="hw_counters") not in bound)


@pytest.mark.check(component="rdma", severity="warn", action="fix-config")
def test_receive_buffers_suffice(hcas, profile):
    """Nothing is dropped for want of receive buffers; bursts on a sound card may. Enlarge rings or slow senders."""
    bound = limit(profile, "buffer_drops_per_second")
    assert not hcas.offending(lambda hca: hca.errors_per_second("out_of_buffer", kind="hw_counters") not in bound)
