"""farcall and JAX: the same source for both."""

from __future__ import annotations

import ctypes
import functools
import importlib
import pathlib
from collections.abc import Callable
from typing import Any

import numpy as np

from peers.common import CommonRows

ROOT = pathlib.Path(__file__).resolve().parents[3]


class Traced(CommonRows):
    """The functions of the rows, as methods named like them."""

    def __init__(self, name: str):
        self.module = importlib.import_module(name)
        for part in ("nn", "ops", "ffi", "scipy.special"):
            importlib.import_module(f"{name}.{part}")
        if name == "jax":
            self.module.config.update("jax_platforms", "cpu")
        self.version = self.module.__version__
        self.np, self.lax, self.nn = self.module.numpy, self.module.lax, self.module.nn

    def prepare(self, function: str, arguments: Any, is_call: bool) -> Callable[[], Any]:
        """A function without arguments that computes the row."""
        if function == "noop" and not self._has_noop():
            raise LookupError("libbench_handlers.so is not built")
        wide = function == "collatz" or any(
            leaf.dtype.itemsize == 8 and leaf.dtype.kind != "c"
            for leaf in self.module.tree.leaves(arguments)
        )
        self.module.config.update("jax_enable_x64", wide)
        jitted = self.module.jit(getattr(self, function))
        arrays = arguments
        if function != "increment_numpy":
            arrays = self.module.tree.map(self.np.asarray, arguments)
        if is_call:
            return functools.partial(jitted, *arrays)
        return lambda: self.module.block_until_ready(jitted(*arrays))

    def leaves(self, result: Any) -> list[np.ndarray]:
        return [np.asarray(leaf) for leaf in self.module.tree.leaves(result)]

    def _has_noop(self) -> bool:
        found = list(ROOT.glob("build/*/benchmarks/libbench_handlers.so"))
        if not found:
            return False
        library = ctypes.CDLL(str(max(found, key=lambda path: path.stat().st_mtime)))
        ffi = self.module.ffi
        ffi.register_ffi_target("noop_1", ffi.pycapsule(library.noop_1), platform="cpu")
        return True

    # ---- elementwise

    def tanh_chain(self, x):
        return self.np.tanh(x) * x + 1

    def rms_norm(self, x):
        return x * self.lax.rsqrt((x * x).mean(-1, keepdims=True) + 1e-6)

    def softmax(self, x):
        return self.nn.softmax(x)

    def layer_norm(self, x):
        mean = x.mean(-1, keepdims=True)
        return (x - mean) * self.lax.rsqrt(x.var(-1, keepdims=True) + 1e-6)

    def gelu(self, x):
        return self.nn.gelu(x)

    def log_softmax(self, x):
        return self.nn.log_softmax(x)

    def exact_gelu(self, x):
        return self.nn.gelu(x, approximate=False)

    def masked_softmax(self, x, mask):
        return self.nn.softmax(self.np.where(mask, x, -1e9))

    def sines(self, x):
        return self.np.stack([self.np.sin(x), self.np.cos(x)])

    def log_gamma(self, x):
        return self.module.scipy.special.gammaln(x)

    def log_ndtr(self, x):
        return self.module.scipy.special.log_ndtr(x)

    def bessel_i0e(self, x):
        return self.module.scipy.special.i0e(x)

    def logit(self, x):
        return self.module.scipy.special.logit(x)

    # ---- reductions

    # ---- order, places, moves

    def sort(self, x):
        return self.np.sort(x)

    def argsort(self, x):
        return self.np.argsort(x)

    def sort_two_keys(self, ranks, x):
        return self.lax.sort((ranks, x), num_keys=2)

    def top_16(self, x):
        return self.lax.top_k(x, 16)

    def interp(self, x, points, values):
        return self.np.interp(x, points, values)

    def add_at(self, table, places, values):
        return table.at[places].add(values)

    def segment_sum(self, x, segments):
        return self.module.ops.segment_sum(x, segments, num_segments=1024)

    def transpose(self, x):
        return self.np.swapaxes(x, -1, -2)

    def reverse(self, x):
        return x[::-1]

    def pad(self, x):
        return self.np.pad(x, 1)

    def join(self, x):
        return self.np.concatenate([x, x], 1)

    # ---- products

    def matmul_bytes(self, a, b):
        return self.lax.dot(a, b, preferred_element_type="int32")

    def convolution(self, x, weights):
        return self.lax.conv_general_dilated(x, weights, (1, 1), "SAME")

    def fft(self, x):
        return self.np.fft.fft(x)

    def rfft(self, x):
        return self.np.fft.rfft(x)

    def fft_2(self, x):
        return self.np.fft.fft2(x)

    # ---- loops

    def rnn(self, weights, bias, xs):
        def step(hidden, x):
            hidden = self.np.tanh(self.np.concatenate([x, hidden]) @ weights + bias)
            return hidden, hidden

        return self.lax.scan(step, self.np.zeros(32, "float32"), xs)[1]

    def lstm(self, weights, bias, xs):
        def step(carry, x):
            hidden, cell = carry
            gates = self.np.concatenate([x, hidden]) @ weights + bias
            i, f, g, o = self.np.split(gates, 4)
            cell = self.nn.sigmoid(f) * cell + self.nn.sigmoid(i) * self.np.tanh(g)
            hidden = self.nn.sigmoid(o) * self.np.tanh(cell)
            return (hidden, cell), hidden

        zero = self.np.zeros(32, "float32")
        return self.lax.scan(step, (zero, zero), xs)[1]

    def lstm_gradient(self, weights, bias, xs):
        return self.module.grad(lambda w: (self.lstm(w, bias, xs) ** 2).mean())(weights)

    def twenty(self, x):
        def step(_, y):
            for i in range(5):
                y = self.np.tanh(y * 0.9 + 0.01 * i) + x * 0.1
            return y

        return self.lax.fori_loop(0, 1000, step, x)

    def _rk4(self, slope, state, h):
        def plus(slopes, factor):
            return tuple(s + factor * k for s, k in zip(state, slopes, strict=True))

        k1 = slope(state)
        k2 = slope(plus(k1, h / 2))
        k3 = slope(plus(k2, h / 2))
        k4 = slope(plus(k3, h))
        return tuple(
            s + h / 6 * (a + 2 * b + 2 * c + d)
            for s, a, b, c, d in zip(state, k1, k2, k3, k4, strict=True)
        )

    def lorenz(self, start):
        def slope(state):
            x, y, z = state[0]
            return (self.np.stack([10 * (y - x), x * (28 - z) - y, x * y - 8 / 3 * z]),)

        return self.lax.fori_loop(
            0, 1000, lambda _, s: self._rk4(slope, (s,), np.float32(0.001))[0], start
        )

    def lorenz_scalars(self, x, y, z):
        def slope(state):
            x, y, z = state
            return 10 * (y - x), x * (28 - z) - y, x * y - 8 / 3 * z

        return self.lax.fori_loop(
            0, 1000, lambda _, s: self._rk4(slope, s, np.float32(0.001)), (x, y, z)
        )

    def newton(self, x):
        def go_on(state):
            return state[1] > 1e-6

        def step(state):
            y = state[0] - (state[0] * state[0] - x) / (2 * state[0])
            return y, self.np.max(self.np.abs(y - state[0]) / y)

        return self.lax.while_loop(go_on, step, (x, self.np.float32(1)))[0]

    def collatz(self, n):
        def go_on(state):
            return state[0] != 1

        def step(state):
            n, count = state
            return self.np.where(n % 2 == 0, n // 2, 3 * n + 1), count + 1

        zero = self.np.zeros((), "int64")
        return self.lax.while_loop(go_on, step, (n.astype("int64"), zero))[1]

    def van_der_pol(self, x, v):
        def step(_, state):
            x, v = state
            h = np.float32(0.001)
            return x + h * v, v + h * (2 * (1 - x * x) * v - x)

        return self.lax.fori_loop(0, 10000, step, (x, v))

    def kalman(self, transition, seen):
        eye = self.np.eye(4, dtype="float32")

        def step(carry, y):
            mean, cov = carry
            mean, cov = transition @ mean, transition @ cov @ transition.T + 0.01 * eye
            gain = cov / (self.np.diagonal(cov) + 1.0)
            mean = mean + gain @ (y - mean)
            cov = cov - gain @ cov
            return (mean, cov), mean

        return self.lax.scan(step, (self.np.zeros(4, "float32"), eye), seen)[1]

    def leapfrog(self, x, v):
        h = np.float32(0.01)

        def step(_, state):
            x, v = state
            v = v - h / 2 * self.np.sin(x)
            x = x + h * v
            return x, v - h / 2 * self.np.sin(x)

        return self.lax.fori_loop(0, 1000, step, (x, v))

    # ---- training

    def _forward(self, weights, x):
        for w in weights[:-1]:
            x = self.np.tanh(x @ w)
        return x @ weights[-1]

    def _loss(self, weights, x, labels):
        scores = self.nn.log_softmax(self._forward(weights, x))
        return -self.np.take_along_axis(scores, labels[..., None], -1).mean()

    def mlp_gradient(self, weights, x):
        def loss(weights):
            y = x
            for w in weights:
                y = self.np.tanh(y @ w)
            return (y * y).mean()

        return self.module.grad(loss)(weights)

    def training_step(self, weights, x, labels):
        slopes = self.module.grad(self._loss)(weights, x, labels)
        return [w - 0.1 * g for w, g in zip(weights, slopes, strict=True)]

    def example_gradients(self, weights, x, labels):
        of_one = self.module.grad(self._loss)
        return self.module.vmap(of_one, in_axes=(None, 0, 0))(weights, x, labels)

    def attention(self, x, wq, wk, wv, wo):
        heads = 8

        def split(y):
            return self.np.swapaxes(y.reshape(x.shape[0], heads, -1), 0, 1)

        q, k, v = split(x @ wq), split(x @ wk), split(x @ wv)
        scores = self.nn.softmax(q @ self.np.swapaxes(k, -1, -2) / np.float32(np.sqrt(32)))
        mixed = self.np.swapaxes(scores @ v, 0, 1).reshape(x.shape)
        return x + mixed @ wo

    # ---- calls

    def increment(self, x):
        return x + 1

    increment_numpy = increment

    def nested_sum(self, parts, last):
        return parts["a"] + parts["b"][0] + parts["b"][1] + last

    def noop(self, x):
        result = self.module.ShapeDtypeStruct(x.shape, x.dtype)
        return self.module.ffi.ffi_call("noop_1", result)(x)
