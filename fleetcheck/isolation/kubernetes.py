"""Backend ``kubernetes``: cordon, taint and annotation in one patch, through the official client. Runs on the controller.

Pods that run there run on: the taint is NoSchedule, and nothing is evicted.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any

from fleetcheck.isolation import kubenode
from fleetcheck.isolation.standing import BackendError, Standing
from fleetcheck.quoting import quoted
from fleetcheck.run import RunError

CONNECT_SECONDS, READ_SECONDS = 5.0, 25.0
PAGE = 500
"""Nodes in one answer of the server."""
FEW = 20
"""So many nodes are read one by one."""
CHANGED = (409, 422)
"""How servers say that the node is not as it was read."""
TRIES = 3
MANAGER = "fleetcheck"


class Kubernetes:
    """One cluster. api: the client's CoreV1Api; template: how the cluster names a node."""

    name = "kubernetes"

    def __init__(self, api: Any, template: str = "{name}") -> None:
        self._api, self._template = api, template

    def read(self, nodes: Collection[str]) -> Mapping[str, Standing]:
        """A few one by one, more by pages of the whole list."""
        names = {self._called(node): node for node in nodes}
        found = self._each(names) if len(names) <= FEW else self._all()
        return {names[name]: standing for name, standing in found if name in names}

    def isolate(self, node: str, reason: str, seen: Standing) -> None:
        """One patch."""
        self._patch(node, seen, lambda now: kubenode.isolation(now, reason))

    def release(self, node: str, seen: Standing) -> None:
        """One patch."""
        self._patch(node, seen, kubenode.release)

    def shown(self, kind: str, node: str, reason: str) -> str:
        """The changes, in kubectl's words."""
        name, taint = self._called(node), f"{kubenode.KEY}=true:NoSchedule"
        if kind == "isolate":
            return f"patch node {name}: spec.unschedulable=true, taint {taint}, annotation {kubenode.KEY}={reason!r}"
        return f"patch node {name}: spec.unschedulable and taint {taint} removed, annotation {kubenode.KEY} removed"

    def _patch(self, node: str, seen: Standing, change: Callable[[Standing], kubenode.Patch]) -> None:
        """Again when something else of the node changed in between, such as what its kubelet reports; not when its standing did."""
        name, now = self._called(node), seen
        for _ in range(TRIES):
            status, told = self._call(self._api.patch_node, name, change(now), field_manager=MANAGER)
            tried, now = now, (self._one(name) if status in CHANGED else now)
            if status not in CHANGED or now.about == tried.about:
                return self._expect(status, told, f"patch node {name}")
            if (now.held, now.reason) != (seen.held, seen.reason):
                raise BackendError(f"node {name} was changed at this moment: {now}")
        raise BackendError(f"node {name} was changed {TRIES} times while it was being patched; try again")

    def _one(self, name: str) -> Standing:
        for _, standing in self._each([name]):
            return standing
        raise BackendError(f"node {name} was removed from the cluster at this moment")

    def _each(self, names: Collection[str]) -> Iterator[tuple[str, Standing]]:
        for name in names:
            status, told = self._call(self._api.read_node, name)
            if status != 404:
                self._expect(status, told, f"read node {name}")
                yield name, _standing(told)

    def _all(self) -> Iterator[tuple[str, Standing]]:
        after = ""
        while True:
            status, told = self._call(self._api.list_node, limit=PAGE, **({"_continue": after} if after else {}))
            self._expect(status, told, "list nodes")
            items = told.get("items")
            if not isinstance(items, list):
                raise BackendError(f"list nodes: no items in {quoted(json.dumps(told), 120)}")
            yield from ((str((item.get("metadata") or {}).get("name", "")), _standing(item)) for item in items if isinstance(item, dict))
            after = str((told.get("metadata") or {}).get("continue") or "")
            if not after:
                return

    def _call(self, method: Callable[..., Any], *words: Any, **more: Any) -> tuple[int, dict[str, Any]]:
        """Status and answer of one request. Raises BackendError when there is none."""
        from kubernetes.client.exceptions import ApiException
        from urllib3.exceptions import HTTPError
        try:
            answer = method(*words, _preload_content=False, _request_timeout=(CONNECT_SECONDS, READ_SECONDS), **more)
            return int(answer.status), _parsed(answer.data)
        except ApiException as refused:
            if refused.status:
                return int(refused.status), _parsed(refused.body or "")
            raise BackendError(f"the API server was not asked: {quoted(str(refused.reason))}") from None
        except (HTTPError, OSError, ValueError) as error:
            raise BackendError(f"the API server did not answer within {CONNECT_SECONDS + READ_SECONDS:g} s, or not at all: "
                               f"{quoted(str(error))}") from None

    def _expect(self, status: int, told: Mapping[str, Any], what: str) -> None:
        if not 200 <= status < 300:
            hint = "; may this account get, list and patch nodes?" if status in (401, 403) else ""
            raise BackendError(f"{what}: HTTP {status} {quoted(str(told.get('message') or told.get('reason') or ''))}{hint}")

    def _called(self, node: str) -> str:
        return self._template.replace("{name}", node)


def _standing(node: Mapping[str, Any]) -> Standing:
    try:
        return kubenode.standing(node)
    except (KeyError, TypeError, AttributeError) as error:
        return Standing("not understood", trouble=f"its Node is not as expected: {type(error).__name__} {quoted(str(error), 60)}")


def _parsed(body: Any) -> dict[str, Any]:
    """The answer's object; empty when it is none."""
    try:
        found = json.loads(body)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def connect(kubeconfig: str, context: str, template: str) -> Kubernetes:
    """The cluster of a kubeconfig, or of the pod we run in. Raises RunError when the client or its configuration is not there."""
    try:
        from kubernetes import client, config
    except ImportError:
        raise RunError("backend kubernetes needs the official client: pip install 'fleetcheck[kubernetes]'") from None
    settings = client.Configuration()
    try:
        _load(config, settings, kubeconfig, context)
    except (config.ConfigException, OSError, ValueError) as error:
        raise RunError(f"backend kubernetes: {error}; set KUBECONFIG, or isolation: {{kubernetes: {{kubeconfig: …}}}}") from None
    settings.retries = 0
    return Kubernetes(client.CoreV1Api(client.ApiClient(settings)), template)


def _load(config: Any, settings: Any, kubeconfig: str, context: str) -> None:
    """A kubeconfig before the pod's own account."""
    try:
        config.load_kube_config(kubeconfig or os.environ.get("KUBECONFIG"), context or None, settings, persist_config=False)
    except config.ConfigException:
        if kubeconfig or context:
            raise
        config.load_incluster_config(client_configuration=settings)
