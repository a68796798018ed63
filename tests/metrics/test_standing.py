"""Which run counts for a node, and which one is the fleet's last complete run."""

import pytest

from fleetcheck.standing import Ran, stand


def ran(run, nodes, complete=True, whole=True, replay_of=""):
    return Ran({"run": run, "complete": complete, "replay_of": replay_of, "nodes": {name: {"verdict": word} for name, word in nodes.items()}},
               ended=run, whole=whole)


def counted(*newest_first):
    standing = stand(newest_first)
    return {name: f"{standing.node(name)['verdict']} in {run.verdicts['run']}" for name, run in standing.nodes.items()}, standing


NIGHT = ran("1", {"a": "failed", "b": "healthy", "gone": "healthy"})


@pytest.mark.parametrize(("later", "nodes"), [
    pytest.param([], {"a": "failed in 1", "b": "healthy in 1", "gone": "healthy in 1"}, id="one night"),
    pytest.param([ran("2", {"a": "healthy"}, whole=False)], {"a": "healthy in 2", "b": "healthy in 1", "gone": "healthy in 1"},
                 id="a complete retest of one node counts for it"),
    pytest.param([ran("2", {"a": "healthy", "b": "healthy"}, complete=False)], {"a": "failed in 1", "b": "healthy in 1", "gone": "healthy in 1"},
                 id="a partial run heals nobody"),
    pytest.param([ran("2", {"b": "degraded", "a": "unreachable"}, complete=False)],
                 {"a": "failed in 1", "b": "degraded in 2", "gone": "healthy in 1"}, id="a partial run may find a fault"),
    pytest.param([ran("2", {"a": "healthy", "b": "failed"}, replay_of="1")], {"a": "failed in 1", "b": "healthy in 1", "gone": "healthy in 1"},
                 id="a replay counts for nobody"),
])
def test_the_newest_run_that_may_speak_of_a_node_counts_for_it(later, nodes):
    found, standing = counted(*later, NIGHT)
    assert nodes == found
    assert "1" == standing.last_complete.verdicts["run"]


def test_a_complete_run_of_the_whole_fleet_forgets_nodes_that_left_it():
    found, standing = counted(ran("2", {"a": "healthy", "b": "healthy"}), NIGHT)
    assert {"a": "healthy in 2", "b": "healthy in 2"} == found
    assert "2" == standing.last_complete.verdicts["run"]


def test_without_any_complete_run_there_is_no_last_one():
    assert stand([ran("1", {"a": "failed"}, complete=False)]).last_complete is None


def test_without_any_run_nothing_stands():
    standing = stand([])
    assert (None, {}) == (standing.newest, standing.nodes)
