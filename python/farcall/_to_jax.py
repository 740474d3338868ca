"""Converts functions of farcall to functions of JAX."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy

from farcall import _core
from farcall._array import ShapeDtypeStruct
from farcall._as_jax import StandIn
from farcall._config import config
from farcall._functions import check_callable, name_of, wraps

_exchange = _core.exchange
_TARGET = "farcall.program"


def real_jax(where: str) -> Any:
    """The module jax. Raises ImportError if it is not installed, or is farcall itself."""
    try:
        import jax
    except ImportError as error:
        raise ImportError(f"{where}: needs JAX, which cannot be imported ({error})") from error
    if isinstance(jax, StandIn):
        raise ImportError(f"{where}: jax is farcall here, made by farcall.as_jax()")
    return jax


def to_jax(fun: Callable[..., Any]) -> Callable[..., Any]:
    """Makes a function of JAX that runs ``fun`` and supports all transformations of JAX.

    farcall records it for the types of its arguments, and JAX calls the compiled program as a
    foreign function. ``jax.jit``, ``grad``, ``jvp``, ``vmap`` and other transformations apply in
    any order: farcall derives and batches its own programs, with the rules of ``define``,
    ``custom_jvp`` and ``custom_vjp``.

    Args:
      fun: takes and returns pytrees of arrays. Its Python code must not depend on array values; it
        may use callbacks. Side effects (``has_side_effect``, ``debug.print``, ``io_callback``)
        happen once per execution of the call: with ``ordered=True`` in program order, which
        includes JAX's own ordered callbacks; otherwise in an order that JAX chooses. Closed-over
        arrays keep the values of the first call.

    Returns:
      A function with the same arguments, for JAX arrays on the CPU, traced or not.

    Raises:
      ImportError: if JAX is not installed.
      ValueError: at a call, if the program has 64-bit results while ``jax_enable_x64`` is off.
    """
    check_callable(fun, "to_jax")
    jax = real_jax("to_jax")
    name = name_of(fun)
    where = f"to_jax({name})"

    @functools.lru_cache(maxsize=_MAX_PROGRAMS)
    def record(tree: Any, types: tuple[ShapeDtypeStruct, ...], x64: bool) -> Any:
        del x64  # only a cache key: the flag changes what is recorded

        def flat(*leaves: Any) -> Any:
            args, kwargs = jax.tree.unflatten(tree, leaves)
            return fun(*args, **kwargs)

        program, out_tree, captured = _core.transforms.trace_closure(flat, where, name, types)
        return program, out_tree, [numpy.asarray(array) for array in captured]

    @wraps(fun)
    def call(*args: Any, **kwargs: Any) -> Any:
        # Containers that contain themselves end in a RecursionError here; JAX raises SystemError.
        _core.tree_flatten((args, kwargs), None)
        leaves, tree = jax.tree.flatten((args, kwargs))
        arrays = [jax.numpy.asarray(leaf) for leaf in leaves]
        types = tuple(ShapeDtypeStruct(array.shape, array.dtype) for array in arrays)
        program, out_tree, captured = record(tree, types, config.enable_x64)
        if not jax.config.jax_enable_x64:
            _refuse_64_bits(where, program)
        results = _primitive().bind(*captured, *arrays, program=program)
        return out_tree.unflatten(results)

    return call


# Limit of programs of one function, for arguments of different types.
_MAX_PROGRAMS = 256


def _refuse_64_bits(where: str, program: _core.Program) -> None:
    for number, type_ in enumerate(program.out_avals):
        if type_.dtype.itemsize > (8 if type_.dtype.kind == "c" else 4):
            raise ValueError(
                f"{where}: result {number} is {type_.dtype}, which JAX makes 32 bits wide unless "
                "jax_enable_x64 is on; switch it on, or convert the result"
            )


@functools.cache
def _primitive() -> Any:
    """The JAX primitive with a single parameter ``program``; derived programs use it too."""
    from jax.experimental import io_callback
    from jax.extend.core import Primitive
    from jax.interpreters import ad, batching, mlir

    jax = real_jax("to_jax")
    jax.ffi.register_ffi_target(_TARGET, _exchange.program_handlers(), platform="cpu")
    primitive = Primitive("farcall")
    primitive.multiple_results = True

    # The effects of JAX's own foreign calls and ordered callbacks, and the type of tokens, have no
    # public names in JAX.
    nothing = jax.ShapeDtypeStruct((), numpy.float32)
    unordered = jax.make_jaxpr(jax.ffi.ffi_call(_TARGET, nothing, has_side_effect=True))().effects
    callback = functools.partial(io_callback, print, None, ordered=True)
    ordered = jax.make_jaxpr(callback)().effects
    token_type = jax.make_jaxpr(jax.lax.create_token)().out_avals[0]

    def types(*_: Any, program: Any) -> list[Any]:
        return [jax.core.ShapedArray(t.shape, t.dtype) for t in program.out_avals]

    def types_and_effects(*_: Any, program: Any) -> Any:
        effects = ordered if "ordered" in program.effects else unordered
        return types(program=program), effects if program.effects else set()

    primitive.def_effectful_abstract_eval(types_and_effects)

    @functools.lru_cache(maxsize=_MAX_PROGRAMS)
    def compiled(program: Any) -> Any:
        return jax.jit(lambda *arrays: primitive.bind(*arrays, program=program))

    primitive.def_impl(lambda *arrays, program: compiled(program)(*arrays))

    def lower(context: Any, *operands: Any, program: Any) -> Any:
        names = (str(equation.primitive) for equation, _ in program.walk())
        if any(name.endswith("_callback") for name in names):
            context.module_context.add_keepalive(program)  # keeps its callbacks alive
        rule = jax.ffi.ffi_lowering(_TARGET, has_side_effect=bool(program.effects))
        text = program.to_text()
        if "ordered" not in program.effects:
            return rule(context, *operands, program=text)
        # JAX keeps the order by a token, which is the first operand and result of each call.
        (effect,) = ordered
        inner = context.replace(
            avals_in=[token_type, *context.avals_in], avals_out=[token_type, *context.avals_out]
        )
        token, *results = rule(inner, context.tokens_in.get(effect), *operands, program=text)
        context.set_tokens_out(context.tokens_in.update_tokens(mlir.TokenSet({effect: token})))
        return results

    mlir.register_lowering(primitive, lower, platform="cpu")

    def jvp(primals: Any, tangents: Any, *, program: Any) -> Any:
        varies = [not _is_zero(ad, tangent) for tangent in tangents]
        given = [t for t, it_varies in zip(tangents, varies, strict=True) if it_varies]
        known, linear, depends = _exchange.linearized(program, varies)
        results = primitive.bind(*primals, program=known)
        outputs, residuals = results[: len(depends)], results[len(depends) :]
        moved = iter(primitive.bind(*residuals, *given, program=linear))
        return outputs, [
            next(moved) if it_depends else ad.Zero(type_.to_tangent_aval())
            for type_, it_depends in zip(types(program=program), depends, strict=True)
        ]

    def transpose(cotangents: Any, *inputs: Any, program: Any) -> list[Any]:
        is_linear = [ad.is_undefined_primal(x) for x in inputs]
        has_cotangent = [not _is_zero(ad, cotangent) for cotangent in cotangents]
        backward = _exchange.transposed(program, is_linear, has_cotangent)
        known = [x for x, linear in zip(inputs, is_linear, strict=True) if not linear]
        given = [ct for ct, there in zip(cotangents, has_cotangent, strict=True) if there]
        found = iter(primitive.bind(*known, *given, program=backward))
        return [next(found) if linear else None for linear in is_linear]

    def batch(inputs: Any, axes: Any, *, program: Any) -> Any:
        size = next(x.shape[axis] for x, axis in zip(inputs, axes, strict=True) if axis is not None)
        numbers = [-1 if axis is None else axis for axis in axes]
        results = primitive.bind(*inputs, program=_exchange.batched(program, size, numbers))
        return results, [0] * len(results)

    ad.primitive_jvps[primitive] = jvp
    ad.primitive_transposes[primitive] = transpose
    batching.primitive_batchers[primitive] = batch
    return primitive


def _is_zero(ad: Any, tangent: Any) -> bool:
    # Tangents of integers have dtype float0 and are zero.
    return isinstance(tangent, ad.Zero) or tangent.dtype.kind == "V"
