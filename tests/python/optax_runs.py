"""Runs of optax's public functions; see library_hosts."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
from library_hosts import Runs, main

STEPS = 4
RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(8, 3)).astype(np.float32)
Y = RANDOM.normal(size=(8, 2)).astype(np.float32)
W = RANDOM.normal(size=(3, 2)).astype(np.float32)
B = RANDOM.normal(size=(2,)).astype(np.float32)
LABELS = np.int32([0, 1, 1, 0, 1, 0, 0, 1])
UNIT = RANDOM.uniform(0.1, 0.9, size=(8, 2)).astype(np.float32)

# What optimizers need besides a learning rate, and those that are made in another way.
ARGUMENTS: dict[str, dict[str, Any]] = {
    "adafactor": {"min_dim_size_to_factor": 1},
    "adamaxw": {"weight_decay": 0.1},
    "lars": {"weight_decay": 0.01},
    "noisy_sgd": {"key": 0},
}


def optimizers(optax: Any) -> dict[str, Callable[[], Any]]:
    """Every public function of optax that takes a learning rate and makes an optimizer."""
    made: dict[str, Callable[[], Any]] = {}
    for module in (optax, optax.contrib):
        for name in sorted(dir(module)):
            function = getattr(module, name)
            is_function = inspect.isfunction(function) or isinstance(function, functools.partial)
            if name[0] == "_" or not is_function:
                continue
            parameters = inspect.signature(function).parameters
            names = ("learning_rate", "max_learning_rate")
            if not {*names} & {*parameters} or name.startswith(("scale_by", "inject")):
                continue
            if name == "dpsgd":  # wants gradients of examples
                continue
            if name == "schedule_free":
                function = functools.partial(function, optax.sgd(0.05))
            prefix = "contrib." if module is optax.contrib else ""
            given = dict(ARGUMENTS.get(name, {}))
            if name != "lbfgs" and "learning_rate" in parameters:
                given["learning_rate"] = 0.05
            made[prefix + name] = functools.partial(function, **given)
    return made


def run_optimizer(jax: Any, jnp: Any, optax: Any, name: str, make: Callable[[], Any]) -> Any:
    optimizer = optax.with_extra_args_support(make())

    def loss(params: Any) -> Any:
        return jnp.mean((X @ params["w"] + params["b"] - Y) ** 2)

    extra = {"obj_fn": loss} if "sophia" in name else {"value_fn": loss} if name == "lbfgs" else {}
    params = {"w": jnp.asarray(W), "b": jnp.asarray(B)}
    state = optimizer.init(params)

    @jax.jit
    def step(params: Any, state: Any) -> Any:
        value, grads = jax.value_and_grad(loss)(params)
        updates, state = optimizer.update(grads, state, params, value=value, grad=grads, **extra)
        return optax.apply_updates(params, updates), state, value

    values = []
    for _ in range(STEPS):
        params, state, value = step(params, state)
        values.append(value)
    return [params, values]


def losses(jnp: Any, optax: Any) -> dict[str, Callable[[], Any]]:
    """The main losses, with their gradients where they have one."""
    one_hot = np.eye(2, dtype=np.float32)[LABELS]
    signs = np.float32(2 * LABELS - 1)
    two = {
        "squared_error": (Y, UNIT),
        "l2_loss": (Y, UNIT),
        "huber_loss": (Y, UNIT),
        "log_cosh": (Y, UNIT),
        "cosine_distance": (Y, UNIT),
        "cosine_similarity": (Y, UNIT),
        "sigmoid_binary_cross_entropy": (Y, one_hot),
        "softmax_cross_entropy": (Y, one_hot),
        "softmax_cross_entropy_with_integer_labels": (Y, LABELS),
        "safe_softmax_cross_entropy": (Y, one_hot),
        "sigmoid_focal_loss": (Y, one_hot),
        "poly_loss_cross_entropy": (Y, one_hot),
        "hinge_loss": (Y[:, 0], signs),
        "perceptron_loss": (Y[:, 0], signs),
        "multiclass_hinge_loss": (Y, LABELS),
        "multiclass_perceptron_loss": (Y, LABELS),
        "multiclass_logistic_loss": (Y, LABELS),
        "multiclass_sparsemax_loss": (Y, LABELS),
        "binary_logistic_loss": (Y[:, 0], LABELS),
        "binary_sparsemax_loss": (Y[:, 0], LABELS),
        "kl_divergence": (np.log(UNIT), UNIT[::-1].copy()),
        "kl_divergence_with_log_targets": (np.log(UNIT), np.log(UNIT[::-1])),
        "convex_kl_divergence": (np.log(UNIT), UNIT[::-1].copy()),
        "ranking_softmax_loss": (Y, UNIT),
        "generalized_kl_divergence": (np.log(UNIT), UNIT[::-1].copy()),
    }
    made: dict[str, Callable[[], Any]] = {}
    for name, arguments in two.items():
        if hasattr(optax.losses, name):
            made[name] = functools.partial(getattr(optax.losses, name), *arguments)
    logits = RANDOM.normal(size=(2, 6, 4)).astype(np.float32)
    paddings = np.zeros((2, 6), np.float32)
    labels = np.int32([[1, 2, 3], [2, 2, 1]])
    made["ctc_loss"] = lambda: optax.losses.ctc_loss(
        jnp.asarray(logits), paddings, labels, np.zeros((2, 3), np.float32)
    )
    made["ntxent"] = lambda: optax.losses.ntxent(Y, np.int32([0, 0, 1, 1, 2, 2, 3, 3]))
    made["triplet_margin_loss"] = lambda: optax.losses.triplet_margin_loss(Y, UNIT, Y[::-1].copy())
    return made


def schedules(optax: Any) -> dict[str, Any]:
    return {
        "constant": optax.constant_schedule(0.1),
        "linear": optax.linear_schedule(1.0, 0.1, 5, 2),
        "polynomial": optax.polynomial_schedule(1.0, 0.1, 2, 5),
        "cosine": optax.cosine_decay_schedule(1.0, 8, 0.1),
        "exponential": optax.exponential_decay(1.0, 3, 0.5, staircase=True),
        "piecewise": optax.piecewise_constant_schedule(1.0, {2: 0.5, 5: 0.1}),
        "interpolated": optax.piecewise_interpolate_schedule("cosine", 1.0, {2: 0.5, 5: 0.1}),
        "warmup cosine": optax.warmup_cosine_decay_schedule(0.0, 1.0, 3, 9, 0.1),
        "warmup exponential": optax.warmup_exponential_decay_schedule(0.0, 1.0, 3, 2, 0.5),
        "one cycle": optax.cosine_onecycle_schedule(10, 1.0),
        "linear one cycle": optax.linear_onecycle_schedule(10, 1.0),
        "sgdr": optax.sgdr_schedule(
            [{"init_value": 0.0, "peak_value": 1.0, "warmup_steps": 2, "decay_steps": 5}] * 2
        ),
        "joined": optax.join_schedules(
            [optax.constant_schedule(1.0), optax.linear_schedule(1.0, 0.0, 4)], [3]
        ),
    }


def transformations(jnp: Any, optax: Any) -> dict[str, Callable[[], Any]]:
    """Wrappers and transformations around an optimizer."""
    sgd = functools.partial(optax.sgd, 0.05, momentum=0.9)
    return {
        "clip": lambda: optax.chain(optax.clip(0.1), sgd()),
        "clip_by_global_norm": lambda: optax.chain(optax.clip_by_global_norm(0.5), sgd()),
        "adaptive_grad_clip": lambda: optax.chain(optax.adaptive_grad_clip(0.1), sgd()),
        "add_decayed_weights": lambda: optax.chain(optax.add_decayed_weights(0.1), sgd()),
        "centralize": lambda: optax.chain(optax.centralize(), sgd()),
        "ema": lambda: optax.chain(optax.ema(0.9), sgd()),
        "trace": lambda: optax.chain(optax.trace(0.9, nesterov=True), optax.scale(-0.05)),
        "zero_nans": lambda: optax.chain(optax.zero_nans(), sgd()),
        "keep_params_nonnegative": lambda: optax.chain(sgd(), optax.keep_params_nonnegative()),
        "masked": lambda: optax.masked(sgd(), {"w": True, "b": False}),
        "multi_transform": lambda: optax.multi_transform(
            {"a": optax.adam(0.1), "s": sgd()}, {"w": "a", "b": "s"}
        ),
        "multi_steps": lambda: optax.MultiSteps(sgd(), 2).gradient_transformation(),
        "lookahead-free flatten": lambda: optax.flatten(optax.adam(0.05)),
        "apply_if_finite": lambda: optax.apply_if_finite(sgd(), 2),
        "inject_hyperparams": lambda: optax.inject_hyperparams(optax.adam)(
            optax.linear_schedule(0.1, 0.01, 3)
        ),
        "scale_by_schedule": lambda: optax.chain(
            optax.scale_by_adam(), optax.scale_by_schedule(optax.cosine_decay_schedule(-0.1, 5))
        ),
        "reduce_on_plateau": lambda: optax.chain(
            sgd(), optax.contrib.reduce_on_plateau(patience=1, cooldown=1)
        ),
        "add_noise": lambda: optax.chain(optax.add_noise(0.1, 0.5, 0), sgd()),
    }


def runs(jax: Any, jnp: Any) -> Runs:
    import optax

    for kind, made in (
        ("optimizer", optimizers(optax)),
        ("transformation", transformations(jnp, optax)),
    ):
        for name, make in made.items():
            yield f"{kind} {name}", functools.partial(run_optimizer, jax, jnp, optax, name, make)
    for name, function in losses(jnp, optax).items():
        yield f"loss {name}", function
        if isinstance(function, functools.partial):
            first, *rest = function.args

            def total(x: Any, f: Any = function.func, others: Any = tuple(rest)) -> Any:
                return jnp.sum(f(x, *others))

            yield f"gradient {name}", functools.partial(jax.grad(total), first)
    for name, schedule in schedules(optax).items():
        yield (
            f"schedule {name}",
            functools.partial(lambda s: [jax.jit(s)(i) for i in range(0, 12)], schedule),
        )


if __name__ == "__main__":
    main(runs)
