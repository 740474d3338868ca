"""farcall.config: flags, their names, values, scopes and environment variables."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import threading

import farcall
import farcall.numpy as fnp
import numpy as np
import pytest
from farcall import config
from farcall.experimental import disable_x64


@pytest.fixture(autouse=True)
def flags_as_before():
    before = config.values
    yield
    for name, value in before.items():
        config.update(name, value)


# ---- names and values ----


def test_a_flag_is_read_and_set_under_both_names():
    assert config.enable_x64 is False
    assert config.jax_enable_x64 is False
    config.update("jax_enable_x64", True)
    assert config.enable_x64 is True
    assert config.read("jax_enable_x64") is True
    assert config.x64_enabled
    config.update("enable_x64", False)
    assert config.values["enable_x64"] is False


def test_an_unknown_flag_names_near_ones():
    with pytest.raises(AttributeError, match="no flag 'jax_enable_x46'; did you mean enable_x64"):
        config.update("jax_enable_x46", True)
    with pytest.raises(AttributeError, match="no flag 'debug_nan'; did you mean debug_nans"):
        _ = config.debug_nan
    with pytest.raises(AttributeError, match=r"no flag 'zzzz'$"):
        config.read("zzzz")
    assert not hasattr(config, "jax_unheard_of")


def test_assigning_to_a_flag_says_what_to_call():
    with pytest.raises(AttributeError, match=r"call config.update\('enable_x64', True\)"):
        config.enable_x64 = True


@pytest.mark.parametrize(
    ("name", "value", "wanted"),
    [
        ("enable_x64", "perhaps", "True or False; got 'perhaps'"),
        ("debug_nans", None, "True or False; got None"),
        ("numpy_dtype_promotion", "lax", "one of 'standard', 'strict'; got 'lax'"),
        ("numpy_rank_promotion", 1, "one of 'allow', 'warn', 'raise'; got 1"),
        ("default_matmul_precision", "huge", "one of None, 'default'"),
        ("compilation_cache_max_size", "many", "an integer; got 'many'"),
        ("platforms", "cuda,cpu", "'cpu', the only platform; got 'cuda,cpu'"),
        ("no_tracing", True, "False, the only supported value; got True"),
        ("default_prng_impl", "rbg", "'threefry2x32', the only supported value"),
        ("threefry_partitionable", False, "True, the only supported value"),
    ],
)
def test_a_value_that_a_flag_does_not_have_is_an_error(name, value, wanted):
    before = config.read(name)
    with pytest.raises(ValueError, match=f"config: flag {name} must be .*{wanted}"):
        config.update(name, value)
    assert config.read(name) == before


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("jax_default_matmul_precision", "float32"),
        ("jax_platforms", "cpu"),
        ("jax_traceback_filtering", "off"),
        ("jax_compilation_cache_dir", "/nowhere"),
        ("jax_persistent_cache_min_compile_time_secs", 0.5),
        ("jax_debug_key_reuse", False),
        ("jax_default_prng_impl", "threefry2x32"),
        ("jax_threefry_partitionable", True),
        ("jax_debug_log_modules", "jax._src"),
    ],
)
def test_flags_that_change_nothing_keep_their_value(name, value):
    config.update(name, value)
    assert config.read(name) == value


def test_the_config_lists_its_flags():
    assert {"enable_x64", "debug_nans", "platforms"} <= set(dir(config))
    config.update("log_compiles", True)
    assert repr(config) == "<farcall.config {'log_compiles': True}>"


# ---- scopes ----


def test_a_scope_holds_on_its_thread_until_it_ends():
    seen = []
    with farcall.enable_x64():
        assert config.enable_x64
        with disable_x64():
            assert not config.enable_x64
        with farcall.enable_x64(False), pytest.raises(KeyError), farcall.enable_x64(True):
            raise KeyError
        assert config.enable_x64
        thread = threading.Thread(target=lambda: seen.append(config.enable_x64))
        thread.start()
        thread.join()
    assert seen == [False]
    assert not config.enable_x64


def test_a_scope_hides_what_is_set_for_the_process_meanwhile():
    with farcall.debug_nans(False):
        config.update("debug_nans", True)
        assert not config.debug_nans
    assert config.debug_nans


def test_a_scope_of_a_flag_of_python_is_a_scope_too():
    with farcall.default_matmul_precision("highest"):
        with farcall.default_matmul_precision(None):
            assert config.default_matmul_precision is None
        assert config.jax_default_matmul_precision == "highest"
    assert config.default_matmul_precision is None
    with pytest.raises(ValueError, match="flag default_matmul_precision must be"):
        farcall.default_matmul_precision("so-so").__enter__()


def test_a_scope_decorates_a_function():
    @farcall.enable_x64()
    def inside():
        return config.enable_x64

    assert inside()
    assert inside()
    assert not config.enable_x64


# ---- the environment ----


def flags_in_a_process(expression, **environment):
    code = f"import farcall; print({expression})"
    return subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )


def test_environment_variables_set_flags_at_import():
    ran = flags_in_a_process(
        "farcall.config.enable_x64, farcall.config.numpy_rank_promotion",
        FARCALL_ENABLE_X64="1",
        FARCALL_NUMPY_RANK_PROMOTION="raise",
    )
    assert ran.stdout == "True raise\n"


def test_an_environment_variable_with_a_wrong_value_is_named():
    ran = flags_in_a_process("0", FARCALL_DEBUG_NANS="often")
    assert "environment variable FARCALL_DEBUG_NANS: flag debug_nans must be" in ran.stderr


def test_an_empty_environment_variable_is_as_none():
    names = ["MEMORY_POOL_LIMIT", "ENABLE_X64", "ENGINE", "JIT", "JIT_LOOPS", "FUSION"]
    program = "farcall.config, farcall.config.jit_loops, farcall.numpy.ones(2)"
    ran = flags_in_a_process(program, **{f"FARCALL_{name}": "" for name in names})
    assert "<farcall.config of default values> True [1. 1.]" in ran.stdout, ran.stderr


@pytest.mark.parametrize("value", ["off", "False", " 0 ", "no"])
def test_words_switch_the_engine_as_they_switch_flags(value):
    program = """(lambda c: (farcall.config.jit_loops, c.report().num_clusters))(
        farcall.jit(lambda x: farcall.numpy.tanh(x) * x).lower(1.0).compile())"""
    ran = flags_in_a_process(program, FARCALL_JIT=value, FARCALL_FUSION=value)
    assert ran.stdout == "(False, 0)\n", ran.stderr


@pytest.mark.parametrize(
    ("name", "value", "wanted"),
    [
        ("FARCALL_JIT", "2", "1 or 0 or always"),
        ("FARCALL_JIT", "alwayz", "1 or 0 or always"),
        ("FARCALL_FUSION", "none", "1 or 0"),
    ],
)
def test_a_misspelt_switch_of_the_engine_is_an_error_of_the_first_program(name, value, wanted):
    ran = flags_in_a_process("farcall.numpy.ones(2)", **{name: value})
    message = f'ValueError: environment variable {name}: expected {wanted}, got "{value}"'
    assert message in ran.stderr


# ---- disable_jit ----


def test_without_jit_the_function_runs_in_python():
    seen = []

    @farcall.jit
    def f(x, *, scale=1.0):
        seen.append(x.is_traced)
        return x * scale if x > 0 else -x

    with farcall.disable_jit():
        assert f(fnp.float32(-2.0)) == 2.0
        assert f(fnp.float32(3.0), scale=2.0) == 6.0
        assert farcall.grad(f)(fnp.float32(-2.0)) == -1.0
    assert seen[:2] == [False, False]
    with pytest.raises(farcall.ConcretizationTypeError):
        f(fnp.float32(1.0))


def test_a_compiled_function_does_not_run_while_jit_is_disabled():
    calls = []
    f = farcall.jit(lambda x: calls.append(1) or x + 1)
    x = fnp.ones(2)
    f(x), f(x)
    with farcall.disable_jit():
        f(x), f(x)
    f(x)
    assert len(calls) == 3


# ---- log_compiles ----


def test_compiled_programs_are_logged(caplog):
    @farcall.jit
    def doubled(x):
        return x + x

    x = fnp.ones(3)
    with caplog.at_level(logging.WARNING, "farcall"), farcall.log_compiles():
        doubled(x)
        doubled(x)
    messages = [r.getMessage() for r in caplog.records if r.name == "farcall"]
    assert len(messages) == 1
    assert messages[0].startswith("Compiled doubled for (f32[3]) -> (f32[3]), 1 equations, in ")


def test_nothing_is_logged_by_default(caplog):
    with caplog.at_level(logging.DEBUG, "farcall"):
        farcall.jit(lambda x: x - 1)(np.float32(1))
    assert not caplog.records
