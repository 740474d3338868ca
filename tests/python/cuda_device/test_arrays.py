"""Arrays on a CUDA device: transfers, exchange, memory, errors, and programs of every kind."""

from __future__ import annotations

import os
import signal
import threading
import time
from typing import Any

import farcall as fc
import farcall.numpy as fnp
import numpy as np
import pytest
from farcall import lax

BITS = 26
X: Any = np.asarray([1, 2, 3], "float32")


def test_the_device(device: fc.Device) -> None:
    assert device.platform in ("cuda", "gpu")
    assert fc.device_count("cuda") == len(fc.devices("cuda")) >= 1
    assert repr(device) == f"CudaDevice(id={device.id})"
    assert str(device) == f"pjrt:{device.id}"


@pytest.mark.parametrize(
    "dtype",
    ["bool", "int8", "uint8", "int16", "int32", "uint32", "float16", "bfloat16", "float32",
     "complex64", "int4", "float8_e4m3fn"],
)  # fmt: skip
def test_transfers_keep_bits(dtype: str, device: fc.Device) -> None:
    random = np.random.default_rng(0)
    host = fnp.asarray(random.normal(size=(5, 7)) * 5).astype(dtype)
    there = fc.device_put(host, device)
    assert there.device == device
    assert there.dtype == host.dtype
    np.testing.assert_array_equal(np.asarray(there), np.asarray(host))
    back = fc.device_put(there, fc.devices("native")[0])
    np.testing.assert_array_equal(np.asarray(back), np.asarray(host))


def test_large_transfers(device: fc.Device) -> None:
    big = np.arange(1 << BITS, dtype="float32")
    there = fc.device_put(big, device)
    total = fc.jit(lambda a: (a + 1).reshape(-1, 1 << 13).max(axis=1).max())(there)
    assert float(total) == float(np.float32(big[-1] + 1))
    np.testing.assert_array_equal(np.asarray(there), big)


def test_too_much_memory(device: fc.Device) -> None:
    f = fc.jit(lambda: fnp.ones((1 << 20, 1 << 20), "float32") * 2, device=device)
    with pytest.raises(Exception, match=r"(?i)memory|RESOURCE_EXHAUSTED"):
        f().block_until_ready()
    assert fc.jit(lambda x: x + 1, device=device)(X).tolist() == [2, 3, 4]


def test_donation(device: fc.Device) -> None:
    f = fc.jit(lambda x: x + 1, donate_argnums=0, device=device)
    x = fc.device_put(np.ones(1 << 20, "float32"), device)
    y = f(x)
    assert float(y[5]) == 2
    with pytest.raises(RuntimeError, match=r"deleted|donated"):
        np.asarray(x)


def test_linear_algebra(device: fc.Device) -> None:
    a = np.random.default_rng(0).normal(size=(3, 6, 6)).astype("float32")
    s = a @ a.transpose(0, 2, 1) + 6 * np.eye(6, dtype="float32")

    def put(f: Any) -> Any:
        return fc.jit(f, device=device)

    np.testing.assert_allclose(
        np.asarray(put(fnp.linalg.cholesky)(s)), np.linalg.cholesky(s), rtol=1e-3, atol=1e-3
    )
    q, r = put(lambda a: fnp.linalg.qr(a))(a)
    np.testing.assert_allclose(np.asarray(q) @ np.asarray(r), a, rtol=1e-3, atol=1e-3)
    np.testing.assert_allclose(
        np.asarray(put(fnp.linalg.solve)(s, a)), np.linalg.solve(s, a), rtol=2e-2, atol=2e-3
    )
    w, _ = put(lambda s: fnp.linalg.eigh(s))(s)
    np.testing.assert_allclose(np.asarray(w), np.linalg.eigvalsh(s), rtol=1e-3, atol=1e-3)
    sv = put(lambda a: fnp.linalg.svd(a, compute_uv=False))(a)
    np.testing.assert_allclose(
        np.asarray(sv), np.linalg.svd(a, compute_uv=False), rtol=1e-3, atol=1e-3
    )


def test_products_have_the_digits_of_float32(device: fc.Device) -> None:
    random = np.random.default_rng(0)
    a, b = (random.normal(size=(300, 300)).astype("float32") for _ in range(2))
    exact = a.astype("float64") @ b.astype("float64")
    got = np.asarray(fc.jit(lambda a, b: a @ b, device=device)(a, b))
    assert np.abs(got - exact).max() < 1e-4
    image, kernel = random.normal(size=(1, 8, 40, 40)), random.normal(size=(8, 8, 3, 3))
    image, kernel = image.astype("float32"), kernel.astype("float32")
    convolve = fc.jit(lambda x, k: lax.conv(x, k, (1, 1), "SAME"))
    expected = np.asarray(convolve(image, kernel))
    there = fc.device_put((image, kernel), device)
    np.testing.assert_allclose(np.asarray(convolve(*there)), expected, atol=1e-4)


@pytest.mark.parametrize("precision", ["default", "high", "highest", "bfloat16", "float32"])
def test_products_of_a_precision_are_those_of_jax(precision: str, device: fc.Device) -> None:
    import jax

    random = np.random.default_rng(0)
    a, b = (random.normal(size=(256, 256)).astype("float32") for _ in range(2))
    expected = jax.jit(lambda a, b: jax.numpy.matmul(a, b, precision=precision))(a, b)
    named = fc.jit(lambda a, b: fnp.matmul(a, b, precision=precision), device=device)(a, b)
    with fc.default_matmul_precision(precision):
        default = fc.jit(lambda a, b: fnp.matmul(a, b), device=device)(a, b)
    exact = a.astype("float64") @ b.astype("float64")
    error = np.abs(np.asarray(expected) - exact).max()
    for got in (named, default):
        assert np.abs(np.asarray(got) - exact).max() == pytest.approx(error, rel=0.5)


@pytest.mark.parametrize("dtype", ["int32", "complex64", "float32"])
@pytest.mark.parametrize("size", [0, 2])
def test_convolutions(dtype: str, size: int, device: fc.Device) -> None:
    random = np.random.default_rng(0)
    x = (random.normal(size=(2, 3, 9)) * 4).astype(dtype)
    k = (random.normal(size=(4, 3, size)) * 4).astype(dtype)
    convolve = fc.jit(lambda x, k: lax.conv(x, k, (1,), "VALID"))
    np.testing.assert_allclose(
        np.asarray(convolve(*fc.device_put((x, k), device))),
        np.asarray(convolve(x, k)),
        rtol=1e-4,
        atol=1e-4,
    )


def test_positions_that_int64_lacks(device: fc.Device) -> None:
    x = np.arange(20, dtype="float32")
    with fc.enable_x64():
        far = np.asarray([2**64 - 1], "uint64")
        take = fc.jit(lambda x, i: fnp.take(x, i, mode="clip"), device=device)
        assert take(x, far).tolist() == [19]
        cut = fc.jit(
            lambda x, i: lax.dynamic_slice(x, (i[0],), (3,), allow_negative_indices=False),
            device=device,
        )
        assert cut(x, far).tolist() == [17, 18, 19]


def test_random_bits_are_those_of_the_host(device: fc.Device) -> None:
    def draw(key: Any) -> Any:
        return fc.random.bits(key, (1000,)), fc.random.uniform(key, (1000,))

    here = fc.jit(draw)(fc.random.key(3))
    there = fc.jit(draw, device=device)(fc.random.key(3))
    for a, b in zip(here, there, strict=True):
        np.testing.assert_array_equal(np.asarray(a), np.asarray(b))


def test_transformations(device: fc.Device) -> None:
    def loss(w: Any, x: Any) -> Any:
        def step(h: Any, x: Any) -> Any:
            h = fnp.tanh(h * w + x)
            return h, h.sum()

        return lax.scan(step, fnp.zeros(4), x)[1].mean()

    x = np.random.default_rng(0).normal(size=(6, 4)).astype("float32")
    w = np.ones(4, "float32")
    for f, xs in (
        (fc.grad(loss), x),
        (fc.hessian(loss), x),
        (fc.vmap(loss, in_axes=(None, 0)), np.stack([x, x + 1])),
    ):
        np.testing.assert_allclose(
            np.asarray(fc.jit(f, device=device)(w, xs)),
            np.asarray(fc.jit(f)(w, xs)),
            rtol=1e-4,
            atol=1e-5,
        )


def test_sort_fft_gather_scatter(device: fc.Device) -> None:
    x = np.random.default_rng(0).normal(size=(4, 64)).astype("float32")
    i = np.asarray([3, 0, 2, 0])

    def f(x: Any, i: Any) -> Any:
        return (
            fnp.sort(x, axis=1),
            fnp.argsort(x, axis=0),
            fnp.abs(fnp.fft.fft(x)),
            x[i],
            x.at[i].add(1.0),
            fnp.cumsum(x, axis=1),
            lax.top_k(x, 3)[0],
        )

    for here, there in zip(fc.jit(f)(x, i), fc.jit(f, device=device)(x, i), strict=True):
        np.testing.assert_allclose(np.asarray(there), np.asarray(here), rtol=1e-4, atol=1e-4)


def test_platform_dependent(device: fc.Device) -> None:
    def f(x: Any) -> Any:
        return lax.platform_dependent(x, cpu=lambda x: x + 1, cuda=lambda x: x + 2)

    assert fc.jit(f)(X).tolist() == [2, 3, 4]
    assert fc.jit(f, device=device)(X).tolist() == [3, 4, 5]


def test_a_mesh_of_the_device(device: fc.Device) -> None:
    mesh = fc.sharding.Mesh(np.asarray([device]), ("i",))
    spec = fc.sharding.PartitionSpec("i")
    f = fc.shard_map(lambda x: lax.psum(x, "i") + lax.axis_index("i"), mesh=mesh,
                     in_specs=spec, out_specs=spec)  # fmt: skip
    assert fc.jit(f)(X).tolist() == [1, 2, 3]


def test_debug_nans(device: fc.Device) -> None:
    with fc.debug_nans(True), pytest.raises(FloatingPointError, match=r"(?i)nan"):
        fc.jit(lambda x: fnp.log(x), device=device)(-X).block_until_ready()


def test_from_many_threads(device: fc.Device) -> None:
    f = fc.jit(lambda x: fnp.sin(x) @ x, device=device)
    x = np.arange(100, dtype="float32")
    expected = float(f(x))
    wrong = []

    def work() -> None:
        for _ in range(50):
            if float(f(x)) != expected:
                wrong.append(1)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_an_interrupt(device: fc.Device) -> None:
    f = fc.jit(
        lambda x: lax.fori_loop(0, 20000, lambda i, a: fnp.tanh(a @ a / 100), x), device=device
    )
    x = np.ones((256, 256), "float32")
    f(x).block_until_ready()
    timer = threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    start = time.monotonic()

    def run_on() -> None:
        for _ in range(200):
            f(x).block_until_ready()

    with pytest.raises(KeyboardInterrupt):
        run_on()
    assert time.monotonic() - start < 30
    timer.join()
    assert fc.jit(lambda x: x + 1, device=device)(X).tolist() == [2, 3, 4]


def test_dlpack_of_arrays_with_torch(device: fc.Device) -> None:
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("this torch has no CUDA")
    x = fc.jit(lambda x: x * 2, device=device)(X)
    theirs = torch.from_dlpack(x)
    assert theirs.is_cuda
    assert theirs.tolist() == [2, 4, 6]
    tensor = torch.arange(6, dtype=torch.float32, device="cuda").reshape(2, 3)
    ours = fnp.from_dlpack(tensor)
    assert ours.device == device
    assert ours.tolist() == tensor.tolist()
    assert fc.jit(lambda x: x + 1)(ours).tolist() == (tensor + 1).tolist()


def test_torch_keeps_its_memory(device: fc.Device) -> None:
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("this torch has no CUDA")
    tensor = torch.arange(1 << 20, dtype=torch.float32, device="cuda")
    assert fc.jit(lambda x: x + 1)(tensor).device == device
    assert fc.jit(lambda x: x + 1)(tensor[3:])[:2].tolist() == [4, 5]
    twice = fc.jit(lambda x: x * 2, donate_argnums=0)(fnp.from_dlpack(tensor))
    assert twice[:3].tolist() == [0, 2, 4]
    assert tensor[:3].tolist() == [0, 1, 2]
    for _ in range(100):
        fc.jit(lambda x: x * 2)(fnp.from_dlpack(torch.ones(3, device="cuda"))).block_until_ready()
    copied = fnp.from_dlpack(tensor, copy=True)
    tensor += 1
    assert copied[:3].tolist() == [0, 1, 2]
    with pytest.raises(ValueError, match=r"strides of .* make it contiguous first"):
        fc.jit(lambda x: x + 1)(tensor.reshape(1024, 1024).T)


def test_dlpack_of_arrays_with_cupy(device: fc.Device) -> None:
    cupy = pytest.importorskip("cupy")
    x = fc.jit(lambda x: x * 2, device=device)(X)
    assert cupy.asarray(x).tolist() == [2, 4, 6]
    assert cupy.from_dlpack(x).tolist() == [2, 4, 6]
    theirs = cupy.arange(6, dtype="float32").reshape(2, 3)
    assert fnp.from_dlpack(theirs).tolist() == theirs.tolist()
    assert fnp.asarray(theirs).tolist() == theirs.tolist()
