#!/usr/bin/env python3
"""farcall against JAX: what making a program costs, and how that grows with its length.

  benchmarks/python/programs.py [--quick] [--json]

Times are of one equation of the function that is traced, differentiated and so on: where they stay
the same, the whole is linear in the length. They are the processor's, which a busy machine disturbs
less; those of first calls are the clock's.
"""

import argparse
import gc
import importlib
import importlib.util
import json
import sys
import time

import numpy as np
from timing import single_calls, unit

LENGTHS = (1000, 3000, 10000)


class Framework:
    def __init__(self, name):
        self.module = importlib.import_module(name)
        self.numpy = self.module.numpy
        self.x = self.numpy.asarray(np.linspace(0.1, 1, 8, dtype=np.float32))
        self.batch = self.numpy.stack([self.x] * 3)

    def chain(self, length):
        """A function of `length` equations."""

        def function(x):
            y = x
            for _ in range(length // 4):
                y = self.numpy.tanh(self.numpy.sin(y) * x + x)
            return y.sum()

        return function

    def rms_norm(self):
        return lambda x: (x / self.numpy.sqrt((x * x).mean() + 1e-6) * x).sum()

    def steps(self, length):
        """From what is done to a program to a function that does it."""
        function = self.chain(length)
        program, x = self.module.make_jaxpr, self.x
        traced = program(function)(x)

        def anew():  # JAX keeps what it has traced, by function
            return self.chain(length)

        done = {
            "trace": lambda: program(anew())(x),
            "grad": lambda: program(self.module.grad(anew()))(x),
            "vmap": lambda: program(self.module.vmap(anew()))(self.batch),
            "trace and compile": lambda: self.module.jit(anew()).lower(x).compile(),
            "print": lambda: str(traced),
        }
        if hasattr(self.module, "parse_program"):
            text = traced.to_text()
            done["print"] = traced.to_text
            done["parse"] = lambda: self.module.parse_program(text)
        return done

    def first_calls(self):
        module, x = self.module, self.x
        return {
            "first call of jit(rms norm)": lambda: module.jit(self.rms_norm())(x),
            "first call of jit(grad(rms norm))": lambda: module.jit(module.grad(self.rms_norm()))(
                x
            ),
        }


def measure(found, lengths, repeat):
    rows = {}
    for length in lengths:
        steps = found["farcall"].steps(length)
        for step, times in single_calls(steps, repeat, time.process_time_ns).items():
            rows.setdefault(step, {})[f"farcall {length}"] = times["min"] / length
    if "jax" in found:
        steps = found["jax"].steps(lengths[0])
        for step, times in single_calls(steps, min(repeat, 3), time.process_time_ns).items():
            rows[step][f"jax {lengths[0]}"] = times["min"] / lengths[0]
    return rows


# ---- output ----


def print_tables(results, lengths):
    columns = [f"farcall {length}" for length in lengths] + [f"jax {lengths[0]}"]
    print("| time of one equation, program of | " + " | ".join(columns) + " |")
    print("|---|" + "---:|" * len(columns))
    for step, times in results["steps"].items():
        cells = [unit(times[column]) if column in times else "-" for column in columns]
        print(f"| {step} | {' | '.join(cells)} |")
    print("\n| least (median) of | farcall | JAX | ratio |\n|---|---:|---:|---:|")
    for case, times in results["first"].items():
        cells = [f"{unit(of['min'])} ({unit(of['median'])})" for of in times.values()]
        ratio = f"{times['jax']['min'] / times['farcall']['min']:.3g}" if "jax" in times else "-"
        print(f"| {case} | {' | '.join(cells)} | {ratio} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", action="store_true", help="numbers, in nanoseconds")
    parser.add_argument("--quick", action="store_true", help="fewer repetitions")
    args = parser.parse_args()
    repeat = 3 if args.quick else 15

    found = {"farcall": Framework("farcall")}
    if importlib.util.find_spec("jax"):
        import jax

        jax.config.update("jax_platforms", "cpu")
        found["jax"] = Framework("jax")
    gc.disable()  # it looks through what was made before
    first = {name: framework.first_calls() for name, framework in found.items()}
    results = {
        "steps": measure(found, LENGTHS, repeat),
        "first": {
            case: single_calls(
                {name: calls[case] for name, calls in first.items()}, repeat, time.perf_counter_ns
            )
            for case in first["farcall"]
        },
    }
    if args.json:
        json.dump(results, sys.stdout, indent=2)
        print()
    else:
        print_tables(results, LENGTHS)


if __name__ == "__main__":
    main()
