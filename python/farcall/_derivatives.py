"""Derivatives: jvp, vjp, linearize, linear_transpose, grad and the Jacobians."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from farcall import _core
from farcall._functions import P, argument_numbers, check_callable, name_of, wraps

_transforms = _core.transforms

for _class in (_transforms.LinearFunction, _transforms.PullbackFunction):
    _core.register_pytree_node(_class, _class._flatten, _class._unflatten)


def jvp(fun: Callable[..., Any], primals: Any, tangents: Any, has_aux: bool = False) -> Any:
    """The results of ``fun`` and their directional derivative (forward mode).

    Args:
      fun: takes and returns pytrees of arrays.
      primals: a tuple or list of the arguments at which the derivative is taken.
      tangents: the direction, with the structure, shapes and dtypes of ``primals``. Tangents of
        ints and bools are numpy arrays of dtype ``farcall.dtypes.float0``.
      has_aux: whether ``fun`` returns a pair (results, auxiliary data).

    Returns:
      ``(results, tangents of the results)``, and the auxiliary data as a third entry with has_aux.

    Raises:
      TypeError: if structures or dtypes of primals and tangents differ.
      ValueError: if shapes differ.
    """
    check_callable(fun, "jvp")
    return _transforms.jvp(fun, f"jvp({name_of(fun)})", primals, tangents, has_aux)


def vjp(fun: Callable[..., Any], *primals: Any, has_aux: bool = False) -> Any:
    """The results of ``fun`` and its vector-Jacobian product as a function (reverse mode).

    Args:
      fun: takes and returns pytrees of arrays.
      primals: the arguments at which the derivative is taken.
      has_aux: whether ``fun`` returns a pair (results, auxiliary data).

    Returns:
      ``(results, pullback)``, and the auxiliary data as a third entry with has_aux. ``pullback``
      takes a cotangent with the structure, shapes and dtypes of the results and returns the tuple
      of cotangents of the arguments. It may be called any number of times. It is a pytree of its
      residuals, so that jitted functions may take and return it. Cotangents of ints and bools are
      numpy arrays of dtype ``farcall.dtypes.float0``.
    """
    check_callable(fun, "vjp")
    return _transforms.vjp(fun, f"vjp({name_of(fun)})", primals, has_aux)


def linearize(fun: Callable[..., Any], *primals: Any, has_aux: bool = False) -> Any:
    """The results of ``fun`` and its derivative as a linear function of tangents.

    ``fun`` runs once. The linear function may be called any number of times; a call costs only the
    derivative.

    Args:
      fun: takes and returns pytrees of arrays.
      primals: the arguments at which the derivative is taken.
      has_aux: whether ``fun`` returns a pair (results, auxiliary data).

    Returns:
      ``(results, linear function)``, and the auxiliary data as a third entry with has_aux. The
      linear function takes a tangent for each argument and is a pytree of its residuals.
    """
    check_callable(fun, "linearize")
    return _transforms.linearize(fun, f"linearize({name_of(fun)})", primals, has_aux)


def linear_transpose(fun: Callable[..., Any], *primals: Any) -> Callable[..., Any]:
    """The transpose of a linear function.

    Args:
      fun: linear in all its arguments.
      primals: arrays or ShapeDtypeStructs; only shapes and dtypes matter.

    Returns:
      A function that takes a value with the structure, shapes and dtypes of the results of ``fun``
      and returns the tuple of cotangents of the arguments.

    Raises:
      TypeError: for arguments or results that are neither floats nor complex numbers.
      NotImplementedError: at a call of the transpose, for an operation that is not linear.
    """
    check_callable(fun, "linear_transpose")
    return _transforms.linear_transpose(fun, f"linear_transpose({name_of(fun)})", primals)


def value_and_grad(
    fun: Callable[P, Any],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
) -> Callable[P, Any]:
    """A function that returns ``fun``'s value and its gradient.

    Args:
      fun: returns a scalar.
      argnums: the positional arguments to differentiate with respect to.
      has_aux: whether ``fun`` returns a pair (scalar, auxiliary data).
      holomorphic: declares that ``fun`` is holomorphic, with complex arguments and results.
      allow_int: whether arguments may hold ints; their gradient is of dtype float0.

    Returns:
      A function with the arguments of ``fun``. It returns ``(value, gradient)`` or
      ``((value, aux), gradient)``; the gradient has the structure, shapes and dtypes of the
      argument; it is a tuple if ``argnums`` is a sequence.

    Raises:
      TypeError: at a call, for arguments or results that cannot be differentiated: ints, results
        that are not scalars, complex results without ``holomorphic``.
    """
    return _value_and_grad("value_and_grad", fun, argnums, has_aux, holomorphic, allow_int)[0]


def grad(
    fun: Callable[P, Any],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
) -> Callable[P, Any]:
    """A function that returns the gradient of ``fun``, or ``(gradient, aux)``.

    Arguments and errors are as for value_and_grad.
    """
    return _value_and_grad("grad", fun, argnums, has_aux, holomorphic, allow_int)[1]


def _value_and_grad(
    called: str,
    fun: Callable[P, Any],
    argnums: Any,
    has_aux: bool,
    holomorphic: bool,
    allow_int: bool,
) -> tuple[Callable[P, Any], Callable[P, Any]]:
    check_callable(fun, called)
    where = f"{called}({name_of(fun)})"
    numbers, is_single = argument_numbers(argnums, where)
    options = (where, numbers, is_single, has_aux, holomorphic, allow_int)

    @wraps(fun)
    def both(*args: P.args, **kwargs: P.kwargs) -> Any:
        value, gradient, *aux = _transforms.value_and_grad(fun, *options, args, kwargs)
        return ((value, *aux) if aux else value), gradient

    @wraps(fun)
    def gradient_alone(*args: P.args, **kwargs: P.kwargs) -> Any:
        _, *rest = _transforms.value_and_grad(fun, *options, args, kwargs)
        return tuple(rest) if has_aux else rest[0]

    return both, gradient_alone


def _jacobian(
    is_forward: bool,
    fun: Callable[P, Any],
    argnums: int | Sequence[int],
    has_aux: bool,
    holomorphic: bool,
    allow_int: bool,
) -> Callable[P, Any]:
    name = "jacfwd" if is_forward else "jacrev"
    check_callable(fun, name)
    where = f"{name}({name_of(fun)})"
    options = (where, *argument_numbers(argnums, where), has_aux, holomorphic, allow_int)

    @wraps(fun)
    def jacobian_of(*args: P.args, **kwargs: P.kwargs) -> Any:
        return _transforms.jacobian(is_forward, fun, *options, args, kwargs)

    return jacobian_of


def jacfwd(
    fun: Callable[P, Any],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
) -> Callable[P, Any]:
    """A function that returns the Jacobian of ``fun``, computed by batched forward mode.

    Efficient if there are fewer inputs than outputs.

    Args:
      fun: takes and returns pytrees of arrays.
      argnums: the positional arguments to differentiate with respect to; real floats.
      has_aux: whether ``fun`` returns a pair (results, auxiliary data).
      holomorphic: declares that ``fun`` is holomorphic, with complex arguments and results.

    Returns:
      A function with the arguments of ``fun``. Its result has the structure of ``fun``'s result,
      with each array replaced by the structure of the argument (a tuple if ``argnums`` is a
      sequence). Each array there has the shape of the result followed by that of the argument. With
      has_aux the function returns a pair of this and the auxiliary data.

    Raises:
      TypeError: at a call, for arguments of other dtypes.
    """
    return _jacobian(True, fun, argnums, has_aux, holomorphic, False)


def jacrev(
    fun: Callable[P, Any],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
) -> Callable[P, Any]:
    """A function that returns the Jacobian of ``fun``, computed by batched reverse mode.

    Efficient if there are fewer outputs than inputs. Arguments, results and errors are as for
    jacfwd; ``allow_int`` as for grad.
    """
    return _jacobian(False, fun, argnums, has_aux, holomorphic, allow_int)


jacobian = jacrev


def hessian(
    fun: Callable[P, Any],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
) -> Callable[P, Any]:
    """A function that returns the matrix of second derivatives of ``fun``.

    It is ``jacfwd(jacrev(fun))``; arguments and errors are as for these.
    """
    first = jacrev(fun, argnums, has_aux, holomorphic)
    return jacfwd(first, argnums, has_aux, holomorphic)
