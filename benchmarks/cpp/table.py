#!/usr/bin/env python3
"""Reads what `call_bench --benchmark_format=json` writes; prints a table in markdown."""

import json
import sys

WHAT = {
    "bare_frame": "handler with a ready frame",
    "bare_frame_chain": "the same, 100 frames in turn, each",
    "invocation": "farcall's frame",
    "invocation_chain": "the same, 100 frames in turn, each",
    "invocation_with_pointers": "farcall's frame, all pointers set",
    "allocate_result": "allocating a result, for comparison",
    "program_of_one": "compiled program of one call, result allocated",
    "program_of_chain": "compiled program of 100 calls, each",
    "program_of_one_shared": "one program run by several threads, each call",
    "jit_call": "farcall::jit, called",
    "eager_call": "farcall::FfiCall, called",
    "compile_one": "record and compile a program of one call",
}


def number(variant):
    return int(variant.removeprefix("threads:") or 1)


def main():
    results = json.load(sys.stdin)
    least = {}
    for row in results["benchmarks"]:
        if row.get("run_type") == "aggregate":
            continue
        name, _, rest = row["name"].partition("/")
        key = (name, rest.split("/")[-1])
        # CPU time, which other programs disturb least; of several runs the least one.
        time = row["per_call"] * 1e9 if "per_call" in row else row["cpu_time"]
        least[key] = min(time, least.get(key, time))

    print("| C++, time of one call | arguments or threads | ns |\n|---|---:|---:|")
    for name, what in WHAT.items():
        for variant in sorted((v for n, v in least if n == name), key=number):
            unit = " threads" if variant.startswith("threads:") else ""
            print(f"| {what} | {number(variant)}{unit} | {least[name, variant]:.1f} |")

    bare, chain = least.get(("bare_frame_chain", "")), least.get(("program_of_chain", ""))
    if bare and chain:
        more = chain - bare
        print(
            f"\nInside a compiled chain a call costs {more:.1f} ns more than with a ready frame "
            f"(promised: at most 10; {'met' if more <= 10 else 'MISSED'})."
        )


if __name__ == "__main__":
    main()
