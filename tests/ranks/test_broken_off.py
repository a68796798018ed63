"""A connection that broke during a trial: a node that is up since before it has shown no fault."""

import pytest
from told import answered, rank, unanswered

from fleetcheck.collective.broken_off import looked_at
from fleetcheck.collective.ranks import member
from fleetcheck.collective.reading_ranks import trial_of
from fleetcheck.nodes import Node
from fleetcheck.records import GIVEN_UP, Answer, Evidence, Failure

N2 = Node("n2", "n2", "h100")


class Looking:
    """An exchange of one node that says this of itself."""

    def __init__(self, said):
        self.said, self.asked = said, []

    def ask(self, node, request, lane=None):
        self.asked.append(request.collectors)
        failure = None if self.said else Failure("no-route", "n2: no route to host")
        return Evidence("r", "pairs", "trial", node.name, "", 0.1, failure=failure, answers={"system": self.said} if self.said else {})


def up(seconds):
    return Answer(True, data={"uptime_seconds": seconds})


def tried(exchange, kind="disconnected", message="the connection broke"):
    told = looked_at(exchange, unanswered("n2", kind, message), N2)
    return trial_of("t1", 1, "pair", [member(answered("n1", [rank(0, [], failed="broken", ended="exit 1")])), member(told)], ())


def test_a_node_that_is_up_since_before_makes_no_trial_and_is_not_blamed():
    told = tried(Looking(up(86400.0)))
    assert told.trial is None and "lost" == told.refused["n2"].kind
    assert "n2: the connection broke; the node is up since before the trial, so only the connection to it broke" == told.refused["n2"].message


@pytest.mark.parametrize(("said", "words"), [
    (up(0.01), "n2: the connection broke; the node has rebooted, 0 s ago"), (None, "n2: the connection broke"),
    (Answer(False, error="timed out"), "n2: the connection broke"), (up({"absent": "x"}), "n2: the connection broke"), (up(True), "n2: the connection broke"),
])
def test_one_that_rebooted_or_is_gone_broke_the_trial_off(said, words):
    told = tried(Looking(said))
    assert ("crash", words) == (told.trial.outcome, told.trial.message.partition("; rank")[0])


@pytest.mark.parametrize(("kind", "message"), [("deadline", "late"), ("disconnected", GIVEN_UP), ("refused", "x")])
def test_nobody_looks_where_no_connection_broke(kind, message):
    exchange = Looking(up(1e6))
    tried(exchange, kind, message)
    assert [] == exchange.asked
