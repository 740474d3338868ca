"""Converts functions of JAX to functions of farcall."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from farcall import lax, random
from farcall import numpy as fnp
from farcall._checkpoint import checkpoint
from farcall._custom_rules import custom_jvp
from farcall._derivatives import jvp, vjp
from farcall._functions import check_callable, name_of, wraps
from farcall._repeated import repeated
from farcall._to_jax import real_jax
from farcall._vmap import vmap
from farcall.dtypes import issubdtype, prng_key
from farcall.tree import flatten

Rule = Callable[..., Any]
# Parameters that affect neither values nor shapes here.
_IGNORED = frozenset({"accuracy", "sharding", "out_sharding", "out_dtype"})


def from_jax(fun: Any) -> Callable[..., Any]:
    """Converts ``fun``, a function of JAX, to a function of farcall.

    JAX traces it for the types of the arguments, and each operation of its jaxpr is replaced by
    farcall's, so that farcall's transformations, engines and exports apply. JAX only traces; it
    executes nothing.

    Args:
      fun: a function of JAX, or the result of ``jax.make_jaxpr(f)(…)``, which becomes a function
        from its flat inputs to the list of its outputs.

    Returns:
      A function of farcall arrays in pytrees of dicts, lists and tuples. JAX traces it at each
      call; under ``farcall.jit`` it is traced once per argument types.

    Raises:
      ImportError: if JAX is not installed.
      NotImplementedError: at a call, for an operation of JAX without a counterpart here, and for
        ``jax.custom_vjp``, whose rule would be lost. The error names the operation.
    """
    jax = real_jax("from_jax")
    if hasattr(fun, "jaxpr") and hasattr(fun, "consts"):

        def run(*arrays: Any) -> list[Any]:
            if len(arrays) != len(fun.in_avals):
                raise TypeError(
                    f"from_jax: the program takes {len(fun.in_avals)} arrays, got {len(arrays)}"
                )
            return _evaluate_closed(fun, [_constant(array) for array in arrays])

        return run
    check_callable(fun, "from_jax")

    @wraps(fun)
    def call(*args: Any, **kwargs: Any) -> Any:
        leaves, tree = flatten((args, kwargs))
        arrays = [_constant(leaf) for leaf in leaves]
        types = [jax.ShapeDtypeStruct(array.shape, _dtype_in(jax, array)) for array in arrays]
        given, named = tree.unflatten(types)
        program, result = jax.make_jaxpr(fun, return_shape=True)(*given, **named)
        found = _evaluate_closed(program, arrays)
        return jax.tree.unflatten(jax.tree.structure(result), found)

    call.__name__ = name_of(fun)
    return call


def _evaluate_closed(program: Any, inputs: Sequence[Any]) -> list[Any]:
    return _evaluate(
        program.jaxpr, [_constant(value, value.dtype) for value in program.consts], inputs
    )


def _dtype_in(jax: Any, array: Any) -> Any:
    """The dtype of JAX for this array."""
    is_key = issubdtype(array.dtype, prng_key)
    return jax.eval_shape(jax.random.key, 0).dtype if is_key else array.dtype


def _constant(value: Any, dtype: Any = None) -> Any:
    jax = real_jax("from_jax")
    if isinstance(value, jax.Array) and jax.dtypes.issubdtype(value.dtype, jax.dtypes.prng_key):
        return _key_of(random.wrap_key_data)(
            np.asarray(jax.random.key_data(value)), impl=value.dtype
        )
    return fnp.asarray(value, dtype=dtype)


def _evaluate(program: Any, constants: Sequence[Any], inputs: Sequence[Any]) -> list[Any]:
    values: dict[Any, Any] = dict(zip(program.constvars, constants, strict=True))
    values.update(zip(program.invars, inputs, strict=True))

    def read(atom: Any) -> Any:
        return _constant(atom.val, atom.aval.dtype) if hasattr(atom, "val") else values[atom]

    for equation in program.eqns:
        outputs = _apply(equation, [read(atom) for atom in equation.invars])
        values.update(zip(equation.outvars, outputs, strict=True))
    return [read(atom) for atom in program.outvars]


def _apply(equation: Any, inputs: list[Any]) -> Sequence[Any]:
    name = equation.primitive.name
    params = {key: value for key, value in equation.params.items() if key not in _IGNORED}
    if equation.params.get("out_dtype") is not None:
        raise _unknown(equation)
    rule = _RULES.get(name)
    if rule is None or name in _ELEMENTWISE:
        rule = getattr(lax, name, None) if rule is None else rule
        if rule is None or params or name.startswith("custom"):
            raise _unknown(equation)
        # JAX broadcasts the operands along dimensions of size 1.
        shape = equation.outvars[0].aval.shape
        inputs = [
            fnp.broadcast_to(x, shape) if x.ndim == len(shape) and x.shape != shape else x
            for x in inputs
        ]
    found = rule(*inputs, **params)
    return found if equation.primitive.multiple_results else [found]


def _unknown(equation: Any) -> NotImplementedError:
    name, source = equation.primitive.name, str(equation).replace("\n", " ")
    return NotImplementedError(
        f'from_jax: farcall has no counterpart of JAX\'s operation "{name}" with these operands '
        f"and parameters: {source[:200]}"
    )


# ---- rules: from the operands and the parameters of JAX -----------------------------------------


def _mode(mode: Any) -> str | None:
    return None if mode is None else {"ONE_HOT": "clip"}.get(mode.name, mode.name.lower())


def _gather(
    x: Any, indices: Any, *, dimension_numbers: Any, slice_sizes: Any, mode: Any, **options: Any
) -> Any:
    numbers = lax.GatherDimensionNumbers(**dimension_numbers._asdict())
    return lax.gather(x, indices, numbers, slice_sizes, mode=_mode(mode), **options)


def _scatter(function: Callable[..., Any]) -> Rule:
    def rule(
        *inputs: Any,
        dimension_numbers: Any,
        mode: Any,
        update_jaxpr: Any,
        update_consts: Any,
        **flags: bool,
    ) -> Any:
        del update_jaxpr, update_consts  # implied by the function
        numbers = lax.ScatterDimensionNumbers(**dimension_numbers._asdict())
        return function(*inputs, numbers, mode=_mode(mode), **flags)

    return rule


def _subtract_at(x: Any, indices: Any, updates: Any, *where: Any, **options: Any) -> Any:
    return lax.scatter_add(x, indices, lax.neg(updates), *where, **options)


def _set_or_apply(
    x: Any, indices: Any, updates: Any, *, update_jaxpr: Any, update_consts: Any, **options: Any
) -> Any:
    """Writes the updates, or applies a function of the old element, as of ``x.at[i].apply``."""
    program = update_jaxpr
    if program is None or program.outvars[0] is program.invars[1]:
        rule = _scatter(lax.scatter)
        return rule(x, indices, updates, update_jaxpr=None, update_consts=None, **options)
    if any(atom is program.invars[1] for each in program.eqns for atom in each.invars):
        raise NotImplementedError(
            f"from_jax: a scatter with this function of old and new elements: {update_jaxpr}"
        )
    constants = [_constant(value, value.dtype) for value in update_consts]

    def apply(values: Any) -> Any:
        each = vmap(lambda value: _evaluate(program, constants, [value, value])[0])
        return fnp.reshape(each(fnp.ravel(values)), values.shape)

    ones = fnp.ones(updates.shape, "int32")
    counts: Any = _scatter(lax.scatter_add)(
        fnp.zeros(x.shape, "int32"), indices, ones, update_jaxpr=None, update_consts=None, **options
    )
    if not counts.is_traced:
        counts = np.asarray(counts)
    applied = apply(x) if options["unique_indices"] else repeated(apply, x, counts)
    return fnp.where(fnp.greater(counts, 0), applied, x)


def _precision(precision: Any) -> Any:
    """The same precisions; None for algorithms, which have no effect."""
    pair = type(precision) is tuple
    return tuple(lax.Precision[each.name] for each in precision) if pair else None


def _product(x: Any, y: Any, *, precision: Any, **options: Any) -> Any:
    return lax.dot_general(x, y, precision=_precision(precision), **options)


def _convolution(x: Any, kernel: Any, *, padding: Any, precision: Any, **options: Any) -> Any:
    numbers = lax.ConvDimensionNumbers(**options.pop("dimension_numbers")._asdict())
    strides = options.pop("window_strides")
    return lax.conv_general_dilated(
        x,
        kernel,
        strides,
        padding,
        dimension_numbers=numbers,
        precision=_precision(precision),
        **options,
    )


def _call(*inputs: Any, jaxpr: Any = None, call_jaxpr: Any = None, **_: Any) -> list[Any]:
    return _evaluate_closed(jaxpr if call_jaxpr is None else call_jaxpr, inputs)


def _checkpoint(*inputs: Any, jaxpr: Any, **_: Any) -> list[Any]:
    return checkpoint(lambda *arrays: _evaluate(jaxpr, [], arrays))(*inputs)


def _custom_jvp(
    *inputs: Any, call_jaxpr: Any, jvp_jaxpr_fun: Any, num_consts: int, symbolic_zeros: bool
) -> list[Any]:
    """The function with its rule; JAX traces the rule for tangents of all operands.

    The rule does not know the first operands, constants of the function.
    """
    if symbolic_zeros:
        raise NotImplementedError(
            "from_jax: a custom_jvp with symbolic zeros has no counterpart in farcall"
        )
    function = custom_jvp(lambda *arrays: tuple(_evaluate_closed(call_jaxpr, arrays)))

    @function.defjvp
    def rule(primals: Any, tangents: Any) -> Any:
        given, moving = primals[num_consts:], tangents[num_consts:]
        program, constants, out_zeros = jvp_jaxpr_fun.call_wrapped(*([False] * len(given)))
        found = _evaluate(program, [_constant(c, c.dtype) for c in constants], [*given, *moving])
        outputs, moved = found[: len(out_zeros)], iter(found[len(out_zeros) :])
        changes = [
            fnp.zeros_like(y) if is_zero else next(moved)
            for y, is_zero in zip(outputs, out_zeros, strict=True)
        ]
        return tuple(outputs), tuple(changes)

    return list(function(*inputs))


def _scan(
    *inputs: Any,
    jaxpr: Any,
    num_consts: int,
    num_carry: int,
    length: int,
    reverse: bool,
    unroll: int,
) -> list[Any]:
    constants, carry = inputs[:num_consts], inputs[num_consts : num_consts + num_carry]

    def step(carry: Any, x: Any) -> Any:
        found = _evaluate_closed(jaxpr, [*constants, *carry, *x])
        return tuple(found[:num_carry]), tuple(found[num_carry:])

    last, ys = lax.scan(
        step, tuple(carry), tuple(inputs[num_consts + num_carry :]), length, reverse, unroll
    )
    return [*last, *ys]


def _while(
    *inputs: Any, cond_jaxpr: Any, cond_nconsts: int, body_jaxpr: Any, body_nconsts: int
) -> list[Any]:
    of_cond = inputs[:cond_nconsts]
    of_body = inputs[cond_nconsts : cond_nconsts + body_nconsts]

    def cond(carry: Any) -> Any:
        return _evaluate_closed(cond_jaxpr, [*of_cond, *carry])[0]

    def body(carry: Any) -> list[Any]:
        found = _evaluate_closed(body_jaxpr, [*of_body, *carry])
        if not batch:
            return found
        goes_on = cond(carry)
        return [
            fnp.where(lax.expand_dims(goes_on, range(len(batch), new.ndim)), new, old)
            for new, old in zip(found, carry, strict=True)
        ]

    # Under vmap, JAX makes one loop with a predicate for each element. It runs while any is true.
    batch = cond_jaxpr.out_avals[0].shape
    return lax.while_loop(
        (lambda carry: fnp.any(cond(carry))) if batch else cond,
        body,
        list(inputs[cond_nconsts + body_nconsts :]),
    )


def _cond(index: Any, *operands: Any, branches: Any, **_: Any) -> list[Any]:
    functions = [functools.partial(_branch, branch) for branch in branches]
    return lax.switch(index, functions, *operands)


def _branch(program: Any, *operands: Any) -> list[Any]:
    return _evaluate_closed(program, operands)


def _linear_solve(*inputs: Any, const_lengths: Any, jaxprs: Any) -> list[Any]:
    bodies: dict[str, Any] = {}
    first = 0
    for name, count in const_lengths._asdict().items():
        bodies[name] = (getattr(jaxprs, name), inputs[first : first + count])
        first += count

    def function(name: str) -> Any:
        program, constants = bodies[name]
        if program is None:
            return None
        return lambda *args: _evaluate_closed(program, [*constants, *args[-1]])

    return lax.custom_linear_solve(
        function("matvec"),
        list(inputs[first:]),
        function("solve"),
        function("transpose_solve"),
    )


def _before(x: Any, y: Any) -> Any:
    """Whether x sorts before y in the order with -0 before 0 and NaN last."""
    if not issubdtype(x.dtype, np.floating):
        return lax.lt(x, y)
    is_smaller_zero = fnp.equal(x, y) & fnp.signbit(x) & ~fnp.signbit(y)
    return fnp.less(x, y) | is_smaller_zero | (fnp.isnan(y) & ~fnp.isnan(x))


def _svd(x: Any, *, full_matrices: bool, compute_uv: bool, subset_by_index: Any, **_: Any) -> Any:
    found = lax.linalg.svd(
        x, full_matrices=full_matrices, compute_uv=compute_uv, subset_by_index=subset_by_index
    )
    return [found[1], found[0], found[2]] if compute_uv else [found]


def _eigh(x: Any, *, algorithm: Any, **options: Any) -> Any:
    del algorithm
    return lax.linalg.eigh(x, symmetrize_input=False, **options)


def _of_each_key(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function of a key and other scalars, for arrays of them."""

    def rule(*inputs: Any, **options: Any) -> Any:
        shape = np.broadcast_shapes(*(x.shape for x in inputs))
        one = functools.partial(function, **options)
        for _ in shape:
            one = vmap(one)
        return one(*(x if x.shape == shape else fnp.broadcast_to(x, shape) for x in inputs))

    return rule


def _gamma(keys: Any, a: Any, *, log_space: bool) -> Any:
    """Numbers of the shape of ``a``, whose first dimensions are those of the keys."""
    function = random.loggamma if log_space else random.gamma

    def draw(key: Any, a: Any) -> Any:
        return function(key, a, a.shape, a.dtype)

    for _ in range(keys.ndim):
        draw = vmap(draw)
    return draw(keys, a)


def _key_of(make: Callable[[Any], Any]) -> Rule:
    def rule(data: Any, *, impl: Any) -> Any:
        if "fry" not in str(impl):
            raise NotImplementedError(f"from_jax: keys must be of kind threefry2x32, got {impl}")
        return make(data)

    return rule


def _platform_index(*, platforms: Any) -> Any:
    found = [i for i, names in enumerate(platforms) if names is None or "cpu" in names]
    return fnp.asarray(found[0], "int32")


def _least(dtype: Any) -> Any:
    if issubdtype(dtype, np.floating):
        return -np.inf
    return False if dtype == np.bool_ else fnp.iinfo(dtype).min


def _greatest(dtype: Any) -> Any:
    if issubdtype(dtype, np.floating):
        return np.inf
    return True if dtype == np.bool_ else fnp.iinfo(dtype).max


def _window(init: Any, computation: Any) -> Rule:
    def rule(x: Any, **options: Any) -> Any:
        return lax.reduce_window(x, fnp.asarray(init(x.dtype), x.dtype), computation, **options)

    return rule


_greatest_in, _least_in = _window(_least, lax.max), _window(_greatest, lax.min)


def _pool(select_prim: Any, options: dict[str, Any]) -> Callable[[Any], Any]:
    """The pooling whose derivatives JAX writes as a selection of elements."""
    rule = {"ge": _greatest_in, "le": _least_in}[select_prim.name]
    return functools.partial(rule, **options)


def _combining(program: Any, consts: Any) -> Callable[[Any, Any], Any]:
    """The function of two tuples of scalars."""
    constants = [_constant(value, value.dtype) for value in consts]
    return lambda x, y: tuple(_evaluate(program, constants, [*x, *y]))


def _reduce(*inputs: Any, computation: Any, jaxpr: Any, dimensions: Any) -> Sequence[Any]:
    del computation  # the source of the jaxpr
    count = len(inputs) // 2
    function = _combining(jaxpr.jaxpr, jaxpr.consts)
    return lax.reduce(inputs[:count], inputs[count:], function, dimensions)


def _reduce_window(*inputs: Any, jaxpr: Any, consts: Any, **options: Any) -> Sequence[Any]:
    count = len(inputs) // 2
    equation = jaxpr.eqns[0] if len(jaxpr.eqns) == 1 else None
    name = equation.primitive.name if equation else ""
    is_plain = equation and all(map(operator.is_, equation.invars, jaxpr.invars))
    if is_plain and name in ("add", "mul", "max", "min"):
        function = getattr(lax, name)
    else:
        function = _combining(jaxpr, consts)
    return lax.reduce_window(inputs[:count], inputs[count:], function, **options)


def _collective(over_dimensions: Any, over_axes: Any) -> Rule:
    """A reduction over dimensions, which vmap makes of its named axes, and over named axes."""

    def rule(x: Any, *, axes: Any, axis_index_groups: Any) -> Any:
        dimensions = tuple(sorted(axis for axis in axes if not isinstance(axis, str)))
        if dimensions and axis_index_groups is not None:
            raise NotImplementedError("from_jax: axis_index_groups with vmap has no counterpart")
        names = tuple(axis for axis in axes if isinstance(axis, str))
        x = over_dimensions(x, dimensions) if dimensions else x
        return over_axes(x, names, axis_index_groups=axis_index_groups) if names else x

    return rule


def _ragged_product(
    x: Any, y: Any, sizes: Any, *, ragged_dot_dimension_numbers: Any, precision: Any, **options: Any
) -> Any:
    numbers = ragged_dot_dimension_numbers
    is_plain = (
        numbers.dot_dimension_numbers == (((1,), (1,)), ((), ()))
        and tuple(numbers.lhs_ragged_dimensions) == (0,)
        and tuple(numbers.rhs_group_dimensions) == (0,)
    )
    if not is_plain:
        raise NotImplementedError(f"from_jax: ragged_dot_general with these dimensions: {numbers}")
    return lax.ragged_dot(x, y, sizes, precision=_precision(precision), **options)


def _approx_top_k(x: Any, *, is_max_k: bool, **options: Any) -> Any:
    return (lax.approx_max_k if is_max_k else lax.approx_min_k)(x, **options)


def _reduction(function: Callable[..., Any]) -> Rule:
    return lambda x, *, axes: function(x, tuple(axes))


# Operations whose parameters have the same names in farcall.
_SAME = (
    *("integer_pow", "broadcast_in_dim", "transpose", "slice", "rev", "squeeze", "pad", "split"),
    *("reduce_precision", "cumsum", "cumprod", "cummax", "cummin", "cumlogsumexp"),
)
_REDUCTIONS = ("reduce_sum", "reduce_max", "reduce_min", "reduce_prod", "reduce_and", "reduce_or")
_SCATTERS = ("scatter_add", "scatter_mul", "scatter_min", "scatter_max")

# Elementwise operations with rules of their own.
_ELEMENTWISE = frozenset({"and", "or", "xor", "not", "pow", "regularized_incomplete_beta"})

_RULES: dict[str, Rule] = {
    **{name: getattr(lax, name) for name in _SAME},
    **{name: _reduction(getattr(lax, name)) for name in (*_REDUCTIONS, "reduce_xor")},
    **{name.replace("_", "-"): _scatter(getattr(lax, name)) for name in _SCATTERS},
    "add_any": lax.add,
    "approx_top_k": _approx_top_k,
    "ragged_dot_general": _ragged_product,
    "custom_linear_solve": _linear_solve,
    "device_put": lambda *xs, **_: xs,
    "eig": lax.linalg.eig,
    "eigh": _eigh,
    "empty": lambda *, shape, dtype: fnp.zeros(shape, dtype),
    "empty2": lambda *, dtype, **_: fnp.zeros((), dtype),
    "schur": lax.linalg.schur,
    **{
        name: getattr(lax.linalg, name)
        for name in ("cholesky_update", "hessenberg", "householder_product", "ormqr")
    },
    **{name: getattr(lax.linalg, name) for name in ("tridiagonal", "tridiagonal_solve")},
    "scatter": _set_or_apply,
    "scatter-sub": _scatter(_subtract_at),
    "select_and_gather_add": lambda tangents, x, *, select_prim, **options: jvp(
        _pool(select_prim, options), (x,), (tangents,)
    )[1],
    "select_and_scatter_add": lambda source, x, *, select_prim, **options: vjp(
        _pool(select_prim, options), x
    )[1](source)[0],
    "pow": lambda x, y: lax.pow(x, fnp.astype(y, x.dtype)),
    "pmax": _collective(lax.reduce_max, lax.pmax),
    "pmin": _collective(lax.reduce_min, lax.pmin),
    "psum": _collective(lax.reduce_sum, lax.psum),
    "fft": lambda x, *, fft_type, fft_lengths: lax.fft(x, lax.FftType(int(fft_type)), fft_lengths),
    "le_to": lambda x, y: ~_before(y, x),
    "lt_to": _before,
    "lu": lax.linalg.lu,
    "lu_pivots_to_permutation": lax.linalg.lu_pivots_to_permutation,
    "cholesky": lambda x: lax.linalg.cholesky(x, symmetrize_input=False),
    "platform_index": _platform_index,
    "qr": lambda x, **options: lax.linalg.qr(x, **options),
    "random_bits": _of_each_key(
        lambda key, *, bit_width, shape: random.bits(key, shape, f"uint{bit_width}")
    ),
    "random_clone": lambda key: key,
    "random_gamma": _gamma,
    "random_fold_in": _of_each_key(random.fold_in),
    "random_seed": _key_of(_of_each_key(random.key)),
    "random_split": _of_each_key(lambda key, *, shape: random.split(key, shape)),
    "random_unwrap": random.key_data,
    "random_wrap": _key_of(random.wrap_key_data),
    "reduce": _reduce,
    "reduce_window": _reduce_window,
    "reduce_window_max": _greatest_in,
    "reduce_window_min": _least_in,
    "reduce_window_sum": _window(lambda dtype: 0, lax.add),
    "regularized_incomplete_beta": lax.betainc,
    "round": lambda x, *, rounding_method: lax.round(x, int(rounding_method)),
    "svd": _svd,
    "top_k": lambda x, *, k, axis: lax.top_k(x, k, axis),
    "triangular_solve": lax.linalg.triangular_solve,
    "and": lax.bitwise_and,
    "or": lax.bitwise_or,
    "xor": lax.bitwise_xor,
    "not": lax.bitwise_not,
    "argmax": lambda x, *, axes, index_dtype: lax.argmax(x, axes[0], index_dtype),
    "argmin": lambda x, *, axes, index_dtype: lax.argmin(x, axes[0], index_dtype),
    "bitcast_convert_type": lambda x, *, new_dtype: lax.bitcast_convert_type(x, new_dtype),
    "checkpoint": _checkpoint,
    "closed_call": _call,
    "concatenate": lambda *xs, dimension: lax.concatenate(xs, dimension),
    "cond": _cond,
    "conv_general_dilated": _convolution,
    "convert_element_type": lambda x, *, new_dtype, weak_type: lax.convert_element_type(
        x, new_dtype
    ),
    "conj": lambda x, *, input_dtype: lax.conj(fnp.astype(x, np.result_type(x.dtype, "complex64"))),
    "composite": _call,
    "copy": lambda x: x,
    "copy_p": lambda x: x,
    "custom_jvp_call": _custom_jvp,
    "dce_sink": lambda *xs: [],
    "dot_general": _product,
    "dynamic_slice": lambda x, *starts, slice_sizes: lax.dynamic_slice(x, starts, slice_sizes),
    "dynamic_update_slice": lambda x, y, *starts: lax.dynamic_update_slice(x, y, starts),
    "gather": _gather,
    "iota": lambda *, dtype, shape, dimension: lax.broadcasted_iota(dtype, shape, dimension),
    "jit": _call,
    "optimization_barrier": lambda *xs: xs,
    "pjit": _call,
    "remat2": _checkpoint,
    "reshape": lambda x, *, new_sizes, dimensions: lax.reshape(x, new_sizes, dimensions),
    "scan": _scan,
    "sort": lambda *xs, **options: lax.sort(xs, **options),
    "stack": lambda *xs, axis: fnp.stack(xs, axis),
    "stop_gradient": lax.stop_gradient,
    "unstack": lambda x, *, axis: fnp.unstack(x, axis=axis),
    "tile": lambda x, *, reps: fnp.tile(x, reps),
    "while": _while,
}
