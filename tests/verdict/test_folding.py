"""One cause and what follows from it; two faults stay two."""

import pytest

GPU3 = {"kind": "gpu", "label": "GPU 3", "slot": "0000:61:00.0", "serial": "1650003"}
GPU5 = {"kind": "gpu", "label": "GPU 5", "slot": "0000:65:00.0", "serial": "1650005"}
BY_KERNEL = {"kind": "gpu", "label": "GPU 0000:61:00.0", "slot": "0000:61:00.0", "serial": ""}
NIC = {"kind": "nic", "label": "mlx5_3", "slot": "0000:9a:00.0", "serial": ""}


def failed(made, check, severity="fatal", parts=(GPU3,), component="gpu", message="GPU 3: lost"):
    return made.result("n1", check, "failed", severity, "reboot", parts=parts, component=component, message=message)


def causes(made, *results):
    """By cause, the checks that follow from it."""
    findings = made.judged(list(results))["nodes"]["n1"]["findings"]
    assert all(bool(each.get("follows")) == any(each["check"] in other.get("consequences", ()) for other in findings) for each in findings)
    return {each["check"]: each.get("consequences", []) for each in findings if not each.get("follows")}


def test_twelve_failing_checks_of_one_dead_gpu_are_one_finding_with_eleven_consequences(made):
    others = [failed(made, f"test_{number:02}", "degraded", parts=(GPU3,) if number % 2 else (), component="gpu-memory") for number in range(11)]
    assert {"test_lost": [f"test_{number:02}" for number in range(11)]} == causes(made, failed(made, "test_lost"), *others)


CASES = [
    ("the same place by another reader", [("b", {"parts": (BY_KERNEL,)})], {"a": ["b"]}),
    ("another GPU", [("b", {"parts": (GPU5,)})], {"a": [], "b": []}),
    ("both GPUs: a fault of the other is not hidden", [("b", {"parts": (GPU3, GPU5), "severity": "degraded"})], {"a": [], "b": []}),
    ("a link from another GPU to the dead one", [("b", {"parts": (GPU3, GPU5), "component": "nvlink", "severity": "degraded"})], {"a": ["b"]}),
    ("a link between others", [("b", {"parts": (GPU5,), "component": "nvlink", "severity": "degraded"})], {"a": [], "b": []}),
    ("no part, of the same component", [("b", {"parts": (), "severity": "degraded"})], {"a": ["b"]}),
    ("no part, of a component that needs GPUs", [("b", {"parts": (), "component": "training"})], {"a": ["b"]}),
    ("no part, of a component that needs none", [("b", {"parts": (), "component": "disk"})], {"a": [], "b": []}),
    ("a warning about the same GPU", [("b", {"severity": "warn"})], {"a": ["b"]}),
    ("a network card", [("b", {"parts": (NIC,), "component": "rdma"})], {"a": [], "b": []}),
]


@pytest.mark.parametrize(("others", "expected"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_a_cause_explains_what_depends_on_it_and_nothing_else(made, others, expected):
    assert expected == causes(made, failed(made, "a"), *(failed(made, check, **more) for check, more in others))


def test_a_degraded_part_explains_only_what_names_it(made):
    assert {"a": [], "b": []} == causes(made, failed(made, "a", "degraded"), failed(made, "b", "degraded", parts=()))


def test_a_graver_finding_never_follows_from_a_lesser_one(made):
    assert {"b": ["a"]} == causes(made, failed(made, "a", "degraded"), failed(made, "b", "fatal"))


def test_what_a_dead_gpu_left_unmeasured_is_counted(made):
    errors = [made.result("n1", f"test_{number}", "error", message="GPU 3 has no handle: GPU_IS_LOST") for number in range(3)]
    other = made.result("n1", "test_x", "error", message="GPU 31 has no handle")
    findings = made.judged([failed(made, "a"), *errors, other])["nodes"]["n1"]["findings"]
    assert 3 == findings[0]["unmeasured"]


def test_a_common_cause_is_neither_a_cause_nor_a_consequence(made):
    results = [made.result(name, "test_time", "failed", "fatal", parts=(GPU3,)) for name in ("n1", "n2", "n3", "n4")]
    said = made.judged([*results, failed(made, "a")])["nodes"]["n1"]["findings"]
    assert [("a", None), ("test_time", None)] == [(each["check"], each.get("follows")) for each in said]
