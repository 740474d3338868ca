"""Handlers from source text and from libraries, compiled once per content and registered.

A cached build is loaded in a few milliseconds: what only compiling needs is imported there.
"""

from __future__ import annotations

import contextlib
import ctypes
import dataclasses
import fcntl
import functools
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from farcall import _core
from farcall._environment import command_path, include_dir
from farcall._functions import are_strings

try:
    from _blake2 import blake2b  # hashlib loads OpenSSL first, which takes milliseconds
except ImportError:
    from hashlib import blake2b

if TYPE_CHECKING:
    from pathlib import Path

_STAGES = ("instantiate", "prepare", "initialize", "record")
_FLAGS = ("-std=c++17", "-O2", "-fPIC", "-shared", "-fvisibility=hidden")
_CUDA_FLAGS = ("-std=c++17", "-O2", "-Xcompiler=-fPIC,-fvisibility=hidden", "-shared")


class CompileError(RuntimeError):
    """The compiler rejected the source of load_inline.

    ``command`` is the command line as a list, ``output`` the whole output of the compiler. Line
    numbers count from the first line of the source.
    """

    def __init__(self, message: str, command: Sequence[str], output: str) -> None:
        super().__init__(message)
        self.command = list(command)
        self.output = output


@dataclasses.dataclass(frozen=True)
class HandlerLibrary:
    """A library whose handlers are registered. It stays loaded until the process ends.

    ``path`` is its file, ``platform`` the platform of its targets. ``handlers`` maps each target to
    a dict of capsules by stage, the form that register_ffi_target accepts.
    """

    _path: str
    platform: str
    handlers: dict[str, dict[str, Any]]

    @property
    def path(self) -> Path:
        """The file of the library."""
        from pathlib import Path

        return Path(self._path)

    def register(self, host: Any) -> None:
        """Registers the handlers with another runtime too: ``library.register(jax)``."""
        # JAX knows platforms of GPUs in capitals only; farcall ignores case.
        platform = self.platform if self.platform == "cpu" else self.platform.upper()
        for name, stages in self.handlers.items():
            host.ffi.register_ffi_target(name, stages, platform=platform)


def load_library(
    path: str | os.PathLike[str], *, prefix: str = "", platform: str = "cpu"
) -> HandlerLibrary:
    """Loads a library of handlers and registers all of them.

    A separate process calls the library's symbols to find the handlers made with ``farcall/ffi.h``
    or XLA's header. A target has the name of its handler; ``NAME_instantiate``, ``NAME_prepare``,
    ``NAME_initialize`` and ``NAME_record`` are the other stages of the handler ``NAME``.

    Args:
      path: the shared library.
      prefix: a prefix of the target names.
      platform: as for register_ffi_target.

    Raises:
      FileNotFoundError: if there is no such file, or the command ``farcall`` is not installed.
      OSError: if the library does not load.
      ValueError: if it exports no handler.
      RuntimeError: if a target's name is already taken by another library.
    """
    library = os.path.realpath(path)
    if not os.path.isfile(library):
        raise FileNotFoundError(f'load_library: file not found: "{path}"')
    return _loaded(f'load_library("{path}")', library, _inspected(library), prefix, platform)


def load_inline(
    name: str,
    cpp_source: str = "",
    *,
    cuda_source: str = "",
    functions: Sequence[str] | Mapping[str, Sequence[str] | Mapping[str, Any]] = (),
    extra_cflags: Sequence[str] = (),
    extra_ldflags: Sequence[str] = (),
    extra_include_paths: Sequence[str | os.PathLike[str]] = (),
    prefix: str = "",
    platform: str | None = None,
) -> HandlerLibrary:
    """Compiles handlers from source text, loads and registers them.

    The source uses ``farcall/ffi.h``, which is included automatically, or ``xla/ffi/api/ffi.h``. It
    is compiled with ``-O2``, once for each combination of content, flags, compiler and headers. The
    result is stored in the folder ``FARCALL_CACHE_DIR`` (by default ``~/.cache/farcall``), which
    may be deleted at any time.

    Args:
      name: the name of the library, shown by the compiler and the debugger.
      cpp_source: C++17, compiled by ``CXX``, or ``c++``, ``g++`` or ``clang++``.
      cuda_source: CUDA source instead of ``cpp_source``; compiled by ``NVCC``, or ``nvcc``.
      functions: names of C++ functions in the source that become handlers, besides those that it
        defines with FARCALL_DEFINE_HANDLER; or a dict that maps such names to the names of their
        attributes, in the order of the parameters; or to a dict of these names and their defaults,
        None for none: ``{"norm": {"eps": 1e-5, "axis": None}}``.
      extra_cflags: further compiler options: ``-march=native``, ``-fopenmp``, ``-g``.
      extra_ldflags: linker options, added at the end of the command: ``-lopenblas``.
      extra_include_paths: include folders.
      prefix: a prefix of the target names. A name stays taken until the process ends, so another
        version of a kernel needs another prefix.
      platform: the platform of the targets; by default ``cpu``, or ``cuda`` for CUDA.

    Raises:
      CompileError: with the compiler's output and the line of the source.
      FileNotFoundError: if there is no compiler.
      OSError: if the library does not load.
      TypeError: if the source is not a string, or a list of options is a string.
      ValueError: if ``name`` is not a valid file name, if none or both of the sources are given, or
        if the source has no handlers.
      RuntimeError: if a target's name is already taken by another handler.
    """
    what = f'load_inline("{name}")'
    for option, text in (("name", name), ("cpp_source", cpp_source), ("cuda_source", cuda_source)):
        if not isinstance(text, str):
            raise TypeError(f"{what}: {option} must be a string, got {text!r}")
    for option, words in (
        ("extra_cflags", extra_cflags),
        ("extra_ldflags", extra_ldflags),
        ("extra_include_paths", extra_include_paths),
    ):
        if isinstance(words, str):
            raise TypeError(
                f"{what}: {option} must be a list, such as {_words(words)}, got {words!r}"
            )
        if not isinstance(words, Sequence) or not all(
            isinstance(w, str | os.PathLike) for w in words
        ):
            raise TypeError(f"{what}: {option} must be a list of strings, got {words!r}")
    if not re.fullmatch(r"[A-Za-z_][\w.-]{0,99}", name):
        raise ValueError(
            f"{what}: the name must consist of at most 100 letters, digits, _, - and ."
        )
    if bool(cpp_source) == bool(cuda_source):
        raise ValueError(f"{what}: give one of cpp_source and cuda_source")
    is_cuda = bool(cuda_source)
    source = _with_handlers(what, cuda_source or cpp_source, functions)
    command = [*_compiler(what, is_cuda), *(_CUDA_FLAGS if is_cuda else _FLAGS)]
    command += [f"-I{os.path.realpath(folder)}" for folder in extra_include_paths]
    command += [f"-I{include_dir()}", *map(os.fspath, extra_cflags)]
    if functions or "xla/ffi/api/" not in source:
        command += ["-include", "farcall/ffi.h"]
    suffix = ".cu" if is_cuda else ".cpp"
    ldflags = [os.fspath(flag) for flag in extra_ldflags]
    library, handlers = _built(what, name, source, command, ldflags, suffix)
    return _loaded(what, library, handlers, prefix, platform or ("cuda" if is_cuda else "cpu"))


# ---- handlers of a library ----


def _inspected(library: str) -> list[list[str]]:
    """The handlers of a library: their symbols, and their stages if they declare them."""
    import json
    import subprocess

    command = [command_path(), "inspect", library, "--json"]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    if run.returncode != 0:
        raise OSError(run.stderr.strip().removeprefix("farcall: "))
    return [[h["symbol"], h.get("stage", "")] for h in json.loads(run.stdout)["handlers"]]


def _loaded(
    what: str, path: str, found: list[list[str]], prefix: str, platform: str
) -> HandlerLibrary:
    symbols = {symbol for symbol, _ in found}
    library = ctypes.CDLL(path)

    def capsule(symbol: str) -> Any:
        address = ctypes.cast(library[symbol], ctypes.c_void_p).value
        assert address is not None
        return _core.ffi.pycapsule(address)

    handlers: dict[str, dict[str, Any]] = {}
    for symbol, stage in found:
        base, _, suffix = symbol.rpartition("_")
        if stage in _STAGES or (not stage and suffix in _STAGES and base in symbols):
            continue
        stages = {other: f"{symbol}_{other}" for other in _STAGES}
        handlers[prefix + symbol] = {
            **{other: capsule(stages[other]) for other in _STAGES if stages[other] in symbols},
            "execute": capsule(symbol),
        }
    if not handlers:
        raise ValueError(
            f"{what}: no handler is exported; define one: FARCALL_DEFINE_HANDLER(name, function)"
        )
    for target, stages in handlers.items():
        _core.ffi.register_target(target, stages, platform, 1, 0, False, None)
    return HandlerLibrary(path, platform, handlers)


# ---- compiling ----


def _words(command_line: str) -> str:
    """The words of a command line as a list, for a message."""
    import json
    import shlex

    try:
        return json.dumps(shlex.split(command_line))
    except ValueError:  # an unfinished quotation
        return json.dumps([command_line])


def _quoted(text: str) -> str:
    """The text as a C++ literal."""
    if re.fullmatch(r"[\w ]*", text, re.ASCII):
        return f'"{text}"'
    import json

    return json.dumps(text)


def _default_in_cpp(what: str, value: Any) -> str:
    """The default of an attribute as a C++ expression."""
    if isinstance(value, bool | np.bool_):
        return "true" if value else "false"
    if isinstance(value, int | np.integer):
        return str(int(value))
    if isinstance(value, float | np.floating) and np.isfinite(value):
        return repr(float(value))
    if isinstance(value, str):
        return _quoted(value)
    raise TypeError(
        f"{what} must be a bool, an integer, a finite float or a string, got {value!r}; give "
        "others in the source: FARCALL_DEFINE_HANDLER(name, function, "
        'farcall::ffi::attr("name").default_to(value))'
    )


def _attributes_in_cpp(what: str, names: Sequence[str] | Mapping[str, Any]) -> list[str]:
    """The options of FARCALL_DEFINE_HANDLER for attributes with these names."""
    if not isinstance(names, Mapping):
        return [_quoted(name) for name in names]
    options = []
    for name, default in names.items():
        option = _quoted(name)
        if default is not None:
            value = _default_in_cpp(f"{what}: the default of {name}", default)
            option = f"farcall::ffi::attr({option}).default_to({value})"
        options.append(option)
    return options


def _with_handlers(
    what: str,
    source: str,
    functions: Sequence[str] | Mapping[str, Sequence[str] | Mapping[str, Any]],
) -> str:
    """The source with a line appended for each function that becomes a handler."""
    if isinstance(functions, str):
        functions = [functions]
    if not isinstance(functions, Mapping | Sequence):
        raise TypeError(
            f"{what}: functions must be a list of names, or a dict from names to lists of "
            f"attributes or to dicts of their defaults, got {functions!r}"
        )
    attributes = functions if isinstance(functions, Mapping) else dict.fromkeys(functions, ())
    for function, names in attributes.items():
        if not isinstance(function, str) or not re.fullmatch(r"[A-Za-z_]\w*", function):
            raise ValueError(
                f"{what}: functions: {function!r} is not the name of a C++ function outside of "
                "namespaces and classes; name a function in a namespace with `using`"
            )
        if not are_strings([*names] if isinstance(names, Mapping) else names):
            raise TypeError(
                f"{what}: functions: the attributes of {function} must be a list of names, such "
                f'as ["scale"], or a dict from names to defaults, got {names!r}'
            )
    lines = [
        f"FARCALL_DEFINE_HANDLER({', '.join([f, f, *options])});"
        for f, options in (
            (f, _attributes_in_cpp(f"{what}: functions: {f}", names))
            for f, names in attributes.items()
        )
    ]
    return "\n".join([source, '#line 1 "functions"', *lines, ""]) if lines else source


def _found(program: str) -> str | None:
    """The file of a program that is a path or in a folder of PATH."""
    folders = [""] if os.path.dirname(program) else os.get_exec_path()
    for file in (os.path.join(folder, program) for folder in folders):
        if os.path.isfile(file) and os.access(file, os.X_OK):
            return file
    return None


def _compiler(what: str, is_cuda: bool) -> list[str]:
    """The first available compiler, with the options in its environment variable."""
    variable = "NVCC" if is_cuda else "CXX"
    given = os.environ.get(variable, "")
    chosen: list[str] = []
    if given:
        import shlex

        try:
            chosen = shlex.split(given)
        except ValueError as error:
            raise ValueError(f"{what}: {variable}={given!r}: {error}") from None
    names = ["nvcc", "/usr/local/cuda/bin/nvcc"] if is_cuda else ["c++", "g++", "clang++"]
    for candidate in [chosen] if chosen else [[name] for name in names]:
        found = _found(candidate[0])
        if found:
            return [found, *candidate[1:]]
    tried = " ".join(chosen) if chosen else ", ".join(names)
    mend = "install the CUDA toolkit" if is_cuda else "install g++ or clang++"
    raise FileNotFoundError(
        f"{what}: no compiler found ({tried}); {mend}, or set {variable} to one"
    )


def _cache_dir() -> str:
    chosen = os.environ.get("FARCALL_CACHE_DIR")
    if chosen:
        return chosen
    cache = os.environ.get("XDG_CACHE_HOME")
    if not cache:
        cache = os.path.expanduser("~/.cache")
        if cache.startswith("~"):
            raise RuntimeError("the home directory is unknown; set FARCALL_CACHE_DIR to a folder")
    return os.path.join(cache, "farcall")


@functools.cache
def _processor() -> str:
    """Identifies the processor that ``-march=native`` compiles for."""
    with contextlib.suppress(OSError), open("/proc/cpuinfo") as lines:
        for line in lines:
            if line.startswith(("flags", "Features")):
                return line
    return ""


@dataclasses.dataclass(frozen=True)
class _Build:
    """A library in the cache: its file name and size, its handlers, and the headers that it
    includes with their times and sizes."""

    library: str
    size: int
    handlers: list[list[str]]
    headers: dict[str, list[int]]

    def write(self, file: str) -> None:
        lines = [["library", self.library, str(self.size)]]
        lines += [["handler", *handler] for handler in self.handlers]
        lines += [["header", path, *map(str, stamp)] for path, stamp in self.headers.items()]
        with open(file, "w") as output:
            output.writelines("\t".join(line) + "\n" for line in lines)

    @staticmethod
    def read(file: str) -> _Build:
        """Raises OSError or ValueError if the file is absent or damaged."""
        handlers: list[list[str]] = []
        headers: dict[str, list[int]] = {}
        with open(file) as lines:
            kind, library, size = lines.readline().rstrip("\n").split("\t")
            if kind != "library":
                raise ValueError(kind)
            for line in lines:
                kind, name, *rest = line.rstrip("\n").split("\t")
                if kind == "handler":
                    handlers.append([name, *rest])
                else:
                    headers[name] = [int(number) for number in rest]
        return _Build(library, int(size), handlers, headers)


def _digest(text: str, num_bytes: int) -> str:
    return blake2b(text.encode(), digest_size=num_bytes).hexdigest()


def _built(
    what: str, name: str, source: str, command: list[str], ldflags: Sequence[str], suffix: str
) -> tuple[str, list[list[str]]]:
    """The library and its handlers, compiled first if not cached."""
    compiler = os.stat(command[0])
    identity = [*command, "--", *ldflags, name, source, str(compiler.st_mtime_ns)]
    if any("native" in flag for flag in command):
        identity.append(_processor())
    digest = _digest("\0".join(identity), 16)
    folder = _cache_dir()
    entry = os.path.join(folder, "inline", digest)
    build = _current_build(entry)
    if build is None:
        try:
            os.makedirs(os.path.dirname(entry), exist_ok=True)
            with _locked(f"{entry}.lock"):
                build = _current_build(entry)
                if build is None:
                    build = _compile(what, entry, name, source, command, ldflags, suffix)
        except OSError as error:
            from pathlib import Path

            if error.filename is None or not Path(error.filename).is_relative_to(folder):
                raise
            raise OSError(
                f"{what}: cannot write to the cache folder {folder} ({error.strerror}); set "
                "FARCALL_CACHE_DIR to another folder"
            ) from error
    return os.path.join(entry, build.library), build.handlers


def _compile(
    what: str,
    entry: str,
    name: str,
    source: str,
    command: list[str],
    ldflags: Sequence[str],
    suffix: str,
) -> _Build:
    import shutil
    import subprocess

    folder = f"{entry}.{os.getpid()}"
    shutil.rmtree(folder, ignore_errors=True)
    os.mkdir(folder)
    try:
        file, made = name + suffix, os.path.join(folder, f"{name}.so")
        with open(os.path.join(folder, file), "w") as output:
            output.write(source)
        whole = [*command, "-MMD", "-MF", "headers", "-o", f"{name}.so", file, *ldflags]
        run = subprocess.run(
            whole,
            cwd=folder,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            check=False,
        )
        if run.returncode != 0 or not os.path.exists(made):
            raise CompileError(_compile_message(what, file, run.stdout), whole, run.stdout)
        headers = _headers_of(folder, file)
        # The loader identifies a library by its path: a build with other headers needs another
        # path.
        stamp = _digest(repr(headers), 4)
        library = f"{name}-{stamp}.so"
        whole_path = os.path.join(folder, library)
        os.rename(made, whole_path)
        build = _Build(library, os.path.getsize(whole_path), _inspected(whole_path), headers)
        build.write(os.path.join(folder, "build"))
        shutil.rmtree(entry, ignore_errors=True)
        os.rename(folder, entry)
        return build
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _compile_message(what: str, file: str, output: str) -> str:
    first = re.search(rf"^{re.escape(file)}[:(](\d+).*?error:? ?(.*)$", output, re.MULTILINE)
    # Errors in lines made for `functions`, or in headers, or of the linker.
    other = re.search(r"^.*?\b(?:error|ld): ?(.*)$", output, re.MULTILINE)
    summary = "the compiler refuses the source"
    if first:
        summary = f"line {first[1]}: {first[2]}"
    elif other:
        summary += f": {other[1]}"
    if re.search(r"ffi\W (?:ha|wa|doe)s not|undeclared identifier 'ffi'", output):
        summary += "; the source lacks `namespace ffi = farcall::ffi;` (xla::ffi with XLA's header)"
    return f"{what}: {summary}\n{output.rstrip()}"


def _headers_of(folder: str, source: str) -> dict[str, list[int]]:
    """The included headers, except the system's, from the compiler's make rules.

    nvcc also writes names of ``#line`` directives, which are no files.
    """
    with open(os.path.join(folder, "headers")) as rules:
        text = rules.read().replace("\\\n", " ").partition(":")[2]
    names = [name.replace("\\ ", " ") for name in re.findall(r"(?:\\ |\S)+", text)]
    return {n: _stamp(n) for n in names if n != source and os.path.isfile(os.path.join(folder, n))}


def _stamp(path: str) -> list[int]:
    status = os.stat(path)
    return [status.st_mtime_ns, status.st_size]


def _current_build(entry: str) -> _Build | None:
    """The cached build, if its headers are unchanged; else None."""
    try:
        build = _Build.read(os.path.join(entry, "build"))
        is_current = all(_stamp(path) == stamp for path, stamp in build.headers.items())
        is_whole = os.path.getsize(os.path.join(entry, build.library)) == build.size
        return build if is_current and is_whole else None
    except (OSError, ValueError):
        return None  # not built, or damaged


@contextlib.contextmanager
def _locked(path: str) -> Iterator[None]:
    with open(path, "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
