"""The part of the Kubernetes API that concerns nodes, over HTTP, in the shapes of the real server; and the real one, where there is one.

FLEETCHECK_TEST_KUBECONFIG names the kubeconfig of a real API server on which tests may make and delete nodes.
"""

import copy
import json
import os
import ssl
import threading
import urllib.error
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urlparse

import yaml

REAL = os.environ.get("FLEETCHECK_TEST_KUBECONFIG", "")
TOKEN = "a-token-that-nobody-may-see"
CONDITIONS = {"Ready": "True", "MemoryPressure": "False", "NetworkUnavailable": "False"}


def node(name, conditions=None, annotations=None, **spec):
    told = [{"type": kind, "status": status} for kind, status in {**CONDITIONS, **(conditions or {})}.items()]
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, **({"annotations": annotations} if annotations else {})},
            "spec": spec, "status": {"conditions": told}}


def kubeconfig(path, server, token):
    path.write_text(yaml.safe_dump({
        "apiVersion": "v1", "kind": "Config", "current-context": "test", "contexts": [{"name": "test", "context": {"cluster": "test", "user": "test"}}],
        "clusters": [{"name": "test", "cluster": {"server": server}}], "users": [{"name": "test", "user": {"token": token}}]}))
    return path


class SmallKube:
    """In memory, on loopback. trouble: number of the request → status to answer; before: the same → what happens to a node first."""

    def __init__(self, folder):
        self.nodes, self.version, self.requests, self.trouble, self.before, self.page = {}, 100, [], {}, {}, 500
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), handler(self))
        self.thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        self.thread.start()
        self.kubeconfig = kubeconfig(folder / "kubeconfig", f"http://127.0.0.1:{self.server.server_port}", TOKEN)

    def close(self):
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()

    def make(self, given):
        self.version += 1
        made = copy.deepcopy(given)
        made["metadata"]["resourceVersion"] = str(self.version)
        self.nodes[given["metadata"]["name"]] = made

    def get(self, name):
        return self.nodes[name]

    def change(self, name, patch):
        """What somebody else does."""
        self.version += 1
        patched(self.nodes[name], [*patch, {"op": "add", "path": "/metadata/resourceVersion", "value": str(self.version)}])

    def patches(self):
        return [body for method, _, body in self.requests if method == "PATCH"]


def handler(kube):
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_):
            pass

        def answer(self, status, told):
            body = json.dumps(told).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def refuse(self, status, message, reason="Failure"):
            self.answer(status, {"kind": "Status", "apiVersion": "v1", "status": "Failure", "message": message, "reason": reason, "code": status})

        def admitted(self, body=None):
            kube.requests.append((self.command, self.path, body))
            number = len(kube.requests)
            for name, patch in kube.before.get(number, {}).items():
                kube.change(name, patch)
            if number in kube.trouble:
                self.refuse(kube.trouble[number], "the server was told to refuse this")
            elif self.headers["Authorization"] != f"Bearer {TOKEN}":
                self.refuse(401, "Unauthorized", "Unauthorized")
            else:
                return True
            return False

        def do_GET(self):
            if not self.admitted():
                return
            url = urlparse(self.path)
            if url.path == "/api/v1/nodes":
                return self.listed(parse_qs(url.query))
            name = url.path.rpartition("/")[2]
            return self.answer(200, kube.nodes[name]) if name in kube.nodes else self.refuse(404, f'nodes "{name}" not found', "NotFound")

        def listed(self, query):
            names, start = sorted(kube.nodes), int(query.get("continue", ["0"])[0])
            size = min(kube.page, int(query.get("limit", ["500"])[0]))
            more = {"continue": str(start + size)} if start + size < len(names) else {}
            self.answer(200, {"kind": "NodeList", "metadata": {"resourceVersion": str(kube.version), **more},
                              "items": [kube.nodes[name] for name in names[start:start + size]]})

        def do_PATCH(self):
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            if not self.admitted(body):
                return None
            if self.headers["Content-Type"] != "application/json-patch+json":
                return self.refuse(415, f"unexpected content type {self.headers['Content-Type']}")
            name = urlparse(self.path).path.rpartition("/")[2]
            changed = copy.deepcopy(kube.nodes[name])
            try:
                patched(changed, body)
            except (KeyError, AssertionError):
                return self.refuse(422, "the server rejected our request due to an error in our request", "Invalid")
            kube.version += 1
            changed["metadata"]["resourceVersion"] = str(kube.version)
            kube.nodes[name] = changed
            return self.answer(200, changed)

    return Handler


def patched(document, patch):
    """RFC 6902, as far as objects go."""
    for each in patch:
        *path, last = [step.replace("~1", "/").replace("~0", "~") for step in each["path"].split("/")[1:]]
        holder = document
        for step in path:
            holder = holder[step]
        if each["op"] == "add":
            holder[last] = each["value"]
        elif each["op"] == "remove":
            del holder[last]
        else:
            assert holder[last] == each["value"]


class RealKube:
    """A real API server: the same words."""

    def __init__(self, folder):
        told = yaml.safe_load(Path(REAL).read_text())
        self.url, self.token = told["clusters"][0]["cluster"]["server"], told["users"][0]["user"]["token"]
        self.kubeconfig, self.made = REAL, []

    def close(self):
        for name in self.made:
            self._ask("DELETE", f"/api/v1/nodes/{name}", missing=True)

    def make(self, given):
        name = given["metadata"]["name"]
        self._ask("DELETE", f"/api/v1/nodes/{name}", missing=True)
        self.made.append(name)
        self._ask("POST", "/api/v1/nodes", {**given, "status": {}})
        self._ask("PATCH", f"/api/v1/nodes/{name}/status", {"status": given["status"]}, "application/strategic-merge-patch+json")
        taints = given["spec"].get("taints")  # the server adds not-ready to a new node, which a controller would take away
        self.change(name, [{"op": "add", "path": "/spec/taints", "value": taints} if taints else {"op": "remove", "path": "/spec/taints"}])

    def get(self, name):
        return self._ask("GET", f"/api/v1/nodes/{name}")

    def change(self, name, patch):
        self._ask("PATCH", f"/api/v1/nodes/{name}", patch, "application/json-patch+json")

    def _ask(self, method, path, body=None, kind="application/json", missing=False):
        request = urllib.request.Request(self.url + path, method=method, data=None if body is None else json.dumps(body).encode(),
                                         headers={"Authorization": f"Bearer {self.token}", "Content-Type": kind})
        context = ssl._create_unverified_context()
        try:
            with urllib.request.urlopen(request, timeout=20, context=context) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as error:
            assert missing and error.code == 404, (method, path, error.read())
