"""Alertmanager and the webhook: what they are sent, how it is signed, what happens when they do not answer."""

import hashlib
import hmac
import socket
import threading

import pytest

from fleetcheck.alerts import ledger, outward
from fleetcheck.inventory import InventoryError, load
from fleetcheck.run import RunError


def managed(receiver):
    return [body for (path, _, _), body in zip(receiver.got, receiver.bodies, strict=True) if path == "/api/v2/alerts"]


def hooked(receiver):
    return [body for (path, _, _), body in zip(receiver.got, receiver.bodies, strict=True) if path == "/hook"]


def test_a_dry_run_sends_nothing_and_keeps_nothing(site, receiver):
    site.night(1, failed=["n03"])
    code, said = site.tell(1, apply=False)
    assert (0, []) == (code, receiver.got)
    assert "would be told: 1 standing (1 new), 0 ended; --apply does it" in said
    assert [] == [path.name for path in (site.folder / "reports").glob("alerts-*")]


def test_alertmanager_gets_labels_annotations_and_times(site, receiver):
    site.night(1, failed=["n03"])
    assert 0 == site.tell(1)[0]
    [[alert]] = managed(receiver)
    assert {"alertname": "FleetcheckNodeFailed", "severity": "ticket", "fleet": "made", "node": "n03"} == alert["labels"]
    assert ("n03 failed: GPU 5: GPU_IS_LOST", "20261101-031500-quaa") == (alert["annotations"]["summary"], alert["annotations"]["run"])
    assert ("2026-11-01T03:15:00+00:00", "2026-11-08T07:00:00+00:00") == (alert["startsAt"], alert["endsAt"])


def test_what_stands_is_sent_again_to_alertmanager_and_once_to_the_webhook(site, receiver):
    site.night(1, failed=["n03"])
    first, second = site.tell(1), site.tell(1, hour=8)
    assert [0, 0] == [first[0], second[0]]
    assert [1, 1] == [len(each) for each in managed(receiver)]
    assert managed(receiver)[0][0]["labels"] == managed(receiver)[1][0]["labels"]
    assert 1 == len(hooked(receiver))
    assert "webhook http://127.0.0.1" in second[1] and "nothing new" in second[1]


def test_what_healed_is_sent_as_ended_once(site, receiver):
    site.night(1, failed=["n03"])
    site.tell(1)
    site.night(2)
    site.tell(2)
    site.tell(2, hour=8)
    assert ["2026-11-08T07:00:00+00:00", "2026-11-02T07:00:00+00:00"] == [each[0]["endsAt"] for each in managed(receiver)]
    assert [([("n03", True)], []), ([], ["n03"])] == [([(each["labels"]["node"], each["new"]) for each in body["firing"]],
                                                        [each["labels"]["node"] for each in body["resolved"]]) for body in hooked(receiver)]


def test_the_webhook_is_signed_and_the_secret_is_nowhere(site, receiver):
    site.night(1, failed=["n03"])
    _, said = site.tell(1)
    _, headers, body = next(each for each in receiver.got if each[0] == "/hook")
    assert f"sha256={hmac.new(b'hush-hush', body, hashlib.sha256).hexdigest()}" == headers["X-Fleetcheck-Signature"]
    files = [path for path in (site.folder / "reports").rglob("*") if path.is_file()]
    assert all(b"hush" not in path.read_bytes() for path in files) and "hush" not in said
    assert all(b"hush" not in each[2] and "hush" not in str(each[1]) for each in receiver.got)


def test_a_token_is_sent_and_told_to_nobody(site, receiver):
    (site.folder / "token").write_text("s3cret\n")
    (site.folder / "token").chmod(0o600)
    site.night(1, failed=["n03"])
    _, said = site.tell(1, inventory=site.inventory(f"alertmanager: {{urls: {site.url}, token_file: {site.folder}/token}}"))
    assert "Bearer s3cret" == receiver.got[0][1]["Authorization"]
    assert "s3cret" not in said + ledger.path_of(site.folder / "reports", "made").read_text()


@pytest.mark.parametrize(("status", "why"), [(500, "POST was answered 500: said \\x1b[31m no"), (302, "POST was answered 302"), (400, "POST was answered 400")])
def test_a_refusal_loses_nothing(site, receiver, status, why):
    site.night(1, failed=["n03"])
    receiver.status = status
    code, said = site.tell(1)
    assert 1 == code and why in said and "nothing is lost: the next call tells it again" in said
    receiver.status = 200
    code, said = site.tell(1)
    assert 0 == code and "1 standing (1 new)" in said
    assert "n03" == hooked(receiver)[-1]["firing"][0]["labels"]["node"]


def test_an_end_that_could_not_be_told_is_told_by_the_next_call(site, receiver):
    site.night(1, failed=["n03"])
    site.tell(1)
    site.night(2)
    receiver.status = 503
    assert 1 == site.tell(2)[0]
    receiver.status = 200
    assert 0 == site.tell(3, hour=5)[0]
    assert ["n03"] == [each["labels"]["node"] for each in hooked(receiver)[-1]["resolved"]]
    assert "2026-11-03T05:00:00+00:00" == managed(receiver)[-1][0]["endsAt"]


def test_one_that_is_down_does_not_keep_another_from_being_told(site, receiver):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        dead = f"http://127.0.0.1:{free.getsockname()[1]}"
    site.night(1, failed=["n03"])
    code, said = site.tell(1, inventory=site.inventory(f"alertmanager: {{urls: [{dead}, {site.url}]}}"))
    assert (1, 1) == (code, len(managed(receiver)))
    assert f"Alertmanager {dead}: NOT TOLD: {dead}: no answer to POST within 15 s: Connection refused" in said


def test_a_server_that_trickles_is_given_up_at_the_deadline():
    stop = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as server:
        def trickle():
            peer, _ = server.accept()
            with peer:
                peer.sendall(b"HTTP/1.1 200 OK\r\n")
                while not stop.wait(0.05):
                    try:
                        peer.sendall(b"X: y\r\n")
                    except OSError:
                        return
        thread = threading.Thread(target=trickle)
        thread.start()
        with pytest.raises(outward.Undelivered, match=r"http://127.0.0.1:\d+: no answer to POST within 0.5 s"):
            outward.post(f"http://127.0.0.1:{server.getsockname()[1]}/x", b"{}", {}, seconds=0.5)
        stop.set()
        thread.join()


@pytest.mark.parametrize(("receivers", "said"), [
    ("capacity_floor: 90%", "nobody to tell; expected alertmanager: or webhook: under alerts: (docs/alerts.md)"),
    ("webhook: {url: 'http://h', secret_file: /nowhere/key}", "secret of the webhook: cannot read /nowhere/key: No such file or directory"),
    ("webhook: {url: 'http://h', secret_env: FLEETCHECK_NO_SUCH}", "secret of the webhook: $FLEETCHECK_NO_SUCH is empty; expected the secret there"),
    ("webhook: {url: 'http://h'}", "a webhook is signed; expected one of secret_file: and secret_env:"),
    ("webhook: {url: 'http://u:p@h', secret_env: A}", "the address of h carries a login, a query or a fragment"),
    ("alertmanager: {urls: 'h:9093'}", "is no address; expected one such as https://alertmanager.example:9093"),
    ("alertmanager: {urls: []}", "fleet.yaml:5:"),
    ("capacity_floor: 101%", "is no floor; expected a number of nodes such as 28, or a share of them such as 90%"),
    ("stale_hours: 0", "greater than 0"),
])
def test_a_mistake_is_one_line(site, receivers, said):
    (site.folder / "reports").mkdir()
    with pytest.raises(InventoryError) as caught:
        site.tell(1, inventory=site.inventory(receivers))
    assert said in str(caught.value) and "\n" not in str(caught.value)


def test_a_secret_that_everybody_can_read_is_refused(site):
    (site.folder / "key").chmod(0o644)
    with pytest.raises(InventoryError, match=r"key can be read by every user of this machine; chmod 600"):
        site.tell(1)


def test_a_damaged_ledger_is_said(site):
    site.night(1)
    ledger.path_of(site.folder / "reports", "made").write_text('{"standing": {"a": {}}, "taken": {}}')
    with pytest.raises(RunError, match=r"alerts-made.json: damaged \(KeyError\); remove it: what stands is told again"):
        site.tell(1)


def test_two_calls_at_once_do_not_tell_twice(site):
    site.night(1)
    with ledger.alone(ledger.path_of(site.folder / "reports", "made")), pytest.raises(RunError, match=r"another fleetcheck alert is at work on it"):
        site.tell(1)


def test_the_address_of_a_webhook_is_in_no_file_but_the_inventory(site):
    site.night(1, failed=["n03"])
    site.tell(1)
    assert "/hook" not in ledger.path_of(site.folder / "reports", "made").read_text()


def test_the_inventory_says_how_few_are_too_few(site):
    site.extra = ", capacity_floor: 90%"
    assert 11 == load(site.inventory()).floor
