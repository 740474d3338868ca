"""What every public name has: a place in __all__, a docstring, a signature, a type."""

from __future__ import annotations

import ast
import importlib
import inspect
import pathlib
import pickle
import pkgutil
import pydoc
import subprocess
import sys
import types

import farcall as fc
import farcall.lax as lax
import farcall.numpy as fnp
import numpy as np
import pytest

# Functions that hand all of their arguments on to numpy's.

ROOT = pathlib.Path(fc.__file__).parent


def public_modules() -> list[str]:
    found = ["farcall"]
    for module in pkgutil.walk_packages(fc.__path__, "farcall."):
        parts = module.name.split(".")
        if not any(part.startswith(("_", "libfarcall")) for part in parts):
            found.append(module.name)
    return found


MODULES = public_modules()


def names_of(module: str) -> list[tuple[str, object]]:
    made = importlib.import_module(module)
    return [(name, getattr(made, name)) for name in made.__all__]


def is_ours(value: object) -> bool:
    return (getattr(value, "__module__", None) or "").split(".")[0] == "farcall"


FUNCTIONS = {
    f"{module}.{name}": value
    for module in MODULES
    for name, value in names_of(module)
    if inspect.isroutine(value) and is_ours(value)
}
CLASSES = {
    value.__name__: value
    for module in MODULES
    for _, value in names_of(module)
    if inspect.isclass(value) and is_ours(value) and not issubclass(value, tuple)
}


def test_there_is_something_to_look_at():
    assert len(MODULES) > 15
    assert len(FUNCTIONS) > 500
    assert len(CLASSES) > 15


@pytest.mark.parametrize("module", MODULES)
def test_a_module_says_what_it_offers(module):
    made = importlib.import_module(module)
    assert made.__doc__
    assert made.__doc__.strip()
    assert len(set(made.__all__)) == len(made.__all__)
    assert not [name for name in made.__all__ if name.startswith("_") and name != "__version__"]
    hidden = [name for name in dir(made) if not name.startswith("__") and name not in made.__all__]
    assert hidden == []
    for name in made.__all__:
        value = getattr(made, name)
        if isinstance(value, types.ModuleType):
            assert value.__name__.split(".")[0] == "farcall", name


def signature_problem(function) -> str | None:
    try:
        kinds = [p.kind for p in inspect.signature(function).parameters.values()]
    except (TypeError, ValueError) as error:
        return str(error)
    both = [inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD]
    return "the signature says nothing" if kinds == both else None


@pytest.mark.parametrize("module", MODULES)
def test_functions_have_docstrings_and_signatures(module):
    problems = []
    for name, function in FUNCTIONS.items():
        if name.rpartition(".")[0] != module:
            continue
        doc = (inspect.getdoc(function) or "").strip()
        if not doc.endswith((".", "``", ")")):
            problems.append(f"{name}: no docstring that ends in a sentence")
        problem = signature_problem(function)
        if problem:
            problems.append(f"{name}: {problem}")
    assert problems == []


def test_classes_and_their_methods_have_docstrings():
    problems = [name for name, cls in CLASSES.items() if not (cls.__doc__ or "").strip()]
    for name, cls in CLASSES.items():
        for attribute, value in vars(cls).items():
            if attribute.startswith("_") or not (inspect.isroutine(value) or is_property(value)):
                continue
            if not (getattr(value, "__doc__", None) or "").strip():
                problems.append(f"{name}.{attribute}")
    assert problems == []


def is_property(value: object) -> bool:
    return isinstance(value, (property, types.GetSetDescriptorType))


def test_methods_of_arrays_have_signatures():
    problems = []
    for name in dir(fc.Array):
        value = inspect.getattr_static(fc.Array, name)
        if name.startswith("_") or not inspect.isfunction(value):
            continue
        parameters = [*inspect.signature(value).parameters.values()]
        kinds = [p.kind for p in parameters[1:]]
        if kinds == [inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD]:
            problems.append(name)
    assert problems == []


# ---- functions of the core ----

CORE = {
    name: value
    for name, value in FUNCTIONS.items()
    if isinstance(value, fc._core.Function) and name.split(".")[1] in ("numpy", "lax")
}


def stub_parameters(module: str) -> dict[str, list[str]]:
    tree = ast.parse((ROOT / "_core" / f"{module}.pyi").read_text())
    shares = any(
        getattr(node, "module", None) == "farcall._core._elementwise" for node in tree.body
    )
    found = stub_parameters("_elementwise") if shares else {}
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            a = node.args
            many = [a.vararg] if a.vararg else []
            found[node.name] = [x.arg for x in (*a.posonlyargs, *a.args, *many, *a.kwonlyargs)]
    return found


STUBS = {
    module: stub_parameters(stub)
    for module, stub in {
        "farcall.lax": "lax",
        "farcall.lax.linalg": "linalg",
        "farcall.numpy": "numpy",
        "farcall.numpy.fft": "fft",
        "farcall.numpy.linalg": "numpy_linalg",
        "farcall.scipy.special": "special",
    }.items()
}


def test_signatures_of_the_core_are_those_of_the_stubs():
    assert len(CORE) > 200
    found, wanted = {}, {}
    for name, function in CORE.items():
        stubs = STUBS[function.__module__]
        found[name] = list(inspect.signature(function).parameters)
        wanted[name] = stubs.get(function.__name__)
    assert found == wanted


def test_stubs_of_elementwise_functions_are_current():
    script = pathlib.Path(__file__).parents[2] / "scripts" / "update_stubs.py"
    done = subprocess.run([sys.executable, script, "--check"], capture_output=True, text=True)
    assert done.stdout + done.stderr == ""


def test_help_shows_signature_and_docstring():
    text = pydoc.plain(pydoc.render_doc(fnp.sin))
    assert "sin(x)" in text
    assert "The sine of an angle in radians." in text
    assert "positive definite" in pydoc.plain(pydoc.render_doc(lax.linalg.cholesky))
    whole = pydoc.plain(pydoc.render_doc(fnp))
    assert "arctan2(x, y)" in whole
    assert "sin(x)" in whole


def test_functions_of_the_core_behave_as_functions():
    assert repr(fnp.sin) == "<function farcall.numpy.sin>"
    assert pickle.loads(pickle.dumps(fnp.sin)) is fnp.sin
    assert inspect.isroutine(fnp.sin)
    assert fnp.sin.__qualname__ == "sin"
    assert inspect.signature(fnp.zeros).parameters["dtype"].default is None

    class Holder:
        function = fnp.cos

    np.testing.assert_allclose(Holder().function(0.0), 1.0)
    np.testing.assert_allclose(fc.jit(fnp.sin)(0.5), np.sin(np.float32(0.5)), rtol=1e-6)
    with pytest.raises(TypeError):
        fnp.sin(1.0, 2.0)


def test_star_imports_bring_the_api_alone():
    for module in MODULES:
        space: dict[str, object] = {}
        exec(f"from {module} import *", space)
        space.pop("__builtins__")
        assert set(space) == set(importlib.import_module(module).__all__)
