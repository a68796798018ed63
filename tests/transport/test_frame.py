"""Finding the one reply in whatever a node writes."""

from __future__ import annotations

import pytest

from fleetcheck.frame import FrameError, Intake, answers
from fleetcheck.quoting import escaped, last_line, quoted

BODY = b'{"runtime":{},"answers":{"a":{"ok":true,"seconds":1,"error":"","data":{},"metrics":{},"coverage":""}}}'
FRAME = b"<<fleetcheck n0 %d>>\n%s\n<<end n0>>\n" % (len(BODY), BODY)
NOISE = b"Last login: today\x1b[0m\n<<fleetcheck n1 5>>\nhello\n<<end n1>>\n"


@pytest.mark.parametrize("size", [1, 2, 3, 7, 64, 1000])
@pytest.mark.parametrize("noise", [b"", NOISE, NOISE * 20], ids=["clean", "noisy", "very noisy"])
def test_a_reply_is_found_however_it_is_cut_into_pieces(noise, size):
    intake = Intake("n0")
    stream = noise + FRAME + noise
    for start in range(0, len(stream), size):
        if not intake.done:
            intake.out(stream[start:start + size])
    assert BODY == intake.body()
    assert {"a", "runtime"} == set(answers(intake.body()))


@pytest.mark.parametrize(("stream", "kind"), [
    (b"", "garbled"),
    (NOISE, "garbled"),
    (b"<<fleetcheck n0 5>>", "garbled"),
    (b"<<fleetcheck n0 5>>\nab", "truncated"),
    (b"<<fleetcheck n0 5>>\nabcde", "truncated"),
    (b"<<fleetcheck n0 5>>\nabcdef\n<<end n0>>\n" + b" " * 50, "garbled"),
    (b"<<fleetcheck n0 5>>\nabcd\n<<end n0>>\n", "garbled"),
    (b"<<fleetcheck n0 -5>>\nabcde\n<<end n0>>\n", "garbled"),
    (b"<<fleetcheck n0 999999999999>>\n", "too-large"),
    (b"<<fleetcheck n0 9999999999999>>\n", "garbled"),
    (b"x" * (9 << 20), "too-large"),
    (FRAME + FRAME, "garbled"),
])
def test_anything_else_is_refused(stream, kind):
    intake = Intake("n0")
    intake.out(stream)
    with pytest.raises(FrameError) as raised:
        intake.body()
    assert kind == raised.value.kind


def test_only_the_tail_of_standard_error_is_kept():
    intake = Intake("n0")
    for _ in range(100):
        intake.err(b"x" * 1000)
    intake.err(b"the reason")
    assert 4096 == len(intake.stderr)
    assert "the reason" in last_line(intake.stderr)


def test_quotes_are_short_and_printable():
    assert quoted(b"\x1b]0;title\x07" * 1000).isprintable()
    assert len(quoted("x" * 10_000)) <= 202
    assert r"a\u202eb" == escaped("a\u202eb")
