"""farcall.as_jax: a module tree named jax, refused beside the real one, taken away again."""

from __future__ import annotations

import subprocess
import sys
import textwrap

import farcall as fc
import jax
import pytest


def run(code: str) -> str:
    """The output of a program in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", textwrap.dedent(code)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_programs_written_for_jax_run() -> None:
    out = run(
        """
        import farcall
        handle = farcall.as_jax()
        import jax
        import jax.numpy as jnp
        import jax.scipy.stats.norm as norm
        from jax import lax, random, tree_util
        from jax.experimental import io_callback
        from jax.experimental.shard_map import shard_map
        from jax.scipy.sparse.linalg import bicgstab, cg, gmres
        from jax.sharding import Mesh, PartitionSpec as P

        def f(x: jax.Array) -> jax.Array:
            assert isinstance(x, jax.Array) and isinstance(x, jax.core.Tracer)
            return lax.psum(jnp.sin(x), ()) if False else jnp.sin(x)

        assert jnp is farcall.numpy and not isinstance(jnp.ones(2), jax.core.Tracer)
        print(jax.__version__, jax.jit(jax.grad(f))(0.0), jax.version.__version__)
        print(jax.config.jax_enable_x64, jax.typeof(jnp.ones(3)), callable(norm.pdf))
        print(cg(lambda x: 2 * x, jnp.ones(2))[0][0])
        handle.uninstall()
        """
    )
    assert out.split() == ["0.10.2", "1.0", "0.10.2", "False", "float32[3]", "True", "0.5"]
    assert jax.__version__ == "0.10.2"


def test_what_is_not_there_is_said() -> None:
    out = run(
        """
        import farcall
        with farcall.as_jax() as jax:
            for code in ("jax.lib.xla", "import jax.experimental.pallas", "import jaxlib"):
                try:
                    exec(code)
                except Exception as error:
                    print(type(error).__name__, error)
        """
    )
    first, second, third = out.splitlines()
    assert first.startswith("AttributeError module 'jax' has no attribute 'lib': it is farcall")
    assert second.startswith(
        "ModuleNotFoundError No module named 'jax.experimental.pallas': jax is"
    )
    assert third.startswith("ModuleNotFoundError No module named 'jaxlib'")


def test_the_real_jax_comes_back() -> None:
    run(
        """
        import sys
        import farcall
        before = set(sys.modules), list(sys.meta_path)
        with farcall.as_jax() as jax:
            inner = farcall.as_jax()
            assert sys.modules["jax"] is jax
        assert sys.modules["jax"] is jax  # the other one still needs it
        inner.uninstall()
        inner.uninstall()
        assert not [name for name in sys.modules if name.split(".")[0] == "jax"]
        assert sys.meta_path == before[1]
        import jax
        assert jax.__file__ is not None
        assert not hasattr(jax, "as_jax")
        """
    )


def test_it_is_refused_beside_the_real_jax() -> None:
    with pytest.raises(RuntimeError, match=r"the real JAX is imported already, from .*jax"):
        fc.as_jax()
    assert sys.modules["jax"] is jax
