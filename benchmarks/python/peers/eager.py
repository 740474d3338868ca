"""numpy and torch: arrays of their own, operation by operation; and numba, loops compiled."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from peers.common import CommonRows


class Numpy(CommonRows):
    """The rows that numpy says in a line."""

    version = np.__version__

    def prepare(self, function: str, arguments: Any, is_call: bool) -> Callable[[], Any]:
        if any(getattr(each, "dtype", None) == "bfloat16" for each in arguments):
            raise LookupError("numpy sums bfloat16 in bfloat16")
        return functools.partial(getattr(self, function), *arguments)

    def leaves(self, result: Any) -> list[np.ndarray]:
        return [np.asarray(leaf) for leaf in _leaves(result)]

    def tanh_chain(self, x):
        return np.tanh(x) * x + 1

    def rms_norm(self, x):
        return x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-6)

    def softmax(self, x):
        powers = np.exp(x - x.max(-1, keepdims=True))
        return powers / powers.sum(-1, keepdims=True)

    def layer_norm(self, x):
        return (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-6)

    def log_softmax(self, x):
        shifted = x - x.max(-1, keepdims=True)
        return shifted - np.log(np.exp(shifted).sum(-1, keepdims=True))

    def sort(self, x):
        return np.sort(x)

    def argsort(self, x):
        return np.argsort(x, stable=True)

    def add_at(self, table, places, values):
        result = table.copy()
        np.add.at(result, places, values)
        return result

    def segment_sum(self, x, segments):
        return np.bincount(segments, x, 1024).astype(np.float32)

    def transpose(self, x):
        return np.ascontiguousarray(np.swapaxes(x, -1, -2))

    def reverse(self, x):
        return x[::-1].copy()

    def pad(self, x):
        return np.pad(x, 1)

    def join(self, x):
        return np.concatenate([x, x], 1)

    def fft(self, x):
        return np.fft.fft(x)

    def fft_2(self, x):
        return np.fft.fft2(x)

    def rfft(self, x):
        return np.fft.rfft(x)

    def interp(self, x, points, values):
        return np.interp(x, points, values)

    def sines(self, x):
        return np.stack([np.sin(x), np.cos(x)])

    def increment(self, x):
        return x + np.float32(1)

    increment_numpy = increment


class Torch(CommonRows):
    """The same of torch, without its compiler."""

    def __init__(self):
        import torch

        self.torch = torch
        self.version = torch.__version__
        torch.set_grad_enabled(False)

    def prepare(self, function: str, arguments: Any, is_call: bool) -> Callable[[], Any]:
        tensors = [self._tensor(argument) for argument in arguments]
        return functools.partial(getattr(self, function), *tensors)

    def leaves(self, result: Any) -> list[np.ndarray]:
        return [leaf.resolve_conj().numpy() for leaf in _leaves(result)]

    def _tensor(self, array: np.ndarray) -> Any:
        if array.dtype.name == "bfloat16":
            raise LookupError("no way from numpy to torch's bfloat16")
        return self.torch.from_numpy(array)

    def tanh_chain(self, x):
        return self.torch.tanh(x) * x + 1

    def rms_norm(self, x):
        return x * self.torch.rsqrt((x * x).mean(-1, keepdim=True) + 1e-6)

    def softmax(self, x):
        return self.torch.softmax(x, -1)

    def layer_norm(self, x):
        return self.torch.nn.functional.layer_norm(x, x.shape[-1:], eps=1e-6)

    def gelu(self, x):
        return self.torch.nn.functional.gelu(x, approximate="tanh")

    def log_softmax(self, x):
        return self.torch.log_softmax(x, -1)

    def var_row(self, x):
        return x.var(1, unbiased=False)

    def var_column(self, x):
        return x.var(0, unbiased=False)

    def max_row(self, x):
        return x.amax(1)

    def max_column(self, x):
        return x.amax(0)

    def sort(self, x):
        return self.torch.sort(x)[0]

    def argsort(self, x):
        return self.torch.sort(x, stable=True)[1]

    def top_16(self, x):
        return tuple(self.torch.topk(x, 16))

    def take(self, table, places):
        return self.torch.index_select(table, 0, places)

    def add_at(self, table, places, values):
        return self.torch.index_add(table, 0, places, values)

    def segment_sum(self, x, segments):
        return self.torch.zeros(1024).index_add(0, segments, x)

    def transpose(self, x):
        return x.transpose(-1, -2).contiguous()

    def reverse(self, x):
        return x.flip(0)

    def pad(self, x):
        return self.torch.nn.functional.pad(x, (1, 1, 1, 1))

    def join(self, x):
        return self.torch.cat([x, x], 1)

    def convolution(self, x, weights):
        return self.torch.nn.functional.conv2d(x, weights, padding=1)

    def fft(self, x):
        return self.torch.fft.fft(x)

    def fft_2(self, x):
        return self.torch.fft.fft2(x)

    def rfft(self, x):
        return self.torch.fft.rfft(x)

    def sines(self, x):
        return self.torch.stack([x.sin(), x.cos()])

    def exact_gelu(self, x):
        return self.torch.nn.functional.gelu(x)

    def masked_softmax(self, x, mask):
        return self.torch.softmax(self.torch.where(mask, x, -1e9), -1)

    def increment(self, x):
        return x + 1


class Numba:
    """Loops as one writes them by hand."""

    def __init__(self):
        import numba

        self.version = numba.__version__
        compiled = functools.partial(numba.njit, cache=False, error_model="numpy")

        @compiled
        def lorenz_slope(x, y, z):
            return 10 * (y - x), x * (28 - z) - y, x * y - np.float32(8 / 3) * z

        @compiled
        def lorenz_scalars(x, y, z):
            h, half, sixth = np.float32(0.001), np.float32(0.0005), np.float32(0.001 / 6)
            two = np.float32(2)
            for _ in range(1000):
                a = lorenz_slope(x, y, z)
                b = lorenz_slope(x + half * a[0], y + half * a[1], z + half * a[2])
                c = lorenz_slope(x + half * b[0], y + half * b[1], z + half * b[2])
                d = lorenz_slope(x + h * c[0], y + h * c[1], z + h * c[2])
                x = np.float32(x + sixth * (a[0] + two * b[0] + two * c[0] + d[0]))
                y = np.float32(y + sixth * (a[1] + two * b[1] + two * c[1] + d[1]))
                z = np.float32(z + sixth * (a[2] + two * b[2] + two * c[2] + d[2]))
            return x, y, z

        @compiled
        def collatz(n):
            count = 0
            n = np.int64(n)
            while n != 1:
                n = n // 2 if n % 2 == 0 else 3 * n + 1
                count += 1
            return count

        @compiled
        def van_der_pol(x, v):
            h, one, two = np.float32(0.001), np.float32(1), np.float32(2)
            for _ in range(10000):
                x, v = x + h * v, v + h * (two * (one - x * x) * v - x)
            return x, v

        @compiled
        def leapfrog(x, v):
            h, half = np.float32(0.01), np.float32(0.005)
            x, v = x.copy(), v.copy()
            for i in range(x.size):
                position, speed = x[i], v[i]
                for _ in range(1000):
                    speed -= half * np.sin(position)
                    position += h * speed
                    speed -= half * np.sin(position)
                x[i], v[i] = position, speed
            return x, v

        self.functions = {
            "lorenz_scalars": lorenz_scalars,
            "collatz": collatz,
            "van_der_pol": van_der_pol,
            "leapfrog": leapfrog,
        }

    def prepare(self, function: str, arguments: Any, is_call: bool) -> Callable[[], Any]:
        if function not in self.functions:
            raise AttributeError(function)
        return functools.partial(self.functions[function], *arguments)

    def leaves(self, result: Any) -> list[np.ndarray]:
        return [np.asarray(leaf) for leaf in _leaves(result)]


def _leaves(result: Any) -> list[Any]:
    return list(result) if isinstance(result, (tuple, list)) else [result]
