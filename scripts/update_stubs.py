#!/usr/bin/env python3
"""Writes the type stubs of the elementwise functions, from the rows that the installed core shows.

A function that farcall.lax and farcall.numpy have by one name stands in `_elementwise.pyi`, which
the stubs of both import. `--check` only says which files are not current.
"""

from __future__ import annotations

import pathlib
import sys

from farcall import _core

STUBS = pathlib.Path(__file__).parents[1] / "python" / "farcall" / "_core"
BEGIN = "# From elementwise_list.h, by scripts/update_stubs.py.\n"
END = "\n# By hand.\n"


def functions(module: str, operand: str) -> dict[str, str]:
    """The lines of a module's functions, by name."""
    found = {}
    for name, operands, *_ in getattr(_core, module)._elementwise:
        parameters = ", ".join(f"{each}: {operand}" for each in operands)
        found[name] = f"def {name}({parameters}) -> Array: ...\n"
    return found


def parts() -> dict[str, str]:
    """What stands between the marks, by the name of the file."""
    lax, numpy = functions("lax", "ArrayLike"), functions("numpy", "ArrayLike")
    shared = {name: line for name, line in lax.items() if numpy.get(name) == line}
    tables = {"_elementwise": shared, "special": functions("special", "Any")}
    for module, table in (("lax", lax), ("numpy", numpy)):
        tables[module] = {name: line for name, line in table.items() if name not in shared}
    return {module: "".join(table.values()) for module, table in tables.items()}


def with_part(text: str, part: str) -> str:
    before, _, rest = text.partition(BEGIN)
    return before + BEGIN + part + END + rest.partition(END)[2]


def main() -> int:
    stale = 0
    for module, part in parts().items():
        path = STUBS / f"{module}.pyi"
        text = path.read_text()
        wanted = with_part(text, part)
        if wanted == text:
            continue
        if "--check" in sys.argv:
            print(f"{path} is not current: run scripts/update_stubs.py")
            stale = 1
        else:
            path.write_text(wanted)
    return stale


if __name__ == "__main__":
    sys.exit(main())
