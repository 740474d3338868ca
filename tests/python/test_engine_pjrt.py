"""The engine of PJRT plugins: what the native engine computes, and what it tells."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import farcall as fc
import farcall.numpy as fnp
import numpy as np
import pytest
from farcall import ffi, lax
from farcall._plugins import find_plugin
from farcall.experimental import io_callback

PLUGIN = find_plugin()
needs_plugin = pytest.mark.skipif(not PLUGIN, reason="no PJRT plugin is installed")

X: Any = np.asarray([1, 2, 3], "float32")


@pytest.fixture(scope="module")
def device() -> fc.Device:
    return fc.devices("pjrt")[0]


def run_python(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", "import farcall as fc, numpy as np\n" + code],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=120,
    )


# ---- the text, which needs no plugin -------------------------------------------------------------


def test_text_in_stablehlo() -> None:
    lowered = fc.jit(lambda x: fnp.sin(x) * 2).lower(X)
    text = lowered.as_text(dialect="stablehlo")
    assert "func.func public @main(%arg0: tensor<3xf32>) -> (tensor<3xf32>)" in text
    assert '"stablehlo.sine"(%arg0)' in text
    assert lowered.compile().as_text("stablehlo") == text
    with pytest.raises(ValueError, match='"stablehlo" or None, got "hlo"'):
        lowered.as_text("hlo")


def test_text_of_a_loop_and_of_what_has_none() -> None:
    text = (
        fc.jit(lambda x: lax.fori_loop(0, 3, lambda i, a: a * 2, x)).lower(X).as_text("stablehlo")
    )
    assert '"stablehlo.while"' in text
    with pytest.raises(
        NotImplementedError, match=r"ndtri: StableHLO cannot express this operation"
    ):
        fc.jit(fc.scipy.special.ndtri).lower(X).as_text("stablehlo")


def test_jax_reads_the_text() -> None:
    mlir = pytest.importorskip("jax._src.interpreters.mlir")
    dialects = pytest.importorskip("jaxlib.mlir.dialects.chlo")

    def f(x: fc.Array) -> fc.Array:
        y = lax.fori_loop(0, 3, lambda i, a: a + fnp.arctan(x), x)
        return fnp.sort(y)[::-1] @ fnp.cumsum(x) + fnp.argmax(y)

    with mlir.make_ir_context() as context:
        dialects.register_dialect(context)
        module = mlir.ir.Module.parse(fc.jit(f).lower(X).as_text("stablehlo"))
        assert module.operation.verify()


def test_jax_reads_the_text_of_calls_with_tokens() -> None:
    mlir = pytest.importorskip("jax._src.interpreters.mlir")
    call = ffi.ffi_call("with_token", (ffi.abstract_token, X))
    text = fc.jit(lambda x: call(*call(lax.create_token(), x))).lower(X).as_text("stablehlo")
    with mlir.make_ir_context():
        assert mlir.ir.Module.parse(text).operation.verify()


def test_the_text_names_callbacks_and_keeps_their_order() -> None:
    mlir = pytest.importorskip("jax._src.interpreters.mlir")

    def halve(x: Any) -> Any:
        return x / 2

    def f(x: fc.Array) -> fc.Array:
        fc.debug.callback(halve, x)
        return fc.pure_callback(halve, X, x) + io_callback(halve, X, x, ordered=True)

    text = fc.jit(f).lower(X).as_text("stablehlo")
    order = [text.index(f'"farcall.{name}_callback"') for name in ("debug", "pure", "io")]
    assert order == sorted(order)
    assert text.count('backend_config = {function = "halve"}') == 3
    assert "(%arg0: tensor<3xf32>, %run: tensor<ui64>) -> (tensor<3xf32>)" in text
    with mlir.make_ir_context():
        assert mlir.ir.Module.parse(text).operation.verify()


# ---- values --------------------------------------------------------------------------------------


@needs_plugin
def test_arrays_come_and_go(device: fc.Device) -> None:
    for dtype in ("bool", "int8", "uint16", "int32", "float16", "bfloat16", "float32", "complex64"):
        for shape in ((), (0,), (3,), (2, 0, 3), (2, 3)):
            x = fnp.arange(int(np.prod(shape))).reshape(shape).astype(dtype)
            y = fc.device_put(x, device)
            assert (y.device, y.committed, y.dtype, y.shape) == (device, True, x.dtype, x.shape)
            np.testing.assert_array_equal(np.asarray(y), np.asarray(x))
    x = np.arange(4, dtype="float32")
    y = fc.device_put(x, device)
    x[0] = 5  # numpy's memory is not shared
    assert y.tolist() == [0, 1, 2, 3]
    for dtype in ("int4", "uint4", "int2", "float8_e4m3fn"):
        x = fnp.array([1, 0, 1]).astype(dtype) - fnp.array([0, 1, 1]).astype(dtype)
        assert str(fc.device_put(x, device)) == str(x)


def sizes(x: fc.Array) -> fc.Array:
    return fnp.linalg.norm(x) + fnp.var(x) + fc.nn.softmax(x)


def conversions(x: fc.Array) -> tuple[fc.Array, ...]:
    types = ("bool", "int8", "uint8", "int32", "float16", "bfloat16", "complex64")
    return tuple(x.astype(a).astype(b) for a in types for b in types if a != "complex64")


INTEGERS = np.array([0, 1, -1, 2, 3, -3, 7, 64, 65, 100, -100, 256, 2**31 - 1, -(2**31)])
BOOLS = np.arange(16) % 3 == 0


def step(carry: Any, a: Any) -> Any:
    return carry, a + carry


PROGRAMS: dict[str, Any] = {
    "sizes": sizes,
    "conversions": conversions,
    "indexing": lambda x: (x[::-1], x[fnp.array([2, 0, 7])], x.at[fnp.array([0, 9])].add(2)),
    "clip": lambda x: (x.at[5].get(mode="clip"), x.at[fnp.array([7, 1])].set(9, mode="clip")),
    "fill": lambda x: x.astype("int32").at[fnp.array([7, -9])].get(mode="fill", fill_value=4),
    "sorting": lambda x: (
        fnp.sort(-x),
        fnp.argsort(fnp.sin(x)),
        fnp.median(x),
        fnp.unique(x, size=3),
    ),
    "nan": lambda x: (
        fnp.sort(x / (x - 2) * 0),
        fnp.argmax(fnp.log(x - 2)),
        fnp.max(fnp.log(x - 2)),
    ),
    "complex": lambda x: (fnp.sort(fnp.exp(1j * x)), abs(1j * x), fnp.fft.fft(x), fnp.fft.irfft(x)),
    "cumulative": lambda x: (fnp.cumsum(x), lax.cumlogsumexp(x, reverse=True), lax.cummax(-x)),
    "products": lambda x: (
        fnp.outer(x, x) @ x,
        fnp.einsum("i,j,i->j", x, x, x),
        fnp.convolve(x, x),
    ),
    "integers": lambda x: (x.astype("int32") // 2, 7 % x.astype("uint8"), x.astype("int8") << 3),
    "select": lambda x: (
        fnp.where(x > 1, x, 0),
        lax.select_n(x.astype("int32") - 1, x, x + 1, x + 2),
    ),
    "random": lambda x: fc.random.normal(fc.random.fold_in(fc.random.key(3), 1), (4,)) + x.sum(),
    "scan": lambda x: lax.scan(lambda c, a: (c + a, c * a), 0.0, x, reverse=True),
    "while": lambda x: lax.while_loop(lambda c: c[0] < 5, lambda c: (c[0] + 1, c[1] * x), (0, x)),
    "switch": lambda x: [lax.switch(i, [fnp.sin, fnp.cos, fnp.tan], x) for i in (-1, 1, 7)],
    "empty scan": lambda x: lax.scan(step, 1.0, x[:0]),
    "special": lambda x: (fc.scipy.special.gammainc(x, x), fc.scipy.special.ndtri(x / 4)),
    "windows": lambda x: lax.reduce_window(x, -np.inf, lax.max, (2,), (1,), "SAME"),
    "linear algebra": lambda x: fnp.linalg.solve(fnp.outer(x, x) + fnp.eye(3), x),
    "gradient": fc.grad(lambda x: fnp.sum(fnp.tanh(x) ** 3 / x[0])),
    "hessian": fc.hessian(lambda x: fnp.prod(fnp.sin(x))),
    "vmap": fc.vmap(lambda a: lax.cond(a > 1, fnp.sin, fnp.cos, a)),
    "checkpoint": fc.grad(fc.checkpoint(lambda x: fnp.sum(fnp.sin(fnp.sin(x))))),
    "powers of integers": lambda x: [
        lax.pow(
            INTEGERS.repeat(14).astype(t) + (0 * x[0]).astype(t), np.tile(INTEGERS, 14).astype(t)
        )
        for t in ("int32", "uint32", "int8", "uint8")
    ],
    "quotient of integers and themselves": lambda x: (lambda y: lax.div(y, y))(
        x.astype("int32") - 1
    ),
    "functions of floats of 8 bits": lambda x: [
        f(fnp.tanh(x.astype(t)))
        for t in (fc.dtypes.float8_e4m3fnuz, fc.dtypes.float8_e5m2)
        for f in (lax.asin, lax.erfc, lax.lgamma, lax.sinh)
    ],
    "scan of floats without a zero": lambda x: lax.scan(
        lambda c, a: (c, a), x, x.astype(fc.dtypes.float8_e8m0fnu)
    )[1].astype("float32"),
    "windows over nothing, with negative padding": lambda x: fc.jvp(
        lambda y: lax.reduce_window(y, np.float32(1), lax.mul, (2, 3), (2, 1), "SAME_LOWER"),
        (x[:0].reshape(0, 0),),
        (x[:0].reshape(0, 0),),
    ),
    "windows with negative padding": lambda x: [
        lax.reduce_window(x + x, init, f, (n,), (1,), [(-1, pad)], base_dilation=(b,))
        for init, f in ((0.0, lax.add), (-np.inf, lax.max))
        for n in (1, 2)
        for pad in (0, 2, -1)
        for b in (1, 2)
    ],
    "truth of complex numbers": lambda x: lax.convert_element_type(x * 1j + (x > 1), "bool"),
    "absolute values of complex ranges": lambda x: (
        lax.abs(lax.broadcasted_iota("complex64", (2, 3), 1)) + x
    ),
    "rounded constants of 8 bits": lambda x: (
        lax.round(fnp.asarray([0.046875, -2.75]).astype(fc.dtypes.float8_e3m4), 0).astype("float32")
        + x[:2]
    ),
    "clamp of constant bools": lambda x: lax.clamp(BOOLS, fnp.asarray(BOOLS), True) | (x[0] > 3),
    "large constant": lambda x: x + fnp.asarray(np.arange(300, dtype="float32")).reshape(100, 3),
}


@needs_plugin
@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_give_what_the_native_engine_gives(name: str, device: fc.Device) -> None:
    f = PROGRAMS[name]
    expected = fc.tree.leaves(fc.jit(f)(X))
    got = fc.tree.leaves(fc.jit(f, device=device)(X))
    assert len(got) == len(expected)
    for a, b in zip(got, expected, strict=True):
        assert (a.device, a.dtype, a.shape) == (device, b.dtype, b.shape)
        np.testing.assert_allclose(
            np.asarray(a).astype("complex64"),
            np.asarray(b).astype("complex64"),
            rtol=2e-5,
            atol=2e-6,
        )


@needs_plugin
def test_64_bits(device: fc.Device, x64: None) -> None:
    x = np.linspace(0.1, 0.9, 5)
    f = fc.jit(lambda x: (fnp.arcsin(x), fc.scipy.special.erfinv(x), x.astype("int64") - 2**40))
    for a, b in zip(f(fc.device_put(x, device)), f(x), strict=True):
        assert a.device == device
        np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol=1e-13)


@needs_plugin
@pytest.mark.parametrize("dtype", ["uint8", "uint16", "uint32", "uint64"])
def test_unsigned_starts_of_slices_that_are_constants(
    dtype: str, device: fc.Device, x64: None
) -> None:
    """XLA takes such constants for signed ones."""
    x, start = np.arange(3.0), np.asarray(-1).astype(dtype)  # the largest

    def f(x: Any) -> Any:
        return lax.dynamic_slice(x, [start], [1]), lax.dynamic_update_slice(x, x[:1] + 9, [start])

    part, updated = fc.jit(f, device=device)(x)
    assert part.tolist() == [2]
    assert updated.tolist() == [0, 1, 9]


def test_choosing_the_engine(device: fc.Device) -> None:
    assert device.engine == "pjrt"
    assert device.platform == "cpu"
    assert str(device) == "pjrt:0"
    assert fc.devices("cpu") == fc.devices("native")
    with fc.default_device("pjrt"):
        assert fnp.zeros(2).device == device
    fc.config.update("engine", "pjrt")
    try:
        assert fnp.sin(X).device == device
    finally:
        fc.config.update("engine", None)
    with pytest.raises(ValueError, match=r"operand 0 to pjrt:0, operand 1 to cpu:0"):
        fc.device_put(X, device) + fc.device_put(X, fc.devices("native")[0])


@needs_plugin
def test_compiled_programs_tell_of_their_memory(device: fc.Device) -> None:
    compiled = fc.jit(lambda x: x @ x.T, device=device).lower(np.ones((8, 8), "float32")).compile()
    memory = compiled.memory_analysis()
    assert (memory.argument_size_in_bytes, memory.output_size_in_bytes) == (256, 256)


@needs_plugin
def test_donated_arguments_are_used(device: fc.Device) -> None:
    f = fc.jit(lambda x, y: (x + y, y[0]), donate_argnums=0, device=device)
    x, y = (fc.device_put(np.full(1 << 16, i, "float32"), device) for i in range(2))
    z, _ = f(x, y)
    assert x.is_deleted()
    assert not y.is_deleted()
    with pytest.raises(RuntimeError, match="deleted"):
        np.asarray(x)
    view = np.asarray(z)
    again, _ = f(z, y)
    assert (view[0], view[-1], again[0], again[-1]) == (1, 1, 2, 2)
    # Memory that two arguments share stays.
    same = fc.device_put(np.full(4, 3, "float32"), device)
    assert fc.jit(lambda x, y: x * y, donate_argnums=0)(same, same).tolist() == [9] * 4
    assert same.tolist() == [3] * 4


@needs_plugin
def test_a_program_that_fails_leaves_its_donated_arguments(device: fc.Device) -> None:
    def fail(_: np.ndarray) -> np.ndarray:
        raise KeyError("no")

    f = fc.jit(lambda x: fc.pure_callback(fail, X, x + 1), donate_argnums=0, device=device)
    x = fc.device_put(X, device)
    with pytest.raises(KeyError, match="no"):
        f(x)
    assert x.tolist() == [1, 2, 3]


# ---- foreign calls and callbacks -----------------------------------------------------------------


@needs_plugin
def test_foreign_calls(handlers: SimpleNamespace, device: fc.Device) -> None:
    call = ffi.ffi_call("scale", fc.ShapeDtypeStruct((3,), "float32"), vmap_method="broadcast_all")
    f = fc.jit(lambda x: call(call(x, factor=np.float32(2)) + 1, factor=np.float32(3)))
    on_device = fc.device_put(X, device)
    assert f(on_device).tolist() == f(X).tolist() == [9, 15, 21]
    assert f(on_device).device == device
    loop = fc.jit(
        lambda x: lax.fori_loop(0, 4, lambda i, a: call(a, factor=np.float32(2)), x), device=device
    )
    assert loop(X).tolist() == [16, 32, 48]
    assert [r.target_name for r in fc.jit(f, device=device).lower(X).compile().report()] == [
        "scale"
    ] * 2


@needs_plugin
def test_callbacks_run_in_order(device: fc.Device) -> None:
    seen = []

    def note(x: np.ndarray) -> Any:
        seen.append(float(x))
        return np.float32(x + 1)

    one = fc.ShapeDtypeStruct((), "float32")

    def f(x: fc.Array) -> fc.Array:
        a = io_callback(note, one, x, ordered=True)
        b = io_callback(note, one, x * 10, ordered=True)
        io_callback(note, one, a * 0 + 7, ordered=True)
        c = lax.fori_loop(0, 3, lambda i, c: io_callback(note, one, c, ordered=True), a + b)
        return lax.cond(c > 0, lambda c: io_callback(note, one, c, ordered=True), fnp.sin, c)

    for run in range(3):
        seen.clear()
        assert fc.jit(f, device=device)(fnp.float32(1)) == 17, run
        assert seen == [1, 10, 7, 13, 14, 15, 16]


@needs_plugin
def test_exceptions_of_callbacks_keep_their_type(device: fc.Device) -> None:
    class MineError(Exception):
        pass

    def fail(x: np.ndarray) -> np.ndarray:
        if x[0] < 0:
            raise MineError("negative")
        return x

    later = []
    f = fc.jit(
        lambda x: fc.pure_callback(
            lambda y: later.append(1) or y, X, fc.pure_callback(fail, X, x) * 2
        ),
        device=device,
    )
    for _ in range(3):
        later.clear()
        with pytest.raises(MineError, match="negative"):
            f(-X)
        assert later == []
        assert f(X).tolist() == [2, 4, 6]  # usable after an error
        assert later == [1]
    # A loop that would never end otherwise.
    loop = fc.jit(
        lambda x: lax.while_loop(lambda a: a[0] < 9, lambda a: fc.pure_callback(fail, X, a), x),
        device=device,
    )
    with pytest.raises(MineError, match="negative"):
        loop(-X)


@needs_plugin
def test_callbacks_that_use_the_engine_and_keep_views(device: fc.Device) -> None:
    kept = []
    inner = fc.jit(lambda x: x * 2, device=device)

    def outer(x: np.ndarray) -> np.ndarray:
        kept.append(x)
        return np.asarray(inner(np.asarray(x)))

    f = fc.jit(lambda x: fc.pure_callback(outer, X, x + 1), device=device)
    for _ in range(5):
        assert f(X).tolist() == [4, 6, 8]
    assert all(np.asarray(x).tolist() == [2, 3, 4] for x in kept)


# ---- errors --------------------------------------------------------------------------------------


@needs_plugin
def test_a_mesh_of_the_plugin_beside_the_native_engine() -> None:
    done = run_python(
        "from farcall import lax\n"
        "mesh = fc.make_mesh((2,), ('x',), devices=fc.devices('pjrt'))\n"
        "f = fc.shard_map(lambda x: x + lax.psum(x, 'x'), mesh=mesh, in_specs=fc.P('x'),"
        " out_specs=fc.P('x'))\n"
        "x = np.arange(4, dtype='float32')\n"
        "y = f(x)\n"
        "print([str(d) for d in sorted(y.devices(), key=str)], y.tolist())\n"
        "z = fc.jit(lambda x: fc.numpy.sin(f(x)))(y)\n"
        "assert z.devices() == y.devices() and z.sharding == y.sharding\n"
        "assert fc.jit(f)(x).devices() == y.devices()\n"
        "print(fc.jit(f, device=fc.devices('pjrt')[1])(x).device, fc.jit(lambda x: x)(x).device)\n",
        FARCALL_NUM_CPU_DEVICES="2",
    )
    assert done.stdout.split("\n")[:2] == [
        "['pjrt:0', 'pjrt:1'] [2.0, 5.0, 4.0, 7.0]",
        "pjrt:1 cpu:0",
    ], done.stderr


@needs_plugin
def test_several_devices() -> None:
    done = run_python(
        "d = fc.devices('pjrt'); x = fc.device_put(np.float32([1, 2]), d[1])\n"
        "print(len(d), x.device, (x + 1).device, (x + 1).tolist())\n"
        "print(fc.jit(lambda a: a * 2, device=d[0])(x).device)",
        FARCALL_NUM_CPU_DEVICES="2",
    )
    assert done.stdout.split("\n")[:2] == ["2 pjrt:1 pjrt:1 [2.0, 3.0]", "pjrt:0"], done.stderr


def error_of(**environment: str) -> str:
    code = "try: fc.devices('pjrt')\nexcept (RuntimeError, ValueError) as error: print(error)"
    done = run_python(code, **environment)
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


def test_a_plugin_that_is_not_there() -> None:
    text = error_of(FARCALL_PJRT_PLUGIN="/no/such.so")
    assert 'pjrt: plugin "/no/such.so": there is no such file' in text
    text = error_of(FARCALL_PJRT_PLUGIN="", PJRT_NAMES_AND_LIBRARY_PATHS="cpu:/a.so,b:/b.so")
    assert 'pjrt: plugin "/a.so"' in text
    text = error_of(PJRT_NAMES_AND_LIBRARY_PATHS="a:/a.so,b:/b.so", FARCALL_PJRT_PLUGIN="b")
    assert 'pjrt: plugin "/b.so"' in text
    text = error_of(FARCALL_PJRT_PLUGIN="nobodys")
    assert 'pjrt: plugin "nobodys": there is no such file, and no plugin of this name' in text


@needs_plugin
@pytest.mark.parametrize("name", ["cpu", "lammps-jax-pjrt-cpu", "lammps_jax_pjrt_cpu", "mine"])
def test_a_plugin_by_its_name(name: str) -> None:
    done = run_python(
        "print(fc.devices('pjrt'))",
        FARCALL_PJRT_PLUGIN=name,
        PJRT_NAMES_AND_LIBRARY_PATHS=f"other:/no.so,mine:{find_plugin()}",
    )
    assert done.stdout == "[CpuDevice(id=0, engine='pjrt')]\n", done.stderr


@needs_plugin
def test_a_client_that_runs_programs_asynchronously() -> None:
    done = run_python(
        """
x = np.random.default_rng(0).normal(size=(700, 700)).astype("float32")
d = fc.devices("pjrt")[0]
f = fc.jit(lambda x: x @ x @ x, device=d)
for _ in range(5):
    y = f(x)
    z = fc.jit(lambda a: a + 1, device=d)(y)
    assert np.abs(np.asarray(z) - (x @ x @ x + 1)).max() < 0.1
double = lambda a: np.asarray(a) * 2
print(fc.jit(lambda a: fc.pure_callback(double, a, a), device=d)(x[0, :1]) / x[0, 0])
""",
        FARCALL_PJRT_OPTIONS="asynchronous=true",
    )
    assert done.stdout == "[2.]\n", done.stderr


@needs_plugin
def test_options_that_are_given_come_before_those_of_farcall() -> None:
    done = run_python(
        "print(fc.devices('pjrt'))",
        FARCALL_PJRT_OPTIONS="cpu_device_count=2",
        FARCALL_NUM_CPU_DEVICES="3",
    )
    assert done.stdout.count("engine='pjrt'") == 2, done.stderr


@needs_plugin
def test_options_that_are_refused() -> None:
    assert 'FARCALL_PJRT_OPTIONS is "strange=1"' in error_of(FARCALL_PJRT_OPTIONS="strange=1")


@needs_plugin
@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        (
            "FARCALL_NUM_CPU_DEVICES",
            "many",
            "flag num_cpu_devices must be an integer; got 'many'",
        ),
        ("FARCALL_PJRT_OPTIONS", "a", 'expected name=value, got "a"'),
        (
            "FARCALL_PJRT_OPTIONS",
            "num_nodes=2",
            "num_nodes=2: needs the processes of a job; call distributed.initialize() first",
        ),
    ],
)
def test_variables_that_are_wrong(name: str, value: str, text: str) -> None:
    done = run_python("fc.devices('pjrt')", **{name: value})
    assert f"ValueError: {name}: {text}" in done.stderr or text in done.stderr


@pytest.mark.parametrize("name", ["cuda99", "xla_cuda99", "xla-cuda99"])
def test_a_plugin_by_its_entry_point(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    info = tmp_path / "jax_cuda99_pjrt-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: jax-cuda99-pjrt\nVersion: 1\n")
    (info / "entry_points.txt").write_text("[jax_plugins]\nxla_cuda99 = cuda99_of_the_tests\n")
    package = tmp_path / "cuda99_of_the_tests"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "xla_cuda_plugin.so").touch()
    monkeypatch.syspath_prepend(str(tmp_path))
    assert find_plugin(name) == str(package / "xla_cuda_plugin.so")
    assert find_plugin("cuda98") == ""


@needs_plugin
def test_the_engine_of_the_environment() -> None:
    done = run_python("print(fc.devices(), fc.numpy.arange(3).device)", FARCALL_ENGINE="pjrt")
    assert done.stdout.strip() == "[CpuDevice(id=0)] pjrt:0", done.stderr
    assert done.stderr == ""


@needs_plugin
def test_the_flag_that_keeps_nan_in_large_reductions() -> None:
    done = run_python(
        """
x = np.arange(5000, dtype="float32")
x[2] = np.nan
print(fc.numpy.max(x), fc.numpy.min(x))
""",
        FARCALL_ENGINE="pjrt",
        XLA_FLAGS="--xla_cpu_experimental_ynn_fusion_type=-LIBRARY_FUSION_TYPE_REDUCE",
    )
    assert done.stdout == "nan nan\n", done.stderr


@needs_plugin
@pytest.mark.parametrize("dtype", ["int2", "uint2"])
def test_products_of_integers_of_two_bits(dtype: str) -> None:
    x = fnp.asarray(np.arange(12).reshape(3, 4)).astype(dtype)

    def product(a: Any) -> Any:
        return a @ a.T

    found = fc.jit(product, device=fc.devices("pjrt")[0])(x)
    assert found.dtype == dtype
    np.testing.assert_array_equal(np.asarray(found).astype(int), np.asarray(product(x)).astype(int))


@needs_plugin
@pytest.mark.parametrize("dtype", ["int2", "uint2"])
def test_rows_of_integers_of_two_bits_are_joined_and_compared(dtype: str) -> None:
    """XLA ends the process when it joins them."""
    x = fnp.asarray(np.arange(12).reshape(3, 4) % 2).astype(dtype)

    def joined(a: Any) -> Any:
        return fnp.concatenate([a, a]), fnp.concatenate([a.T, a.T], 1), lax.argmax(a, 1, np.int32)

    found = fc.jit(joined, device=fc.devices("pjrt")[0])(x)
    for ours, wanted in zip(found, joined(x), strict=True):
        assert ours.dtype == wanted.dtype
        np.testing.assert_array_equal(np.asarray(ours).astype(int), np.asarray(wanted).astype(int))


@needs_plugin
def test_integers_of_one_bit_are_refused() -> None:
    x = fnp.zeros((2, 3), "int1")
    for power in (0, 2):
        with pytest.raises(NotImplementedError, match="StableHLO has no dtype int1"):
            fc.jit(lambda x, y=power: lax.integer_pow(x, y)).lower(x).as_text("stablehlo")
    with pytest.raises(NotImplementedError, match="StableHLO has no dtype int1"):
        fc.jit(lambda x: lax.cumprod(x, 0), device=fc.devices("pjrt")[0])(x)


@needs_plugin
def test_places_that_their_dtype_cannot_hold_wrap() -> None:
    x = np.zeros(600, np.int32)
    x[[300, 512]] = 9
    found = fc.jit(lambda x: lax.argmax(x, 0, np.uint8), device=fc.devices("pjrt")[0])(x)
    assert found == 300 - 256 == lax.argmax(x, 0, np.uint8)
