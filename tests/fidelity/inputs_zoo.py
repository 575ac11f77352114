# SPDX-License-Identifier: Apache-2.0
"""Every kind of operator argument once: what does a profiler print for it?

An ordinary program: run it under torch.profiler (record_shapes=True) and under
proflaunch, and compare.  `python inputs_zoo.py` runs each case once and prints
how many ran; cases that a torch does not know are left out by name.
"""
import sys

import torch

CASES = []


def case(f):
    CASES.append(f)
    return f


@case
def plain():
    torch.add(torch.ones(2, 3), torch.ones(2, 3), alpha=2)


@case
def scalars():
    x = torch.ones(3)
    torch.add(x, 1)
    torch.add(x, 1.5)
    torch.add(x, True)
    torch.mul(x, 2 + 3j)
    torch.clamp(x.double(), min=-1e30, max=1e300)
    torch.clamp(x, min=float("-inf"), max=float("inf"))
    torch.full((2,), 1e-7)
    torch.add(x, x, alpha=-123456789012)
    torch.add(x, x, alpha=0.1)
    torch.addcmul(x, x, x, value=1 / 3)
    torch.arange(-5, 1 << 40, 1 << 38)
    torch.pow(2, x)
    torch.ops.aten.pow.Tensor_Scalar(x.double(), 1e100)
    torch.ops.aten.clamp(x.double(), float("-inf"), float("inf"))
    torch.ops.aten.mul.Scalar(x, float("nan"))
    torch.ops.aten.mul.Scalar(x, -0.0)
    torch.ops.aten.mul.Scalar(x, complex(float("nan"), -1.5))
    torch.ops.aten.mul.Scalar(x, 123456.0)
    torch.ops.aten.mul.Scalar(x, 1e16)
    torch.ops.aten.mul.Scalar(x, 1e15 + 0.5)
    torch.ops.aten.mul.Scalar(x, 0.0001)


@case
def dims():
    torch.neg(torch.tensor(3.5))
    torch.neg(torch.ones(0))
    torch.neg(torch.ones(1, 0, 3))
    torch.neg(torch.ones(1, 2, 1, 2, 1))
    torch.neg(torch.ones(1, 2, 1, 2, 1, 2))
    torch.neg(torch.ones(1, 2, 1, 2, 1, 2, 1, 2, 1))
    torch.neg(torch.ones(300, 2, 70000)[:, :, ::7].transpose(0, 2))
    torch.neg(torch.ones(4).expand(3, 4))


@case
def dtypes():
    for name in ("uint8 int8 int16 int32 int64 float16 float32 float64 complex32 complex64 "
                 "complex128 bool bfloat16 float8_e4m3fn float8_e5m2 float8_e4m3fnuz "
                 "float8_e5m2fnuz float8_e8m0fnu uint16 uint32 uint64 "
                 "float4_e2m1fn_x2").split():
        if hasattr(torch, name):
            torch.empty(2, 3, dtype=getattr(torch, name)).view(3, 2)


@case
def quantized():
    x = torch.quantize_per_tensor(torch.ones(2, 3), 0.1, 10, torch.quint8)
    x.view(3, 2)
    x.dequantize()
    torch.quantize_per_channel(torch.ones(2, 3), torch.ones(2), torch.zeros(2), 0,
                               torch.qint8).dequantize()
    torch.quantize_per_tensor(torch.ones(2), 0.1, 10, torch.qint32).dequantize()


@case
def lists():
    x = torch.ones(4, 4)
    torch.cat([x, x, torch.ones(2, 4)])
    torch.stack([x[0]])
    torch.split(x, [1, 3])
    x.sum(dim=[])
    x.sum(dim=[0, 1])
    torch.ones([1] * 29)
    torch.ones([1] * 30)
    torch.ones([1] * 31)
    torch.nn.functional.interpolate(x[None, None], scale_factor=[2.0, 1.5])
    torch._foreach_add([x, x], [1.0, 2.0])
    torch._foreach_add([x, x], 1)
    torch.fft.fftn(x, s=[2, 2], dim=[0, 1])
    torch.ops.aten.convolution(torch.ones(1, 1, 4, 4), torch.ones(1, 1, 2, 2), None,
                               [1, 1], [0, 0], [1, 1], False, [0, 0], 1)
    y = torch.ones(1, 1, 4, 4, requires_grad=True)
    torch.nn.functional.conv2d(y, torch.ones(1, 1, 2, 2, requires_grad=True)).sum().backward()
    torch.block_diag(x, x)
    torch.einsum("ij,jk->ik", x, x)


@case
def many_tensors():
    for n in (29, 30, 31, 200):
        torch._foreach_mul([torch.ones(2) for _ in range(n)], 2)


@case
def optional_lists():
    x = torch.ones(4, 4)
    i = torch.tensor([0, 1])
    x[i]
    x[:, i]
    x[i, None, i]
    x[x > 0]
    x[i] = 2.0
    torch.ops.aten.index(x, [None, i])


@case
def others():
    x = torch.ones(4, 4)
    g = torch.Generator().manual_seed(1)
    torch.rand(3, generator=g)
    torch.randn(3, device="cpu", dtype=torch.float64, layout=torch.strided)
    x.to(torch.float64)
    x.to("cpu", torch.float16, copy=True)
    x.contiguous()
    torch.empty(1, 2, 3, 4, memory_format=torch.channels_last).contiguous()
    torch.searchsorted(torch.ones(3), torch.ones(2), side="right")
    torch.nn.functional.gelu(x, approximate="tanh")
    torch.div(x, x, rounding_mode="floor")
    torch.linalg.norm(x, "fro")
    torch.nn.functional.layer_norm(x, [4])
    torch.nn.functional.batch_norm(x, None, None, training=True)
    torch.nn.functional.dropout(x, 0.5, True)
    torch.max_pool2d(x[None], 2)
    torch.topk(x, 2)
    torch.std_mean(x, 0)


@case
def sparse():
    s = torch.ones(3, 3).to_sparse()
    s.coalesce()
    torch.sparse.mm(s, torch.ones(3, 2))
    c = torch.ones(3, 3).to_sparse_csr()
    c.sum()
    torch.mv(c, torch.ones(3))
    c.to_dense()


@case
def mkldnn():
    if torch.backends.mkldnn.is_available():
        m = torch.ones(2, 3, 4, 4).to_mkldnn()
        torch.relu(m)
        m.to_dense()


@case
def meta():
    m = torch.ones(2, 3, device="meta")
    torch.add(m, m)
    torch.mm(m, m.t())


@case
def nested():
    n = torch.nested.nested_tensor([torch.ones(2, 3), torch.ones(4, 3)])
    torch.relu(n)
    n.to_padded_tensor(0.0)


@case
def jagged():
    n = torch.nested.nested_tensor([torch.ones(2, 3), torch.ones(4, 3)],
                                   layout=torch.jagged)
    torch.relu(n)


@case
def fake():
    from torch._subclasses.fake_tensor import FakeTensorMode
    with FakeTensorMode():
        torch.add(torch.ones(2, 3), torch.ones(2, 3))


@case
def vmapped():
    from torch.func import grad, vmap
    vmap(lambda a: torch.relu(a) * 2)(torch.ones(3, 4))
    grad(lambda a: (a * a).sum())(torch.ones(3))


@case
def functional():
    t = torch._to_functional_tensor(torch.ones(2, 3))
    torch.relu(t)


@case
def subclass():
    class Mine(torch.Tensor):
        pass

    torch.relu(torch.ones(2, 3).as_subclass(Mine))
    torch.relu(torch.nn.Parameter(torch.ones(2)))


@case
def script():
    @torch.jit.script
    def f(x, names: list[str], flags: list[bool], sizes: list[float]):
        if flags[0]:
            return torch.relu(x) + sizes[0] + len(names)
        return x

    f(torch.ones(2), ["a"], [True, False], [1.5])


@case
def autograd():
    x = torch.ones(3, requires_grad=True)
    w = torch.ones(4, 3, requires_grad=True)
    torch.nn.functional.linear(x, w).relu().sum().backward()

    class F(torch.autograd.Function):
        @staticmethod
        def forward(ctx, a, n, s):
            return a * n

        @staticmethod
        def backward(ctx, g):
            return g, None, None

    F.apply(x, 3, "text").sum().backward()


@case
def compiled():
    def f(x):
        return torch.relu(x.reshape(x.shape[0] * 2, -1)) + x.shape[0]

    g = torch.compile(f, dynamic=True, backend="aot_eager")
    g(torch.ones(2, 6))
    g(torch.ones(3, 6))


@case
def custom():
    lib = torch.library.Library("zoo", "DEF")
    lib.define("odd(Tensor? t, int? i, float[] f, bool[] b, str s, Device d, ScalarType st,"
               " Scalar c, Scalar[] cs, int[]? l, Tensor?[] ts, str[] ss) -> Tensor")
    lib.impl("odd", lambda *a: torch.ones(1), "CompositeExplicitAutograd")
    odd = torch.ops.zoo.odd
    odd(None, None, [], [], "x", torch.device("cpu"), torch.float32, 1, [], None, [], [])
    odd(torch.ones(2), 7, [1.5, 1e-9, 1e22], [True, False], 'q"uo\\te', torch.device("cpu"),
        torch.int8, 2.5, [1, 2.5, 1 + 2j], [3, -4], [None, torch.ones(1)], ["a", "b"])


def run(leave_out=()):
    """All cases but those named; returns the names of those this torch cannot do."""
    skipped = []
    for f in CASES:
        if f.__name__ in leave_out:
            continue
        try:
            f()
        except (AttributeError, NotImplementedError, RuntimeError, TypeError, ImportError,
                NameError) as e:
            skipped.append("%s (%s)" % (f.__name__, str(e).split("\n")[0][:60]))
    return skipped


if __name__ == "__main__":
    left_out = run()
    print("%d cases, left out: %s" % (len(CASES), ", ".join(left_out) or "none"))
    sys.exit(0)
