"""Runs on the node: what is computed to find silent data corruption: cases with fixed inputs, the same bits on every sound device.

A case's name says everything that decides its result but software and hardware: what, dtype, shape, range of values, seed.
"""

from typing import Any, Callable, Iterator, NamedTuple, Tuple

from fleetcheck.node.loads import patterns

Shape = Tuple[int, int, int]

SHAPES = {
    "cuda": ((256, 256, 256), (1024, 1024, 1024), (4096, 4096, 4096), (8192, 1024, 512), (512, 1024, 8192), (16, 4096, 4096),
             (511, 1023, 257)),
    "cpu": ((64, 64, 64), (128, 48, 16), (16, 96, 128), (33, 65, 17)),
}
"""Of matrix products: rows, inner side, columns."""
DTYPES = ("fp32", "bf16", "fp16", "fp64", "fp8")
EXPONENTS = {
    "fp32": {"normal": 0, "tiny": -66, "large": 50}, "bf16": {"normal": 0, "tiny": -66, "large": 50},
    "fp16": {"normal": 0, "tiny": -11, "large": 3},
    "fp64": {"normal": 0, "tiny": -520, "large": 300}, "fp8": {"normal": 0, "tiny": -6, "large": 4},
}
"""Powers of two that the inputs are multiplied with: products of tiny ones are denormal, of large ones far from overflow."""
NAMES = {"fp32": "float32", "bf16": "bfloat16", "fp16": "float16", "fp64": "float64", "fp8": "float8_e4m3fn"}
ATTENTION = {"cuda": (8, 1024, 128), "cpu": (2, 32, 16)}
"""Heads, positions, width."""
LAYERS = {"cuda": (512, 1024, 4096, 256), "cpu": (16, 24, 48, 8)}
"""Batch, inputs, hidden, outputs of the training step."""
STEPS = 3


class Case(NamedTuple):
    """One computation. compute(device) → its result, made anew from nothing but the seed."""

    name: str
    dtype: str
    compute: Callable[[Any], Any]


def cases(kind: str, seed: int) -> Iterator[Case]:
    """All cases for devices of a kind, one dtype after the other within each shape, so that a short run has seen them all."""
    yield from (attention(dtype, ATTENTION[kind], seed) for dtype in ("fp32", "bf16", "fp16"))
    yield from (training(dtype, LAYERS[kind], seed) for dtype in ("fp32", "bf16"))
    yield elementwise(LAYERS[kind], seed)
    for shape in SHAPES[kind]:
        for dtype in DTYPES:
            if dtype != "fp8" or all(side % 16 == 0 for side in shape):
                yield from (matmul(dtype, shape, scale, seed) for scale in EXPONENTS[dtype])
                if kind == "cuda" and dtype in ("bf16", "fp16"):
                    yield accumulated(dtype, shape, seed)


def named(what: str, dtype: str, shape: Tuple[int, ...], scale: str, seed: int) -> str:
    """``matmul-bf16-64x64x64-normal-seed1``."""
    return "%s-%s-%s-%s-seed%d" % (what, dtype, "x".join(map(str, shape)), scale, seed)


def values(device: Any, dtype: str, shape: Tuple[int, ...], scale: str, seed: int) -> Any:
    """Inputs in a dtype, made on the device by exact arithmetic and one rounding."""
    torch = device.torch
    exact = patterns.bell(torch, shape, seed, device.at)
    if dtype == "fp64":
        exact = exact.to(torch.float64)
    return (exact * 2.0 ** EXPONENTS[dtype][scale]).to(getattr(torch, NAMES[dtype]))


def operands(device: Any, dtype: str, shape: Shape, scale: str, seed: int) -> Tuple[Any, Any]:
    """Both matrices of a product."""
    rows, inner, columns = shape
    return values(device, dtype, (rows, inner), scale, 2 * seed), values(device, dtype, (inner, columns), scale, 2 * seed + 1)


def matmul(dtype: str, shape: Shape, scale: str, seed: int) -> Case:
    """A matrix product with the result in the dtype of its inputs; bf16 for fp8."""
    def compute(device: Any) -> Any:
        torch = device.torch
        a, b = operands(device, dtype, shape, scale, seed)
        if dtype == "fp8":
            one = torch.ones((), dtype=torch.float32, device=device.at)
            found = torch._scaled_mm(a, b.t().contiguous().t(), scale_a=one, scale_b=one, out_dtype=torch.bfloat16)
            return found[0] if isinstance(found, tuple) else found
        return torch.matmul(a, b)

    return Case(named("matmul", dtype, shape, scale, seed), dtype, compute)


def accumulated(dtype: str, shape: Shape, seed: int) -> Case:
    """A product of narrow inputs with the fp32 accumulators themselves as its result (torch 2.8 and newer, CUDA)."""
    def compute(device: Any) -> Any:
        a, b = operands(device, dtype, shape, "normal", seed)
        return device.torch.mm(a, b, out_dtype=device.torch.float32)

    return Case(named("accumulators", dtype, shape, "normal", seed), dtype, compute)


def attention(dtype: str, shape: Tuple[int, ...], seed: int) -> Case:
    """softmax(q·kᵀ/√width)·v, step by step: no fused kernel whose order of sums may change."""
    def compute(device: Any) -> Any:
        torch = device.torch
        q, k, v = (values(device, dtype, shape, "normal", 3 * seed + number) for number in range(3))
        weights = torch.softmax(torch.matmul(q, k.transpose(-1, -2)) * shape[-1] ** -0.5, dim=-1)
        return torch.matmul(weights, v)

    return Case(named("attention", dtype, shape, "normal", seed), dtype, compute)


def training(dtype: str, shape: Tuple[int, ...], seed: int) -> Case:
    """A few steps of gradient descent of a small network; the result is its weights."""
    def compute(device: Any) -> Any:
        torch = device.torch
        batch, inputs, hidden, outputs = shape
        sides = ((batch, inputs), (batch, outputs), (inputs, hidden), (hidden, outputs))
        x, y, first, second = (values(device, dtype, each, "normal", 4 * seed + number) for number, each in enumerate(sides))
        weights = [(first * inputs ** -0.5).requires_grad_(), (second * hidden ** -0.5).requires_grad_()]
        for _ in range(STEPS):
            guess = torch.matmul(torch.tanh(torch.matmul(x, weights[0])), weights[1])
            gradients = torch.autograd.grad(((guess - y) ** 2).mean(), weights)
            weights = [(weight - 0.5 * gradient).detach().requires_grad_() for weight, gradient in zip(weights, gradients)]
        return torch.cat([weight.detach().reshape(-1) for weight in weights])

    return Case(named("training", dtype, shape, "normal", seed), dtype, compute)


def elementwise(shape: Tuple[int, ...], seed: int) -> Case:
    """Special functions of single values, which the vector units compute, not the tensor cores."""
    def compute(device: Any) -> Any:
        torch = device.torch
        x = values(device, "fp32", shape[:2], "normal", seed)
        return torch.stack([torch.exp(x), torch.tanh(x), torch.sin(x), torch.rsqrt(x * x + 1), torch.erf(x), torch.log1p(x * x)])

    return Case(named("elementwise", "fp32", shape[:2], "normal", seed), "fp32", compute)
