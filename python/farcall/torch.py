"""Torch: functions and foreign targets of farcall as custom operators."""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable, Sequence
from typing import Any

from farcall import _core
from farcall._array import ShapeDtypeStruct
from farcall._config import config
from farcall._functions import check_callable, name_of
from farcall._jit import jit
from farcall._public import show_names_of

__all__ = ["register"]

_exchange = _core.exchange
_MAX_PROGRAMS = 256  # limit for one operator
_libraries: dict[str, Any] = {}  # by namespace; keeps alive what torch calls


def _torch() -> Any:
    try:
        import torch
    except ImportError as error:
        raise ImportError(f"torch.register: needs torch ({error})") from error
    return torch


def register(name: str, fun: Callable[..., Any], schema: str | None = None) -> Any:
    """Registers a custom operator of torch that runs ``fun`` on the CPU.

    farcall records and compiles the operator for the types of each call. It reads and writes
    torch's memory in place, and runs without the interpreter lock. It has reverse-mode derivatives
    of any order, which use all of farcall's rules (``define``, ``custom_vjp``), and computes shapes
    for tensors on the device ``meta``. ``functorch.vmap`` calls it once for a whole batch, by
    farcall's batching rules (``vmap_method``), but without derivatives. To have both, register a
    function that calls ``farcall.vmap``.

    Args:
      name: the name with a namespace; ``"mine::rms_norm"`` becomes ``torch.ops.mine.rms_norm``.
      fun: a function of arrays, such as a Definition; a jitted function; or a program. It returns
        an array or a tuple of arrays.
      schema: torch's schema, such as ``"(Tensor x, *, float eps=1e-5) -> (Tensor, Tensor)"``.
        Tensors are passed by position, or None for a ``Tensor?``; other arguments by name, as
        static values, lists as tuples. Lists of tensors are not supported. By default, the
        parameters of ``fun`` without a default are tensors, and there is one result.

    Returns:
      The operator.

    Raises:
      ImportError: if torch is not installed.
      ValueError: for a name without a namespace, and if the schema cannot be inferred.
      RuntimeError: from torch, for an invalid schema or a name that is taken.
      NotImplementedError: at a call, for derivatives inside of torch's ``vmap``.
      TypeError: at a call, for a tensor that is not dense, not on the CPU or of an unsupported
        dtype, and if the number of results differs from the schema.
    """
    torch = _torch()
    function: Any = fun
    if isinstance(fun, _core.Program):
        function = lambda *arrays: tuple(fun(*arrays))  # noqa: E731
    check_callable(function, "torch.register")
    namespace, separator, own_name = name.partition("::")
    if not separator or not namespace or not own_name:
        raise ValueError(
            f'torch.register: expected a name with a namespace, "mine::{name}", got "{name}"'
        )
    schema = schema or _schema_of(function, name)
    if re.search(r"Tensor\??\[", schema):
        raise ValueError(
            f'torch.register("{name}"): lists of tensors are not supported; give each tensor an '
            "argument of its own"
        )
    library = _library(torch, namespace)
    library.define(own_name + schema)
    operator = getattr(getattr(torch.ops, namespace), own_name)
    kernels = _Operator(torch, name, function, operator.default._schema)
    library.impl(own_name, kernels.run, "CPU")
    library.impl(own_name, kernels.run_with_derivatives, "AutogradCPU")
    for key in ("Meta", "AutogradMeta"):
        library.impl(own_name, kernels.infer, key)
    if hasattr(getattr(torch._C, "_functorch", None), "is_batchedtensor"):  # since torch 1.13
        library.impl(own_name, kernels.run_batched, "FuncTorchBatched")
    return operator


def _schema_of(function: Any, name: str) -> str:
    """The schema of a function whose parameters are all tensors."""
    parameters: Sequence[inspect.Parameter] = ()
    try:
        parameters = list(inspect.signature(function).parameters.values())
        is_clear = all(
            p.kind is p.POSITIONAL_OR_KEYWORD and p.default is p.empty for p in parameters
        )
    except (TypeError, ValueError):
        is_clear = False
    if not is_clear:
        raise ValueError(
            f'torch.register("{name}"): give the schema, such as "(Tensor x, *, float eps=1e-5) -> '
            f'Tensor": the parameters of {name_of(function)} do not tell it'
        )
    return f"({', '.join(f'Tensor {p.name}' for p in parameters)}) -> Tensor"


def _library(torch: Any, namespace: str) -> Any:
    found = _libraries.get(namespace)
    if found is None:
        try:
            found = torch.library.Library(namespace, "FRAGMENT")
        except ValueError:  # torch before 2.0
            found = torch.library.Library(namespace, "DEF")
        _libraries[namespace] = found
    return found


class _Operator:
    """The implementations that torch calls, by the kind of tensors."""

    def __init__(self, torch: Any, name: str, function: Any, schema: Any) -> None:
        self._torch = torch
        self._where = f"torch.ops.{name.replace('::', '.')}"
        self._arguments = [
            (a.name, str(a.type) in ("Tensor", "Optional[Tensor]"), a.default_value)
            for a in schema.arguments
        ]
        self._num_results = len(schema.returns)
        self._call = _differentiable_call()
        where = self._where

        @functools.lru_cache(maxsize=_MAX_PROGRAMS)
        def record(tensors: Any, attributes: tuple[tuple[str, Any], ...], x64: bool) -> Any:
            del x64  # only a cache key: the flag changes what is recorded
            static = dict(attributes)
            types = [ShapeDtypeStruct(t[0], _dtype_name(where, t[1])) for t in tensors if t]

            def run(*arrays: Any) -> Any:
                given = iter(arrays)
                return function(*[next(given) if t else None for t in tensors], **static)

            run.__name__ = name_of(function)
            program = jit(run).lower(*types).program
            if len(program.out_avals) != self._num_results:
                plural = "" if self._num_results == 1 else "s"
                raise TypeError(
                    f"{where}: the schema has {self._num_results} result{plural}, the function "
                    f"returned {len(program.out_avals)}"
                )
            return program

        self._record = record

    def run(self, *args: Any, **kwargs: Any) -> Any:
        program, tensors = self._program(args, kwargs)
        return self._results(_run(self._torch, self._where, program, tensors))

    def run_with_derivatives(self, *args: Any, **kwargs: Any) -> Any:
        program, tensors = self._program(args, kwargs)
        if any(t.requires_grad for t in tensors) and self._torch.is_grad_enabled():
            return self._results(self._call.apply(self._where, program, *tensors))
        return self._results(_run(self._torch, self._where, program, tensors))

    def run_batched(self, *args: Any, **kwargs: Any) -> Any:
        """Runs one call for the whole batch: batches the program for each enclosing vmap."""
        program, tensors = self._program(args, kwargs)
        functorch, levels = self._torch._C._functorch, []
        while any(map(functorch.is_batchedtensor, tensors)):
            level_of = [
                functorch.maybe_get_level(t) if functorch.is_batchedtensor(t) else -1
                for t in tensors
            ]
            levels.append(max(level_of))
            axes = [
                functorch.maybe_get_bdim(t) if level == levels[-1] else -1
                for t, level in zip(tensors, level_of, strict=True)
            ]
            tensors = [
                t if axis == -1 else functorch.get_unwrapped(t)
                for t, axis in zip(tensors, axes, strict=True)
            ]
            size = next(t.shape[a] for t, a in zip(tensors, axes, strict=True) if a != -1)
            program = _batched(program, size, tuple(axes))
        is_varied = any(t.requires_grad for t in tensors) and self._torch.is_grad_enabled()
        if is_varied or any(map(functorch.is_functorch_wrapped_tensor, tensors)):
            raise NotImplementedError(
                f"{self._where}: torch cannot differentiate a Python operator inside torch's vmap. "
                "Register farcall.vmap(function) as the operator instead"
            )
        results = _run(self._torch, self._where, program, tensors)
        for level in reversed(levels):
            results = [functorch._add_batch_dim(result, 0, level) for result in results]
        return self._results(results)

    def infer(self, *args: Any, **kwargs: Any) -> Any:
        program, _ = self._program(args, kwargs)
        return self._results(_empty(self._torch, program, "meta"))

    def _program(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, list[Any]]:
        given = {name: default for name, _, default in self._arguments}
        given.update(zip(given, args, strict=False))
        given.update(kwargs)
        tensors = [given[name] for name, is_tensor, _ in self._arguments if is_tensor]
        attributes = tuple(
            (name, _hashable(given[name]))
            for name, is_tensor, _ in self._arguments
            if not is_tensor
        )
        types = tuple([t if t is None else (t.shape, t.dtype) for t in tensors])
        program = self._record(types, attributes, config.enable_x64)
        return program, [t for t in tensors if t is not None]

    def _results(self, results: Sequence[Any]) -> Any:
        return results[0] if self._num_results == 1 else tuple(results)


def _hashable(value: Any) -> Any:
    """A static value: torch passes lists, functions get tuples."""
    return tuple(map(_hashable, value)) if isinstance(value, list) else value


def _dtype_name(where: str, dtype: Any) -> str:
    name = str(dtype).removeprefix("torch.")
    try:
        ShapeDtypeStruct((), name)
    except (TypeError, ValueError):
        raise TypeError(f"{where}: farcall has no dtype {dtype}") from None
    return name


def _empty(torch: Any, program: Any, device: str) -> list[Any]:
    return [torch.empty(shape, dtype=t, device=device) for shape, t in _compiled(program)[1]]


@functools.lru_cache(maxsize=1024)
def _batched(program: Any, size: int, axes: tuple[int, ...]) -> Any:
    return _exchange.batched(program, size, list(axes))


@functools.lru_cache(maxsize=1024)
def _compiled(program: Any) -> Any:
    """A function that runs a program, and the shapes and torch dtypes of its results."""
    torch = _torch()
    results = [(t.shape, getattr(torch, str(t.dtype))) for t in program.out_avals]
    return _exchange.Runner(program), results


def _run(torch: Any, where: str, program: Any, tensors: Sequence[Any]) -> list[Any]:
    dense = []
    for tensor in tensors:
        if tensor.layout is not torch.strided or tensor.device.type != "cpu":
            raise TypeError(
                f"{where}: expected dense tensors on the CPU, got one on {tensor.device} of layout "
                f"{tensor.layout}"
            )
        dense.append(tensor.resolve_conj().resolve_neg().contiguous())
    results = _empty(torch, program, "cpu")
    runner, _ = _compiled(program)
    runner([t.data_ptr() for t in dense], [t.data_ptr() for t in results])
    return results


@functools.cache
def _differentiable_call() -> Any:
    """The autograd function that runs a program: ``apply(where, program, *tensors)``."""
    torch = _torch()

    class Call(torch.autograd.Function):
        @staticmethod
        def forward(context: Any, where: str, program: Any, *tensors: Any) -> Any:
            varies = [
                needs and (t.is_floating_point() or t.is_complex())
                for needs, t in zip(context.needs_input_grad[2:], tensors, strict=True)
            ]
            if not any(varies):
                return tuple(_run(torch, where, program, tensors))
            known, linear, depends = _exchange.linearized(program, varies)
            made = _run(torch, where, known, tensors)
            outputs, residuals = made[: len(depends)], made[len(depends) :]
            context.set_materialize_grads(False)
            context.save_for_backward(*tensors, *residuals)
            context.mark_non_differentiable(
                *(y for y, it_depends in zip(outputs, depends, strict=True) if not it_depends)
            )
            context.of = where, known, linear, varies, depends
            return tuple(outputs)

        @staticmethod
        def backward(context: Any, *cotangents: Any) -> Any:
            where, known, linear, varies, depends = context.of
            saved = context.saved_tensors
            tensors, residuals = saved[: len(varies)], saved[len(varies) :]
            if torch.is_grad_enabled():  # for higher derivatives
                residuals = Call.apply(where, known, *tensors)[len(depends) :]
            own = [ct for ct, it_depends in zip(cotangents, depends, strict=True) if it_depends]
            # For complex numbers, torch's gradients are the conjugates of cotangents.
            given = [ct.conj() for ct in own if ct is not None]
            is_linear = [False] * len(residuals) + [True] * sum(varies)
            backward = _exchange.transposed(linear, is_linear, [ct is not None for ct in own])
            found = iter(Call.apply(where, backward, *residuals, *given))
            gradients = [next(found).conj() if it_varies else None for it_varies in varies]
            return None, None, *gradients

    return Call


show_names_of(__name__)
