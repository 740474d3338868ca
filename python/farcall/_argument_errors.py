"""Explains why the arguments of a call match no signature of a bound function.

``_core`` calls ``explain`` before it raises the error. The message is derived from the function's
signature: which argument does not match, and what is expected.
"""

from __future__ import annotations

import operator
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from farcall import _core

_LONGEST_REPR = 200
# Parameters without a name are called arg, arg0, arg1, …
_UNNAMED = re.compile(r"arg(\d*)$")
_ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth")


class _Parameter(NamedTuple):
    name: str
    type: str
    is_required: bool
    is_keyword_only: bool


class _Signature(NamedTuple):
    parameters: list[_Parameter]
    takes_any_positional: bool
    takes_any_keyword: bool


def _parse(text: str) -> _Signature:
    """Parses ``def name(self, x: object | None, axis: int = \\0, *, b: bool, **kwargs) -> …``."""
    inside = text[text.index("(") + 1 : text.rindex(") ->")]
    parameters = []
    is_keyword_only = any_positional = any_keyword = False
    # Within a type, commas occur only in brackets.
    for part in filter(None, re.split(r", (?![^\[]*\])", inside)):
        if part.startswith("**"):
            any_keyword = True
        elif part.startswith("*"):
            is_keyword_only = True
            any_positional = part != "*"
        elif part != "/":
            name, _, rest = part.partition(": ")
            type_name, _, default = rest.partition(" = ")
            parameters.append(_Parameter(name, type_name or "object", not default, is_keyword_only))
    return _Signature(parameters, any_positional, any_keyword)


# ---- whether a value fits ----


def _is_text(value: Any) -> bool:
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def _is_int(value: Any) -> bool:
    if not hasattr(type(value), "__index__"):
        return False
    try:
        number = operator.index(value)
    except TypeError:
        return False
    if not -(2**63) <= number < 2**63:
        raise OverflowError
    return True


def _is_float(value: Any) -> bool:
    try:
        float(value)
    except TypeError:
        return False
    return not isinstance(value, (str, bytes))


# A type of a signature: its description, the plural, and a test whether a value has the type.
_Type = tuple[str, str, Callable[[Any], bool]]
_TYPES: dict[str, _Type] = {
    "object": ("an object", "objects", lambda value: value is not None),
    "bool": ("True or False", "bools", lambda value: isinstance(value, bool)),
    "int": ("an integer", "integers", _is_int),
    "float": ("a number", "numbers", _is_float),
    "str": ("a string", "strings", lambda value: isinstance(value, str) and _is_text(value)),
    "bytes": ("bytes", "bytes", lambda value: isinstance(value, bytes)),
    "tuple": ("a tuple", "tuples", lambda value: isinstance(value, tuple)),
    "list": ("a list", "lists", lambda value: isinstance(value, list)),
    "dict": ("a dict", "dicts", lambda value: isinstance(value, dict)),
    "type": ("a class", "classes", lambda value: isinstance(value, type)),
    "collections.abc.Callable": ("a function", "functions", callable),
    "collections.abc.Sequence": (
        "a sequence",
        "sequences",
        lambda value: hasattr(type(value), "__getitem__") and not isinstance(value, dict),
    ),
    "collections.abc.Iterable": (
        "something to iterate over",
        "iterables",
        lambda value: isinstance(value, Iterable),
    ),
}


def _elements(value: Any, fits: Callable[[Any], bool]) -> bool:
    is_sequence = isinstance(value, Sequence) or hasattr(type(value), "__getitem__")
    if not is_sequence or isinstance(value, (str, bytes, Mapping)):
        return False
    return all(map(fits, value))


def _type_of(text: str) -> _Type:
    if text.endswith(" | None"):
        one, many, fits = _type_of(text.removesuffix(" | None"))
        return f"{one} or None", many, lambda value: value is None or fits(value)
    if text in _TYPES:
        return _TYPES[text]
    container, bracket, inner = text.partition("[")
    if bracket and container == "collections.abc.Sequence":
        _, many, fits = _type_of(inner.removesuffix("]"))
        return f"a sequence of {many}", f"sequences of {many}", lambda v: _elements(v, fits)
    if bracket:  # tuple[int, int]
        parts = [_type_of(part) for part in inner.removesuffix("]").split(", ")]
        words = f"of {len(parts)} {parts[0][1]}"
        return (
            f"a {container} {words}",
            f"{container}s {words}",
            lambda value: (
                _elements(value, lambda _: True)
                and len(value) == len(parts)
                and all(part[2](item) for part, item in zip(parts, value, strict=True))
            ),
        )
    name = text.rpartition(".")[2]
    return f"a {name}", f"{name}s", lambda value: type(value).__name__ == name


# ---- the sentence ----


def _name_of(function: Any) -> str:
    """The function that the user called: the outermost frame of farcall, or ``function``."""
    name = function.__name__
    frame = sys._getframe(1)
    while frame and frame.f_globals.get("__name__") == __name__:
        frame = frame.f_back
    while frame and frame.f_globals.get("__name__", "").partition(".")[0] == "farcall":
        candidate = frame.f_code.co_name
        if candidate.isidentifier() and not candidate.startswith("_"):
            name = candidate
        frame = frame.f_back
    return name if name.startswith("__") else name.lstrip("_")


def _of_method(function: Any, text: str, args: tuple) -> tuple[str, str, tuple]:
    """Name, signature and arguments of a method without ``self``."""
    if function.__name__ == "__init__":
        name = type(args[0]).__name__
    else:
        name = _name_of(function)
    return name, re.sub(r"\(self(, )?", "(", text), args[1:]


def _shown(value: Any) -> str:
    try:
        text = repr(value)
    except Exception:
        return f"an object of type {type(value).__name__}"
    if len(text) > _LONGEST_REPR:
        text = f"{text[:_LONGEST_REPR]}…"
    return f"{text} of type {type(value).__name__}"


def _place(parameters: list[_Parameter], at: int) -> str:
    unnamed = _UNNAMED.match(parameters[at].name)
    if not unnamed:
        return f"argument {parameters[at].name}"
    number = int(unnamed[1] or 0)
    return f"the {_ORDINALS[number]} argument" if number < len(_ORDINALS) else f"argument {number}"


def _wrong_names(name: str, signature: _Signature, args: tuple, kwargs: dict) -> str | None:
    """Describes wrong names and a wrong number of arguments; None if they are right."""
    names = [p.name for p in signature.parameters]
    positional = [p for p in signature.parameters if not p.is_keyword_only]
    if len(args) > len(positional) and not signature.takes_any_positional:
        most = len(positional)
        return f"{name} takes {most} argument{'s' * (most != 1)} by position, got {len(args)}"
    for keyword in kwargs:
        if keyword not in names and not signature.takes_any_keyword:
            return f"{name} has no argument {keyword!r}; its arguments are {', '.join(names)}"
        if keyword in [p.name for p in positional[: len(args)]]:
            return f"{name} got argument {keyword} twice, by position and by name"
    for at, parameter in enumerate(signature.parameters):
        is_given = at < min(len(args), len(positional)) or parameter.name in kwargs
        if parameter.is_required and not is_given:
            return f"{name}: {_place(signature.parameters, at)} is missing"
    return None


def explain(function: Any, text: str, args: tuple, kwargs: dict) -> Exception:
    """The error for a call that does not match the signature ``text``.

    Raises whatever an argument's own conversion raises (``__index__``, ``__getitem__``), and
    ConcretizationTypeError for a traced array where an integer is expected.
    """
    if "(self" in text:
        owner = function.__qualname__.rpartition(".")[0].rpartition(".")[2]
        if not args or owner not in (t.__name__ for t in type(args[0]).__mro__):
            return TypeError(
                f"{function.__qualname__} is a method of {owner} and needs an instance of it"
            )
        name, text, args = _of_method(function, text, args)
    else:
        name = _name_of(function)
    signature = _parse(text)
    wrong = _wrong_names(name, signature, args, kwargs)
    if wrong:
        return TypeError(wrong)
    for at, parameter in enumerate(signature.parameters):
        if parameter.name in kwargs:
            value = kwargs[parameter.name]
        elif at < len(args) and not parameter.is_keyword_only:
            value = args[at]
        else:
            continue
        wanted, _, fits = _type_of(parameter.type)
        place = _place(signature.parameters, at)
        if parameter.type.startswith("int"):
            _core._check_known_integer(value, f"{name}: {place}")
        try:
            if fits(value):
                continue
        except OverflowError:
            return OverflowError(f"{name}: {place} must fit into 64 bits, got {_shown(value)}")
        if isinstance(value, str) and "string" in wanted:
            return ValueError(
                f"{name}: {place} must be text that UTF-8 can encode, got {_shown(value)}"
            )
        return TypeError(f"{name}: {place} must be {wanted}, got {_shown(value)}")
    types = ", ".join(type(value).__name__ for value in (*args, *kwargs.values()))
    return TypeError(f"{name}: arguments of types {types} do not match {text.removeprefix('def ')}")
