"""The backend kubernetes through the official client, against a small server of the real one's shapes, and a real one where given."""

import sys

import pytest
from nights import FAULT, inventory_text
from smallkube import REAL, TOKEN, RealKube, SmallKube, node

from fleetcheck.isolation import kubenode

FIRST, SECOND = "20261130-020000-aaaa", "20261130-030000-bbbb"
GPU_TAINT = {"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}
OURS = "fleetcheck[20261130-020000-aaaa quick 2026-11-30T03:20:00Z] lost"


@pytest.fixture(params=[SmallKube, RealKube] if REAL else [SmallKube])
def kube(request, tmp_path, monkeypatch):
    made = request.param(tmp_path)
    monkeypatch.setenv("KUBECONFIG", str(made.kubeconfig))
    for name in ("n1", "n2", "n3", "n4"):
        made.make(node(name))
    yield made
    made.close()


@pytest.fixture
def small(tmp_path, monkeypatch):
    made = SmallKube(tmp_path)
    monkeypatch.setenv("KUBECONFIG", str(made.kubeconfig))
    for name in ("n1", "n2", "n3", "n4"):
        made.make(node(name))
    yield made
    made.close()


def act(site, word, run, *words):
    return site.command(word, run, *words, backend="kubernetes")


def stands(kube, name):
    """(cordoned, taint keys, our annotation)."""
    found = kube.get(name)
    return (found["spec"].get("unschedulable", False), [taint["key"] for taint in found["spec"].get("taints", [])],
            (found["metadata"].get("annotations") or {}).get(kubenode.KEY, ""))


def test_a_bad_node_is_cordoned_healed_retested_and_released(site, kube):
    kube.make(node("n2", annotations={"owner": "ann"}, taints=[GPU_TAINT]))
    kube.make(node("n3", unschedulable=True))
    run = site.night(FIRST, {"n2": FAULT, "n3": FAULT})
    code, said = act(site, "isolate", run)
    assert 0 == code and "patch node n2: spec.unschedulable=true, taint fleetcheck/isolated=true:NoSchedule, annotation" in said, said
    assert (False, ["nvidia.com/gpu"], "") == stands(kube, "n2")
    code, said = act(site, "isolate", run, "--apply")
    assert 0 == code and "ISOLATED: 1 node" in said and "n3: out of service already: Ready, cordoned" in said, said
    cordoned, taints, reason = stands(kube, "n2")
    assert (True, ["nvidia.com/gpu", "fleetcheck/isolated"]) == (cordoned, taints) and reason.startswith(f"fleetcheck[{FIRST} quick ")
    assert "NoSchedule" == kube.get("n2")["spec"]["taints"][-1]["effect"] and "ann" == kube.get("n2")["metadata"]["annotations"]["owner"]
    code, said = act(site, "isolate", run, "--apply")
    assert 0 == code and "n2: isolated already" in said and reason == stands(kube, "n2")[2]

    assert 1 == act(site, "release", run, "--apply")[0] and stands(kube, "n2")[0]
    code, said = act(site, "release", site.night(SECOND, age_seconds=-5), "--apply")
    assert 0 == code and "RELEASED: 1 node" in said and "n3: not ours: Ready, cordoned" in said, said
    assert (False, ["nvidia.com/gpu"], "") == stands(kube, "n2") and "ann" == kube.get("n2")["metadata"]["annotations"]["owner"]
    assert stands(kube, "n3")[0]


def test_sixty_percent_failing_trip_the_guard(site, kube):
    code, said = act(site, "isolate", site.night(FIRST, dict.fromkeys(("n1", "n2", "n3"), FAULT)), "--apply")
    assert 1 == code and "3 of 4 nodes would be taken out at once" in said
    assert [(False, [], "")] * 4 == [stands(kube, name) for name in ("n1", "n2", "n3", "n4")]


def test_a_node_without_any_taint_or_annotation_is_left_without_any(site, kube):
    act(site, "isolate", site.night(FIRST, {"n2": FAULT}), "--apply")
    assert (True, ["fleetcheck/isolated"]) == stands(kube, "n2")[:2]
    act(site, "release", site.night(SECOND, age_seconds=-5), "--apply")
    assert (False, [], "") == stands(kube, "n2")


def test_a_node_whose_network_is_down_is_out_and_is_held_too(site, kube):
    kube.make(node("n2", {"NetworkUnavailable": "True"}, taints=[{"key": "node.kubernetes.io/network-unavailable", "effect": "NoSchedule"}]))
    kube.make(node("n3", {"Ready": "Unknown"}))
    text = inventory_text(4, "isolation: {budgets: {fleet: 2}}\n")
    run = site.night(FIRST, {"n2": FAULT, "n1": FAULT}, text=text)
    code, said = act(site, "isolate", run, "--apply")
    assert 1 == code and "n1: fleet: 2 of 4 nodes are out, and 2 may be (budget 2) [budget]" in said, said
    assert (True, ["node.kubernetes.io/network-unavailable", "fleetcheck/isolated"]) == stands(kube, "n2")[:2]
    act(site, "release", site.night(SECOND, age_seconds=-5), "--apply")
    assert (False, ["node.kubernetes.io/network-unavailable"], "") == stands(kube, "n2")


def test_a_patch_that_the_server_does_not_take_is_said_in_its_words(site, small):
    run = site.night(FIRST, {"n2": FAULT})
    small.trouble = {6: 422}
    code, said = act(site, "isolate", run, "--apply")
    assert 1 == code and "n2: failed: patch node n2: HTTP 422 'the server was told to refuse this'" in said and 1 == len(small.patches())


def test_a_cordon_that_came_in_between_is_left_alone(site, small):
    run = site.night(FIRST, {"n2": FAULT})
    small.before = {6: {"n2": [{"op": "add", "path": "/spec/unschedulable", "value": True}]}}  # four reads, another look, the patch
    code, said = act(site, "isolate", run, "--apply")
    assert 1 == code and "n2: failed: node n2 was changed at this moment: Ready, cordoned" in said, said
    assert (True, [], "") == stands(small, "n2")


def test_what_a_kubelet_reports_in_between_does_not_matter(site, small):
    run = site.night(FIRST, {"n2": FAULT})
    small.before = {6: {"n2": [{"op": "add", "path": "/metadata/annotations", "value": {"seen": "12:00"}}]}}
    code, said = act(site, "isolate", run, "--apply")
    assert 0 == code and "ISOLATED: 1 node" in said and "12:00" == small.get("n2")["metadata"]["annotations"]["seen"]


def test_a_node_that_changes_all_the_time_is_given_up(site, small):
    run = site.night(FIRST, {"n2": FAULT})
    small.before = {number: {"n2": []} for number in (6, 8, 10)}
    code, said = act(site, "isolate", run, "--apply")
    assert 1 == code and "was changed 3 times while it was being patched; try again" in said and (False, [], "") == stands(small, "n2")


@pytest.mark.parametrize(("status", "words"), [
    (401, "HTTP 401 'the server was told to refuse this'; may this account get, list and patch nodes?"), (500, "HTTP 500"), (503, "HTTP 503"),
])
def test_a_server_that_refuses_leaves_everything_as_it_is(site, small, status, words):
    run = site.night(FIRST, {"n2": FAULT})
    small.trouble = {1: status}
    code, said = act(site, "isolate", run, "--apply")
    assert 3 == code and words in said and "nothing was changed" in said and [] == small.patches()


def test_a_forbidden_patch_is_said_with_what_it_needs(site, small):
    run = site.night(FIRST, {"n1": FAULT, "n2": FAULT})
    small.trouble = {6: 403}
    code, said = act(site, "isolate", run, "--apply")
    assert 1 == code and "n1: failed: patch node n1: HTTP 403" in said and "may this account get, list and patch nodes?" in said
    assert "n2: not tried" in said and 1 == len(small.patches())


def test_a_server_that_is_not_there_is_one_sentence_and_no_token_is_shown(site, small):
    run = site.night(FIRST, {"n2": FAULT})
    small.close()
    code, said = act(site, "isolate", run, "--apply")
    assert 3 == code and "the API server did not answer within 30 s, or not at all" in said and TOKEN not in said + site.audit.read_text()


def test_big_clusters_are_read_by_pages(site, small):
    for number in range(5, 31):
        small.make(node(f"n{number:02}"))
    small.page = 7
    run = site.night(FIRST, {"n02": FAULT}, count=30)
    for number in range(1, 10):
        small.make(node(f"n0{number}"))
    code, said = act(site, "isolate", run)
    assert 0 == code and "patch node n02" in said and 5 == sum("limit=500" in path for _, path, _ in small.requests), said


def test_nodes_may_have_other_names_and_another_context(site, small):
    small.make(node("n2.example"))
    text = inventory_text(4, f"isolation: {{kubernetes: {{node: '{{name}}.example', kubeconfig: {small.kubeconfig}, context: test}}}}\n")
    assert 0 == act(site, "isolate", site.night(FIRST, {"n2": FAULT}, text=text), "--apply")[0]
    assert stands(small, "n2.example")[0] and not stands(small, "n2")[0]


def test_a_missing_kubeconfig_or_context_is_one_sentence(site, small, monkeypatch):
    text = inventory_text(4, "isolation: {kubernetes: {context: prod}}\n")
    code, said = act(site, "isolate", site.night(FIRST, {"n2": FAULT}, text=text))
    assert 4 == code and "backend kubernetes:" in said and "prod" in said and "Traceback" not in said
    monkeypatch.setenv("KUBECONFIG", "/nonexistent")
    code, said = act(site, "isolate", site.night(SECOND, {"n2": FAULT}))
    assert 4 == code and "set KUBECONFIG" in said


def test_without_the_client_it_is_told_what_to_install(site, monkeypatch):
    monkeypatch.setitem(sys.modules, "kubernetes", None)
    code, said = act(site, "isolate", site.night(FIRST, {"n2": FAULT}))
    assert 4 == code and "backend kubernetes needs the official client: pip install 'fleetcheck[kubernetes]'" in said


def test_a_node_the_cluster_does_not_know_is_said(site, small):
    del small.nodes["n2"]
    code, said = act(site, "isolate", site.night(FIRST, {"n2": FAULT}), "--apply")
    assert 1 == code and "n2: the backend does not know this node" in said


@pytest.mark.parametrize(("spec", "annotations", "held", "ours"), [
    ({}, {}, False, False),
    ({"unschedulable": True}, {}, True, False),
    ({"unschedulable": True}, {kubenode.KEY: OURS}, True, False),
    ({"unschedulable": True, "taints": [kubenode.TAINT]}, {kubenode.KEY: OURS}, True, True),
    ({"taints": [kubenode.TAINT]}, {kubenode.KEY: OURS}, True, True),
    ({"taints": [kubenode.TAINT]}, {}, True, False),
    ({"taints": [GPU_TAINT]}, {kubenode.KEY: OURS}, False, False),
])
def test_only_taint_and_annotation_together_are_ours(spec, annotations, held, ours):
    made = node("n1", annotations=annotations, **spec)
    made["metadata"]["resourceVersion"] = "7"
    found = kubenode.standing(made)
    assert (held, ours) == (found.held, found.mark is not None)


@pytest.mark.parametrize("damage", [{"metadata": {}}, {"metadata": {"resourceVersion": "1"}, "spec": {"taints": [7]}}, {"spec": {}},
                                    {"metadata": {"resourceVersion": "1"}, "status": {"conditions": ["x"]}}])
def test_a_node_that_is_none_is_not_acted_on(site, small, damage):
    run = site.night(FIRST, {"n2": FAULT})
    small.nodes["n2"] = damage
    code, said = act(site, "isolate", run, "--apply")
    assert 1 == code and "n2: its Node is not as expected" in said and [] == small.patches()
