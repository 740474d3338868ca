"""One way to call a foreign target in JAX and in farcall, for tests that compare the two."""

from __future__ import annotations

import contextlib
import ctypes
import re
from collections.abc import Callable, Mapping
from typing import Any

import farcall as fc
import jax
import numpy as np


def _is_spec(value: Any) -> bool:
    """Whether this is a (shape, dtype), and not a shape."""
    return isinstance(value, tuple) and len(value) == 2 and isinstance(value[0], tuple)


class Host:
    """A runtime: its ``ffi`` module, its ``jit``, its ShapeDtypeStruct and its errors."""

    def __init__(self, name: str, module: Any, error: type[Exception]) -> None:
        self.name = name
        self.ffi = module.ffi
        self.module = module
        self.error = error
        self._capsules: dict[str, Any] = {}  # what is registered must live on

    def __repr__(self) -> str:
        return self.name

    @property
    def is_jax(self) -> bool:
        return self.module is jax

    def struct(self, shape: Any, dtype: Any) -> Any:
        return self.module.ShapeDtypeStruct(shape, dtype)

    def types(self) -> contextlib.AbstractContextManager[Any]:
        """Data of 64 bits is kept inside."""
        return self.module.enable_x64(True)

    def register(
        self,
        name: str,
        library: ctypes.CDLL,
        stages: Mapping[str, str] | None = None,
        api_version: int = 1,
        symbol: str | None = None,
    ) -> str:
        """Registers ``symbol`` (or ``name``) of the library, or one symbol for each stage."""
        if name in self._capsules:
            return name
        if stages is None:
            made = self.ffi.pycapsule(getattr(library, symbol or name))
        else:
            made = {stage: self.ffi.pycapsule(getattr(library, of)) for stage, of in stages.items()}
        self._capsules[name] = made
        self.ffi.register_ffi_target(name, made, platform="cpu", api_version=api_version)
        return name

    def call(
        self,
        target: str,
        results: Any,
        *args: Any,
        jit: bool = True,
        options: Mapping[str, Any] | None = None,
        **attributes: Any,
    ) -> Any:
        """Numpy arrays; ``results`` is a (shape, dtype), or a list or tuple of such."""
        with self.types():
            is_one = isinstance(results, tuple) and bool(results) and not _is_spec(results[0])
            wanted = (
                self.struct(*results) if is_one else type(results)(self.struct(*r) for r in results)
            )
            call = self.ffi.ffi_call(target, wanted, **(options or {}))

            def bound(*xs: Any) -> Any:
                return call(*xs, **attributes)

            made = (self.module.jit(bound) if jit else bound)(*args)
            if isinstance(made, (list, tuple)):
                return type(made)(np.asarray(m) for m in made)
            return np.asarray(made)

    def failure(self, function: Callable[[], Any]) -> tuple[str, str]:
        """The code's name and the handler's own text of the error that ``function`` raises."""
        try:
            function()
        except self.error as error:
            return self.parts(error)
        except ValueError as error:
            # farcall compares a call with the handler's signature when it is made.
            found = re.fullmatch(r'(?s)ffi_call\(".*?"\): (.*)', str(error))
            if self.module is not fc or not found:
                raise
            return "INVALID_ARGUMENT", found[1]
        raise AssertionError(f"{self}: no error was raised")

    def parts(self, error: Any) -> tuple[str, str]:
        if isinstance(error, fc.FfiError):
            # Errors of compilation name the user's line behind the handler's text.
            return error.code, error.message.split("\n  at ")[0]
        found = re.match(r"(?s)([A-Z_]+): (.*)", str(error))
        assert found, str(error)
        return found[1], found[2]


JAX = Host("jax", jax, jax.errors.JaxRuntimeError)
FARCALL = Host("farcall", fc, fc.FfiError)
HOSTS = [JAX, FARCALL]
