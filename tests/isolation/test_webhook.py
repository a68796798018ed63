"""The backend webhook against a service over HTTP that checks signatures, and against services that misbehave."""

import json
import ssl
import subprocess
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from nights import FAULT, inventory_text

from fleetcheck.alerts.payload import SIGNATURE, signature
from fleetcheck.isolation import webhook

FIRST, SECOND = "20261130-020000-aaaa", "20261130-030000-bbbb"
SECRET = "7d1e-a-secret-of-the-site"


class Service:
    """Keeps nodes; trouble: number of the request → (status, body) to answer instead, or "hang"."""

    def __init__(self, certificate=None):
        self.nodes = {name: {"out": False} for name in ("n1", "n2", "n3", "n4")}
        self.trouble, self.asked, self.seen, self.released = {}, [], set(), threading.Event()
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), handler(self))
        if certificate:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate)
            self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
        self.url = f"http{'s' if certificate else ''}://127.0.0.1:{self.server.server_port}/hidden-path"
        self.thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        self.thread.start()

    def close(self):
        self.released.set()
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()

    def act(self, told):
        if told["act"] == "isolate":
            self.nodes[told["node"]] = {"out": True, "reason": told["reason"]}
        elif told["act"] == "release" and self.nodes[told["node"]].get("reason") == told["reason"]:
            self.nodes[told["node"]] = {"out": False}
        return {"nodes": {name: self.nodes[name] for name in told.get("nodes", []) if name in self.nodes}}


def handler(service):
    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *_):
            pass

        def do_POST(self):
            body = self.rfile.read(int(self.headers["Content-Length"]))
            told = json.loads(body)
            service.asked.append(told)
            trouble = service.trouble.get(len(service.asked))
            if trouble == "hang":
                service.released.wait(30)
                return
            if self.headers[SIGNATURE] != signature(body, SECRET.encode()) or told["id"] in service.seen:
                trouble = (401, b"who are you?")
            service.seen.add(told["id"])
            status, answer = trouble or (200, json.dumps(service.act(told)).encode())
            self.send_response(status)
            if status == 302:
                self.send_header("Location", "http://127.0.0.1:1/elsewhere")
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

    return Handler


@pytest.fixture
def service():
    made = Service()
    yield made
    made.close()


@pytest.fixture
def hooked(site, service, monkeypatch):
    """Nights of a fleet whose inventory names the service."""
    monkeypatch.setenv("FLEET_SECRET", SECRET)
    text = inventory_text(4, f"isolation: {{webhook: {{url: '{service.url}', secret_env: FLEET_SECRET}}}}\n")

    class Hooked:
        def night(self, *words, **more):
            return site.night(*words, text=text, **more)

        def act(self, *words):
            code, said = site.command(*words, backend="webhook")
            kept = b"".join(path.read_bytes() for path in site.folder.rglob("*") if path.is_file())
            assert SECRET not in said and SECRET.encode() not in kept
            return code, said

    return Hooked()


def test_the_service_is_told_and_shows_it(hooked, service):
    service.nodes["n3"] = {"out": True, "reason": "cabling", "by": "ann"}
    failed = hooked.night(FIRST, {"n2": FAULT, "n3": FAULT})
    code, said = hooked.act("isolate", failed)
    assert 0 == code and 'POST http://127.0.0.1' in said and '{"act": "isolate", "node": "n2", "reason": "fleetcheck[' in said and "hidden-path" not in said
    assert ["read"] == [each["act"] for each in service.asked]
    code, said = hooked.act("isolate", failed, "--apply")
    assert 0 == code and "ISOLATED: 1 node" in said and "n3: out of service already: out of service by ann, 'cabling'" in said
    assert service.nodes["n2"]["reason"].startswith(f"fleetcheck[{FIRST} quick ")
    code, said = hooked.act("release", hooked.night(SECOND, age_seconds=-5), "--apply")
    assert 0 == code and "RELEASED: 1 node" in said and {"out": False} == service.nodes["n2"] and "cabling" == service.nodes["n3"]["reason"]
    assert len(service.asked) == len({each["id"] for each in service.asked})


def test_another_secret_is_refused(hooked, service, monkeypatch):
    monkeypatch.setenv("FLEET_SECRET", "another-secret-of-somebody")
    code, said = hooked.act("isolate", hooked.night(FIRST, {"n2": FAULT}), "--apply")
    assert 3 == code and "POST was answered 401: who are you?" in said and "nothing was changed" in said


@pytest.mark.parametrize(("answer", "said"), [
    ((500, b"\x1b[31mno"), "POST was answered 500: \\x1b[31mno"),
    ((302, b""), "POST was answered 302"),
    ((200, b"<html>"), "has no nodes"),
    ((200, b'{"nodes": []}'), "has no nodes"),
    ((200, b'{"nodes": {}}'), "n2: the backend does not know this node"),
    ((200, b'{"nodes": {"n2": {"out": "no"}}}'), "the service says of n2: '{\"out\": \"no\"}'; expected"),
    ((200, b'{"nodes": {"n2": {}}}'), "the service says of n2: '{}'; expected"),
    ((200, b'{"nodes": {"n2": {"out": true, "reason": 7}}}'), "the service says of n2:"),
])
def test_an_answer_that_is_none_leaves_everything_as_it_is(hooked, service, answer, said):
    service.trouble = {1: answer}
    code, told = hooked.act("isolate", hooked.night(FIRST, {"n2": FAULT}), "--apply")
    assert code in (1, 3) and said in told and "isolate" not in [each["act"] for each in service.asked], told


def test_a_service_that_hangs_is_left_at_its_deadline(hooked, service, monkeypatch):
    monkeypatch.setattr(webhook, "SECONDS", 0.3)
    service.trouble = {1: "hang"}
    code, said = hooked.act("isolate", hooked.night(FIRST, {"n2": FAULT}), "--apply")
    assert 3 == code and "no answer to POST within 0.3 s" in said


def test_a_service_that_is_not_there_is_one_sentence(hooked, service):
    run = hooked.night(FIRST, {"n2": FAULT})
    service.close()
    code, said = hooked.act("isolate", run, "--apply")
    assert 3 == code and "no answer to POST within 30 s: Connection refused" in said


def test_what_the_service_does_not_show_is_not_confirmed(hooked, service):
    service.trouble = {3: (202, b"later")}
    code, said = hooked.act("isolate", hooked.night(FIRST, {"n2": FAULT}), "--apply")
    assert 1 == code and "n2: failed: no error was told; it stands at: in service" in said


@pytest.mark.parametrize(("words", "said"), [
    ("url: https://drain.example, secret_env: NO_SUCH_VARIABLE", "secret of isolation.webhook: $NO_SUCH_VARIABLE is empty; expected the secret there"),
    ("url: http://drain.example, secret_env: FLEET_SECRET", "http://drain.example is not encrypted"),
    ("url: https://drain.example, secret_file: /no/such", "cannot read /no/such: No such file or directory"),
    ("url: https://drain.example, secret_env: FLEET_SECRET, ca_file: /no/such", "ca_file /no/such: No such file or directory"),
    ("url: https://drain.example, secret_file: {open}", "can be read by every user of this machine; chmod 600"),
])
def test_settings_that_cannot_work_are_one_sentence(site, monkeypatch, tmp_path, words, said):
    monkeypatch.setenv("FLEET_SECRET", SECRET)
    opened = tmp_path / "open"
    opened.write_text(SECRET)
    opened.chmod(0o644)
    text = inventory_text(4, f"isolation: {{webhook: {{{words.replace('{open}', str(opened))}}}}}\n")
    code, told = site.command("isolate", site.night(FIRST, {"n2": FAULT}, text=text), backend="webhook")
    assert 4 == code and said in told and SECRET not in told, told


def test_without_a_service_it_is_told_what_to_write(site):
    code, said = site.command("isolate", site.night(FIRST, {"n2": FAULT}), backend="webhook")
    assert 4 == code and "backend webhook needs a service; write isolation: {webhook:" in said


def test_a_certificate_is_verified_and_a_sites_own_authority_counts(site, tmp_path):
    pem, secret = tmp_path / "both.pem", tmp_path / "secret"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj", "/CN=x",
                    "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", pem, "-out", tmp_path / "ca.pem"], check=True, capture_output=True)
    pem.write_text(pem.read_text() + (tmp_path / "ca.pem").read_text())
    secret.write_text(SECRET + "\n")
    secret.chmod(0o600)
    service = Service(pem)
    try:
        for number, (more, code) in enumerate((("", 3), (f", ca_file: {tmp_path / 'ca.pem'}", 0))):
            text = inventory_text(4, f"isolation: {{webhook: {{url: '{service.url}', secret_file: {secret}{more}}}}}\n")
            ended, said = site.command("isolate", site.night(f"20261130-02000{number}-aaaa", {"n2": FAULT}, text=text), "--apply", backend="webhook")
            assert code == ended and (code == 0 or "certificate" in said.lower()), said
    finally:
        service.close()
