"""lax.platform_dependent: the branch of the platform, in every transformation, as in JAX."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import farcall as fc
import farcall.numpy as fnp
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from farcall import ffi, lax
from farcall.testing import check_batching, check_derivatives

X = np.array([0.5, 1.0, 1.5], np.float32)
BOTH = pytest.mark.parametrize("both", [(fc, fnp), (jax, jnp)], ids=["farcall", "jax"])


def by_platform(module: ModuleType, np_like: ModuleType) -> Any:
    """sin of a dict's entry on the CPU, cos elsewhere."""

    def choose(tree: Any, scale: Any) -> Any:
        return module.lax.platform_dependent(
            tree,
            scale,
            cpu=lambda tree, scale: {"y": np_like.sin(tree["x"]) * scale},
            cuda=lambda tree, scale: {"y": np_like.cos(tree["x"]) * scale},
            default=lambda tree, scale: {"y": tree["x"] * scale},
        )

    return choose


@BOTH
@pytest.mark.parametrize("jit", [False, True], ids=["eager", "jit"])
def test_the_branch_of_the_platform(both: Any, jit: bool) -> None:
    module, np_like = both
    choose = by_platform(module, np_like)
    f = module.jit(choose) if jit else choose
    np.testing.assert_allclose(f({"x": X}, 2.0)["y"], 2 * np.sin(X), rtol=1e-6)
    mapped = module.vmap(f, (0, None))({"x": X}, 2.0)["y"]
    np.testing.assert_allclose(mapped, 2 * np.sin(X), rtol=1e-6)
    y, t = module.jvp(lambda x: f({"x": x}, 2.0)["y"], (X,), (X,))
    np.testing.assert_allclose(y, 2 * np.sin(X), rtol=1e-6)
    np.testing.assert_allclose(t, 2 * np.cos(X) * X, rtol=1e-6)
    got = module.grad(lambda x, s: f({"x": x}, s)["y"].sum(), (0, 1))(X, 2.0)
    np.testing.assert_allclose(got[0], 2 * np.cos(X), rtol=1e-6)
    np.testing.assert_allclose(got[1], np.sin(X).sum(), rtol=1e-6)


@BOTH
def test_the_default_is_for_other_platforms(both: Any) -> None:
    module, _ = both
    for f in (
        lambda x: module.lax.platform_dependent(x, cuda=lambda x: -x, default=lambda x: x + 1),
        lambda x: module.lax.platform_dependent(x, default=lambda x: x + 1),
    ):
        np.testing.assert_array_equal(f(X), X + 1)
        np.testing.assert_array_equal(module.jit(f)(X), X + 1)


@BOTH
def test_while_recording_all_branches_are_recorded_elsewhere_one_is_called(both: Any) -> None:
    module, _ = both
    called = []

    def branch(name: str) -> Any:
        return lambda x: (called.append(name), x)[1]

    def choose(x: Any) -> Any:
        return module.lax.platform_dependent(x, cpu=branch("cpu"), default=branch("default"))

    choose(X)
    assert called == ["cpu"]
    called.clear()
    module.jit(choose)(X)
    assert called == ["cpu", "default"]


@BOTH
def test_without_a_branch_for_the_platform(both: Any) -> None:
    module, _ = both
    for f in (
        lambda x: module.lax.platform_dependent(x, cuda=lambda x: -x),
        module.jit(lambda x: module.lax.platform_dependent(x, tpu=lambda x: -x, cuda=lambda x: x)),
    ):
        with pytest.raises(NotImplementedError, match="cuda"):
            f(X)


@BOTH
def test_branches_must_agree_in_what_they_return(both: Any) -> None:
    module, _ = both
    for other in (lambda x: (x, x), lambda x: x[:1], lambda x: x.astype("int32")):
        f = module.jit(
            lambda x, other=other: module.lax.platform_dependent(x, cpu=lambda x: x, default=other)
        )
        with pytest.raises(TypeError):
            f(X)


@BOTH
def test_branches_are_functions(both: Any) -> None:
    module, _ = both
    with pytest.raises(TypeError, match="cuda"):
        module.lax.platform_dependent(X, cuda=3, default=lambda x: x)
    with pytest.raises(TypeError, match="default"):
        module.lax.platform_dependent(X, cpu=lambda x: x, default=3)


def test_errors() -> None:
    with pytest.raises(ValueError, match="give a function for a platform, or a default"):
        lax.platform_dependent(X)
    with pytest.raises(ValueError, match=r'platform_dependent: .*unknown platform "abacus"'):
        lax.platform_dependent(X, abacus=lambda x: x, default=lambda x: x)
    with pytest.raises(NotImplementedError) as caught:
        lax.platform_dependent(X, gpu=lambda x: x, tpu=lambda x: x)
    assert str(caught.value).startswith(
        "platform_dependent: no function for platform cpu, only for cuda, rocm, tpu"
    )


def test_gpu_stands_for_cuda_and_rocm() -> None:
    f = fc.jit(lambda x: lax.platform_dependent(x, gpu=lambda x: -x, cpu=lambda x: x + 1))
    np.testing.assert_array_equal(f(X), X + 1)
    assert "platforms=((cuda, rocm), (cpu,))" in str(fc.make_jaxpr(f)(X))


def test_targets_of_other_platforms_need_not_be_registered() -> None:
    spec = fc.ShapeDtypeStruct((3,), np.float32)
    foreign = ffi.ffi_call("a target of another platform", spec, vmap_method="sequential")

    def choose(x: Any) -> Any:
        return lax.platform_dependent(x, cuda=foreign, default=fnp.exp)

    np.testing.assert_allclose(choose(X), np.exp(X), rtol=1e-6)
    np.testing.assert_allclose(fc.jit(choose)(X), np.exp(X), rtol=1e-6)
    rows = np.stack([X, -X])
    np.testing.assert_allclose(fc.jit(fc.vmap(choose))(rows), np.exp(rows), rtol=1e-6)
    looped = fc.jit(lambda x: lax.scan(lambda c, _: (choose(c), None), x, None, length=2)[0])
    np.testing.assert_allclose(looped(X), np.exp(np.exp(X)), rtol=1e-5)


def test_derivatives_and_batches_follow() -> None:
    def choose(x: Any) -> Any:
        return lax.platform_dependent(x, cpu=lambda x: fnp.sin(x) * x, default=lambda x: x)

    for f in (choose, fc.jit(choose)):
        check_derivatives(f, (X.astype(np.float64),), order=2)
        check_batching(f, (X,))
