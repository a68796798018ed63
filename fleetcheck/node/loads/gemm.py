"""Runs on the node: matrix products in every dtype the device has, on random data: TFLOP/s, and whether the result stays the same."""

from typing import Any, Callable, Dict, List

from fleetcheck.node.loads import atwork, bits, cuda_device
from fleetcheck.node.loads.report import Report
from fleetcheck.node.loads.task import Task

SCOPE = "device"
TORCH = True

DTYPES = ["bf16", "fp16", "tf32", "fp32", "fp8"]
SIDES = {"cuda": {"fp32": 4096, "other": 8192}, "cpu": {"fp16": 80, "other": 256}}
WARM_UP_FRACTION, WARM_UP_SECONDS = 0.1, 10.0
TURN_FRACTION, LONGEST_TURN_SECONDS = 0.02, 2.0


def run(task: Task) -> Dict[str, Any]:
    """Settings: dtypes, side (of square matrices)."""
    return atwork.run(task, work)


def work(task: Task, device: Any, report: Report) -> None:
    """Turns of all dtypes one after the other until the end; those before the warm-up is over are not counted."""
    products = prepared(task, device, report)
    task.begin()
    task_seconds = max(task.left(), 0.01)
    warm = task_seconds - min(WARM_UP_SECONDS, WARM_UP_FRACTION * task_seconds)
    turn_seconds = min(LONGEST_TURN_SECONDS, TURN_FRACTION * task_seconds)
    while not task.over() and products:
        counted = task.left() <= warm
        for product in products:
            product.turn(task, report, turn_seconds, counted)
    report.needs_samples()


def prepared(task: Task, device: Any, report: Report) -> List["Product"]:
    """The products that the device can compute; why it cannot compute the others is told in the report."""
    refused = report.more.setdefault("unsupported", {})
    found = []
    for dtype in task.words("dtypes", DTYPES):
        report.doing = "preparing %s" % dtype
        reason = device.unsupported(dtype)
        if not reason:
            product = Product(device, dtype, side(task, device, dtype), task.seed)
            reason = product.begin()
            found += [] if reason else [product]
        if reason:
            refused[dtype] = reason
    if not found:
        report.fail("it supports none of the dtypes asked for: %s" % "; ".join(sorted(refused.values())))
    return found


def side(task: Task, device: Any, dtype: str) -> int:
    """The side of square matrices: a multiple of 16, as fp8 needs."""
    usual = SIDES[device.kind]
    return max(16, int(task.number("side", usual.get(dtype, usual["other"]), 16, 65536)) // 16 * 16)


class Product:
    """One matrix product in one dtype, over and over. The bits of its result must not change."""

    def __init__(self, device: Any, dtype: str, side: int, seed: int) -> None:
        self.device = device
        self.dtype = dtype
        self.flops = 2.0 * side ** 3
        self.count = 1
        self.done = 0
        self.pace = device.pace(self.flops, dtype)
        torch = device.torch
        generator = torch.Generator(device=device.at).manual_seed(seed)
        a, b = (torch.randn(side, side, device=device.at, generator=generator) for _ in range(2))
        self.multiply = multiplication(torch, dtype, a, b)
        self.result = None  # type: Any
        self.expected = None  # type: Any
        self.cached = device.kind == "cuda" and device.fits_cache(3 * side * side * a.element_size())

    def begin(self) -> str:
        """First products; why the library refuses them, if it does."""
        try:
            self.once()
            self.device.sync()
        except (TypeError, AttributeError, NotImplementedError) as error:
            return str(error).splitlines()[0][:200]
        except RuntimeError as error:
            if "support" not in str(error) and "not implemented" not in str(error):
                raise
            return str(error).splitlines()[0][:200]
        self.expected = self.result.clone()
        seconds = self.timed(2) / 2
        self.count = max(1, int(self.device.batch_seconds / seconds))
        return ""

    def once(self) -> None:
        """One product."""
        self.result = self.device.compute(self.multiply)

    def timed(self, count: int) -> float:
        """Seconds of so many products; operands that fit into the L2 cache are driven out of it before each."""
        if not self.cached:
            return float(self.device.timed(self.once, count, self.pace))
        seconds = 0.0
        for _ in range(count):
            self.device.flush()
            seconds += self.device.timed(self.once)
        return seconds

    def turn(self, task: Task, report: Report, seconds: float, counted: bool) -> None:
        """Batches for about so many seconds, each compared with the first result."""
        report.doing = "%s products" % self.dtype
        spent = 0.0
        while not task.over() and spent < seconds:
            took = self.timed(self.count)
            spent += took
            if counted:
                report.sample("tflops_%s" % self.dtype, self.count * self.flops / 1e12, took)
            self.done += self.count
            report.mismatch(*bits.differences(self.device.torch, self.expected, self.result, "%s product %d" % (self.dtype, self.done)))


def multiplication(torch: Any, dtype: str, a: Any, b: Any) -> Callable[[], Any]:
    """The product of two fp32 matrices in a dtype, as a call."""
    if dtype == "fp8":
        return scaled(torch, a, b)
    kind = {"bf16": torch.bfloat16, "fp16": torch.float16}.get(dtype, torch.float32)
    left, right = a.to(kind), b.to(kind)
    out = torch.empty_like(left)
    if dtype not in ("fp32", "tf32") or a.device.type == "cpu":
        return lambda: torch.matmul(left, right, out=out)

    def multiply() -> Any:
        with cuda_device.TF32:
            torch.backends.cuda.matmul.allow_tf32 = dtype == "tf32"
            return torch.matmul(left, right, out=out)

    return multiply


def scaled(torch: Any, a: Any, b: Any) -> Callable[[], Any]:
    """The product in fp8 (e4m3) with bf16 result; the second matrix lies by columns, as cuBLASLt wants it."""
    left, right = a.to(torch.float8_e4m3fn), b.to(torch.float8_e4m3fn).t().contiguous().t()
    one = torch.ones((), dtype=torch.float32, device=a.device)

    def multiply() -> Any:
        found = torch._scaled_mm(left, right, scale_a=one, scale_b=one, out_dtype=torch.bfloat16, use_fast_accum=True)
        return found[0] if isinstance(found, tuple) else found

    return multiply
