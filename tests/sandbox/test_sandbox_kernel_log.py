"""Lines of a description as a kernel would have logged them."""

import datetime

import pytest

from fleetcheck.sandbox import kernel_log
from fleetcheck.sandbox.kernel_log import Boot, Record

LINES = [
    "[    5.25] first",
    "<2>plain",
    "[6.000001]no blank",
    "<4>[ 7.5] both",
    "<4> [8.0] is text",
    "[x] y",
    "plain\nand more",
]


def test_times_and_priorities_are_taken_from_the_line_and_other_prefixes_stay():
    told = kernel_log.records(LINES, 10_000)
    assert [(6, 5_250_000, "first"), (6, 6_000_001, "no blank"), (4, 7_500_000, "both")] == [
        (r.priority, r.microseconds, r.text) for r in told[:3]
    ]
    assert [(2, "plain"), (4, " [8.0] is text"), (6, "[x] y"), (6, "plain\nand more")] == [
        (r.priority, r.text) for r in told[3:]
    ]


@pytest.mark.parametrize("uptime", [1.0, 60.0, 86_400.0])
def test_lines_without_a_time_come_before_the_run_in_order(uptime):
    told = kernel_log.records([str(number) for number in range(500)], uptime)
    assert [str(number) for number in range(500)] == [record.text for record in told]
    assert 0 <= told[0].seconds <= told[-1].seconds < uptime


def test_a_record_with_lines_is_indented_below_its_first():
    assert "[    1.000000] a\n               b\n" == kernel_log.dmesg([Record(6, 0, 1_000_000, "a\nb")])
    assert "<3>[    1.000000] a\n" == kernel_log.dmesg_raw([Record(3, 0, 1_000_000, "a")])
    assert "kern  :err   : [    1.000000] a\n" == kernel_log.dmesg_decoded([Record(3, 0, 1_000_000, "a")])


def test_every_clock_of_a_boot_agrees():
    boot = Boot(
        0,
        "0" * 32,
        datetime.datetime(2026, 11, 30, 12, tzinfo=datetime.UTC).timestamp(),
        [Record(6, 0, 61_500_000, "a")],
    )
    assert "[Mon Nov 30 12:01:01 2026] a\n" == kernel_log.dmesg_ctime(boot)
    assert "2026-11-30T12:01:01,500000+00:00 a\n" == kernel_log.dmesg_iso(boot)
    assert "Nov 30 12:01:01 n1 kernel: a\n" == kernel_log.journal_short(boot, "n1")
    assert "[   61.500000] n1 kernel: a\n" == kernel_log.journal_monotonic(boot, "n1")
    assert '"__REALTIME_TIMESTAMP": "1796040061500000"' in kernel_log.journal_json(boot, "n1")
