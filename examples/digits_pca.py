#!/usr/bin/env python3
"""Principal components of 1,797 scans of handwritten digits.

Two foreign functions, rms_norm and svd (examples/handlers), are called from one compiled program.

  python examples/digits_pca.py [--handlers libdigits_handlers.so] [--picture digits_pca.png]
"""

import argparse
import sys
import time

import digits_handlers
import farcall
import farcall.ffi
import numpy as np
from sklearn.datasets import load_digits

# ---- foreign functions ----


def rms_norm(x, eps=1e-6):
    return farcall.ffi.ffi_call("rms_norm", x)(x, eps=eps)


def svd(x):
    *batch, m, n = x.shape
    k = min(m, n)
    results = [(*batch, m, k), (*batch, k), (*batch, k, n)]
    results = [farcall.ShapeDtypeStruct(shape, x.dtype) for shape in results]
    return farcall.ffi.ffi_call("svd", results)(x)


# ---- the program ----


@farcall.jit
def pca(scans):
    """Components, the scans' coordinates on them, and the variance that each explains."""
    x = rms_norm(scans)  # thick and thin pens alike
    x = x - x.mean(axis=0)
    u, s, vt = svd(x)
    return vt, u * s, s * s / (x.shape[0] - 1)


def numpy_pca(scans):
    """The same with numpy alone, in double precision."""
    x = scans.astype(np.float64)
    x = x / np.sqrt(np.mean(x * x, axis=1, keepdims=True) + 1e-6)
    x = x - x.mean(axis=0)
    u, s, vt = np.linalg.svd(x, full_matrices=False)
    return x, vt, u * s, s * s / (len(x) - 1)


def relative_error(got, want):
    return float(np.linalg.norm(np.asarray(got) - want) / np.linalg.norm(want))


def check(results):
    """Largest relative error against numpy. A component's sign is free."""
    (vt, scores, variance), (x, vt_true, scores_true, variance_true) = results
    vt, scores = np.asarray(vt, np.float64), np.asarray(scores, np.float64)
    signs = np.sign(np.sum(vt * vt_true, axis=1))
    errors = {
        "explained variance": relative_error(variance, variance_true),
        "first ten coordinates": relative_error((scores * signs)[:, :10], scores_true[:, :10]),
        "scans put together again": relative_error(scores @ vt, x),
    }
    for name, error in errors.items():
        print(f"  {name:26} {error:.1e}")
    return max(errors.values())


# ---- the picture ----


def draw(path, images, labels, scores, share):
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    from matplotlib.colors import TABLEAU_COLORS, LinearSegmentedColormap, to_rgba
    from matplotlib.offsetbox import AnnotationBbox, OffsetImage

    plt.rcParams.update({"font.size": 11, "axes.spines.top": False, "axes.spines.right": False})
    figure, (left, right) = plt.subplots(
        1, 2, figsize=(14, 6.5), width_ratios=(2, 3), layout="constrained"
    )
    number = np.arange(1, len(share) + 1)
    total = np.cumsum(share)
    left.bar(number, share, color="#9db8d9", width=0.8, label="each component")
    left.plot(number, total, color="#1f3b63", lw=2, label="all up to it")
    enough = int(np.searchsorted(total, 0.9)) + 1
    left.plot(enough, total[enough - 1], "o", color="#c44e52")
    left.annotate(
        f"{enough} of {len(share)} components\nexplain 90 %",
        (enough, total[enough - 1]),
        xytext=(18, -42),
        textcoords="offset points",
        color="#c44e52",
    )
    left.set(xlabel="component", ylabel="share of the variance", ylim=(0, 1.02), xlim=(0, 64.5))
    left.yaxis.set_major_formatter("{x:.0%}")
    left.legend(frameon=False, loc="center right")
    left.set_title("Explained variance")

    colors = list(TABLEAU_COLORS.values())
    points = np.asarray(scores)[:, :2]
    for digit in range(10):
        x, y = points[labels == digit].T
        right.scatter(x, y, s=14, color=colors[digit], alpha=0.55, lw=0, label=str(digit))
    shown = np.empty((0, 2))
    extent = np.ptp(points, axis=0)
    for image, label, point in zip(images, labels, points, strict=True):
        if len(shown) and np.min(np.linalg.norm((shown - point) / extent, axis=1)) < 0.066:
            continue
        shown = np.vstack([shown, point])
        clear = to_rgba(colors[label], 0)
        ink = LinearSegmentedColormap.from_list("", [clear, to_rgba(colors[label], 1)])
        box = AnnotationBbox(
            OffsetImage(image, cmap=ink, zoom=2.3, interpolation="bilinear"),
            point,
            pad=0.1,
            bboxprops={"edgecolor": colors[label], "lw": 0.6, "facecolor": (1, 1, 1, 0.85)},
        )
        right.add_artist(box)
    right.set(xlabel="first component", ylabel="second component")
    right.legend(
        frameon=False, markerscale=2, loc="upper left", bbox_to_anchor=(1, 1), title="digit"
    )
    right.set_title("Scans on the first two components")
    figure.savefig(path, dpi=120)


def main():
    parser = argparse.ArgumentParser(description="Principal components of handwritten digits.")
    parser.add_argument("--handlers", help="the library of foreign functions")
    parser.add_argument("--picture", default="digits_pca.png")
    args = parser.parse_args()

    pixels, labels = load_digits(return_X_y=True)
    scans = np.asarray(pixels, np.float32)
    print(f"scans: {scans.shape[0]} of 8 x 8 pixels, as {scans.dtype}{list(scans.shape)}")

    digits_handlers.register(args.handlers, "rms_norm", "svd")

    start = time.perf_counter()
    vt, scores, variance = pca(scans)
    first = time.perf_counter() - start
    later = []
    for _ in range(5):
        start = time.perf_counter()
        pca(scans)
        later.append(time.perf_counter() - start)
    print(f"pca: components {vt.shape}, coordinates {scores.shape}, variance {variance.shape}")
    print(f"time: first call {1e3 * first:.1f} ms, later calls {1e3 * min(later):.1f} ms")

    share = np.asarray(variance) / np.sum(np.asarray(variance))
    first_five = "  ".join(f"{100 * part:.1f} %" for part in share[:5])
    print(f"variance explained by the first components: {first_five}")

    print("relative error against numpy in double precision:")
    error = check(((vt, scores, variance), numpy_pca(scans)))

    try:
        svd(np.eye(3, dtype=np.int32))
    except farcall.FfiError as mistake:
        print(f"a mistake reads: {mistake}")

    draw(args.picture, scans.reshape(-1, 8, 8), labels, scores, share)
    print(f"picture: {args.picture}")
    if error > 1e-3:
        sys.exit("digits_pca: the results differ from numpy's")


if __name__ == "__main__":
    main()
