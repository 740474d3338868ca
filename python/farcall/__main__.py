"""``python -m farcall``: information about the installed package for build scripts."""

from __future__ import annotations

import argparse

from farcall import _core, _environment


def main(arguments: list[str] | None = None) -> None:
    """Prints one answer for each given option, in the order of the table below."""
    parser = argparse.ArgumentParser(
        prog="python -m farcall", description="Where farcall is installed, and on what it runs."
    )
    answers = {
        "--include-dir": ("the folder of the headers, for -I", _environment.include_dir),
        "--cmake-dir": ("the value of farcall_DIR for find_package", _environment.cmake_dir),
        "--libs": (
            "linker flags of programs that include farcall/farcall.h; handlers need none",
            lambda: " ".join(_environment.linker_flags()),
        ),
        "--version": ("the version", lambda: _core.__version__),
        "--env": (
            "versions, machine, devices and settings, for reports of problems",
            lambda: "\n".join(_environment.environment_lines()),
        ),
    }
    for option, (text, _) in answers.items():
        parser.add_argument(option, action="store_true", help=text)
    chosen = vars(parser.parse_args(arguments))
    if not any(chosen.values()):
        parser.error("choose at least one option")
    for option, (_, answer) in answers.items():
        if chosen[option.removeprefix("--").replace("-", "_")]:
            print(answer())


if __name__ == "__main__":
    main()
