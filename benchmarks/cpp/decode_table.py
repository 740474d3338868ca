#!/usr/bin/env python3
"""Reads what `decode_bench --benchmark_format=json` writes; prints a table in markdown."""

import json
import re
import sys

NAME = re.compile(r"decode/args_(\d+)_attrs_(\d+)_(\w+?)(?:/|$)")


def main():
    least = {}
    for row in json.load(sys.stdin)["benchmarks"]:
        if row.get("run_type") == "aggregate":
            continue
        found = NAME.match(row["name"])
        # CPU time, which other programs disturb least; of several runs the least one.
        least[found.groups()] = min(row["cpu_time"], least.get(found.groups(), row["cpu_time"]))

    print("| decoding a call frame | farcall, ns | its xla/ffi/api, ns | XLA, ns | ratios |")
    print("|---|---:|---:|---:|---:|")
    for (arguments, attributes, header), ours in least.items():
        if header != "farcall":
            continue
        theirs = least[arguments, attributes, "xla"]
        what = f"{arguments} arguments, {attributes} attributes"
        same_name = least[arguments, attributes, "ownxla"]
        ratios = f"{ours / theirs:.2f}, {same_name / theirs:.2f}"
        print(f"| {what} | {ours:.1f} | {same_name:.1f} | {theirs:.1f} | {ratios} |")


if __name__ == "__main__":
    main()
