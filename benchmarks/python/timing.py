"""How the benchmarks time functions, and how they show times."""

import random
import statistics
import time


def nanoseconds(function, count):
    """Time of one call, over a block of `count`."""
    rounds = range(count)
    start = time.perf_counter_ns()
    for _ in rounds:
        function()
    return (time.perf_counter_ns() - start) / count


def compare(functions, blocks, block_ns, most_ns=float("inf")):
    """The least and the median time of a call of each function.

    The blocks take turns in an order that changes, so that a busy machine, and what one function
    leaves in caches and thread pools, disturb all functions alike. There are fewer blocks than
    asked for when they would take longer than `most_ns`, but never fewer than five.
    """
    counts = {}
    for name, function in functions.items():
        nanoseconds(function, 3)
        counts[name] = max(1, int(block_ns / max(nanoseconds(function, 10), 1)))
    times = {name: [] for name in functions}
    order, shuffle = list(functions), random.Random(0).shuffle
    end = time.perf_counter_ns() + most_ns
    for done in range(blocks):
        if done >= 5 and time.perf_counter_ns() > end:
            break
        shuffle(order)
        for name in order:
            times[name].append(nanoseconds(functions[name], counts[name]))
    return {name: summary(values) for name, values in times.items()}


def single_calls(functions, repeat, clock):
    """The least and the median time of single calls of each function, which take turns.

    For what is done once: blocks would measure the second time. Results are freed outside.
    """
    times = {name: [] for name in functions}
    for _ in range(repeat):
        for name, function in functions.items():
            start = clock()
            result = function()
            times[name].append(clock() - start)
            del result
    return {name: summary(values) for name, values in times.items()}


def summary(values, divisor=1):
    return {"min": min(values) / divisor, "median": statistics.median(values) / divisor}


def divided(times, divisor):
    """The times of one step of each function, whose calls take `divisor` steps."""
    return {
        name: {key: value / divisor for key, value in of_one.items()}
        for name, of_one in times.items()
    }


def least_and_median(times):
    """A cell of a table: what summary() returns."""
    return f"{unit(times['min'])} ({unit(times['median'])})"


def unit(ns):
    for factor, name in ((1e9, "s"), (1e6, "ms"), (1e3, "µs")):
        if ns >= factor:
            return f"{ns / factor:.3g} {name}"
    return f"{ns:.0f} ns"
