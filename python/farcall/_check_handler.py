"""``farcall check`` from Python."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from farcall._environment import command_path
from farcall._functions import are_strings

# The parameters that give the options of the command.
_NAMES = {
    "arg": "args",
    "ret": "rets",
    "attr": "attrs",
    "alias": "aliases",
    "layout": "layouts",
    "stages": "stages",
    "size": "sizes",
    "range": "ranges",
}


def check_handler(
    handler: str,
    *,
    args: Sequence[str] = (),
    rets: Sequence[str] = (),
    attrs: Sequence[str] = (),
    aliases: Sequence[str] = (),
    layouts: Sequence[str] = (),
    stages: Sequence[str] = (),
    sizes: Sequence[str] = (),
    ranges: Sequence[str] = (),
    reference: str | None = None,
    seed: int = 0,
    timeout: float = 120,
) -> Any:
    """Tests a handler with many calls in a separate process, and raises an error.

    The strings are those of the command ``farcall check``: ``args=["f32[N,64]"]``,
    ``attrs=["eps:f32=1e-5"]``, ``aliases=["0:0"]``. Nothing needs to be registered.

    Args:
      handler: ``"library.so:symbol"``, or ``"module:name"`` of a Python module that provides
        capsules. Without a symbol, all handlers of the library or module are tested.
      args, rets: operands; letters stand for sizes, which are varied. Default: the handler's own
        signature, if it has one.
      attrs: attributes, each ``"name:type=value"``.
      aliases: ``"argument:result"``: a result that shares an argument's memory.
      layouts: ``"arg0=1,0"``: the order of dimensions in memory, slowest first.
      stages: ``"instantiate=symbol"`` and so on.
      sizes: ``"N=4,8"``: the sizes to try for a letter.
      ranges: ``"arg1=0:9"``: the range of an integer argument, such as indices.
      reference: a handler, ``"library.so:symbol"``, or a Python function of arrays,
        ``"module:function"``, that computes the correct results.
      seed: the seed of the operands' random values.
      timeout: the time limit of the whole check, in seconds.

    Returns:
      The report of the command, a dict; a list of them if several handlers are tested.

    Raises:
      AssertionError: with the findings.
      TypeError: for a string where a list of strings is wanted, and for a ``handler`` or a
        ``reference`` that is no string.
      ValueError: for invalid options, and for a handler that cannot run, with the reason.
      FileNotFoundError: if the command is not installed.
    """
    options: dict[str, Sequence[str]] = {
        "arg": args,
        "ret": rets,
        "attr": attrs,
        "alias": aliases,
        "layout": layouts,
        "stages": stages,
        "size": sizes,
        "range": ranges,
    }
    if not isinstance(handler, (str, os.PathLike)):
        raise TypeError(
            'check_handler: handler must be a string, "library.so:symbol" or "module:name", '
            f"because the handler runs in another process, got {handler!r}"
        )
    for name, values in options.items():
        if not are_strings(values):
            raise TypeError(
                f"check_handler: {_NAMES[name]} must be a list of strings, got {values!r}"
            )
    if reference is not None and not isinstance(reference, str):
        raise TypeError(
            'check_handler: reference must be a string, "module:function" or "library.so:symbol", '
            f"because the handler runs in another process, got {reference!r}"
        )
    options["reference"] = () if reference is None else (reference,)
    # Imported here because they are slow.
    import json
    import subprocess

    command = [command_path(), "check", handler, "--json", "--seed", str(seed)]
    command += ["--timeout", str(timeout)]
    for name, values in options.items():
        for value in values:
            command += [f"--{name}", value]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    try:
        report = json.loads(run.stdout)
    except json.JSONDecodeError:
        raise ValueError(f"check_handler: {run.stderr.strip()}") from None
    findings = []
    for one in report if isinstance(report, list) else [report]:
        if "error" in one:
            raise ValueError(f"check_handler: {one['error']}")
        if one["verdict"] == "could-not-run":
            raise ValueError(f"check_handler: {one['handler']} could not be run: {one['reason']}")
        if one["findings"]:
            findings.append(f"check_handler: {one['handler']}")
        findings += [
            f"{found['kind']}: {found['message']}\n  again: {found['command']}"
            for found in one["findings"]
        ]
    if findings:
        raise AssertionError("\n".join(findings))
    return report
