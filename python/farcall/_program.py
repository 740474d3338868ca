"""Serialization of programs and functions to bytes and files."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

from farcall import _core
from farcall._devices import Device
from farcall._functions import name_of
from farcall._jit import jit
from farcall._layout import Format, row_major
from farcall._sharding import Sharding, SingleDeviceSharding, from_core
from farcall.tree import flatten


class ArgInfo(NamedTuple):
    """The type of one argument of a compiled function."""

    aval: _core.ShapeDtypeStruct
    donated: bool

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the array."""
        return self.aval.shape

    @property
    def dtype(self) -> Any:
        """The dtype of the array."""
        return self.aval.dtype


def _args_info(self: Any) -> Any:
    """An ArgInfo for each argument, in the structure (positional, keyword)."""
    avals = self.program.in_avals
    return self.in_tree.unflatten(
        [ArgInfo(a, d) for a, d in zip(avals, self._donated, strict=True)]
    )


def _export(self: Any) -> Exported:
    """The function of this program as an Exported, which can be saved."""
    return Exported(self.program, self.in_tree, self.out_tree)


def _serialize(self: Any) -> bytes:
    """Serializes this function to bytes for farcall.deserialize."""
    return _export(self).serialize()


def _out_info(self: Any) -> Any:
    """The types of the results, in their structure, with the ``out_shardings`` of ``jit``."""
    wanted = self._out_shardings
    if not wanted:
        return self.out_avals
    pairs = zip(self.program.out_avals, wanted, strict=True)
    return self.out_tree.unflatten(
        [aval if one is None else aval.update(sharding=from_core(one)) for aval, one in pairs]
    )


for _class in (_core.Lowered, _core.Compiled):
    for _name, _method in {
        "args_info": property(_args_info),
        "out_info": property(_out_info),
        "export": _export,
        "serialize": _serialize,
    }.items():
        setattr(_class, _name, _method)


def _known(places: list[Any]) -> list[Sharding]:
    """The shardings of these places: shardings of the core, or Devices."""
    return [
        SingleDeviceSharding(one) if isinstance(one, Device) else from_core(one) for one in places
    ]


def _input_shardings(self: Any) -> Any:
    """The shardings that arguments are moved to, in the structure (positional, keyword)."""
    return self.in_tree.unflatten(_known(self._input_shardings()))


def _output_shardings(self: Any) -> Any:
    """The shardings of the results, in their structure."""
    return self.out_tree.unflatten(_known(self._output_shardings()))


def _formats(avals: Any, shardings: list[Sharding]) -> list[Format]:
    return [row_major(aval.ndim, one) for aval, one in zip(avals, shardings, strict=True)]


def _input_formats(self: Any) -> Any:
    """The layouts and shardings of the arguments, in the structure (positional, keyword)."""
    return self.in_tree.unflatten(_formats(self.program.in_avals, _known(self._input_shardings())))


def _output_formats(self: Any) -> Any:
    """The layouts and shardings of the results, in their structure."""
    shardings = _known(self._output_shardings())
    return self.out_tree.unflatten(_formats(self.program.out_avals, shardings))


for _get in (_input_shardings, _output_shardings, _input_formats, _output_formats):
    setattr(_core.Compiled, _get.__name__[1:], property(_get))


class Exported:
    """A function recorded for fixed argument types, independent of its Python code.

    It is called like the function, without static arguments. It can be used inside functions that
    are recorded, batched or differentiated.
    """

    def __init__(self, program: _core.Program, in_tree: Any, out_tree: Any) -> None:
        self.program = program
        self.in_tree = in_tree
        self.out_tree = out_tree
        self._run: Callable[..., list[Any]] = jit(lambda *leaves: program(*leaves))

    @property
    def in_avals(self) -> Any:
        """The types of the arguments, in the structure (positional, keyword)."""
        return self.in_tree.unflatten(self.program.in_avals)

    @property
    def out_avals(self) -> Any:
        """The types of the results, in their structure."""
        return self.out_tree.unflatten(self.program.out_avals)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        leaves, tree = flatten((args, kwargs))
        if tree != self.in_tree:
            raise TypeError(
                f"exported function: it takes arguments of structure {self.in_tree}, got {tree}"
            )
        return self.out_tree.unflatten(self._run(*leaves))

    def call(self, *args: Any, **kwargs: Any) -> Any:
        """Calls the function; the same as ``self(...)``."""
        return self(*args, **kwargs)

    def serialize(self) -> bytes:
        """Serializes this function to bytes for farcall.deserialize."""
        trees = {"in_tree": _tree_text(self.in_tree), "out_tree": _tree_text(self.out_tree)}
        return self.program._serialize(trees)

    def __repr__(self) -> str:
        return f"Exported({self.in_tree} -> {self.out_tree})\n{self.program}"


def export(fun: Any) -> Callable[..., Exported]:
    """Makes a function that records ``fun`` for the types of its arguments as an Exported.

    Args:
      fun: a jitted function, or a function, which is recorded as jit does.
    """
    jitted: Any = fun if isinstance(fun, _core.JitFunction) else jit(fun)

    def make(*args: Any, **kwargs: Any) -> Exported:
        return jitted.lower(*args, **kwargs).export()

    make.__name__ = f"export({name_of(fun)})"
    return make


def deserialize(data: bytes | bytearray | memoryview, strict: bool = True) -> Any:
    """Restores a program or an exported function from bytes.

    Args:
      data: the result of ``serialize()``.
      strict: raise an error if a foreign target is missing or its signature has changed since the
        program was saved; otherwise warn.

    Raises:
      ValueError: if the bytes are not a saved program, or are corrupted.
      RuntimeError: if a foreign target is missing or differs; the message shows how.
    """
    program, metadata, problems = _core.deserialize_program(bytes(data), strict)
    for problem in problems:
        warnings.warn(problem, stacklevel=2)
    if "in_tree" not in metadata:
        return program
    in_tree = _saved_tree(metadata, "in_tree", len(program.in_avals))
    out_tree = _saved_tree(metadata, "out_tree", len(program.out_avals))
    return Exported(program, in_tree, out_tree)


def save(path: str | os.PathLike[str], program: Any) -> None:
    """Writes a program, an Exported or a lowered function to a file, atomically.

    Concurrent readers see either the old or the new contents; of several writers one wins. An
    existing file keeps its permissions, and a symbolic link stays a link.

    Raises:
      OSError: if the file cannot be written, or the path is not a regular file.
      TypeError: if ``program`` cannot be saved.
    """
    if not hasattr(program, "serialize"):
        raise TypeError(
            f"save: expected a program, an exported or a lowered function, got {program!r} of type "
            f"{type(program).__name__}; farcall.export(f)(*args) makes one from a function"
        )
    _core.replace_file(os.fsencode(path), program.serialize())


def load(path: str | os.PathLike[str], strict: bool = True) -> Any:
    """Reads a program or an Exported from a file that ``save`` wrote.

    Args:
      path: the file.
      strict: as for deserialize.
    """
    with open(os.fspath(path), "rb") as file:
        return deserialize(file.read(), strict)


def _rebuild(data: bytes) -> _core.Program:
    """Restores a pickled program; its targets are looked up when it runs."""
    return _core.deserialize_program(data, False)[0]


# ---- structures as text: containers as lists that begin with their kind ----


def _tree_text(tree: Any) -> str:
    import json  # imported here because it is slow

    return json.dumps(_encode(tree.unflatten([_LEAF] * tree.num_leaves)))


def _saved_tree(metadata: dict[str, Any], name: str, num_leaves: int) -> Any:
    # Files are untrusted: every defect of a structure raises the same error.
    text = metadata.get(name)
    try:
        import json

        tree = flatten(_decode(json.loads(text)))[1]  # type: ignore[arg-type]
    except (
        ArithmeticError,
        AttributeError,
        LookupError,
        RecursionError,
        TypeError,
        ValueError,
    ) as error:
        raise ValueError(f"deserialize: {name} is not a valid structure: {error}") from error
    if tree.num_leaves != num_leaves:
        raise ValueError(
            f"deserialize: {name} has {tree.num_leaves} leaves, but the program has {num_leaves}"
        )
    return tree


_LEAF = object()


def _encode(node: Any) -> Any:
    kind = type(node)
    if node is _LEAF:
        return "*"
    if node is None:
        return "None"
    if kind in (list, tuple):
        return [kind.__name__, *map(_encode, node)]
    if kind is dict:
        for key in node:
            if type(key) not in (str, int):
                raise TypeError(f"serialize: keys of dicts must be str or int, got {key!r}")
        return ["dict", *([key, _encode(value)] for key, value in node.items())]
    if isinstance(node, tuple) and hasattr(node, "_fields"):
        return ["namedtuple", kind.__module__, kind.__qualname__, *map(_encode, node)]
    raise TypeError(
        f"serialize: the function takes or returns a {kind.__name__}, whose structure cannot be "
        "saved; use dicts, lists, tuples, namedtuples and None"
    )


def _decode(node: Any) -> Any:
    if node in ("*", "None"):
        return _LEAF if node == "*" else None
    if not isinstance(node, list) or not node:
        raise ValueError(f"unknown container {node!r}")
    kind, *parts = node
    if kind == "dict":
        return {key: _decode(value) for key, value in parts}
    if kind == "namedtuple":
        module, name, *children = parts
        return _named_tuple(module, name)(*map(_decode, children))
    if kind == "list":
        return [_decode(part) for part in parts]
    if kind == "tuple":
        return tuple(_decode(part) for part in parts)
    raise ValueError(f"unknown container kind {kind!r}")


def _named_tuple(module: str, name: str) -> Any:
    found: Any = sys.modules.get(module)
    for part in name.split("."):
        found = getattr(found, part, None)
    if not (isinstance(found, type) and issubclass(found, tuple) and hasattr(found, "_fields")):
        raise ValueError(
            f"the function's structure uses the namedtuple {module}.{name}, which does not exist; "
            "import its module first"
        )
    return found
