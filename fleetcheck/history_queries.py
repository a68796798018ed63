"""The questions a history answers, as SQL over its view ``m``; each gives rows to show. Pure."""

from __future__ import annotations

from fleetcheck.measured import HELD_BACK, INSTALLED, OPEN, VERDICT

PLACE = "CASE WHEN serial <> '' THEN serial WHEN slot <> '' THEN node || ' ' || slot WHEN part <> '' THEN node || ' ' || part ELSE node END"
"""A part by its serial number, or by where it sits when its serial is not known."""
ABOUT = {"node": "node = $what", "check": '"check" = $what', "serial": "(serial = $what OR machine = $what)"}
"""Which rows are about a node, a check or a serial number: the quickest to look for first."""

KNOWN = "SELECT 1 FROM m WHERE {about} LIMIT 1"

STOOD = f"""SELECT * FROM (SELECT node, part_kind AS kind, slot, serial, min(started)::DATE AS first, max(started)::DATE AS last
FROM m WHERE metric = '{INSTALLED}' AND {{about}} GROUP BY node, part_kind, slot, serial)
ORDER BY kind <> 'chassis', node, kind, slot, first"""

FINDINGS = f"""
WITH own AS (SELECT * FROM m WHERE metric = '' AND "check" <> '' AND {{about}}),
     measured AS (SELECT node, "check", count(DISTINCT run) AS measured, max(run) FILTER (outcome = 'passed') AS passed
                  FROM m WHERE metric = '' AND outcome IN ('passed', 'failed')
                       AND (node, "check") IN (SELECT (node, "check") FROM own WHERE outcome = 'failed') GROUP BY ALL)
SELECT node, "check", {PLACE} AS place, any_value(part) AS part, count(DISTINCT run) AS failed,
       any_value(measured) AS of_runs, min(started)::DATE AS first,
       max(started)::DATE AS last, arg_max(severity, run) AS severity, arg_max(action, run) AS action,
       coalesce(any_value(passed) > max(run), false) AS passed_since, arg_max(message, run) AS message
FROM own JOIN measured USING (node, "check") WHERE outcome = 'failed' GROUP BY node, "check", place ORDER BY last DESC, failed DESC"""

DRIFT = f"""
WITH own AS (SELECT {PLACE} AS place, any_value(part) AS part, metric, run, avg(value) AS value FROM m
             WHERE value IS NOT NULL AND metric <> '' AND outcome IN ('passed', 'failed') AND {{about}} GROUP BY place, metric, run),
     numbered AS (SELECT *, row_number() OVER (PARTITION BY place, metric ORDER BY run DESC) AS back,
                  abs(value - lag(value) OVER (PARTITION BY place, metric ORDER BY run)) AS step FROM own),
     past AS (SELECT place, metric, median(value) AS usual, coalesce(median(step), 0) / sqrt(2) AS spread, count(*) AS runs
             FROM numbered WHERE back > 3 GROUP BY ALL),
     now AS (SELECT place, any_value(part) AS part, metric, median(value) AS now FROM numbered WHERE back <= 3 GROUP BY ALL)
SELECT place, part, metric, usual, now, now / usual - 1 AS change, runs FROM now JOIN past USING (place, metric)
WHERE runs >= 8 AND usual <> 0 AND abs(now - usual) > greatest(5 * 1.4826 * spread, 0.05 * abs(usual))
ORDER BY abs(now / usual - 1) DESC"""
"""The median of the last three runs against all before them, of the same part: 5 % away at least, and 5 of its own spreads. The spread is
that from one run to the next: what sinks a little every night would hide behind the spread of its own past."""


def _blamed(window: str = "") -> str:
    """Failures of parts as the table ``blamed``, without what many nodes shared. window: a condition on when."""
    return f"""
told AS (SELECT {PLACE} AS place, * FROM m WHERE outcome IN ('failed', '{OPEN}', '{HELD_BACK}') AND severity IN ('degraded', 'fatal')
         AND ((metric = '' AND outcome = 'failed') OR metric = '{VERDICT}'){window}),
held AS (SELECT run, node, "check" FROM told WHERE outcome = '{HELD_BACK}'),
blamed AS (SELECT * FROM told ANTI JOIN held USING (run, node, "check"))"""


_RECENTLY = " AND started >= $since"
OFFENDERS = f"""
WITH {_blamed(_RECENTLY)}
SELECT place, any_value(part) AS part, arg_max(node, run) AS node, count(DISTINCT run) AS runs, count(DISTINCT "check") AS checks,
       min(started)::DATE AS first, max(started)::DATE AS last, arg_max("check", run) AS latest
FROM blamed WHERE outcome = 'failed' GROUP BY place HAVING count(DISTINCT run) > 1 ORDER BY runs DESC, last DESC"""

OFFENDING_NODES = f"""
WITH {_blamed(_RECENTLY)}
SELECT node, count(DISTINCT run) AS runs, count(DISTINCT "check") AS checks, count(DISTINCT place) AS parts,
       min(started)::DATE AS first, max(started)::DATE AS last, string_agg(DISTINCT "check", ', ') AS which
FROM blamed WHERE outcome = 'failed' GROUP BY node
HAVING count(DISTINCT run) > 2 AND count(DISTINCT (place, "check")) > 2 ORDER BY parts DESC, runs DESC, last DESC"""
"""Nodes that fail again and again of something else each time: no part of them is a repeat offender, they are."""

SUSPECTS = f"""
WITH {_blamed(_RECENTLY)},
     bad AS (SELECT node, "check", place, any_value(part) AS part, max(run) AS failed_in, min(run) AS first_failed,
             count(DISTINCT run) FILTER (outcome = 'failed') AS runs, min(started)::DATE AS first, max(started)::DATE AS last,
             arg_max(severity, run) AS severity, arg_max(outcome, run) = '{OPEN}' AS open
             FROM blamed GROUP BY node, "check", place),
     good AS (SELECT node, "check", max(run) AS passed_in FROM m WHERE metric = '' AND started >= $since AND outcome = 'passed'
              AND (node, "check") IN (SELECT (node, "check") FROM bad) GROUP BY ALL)
SELECT node, "check", place, part, severity, runs, first, last, open, coalesce(passed_in > failed_in, false) AS passed_since,
       runs > 1 AND coalesce(passed_in > first_failed, false) AS flaky
FROM bad LEFT JOIN good USING (node, "check")
ORDER BY severity = 'fatal' DESC, runs DESC, last DESC"""
"""open: a fatal finding that the newest run of its node has not measured again."""

MTBF = f"""
WITH {_blamed()},
     days AS (SELECT count(DISTINCT (node, started::DATE)) AS node_days FROM m
              WHERE metric = '' AND "check" <> '' AND outcome IN ('passed', 'failed')),
     bad AS (SELECT DISTINCT component, place, started::DATE AS day FROM blamed WHERE outcome = 'failed'),
     onsets AS (SELECT component, place, day FROM bad
                QUALIFY coalesce(day - lag(day) OVER (PARTITION BY component, place ORDER BY day) > 7, true))
SELECT component, count(*) AS failures, count(DISTINCT place) AS parts, any_value(node_days) AS node_days,
       any_value(node_days) / count(*) AS mtbf_days
FROM onsets, days GROUP BY component ORDER BY failures DESC"""
"""Node-days between failures: a part that fails again within a week of its last failure has not failed anew."""

RUNS = """SELECT count(DISTINCT run) AS runs, min(started)::DATE AS first, max(started)::DATE AS last,
    count(DISTINCT nullif(node, '')) AS nodes FROM m"""
