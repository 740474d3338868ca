#!/usr/bin/env python3
"""A classifier of handwritten digits, trained with a layer whose kernels are foreign both ways.

The layer's two kernels (examples/handlers/rms_norm_layer.cpp) are called from a compiled loop, in
gradients that are taken scan by scan: long ones are cut, lest a single scan lead a step astray.

  python examples/digits_classifier.py [--handlers libdigits_handlers.so] [--epochs 25]
"""

import argparse
import sys
import time
from typing import Any

import digits_handlers
import farcall
import farcall.ffi
import farcall.nn
import farcall.numpy as fnp
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from tqdm import tqdm

HIDDEN = 96
BATCH = 64
LONGEST_GRADIENT = 1.0
RATE, DECAY = 6e-3, 0.3
QUANTILES = (0.5, 0.9, 0.99)

# ---- the foreign layer ----

forward = farcall.ffi.define(
    "rms_norm_forward",
    shape="[..., n] -> [..., n], [...]",
    vmap_method="broadcast_all",
)
backward = farcall.ffi.define(
    "rms_norm_backward",
    shape="[..., n], [...], [..., n] -> [..., n]",
    vmap_method="broadcast_all",
)


@farcall.custom_vjp
def rms_norm(x):
    return forward(x)[0]


def rms_norm_kept(x):
    y, scale = forward(x)
    return y, (y, scale)


rms_norm.defvjp(rms_norm_kept, lambda kept, cotangent: (backward(*kept, cotangent),))


def rms_norm_formula(x):
    return x * farcall.lax.rsqrt((x * x).mean(-1, keepdims=True) + 1e-6)


# ---- the classifier ----


def initial(random):
    def matrix(rows, columns):
        return (random.normal(size=(rows, columns)) / np.sqrt(rows)).astype(np.float32)

    return {
        "inner": matrix(64, HIDDEN),
        "gain": np.ones(HIDDEN, np.float32),
        "shift": np.zeros(HIDDEN, np.float32),
        "outer": matrix(HIDDEN, 10),
    }


def scores(weights, scan, norm=rms_norm):
    """For each digit the logarithm of its probability."""
    hidden = norm(scan @ weights["inner"]) * weights["gain"] + weights["shift"]
    return farcall.nn.log_softmax(farcall.nn.gelu(hidden) @ weights["outer"])


def loss(weights, scan, label, norm=rms_norm):
    return -scores(weights, scan, norm)[label]


@farcall.jit
def evaluate(weights, scans, labels):
    """The mean loss, and for each scan the digits' probabilities."""
    each = scores(weights, scans)
    return -fnp.take_along_axis(each, labels[:, None], 1).mean(), fnp.exp(each)


# ---- training ----


def batch_gradient(weights, scans, labels):
    """The mean of the scans' gradients, long ones cut; also their losses and lengths."""
    losses, each = farcall.vmap(farcall.value_and_grad(loss), (None, 0, 0))(weights, scans, labels)
    squares = [(part * part).reshape(len(scans), -1).sum(1) for part in farcall.tree.leaves(each)]
    lengths = fnp.sqrt(sum(squares) + 1e-12)
    share = fnp.minimum(1, LONGEST_GRADIENT / lengths) / len(scans)
    return farcall.tree.map(lambda part: fnp.tensordot(share, part, 1), each), (losses, lengths)


def adam(weights, moments, gradient, rate, step):
    first, second = moments
    first = farcall.tree.map(lambda m, g: 0.9 * m + 0.1 * g, first, gradient)
    second = farcall.tree.map(lambda v, g: 0.99 * v + 0.01 * g * g, second, gradient)
    bias_1, bias_2 = 1 - 0.9**step, 1 - 0.99**step
    weights = farcall.tree.map(
        lambda w, m, v: w - rate * (m / bias_1 / (fnp.sqrt(v / bias_2) + 1e-8) + DECAY * w),
        weights,
        first,
        second,
    )
    return weights, (first, second)


@farcall.jit
def train(state, scans, labels, batches, rates):
    """One pass over the scans: a step for each row of indices in ``batches``."""

    def step(state, batch_and_rate):
        weights, moments, number = state
        batch, rate = batch_and_rate
        gradient, measured = batch_gradient(weights, scans[batch], labels[batch])
        weights, moments = adam(weights, moments, gradient, rate, number)
        return (weights, moments, number + 1), measured

    return farcall.lax.scan(step, state, (batches, rates))


def fit(data, epochs, random):
    """The trained weights and the course of the training."""
    train_scans, test_scans, train_labels, test_labels = data
    weights = initial(random)
    zeros = farcall.tree.map(np.zeros_like, weights)
    state = (weights, (zeros, zeros), np.float32(1))
    steps = len(train_scans) // BATCH
    rates = RATE * np.cos(np.linspace(0, np.pi / 2, epochs * steps)) ** 2
    rates = rates.astype(np.float32).reshape(epochs, steps)
    course = []
    with tqdm(range(epochs), unit="epoch", disable=None) as progress:
        for epoch in progress:
            order = random.permutation(len(train_scans))[: steps * BATCH]
            batches = order.reshape(steps, BATCH).astype(np.int32)
            state, (losses, lengths) = train(
                state, train_scans, train_labels, batches, rates[epoch]
            )
            test_loss, probabilities = evaluate(state[0], test_scans, test_labels)
            accuracy = np.mean(np.argmax(probabilities, 1) == test_labels)
            train_loss = np.mean(losses)
            course.append((train_loss, test_loss, accuracy, *np.quantile(lengths, QUANTILES)))
            progress.set_postfix(loss=f"{train_loss:.3f}", accuracy=f"{accuracy:.1%}")
    return state[0], np.array(course, np.float64)


def check(weights, scans, labels):
    """The gradient through the kernels against the same without them: the largest difference."""

    def gradient(norm):
        def mean_loss(weights):
            one = farcall.vmap(lambda scan, label: loss(weights, scan, label, norm))
            return one(scans, labels).mean()

        return farcall.tree.leaves(farcall.jit(farcall.grad(mean_loss))(weights))

    pairs = zip(gradient(rms_norm), gradient(rms_norm_formula), strict=True)
    return max(
        float(np.linalg.norm(np.asarray(a) - b) / np.linalg.norm(np.asarray(b))) for a, b in pairs
    )


# ---- the picture ----

INK, MIDDLE, FAINT, WRONG = "#1f3b63", "#5b80b2", "#9db8d9", "#c44e52"
GRID = "#eeeeee"


def draw(path, course, scans, labels, probabilities):
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    plt.rcParams.update({"font.size": 10, "axes.spines.top": False, "axes.spines.right": False})
    figure = plt.figure(figsize=(16, 7), layout="constrained")
    parts: Any = figure.subfigures(1, 3, width_ratios=(4, 5, 6))
    left, middle, right = parts
    draw_course(left, course)
    predicted = np.argmax(probabilities, 1)
    draw_confusions(middle.subplots(), labels, predicted)
    draw_scans(right, scans, labels, predicted, probabilities)
    figure.savefig(path, dpi=110)


def draw_course(figure, course):
    train_loss, test_loss, accuracy, *lengths = course.T
    epochs = np.arange(1, len(course) + 1)
    losses, accuracies, gradients = figure.subplots(3, 1, sharex=True)
    losses.semilogy(epochs, train_loss, color=FAINT, lw=2, label="training")
    losses.semilogy(epochs, test_loss, color=INK, lw=2, label="test")
    losses.legend(frameon=False)
    losses.set_title("Loss", loc="left")
    accuracies.plot(epochs, accuracy, color=INK, lw=2)
    accuracies.set_ylim(min(0.9, accuracy.min()), 1)
    accuracies.yaxis.set_major_formatter("{x:.0%}")
    accuracies.annotate(
        f"{accuracy[-1]:.1%}",
        (epochs[-1], accuracy[-1]),
        xytext=(0, -16),
        textcoords="offset points",
        ha="right",
        color=INK,
    )
    accuracies.set_title("Accuracy on the test scans", loc="left")
    for quantile, length, color in zip(QUANTILES, lengths, (FAINT, MIDDLE, INK), strict=True):
        gradients.semilogy(epochs, length, color=color, lw=2)
        gradients.text(epochs[-1], 1.3 * length[-1], f"{quantile:.0%}", color=color, ha="right")
    gradients.axhline(LONGEST_GRADIENT, color=WRONG, lw=1, ls="--")
    gradients.text(epochs[-1], 1.2 * LONGEST_GRADIENT, "cut above", color=WRONG, ha="right")
    gradients.set_title("Length of the scans' gradients, quantiles", loc="left")
    gradients.set_xlabel("epoch")


def draw_confusions(axes, labels, predicted):
    counts = np.zeros((10, 10), int)
    np.add.at(counts, (labels, predicted), 1)
    right = np.eye(10, dtype=bool)
    axes.imshow(np.where(right, counts, np.nan), cmap="Blues", vmin=0, vmax=1.6 * counts.max())
    wrong = np.where(~right & (counts > 0), counts, np.nan)
    axes.imshow(wrong, cmap="Reds", vmin=-2, vmax=6)
    for (row, column), count in np.ndenumerate(counts):
        if count:
            axes.text(column, row, count, ha="center", va="center")
    axes.set(xlabel="predicted", ylabel="digit", xticks=range(10), yticks=range(10))
    axes.spines[:].set_visible(False)
    axes.set_xticks(np.arange(9) + 0.5, minor=True)
    axes.set_yticks(np.arange(9) + 0.5, minor=True)
    axes.grid(which="minor", color=GRID, lw=0.8)
    axes.tick_params(which="both", length=0)
    axes.set_title(f"{len(labels)} test scans, {np.sum(labels != predicted)} mistakes", loc="left")


def draw_scans(figure, scans, labels, predicted, probabilities):
    """The scans whose digits were given the least probability."""
    certainty = probabilities[np.arange(len(labels)), labels]
    cells = figure.subplots(5, 6)
    for cell, at in zip(cells.flat, np.argsort(certainty), strict=False):
        is_right = labels[at] == predicted[at]
        cell.imshow(scans[at].reshape(8, 8), cmap="gray_r", interpolation="bilinear")
        cell.set(xticks=[], yticks=[])
        cell.spines[:].set(visible=True, color=FAINT if is_right else WRONG, lw=1.5)
        share = probabilities[at, predicted[at]]
        title = f"{predicted[at]} ({share:.0%})" + ("" if is_right else f", not {labels[at]}")
        cell.set_title(title, fontsize=9, color=INK if is_right else WRONG)
    figure.suptitle("The hardest test scans, with what they were taken for")


def main():
    parser = argparse.ArgumentParser(description="A classifier of handwritten digits.")
    parser.add_argument("--handlers", help="the library of foreign functions")
    parser.add_argument("--epochs", type=int, default=25)
    parser.add_argument("--picture", default="digits_classifier.png")
    args = parser.parse_args()

    digits_handlers.register(args.handlers, forward.target_name, backward.target_name)

    pixels, labels = load_digits(return_X_y=True)
    scans = (pixels / 16).astype(np.float32)
    data = train_test_split(
        scans, labels.astype(np.int32), test_size=0.25, random_state=0, stratify=labels
    )
    train_scans, test_scans, train_labels, test_labels = data
    print(f"scans: {len(train_scans)} for training, {len(test_scans)} for the test")

    random = np.random.default_rng(0)
    error = check(initial(random), train_scans, train_labels)
    print(f"gradient through the kernels against the formula: relative difference {error:.1e}")

    start = time.perf_counter()
    weights, course = fit(data, args.epochs, random)
    seconds = time.perf_counter() - start
    probabilities = np.asarray(evaluate(weights, test_scans, test_labels)[1])
    for epoch in sorted({1, 2, 5, 10, 15, args.epochs}):
        if epoch <= args.epochs:
            train_loss, test_loss, accuracy, *_ = course[epoch - 1]
            print(
                f"epoch {epoch:3}: loss {train_loss:.4f}, on test scans {test_loss:.4f}, "
                f"accuracy {accuracy:.2%}"
            )
    steps = args.epochs * (len(train_scans) // BATCH)
    rate = steps * BATCH / seconds
    print(f"time: {seconds:.2f} s for {steps} steps, {rate:,.0f} scans' gradients a second")

    draw(args.picture, course, test_scans, test_labels, probabilities)
    print(f"picture: {args.picture}")
    if error > 1e-5 or course[-1, 2] < 0.96:
        sys.exit("digits_classifier: the gradient is wrong, or the accuracy is below 96 %")


if __name__ == "__main__":
    main()
