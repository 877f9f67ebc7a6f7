"""``dispatch-audit``: finds the command, runs it, and turns what went wrong into an exit code."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from .. import __version__
from ..errors import DispatchFidelityError
from .exits import Exit

COMMANDS = {
    "demo": "run scripted agents offline and see what is caught",
    "score": "judge a report against a tool log",
    "bind": "check that a manifest and a tool log are of one run",
    "audit": "judge conversations that somebody else recorded",
    "import": "write a foreign transcript as runs of our own",
    "gate": "run a check and record it: command, exit code, output, tree",
    "verify": "are the recorded checks of the code on disk? read-only",
    "selftest": "measure the instrument with known failure classes",
}
MODULES = {"import": "import_runs"}  # where the name of a command cannot be that of a module
PROGRAM = "dispatch-audit"


def usage() -> str:
    """The top-level help."""
    width = max(map(len, COMMANDS))
    commands = "\n".join(f"  {name:<{width}}  {text}" for name, text in COMMANDS.items())
    return (
        f"usage: {PROGRAM} [-h] [--version] COMMAND …\n\n"
        "Did your agent actually call what it says it called?\n\n"
        f"commands:\n{commands}\n\n"
        f"'{PROGRAM} COMMAND --help' shows the options of a command.\n"
        "exit codes: 0 PASS, 1 FAIL, 2 INCONCLUSIVE; 64 wrong usage, 65 input is not what it says,\n"
        "66 input missing, 70 the instrument failed\n"
    )


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    args = list(sys.argv[1:] if argv is None else argv)
    if not args or args[0] in ("-h", "--help", "help"):
        sys.stdout.write(usage())
        return Exit.PASS if args else Exit.USAGE
    if args[0] in ("--version", "-V"):
        sys.stdout.write(f"{PROGRAM} {__version__}\n")
        return Exit.PASS
    if args[0] not in COMMANDS:
        sys.stderr.write(f"{PROGRAM}: there is no command {args[0]!r}; there are: {', '.join(COMMANDS)}\n")
        return Exit.USAGE
    try:
        return _run(args[0], args[1:])
    except DispatchFidelityError as problem:
        sys.stderr.write(f"{PROGRAM}: {_printable(str(problem))}\n")
        return problem.exit_code
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return Exit.BROKEN_PIPE
    except KeyboardInterrupt:
        sys.stderr.write(f"{PROGRAM}: interrupted\n")
        return Exit.INTERRUPTED
    except Exception as problem:
        if os.environ.get("DISPATCH_AUDIT_TRACEBACK"):
            raise
        sys.stderr.write(
            f"{PROGRAM}: the instrument failed: {type(problem).__name__}: {_printable(str(problem))[:500]}\n"
            "This says nothing about the agent. Set DISPATCH_AUDIT_TRACEBACK=1 for the details, and report it.\n"
        )
        return Exit.FAILED


def _printable(text: str) -> str:
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


def _run(name: str, args: list[str]) -> int:
    from argparse import ArgumentParser, RawDescriptionHelpFormatter
    from importlib import import_module
    from typing import NoReturn

    class Formatter(RawDescriptionHelpFormatter):
        """Given a width, it spares every command the import of shutil and the compressors behind it."""

        def __init__(self, prog: str) -> None:
            super().__init__(prog, width=_width())

    class Parser(ArgumentParser):
        """argparse exits with 2 on a wrong option; 2 is a verdict here."""

        def error(self, message: str) -> NoReturn:
            self.print_usage(sys.stderr)
            self.exit(Exit.USAGE, f"{self.prog}: {_printable(message)}\n")

    command = import_module(f"{__package__}.commands.{MODULES.get(name, name)}")
    parser = Parser(
        prog=f"{PROGRAM} {name}",
        description=command.__doc__,
        formatter_class=Formatter,
        allow_abbrev=False,
    )
    command.add_arguments(parser)
    try:
        parsed = parser.parse_args(args)
    except SystemExit as leaving:
        return int(leaving.code or 0)
    return int(command.run(parsed))


def _width() -> int:
    try:
        return max(60, min(os.get_terminal_size().columns - 2, 110))
    except OSError:
        return 100


def entry_point() -> None:
    """The console script: one task a process, so its memory is not tidied up on the way or at the end.

    Fewer passes of the cycle collector and no teardown of modules save a fifth of the time of a small
    ``score``; exit handlers still run.
    """
    import atexit
    import gc

    gc.set_threshold(200_000, 20, 50)
    if sys.stdout is None or sys.stderr is None:  # the caller closed them: the code is the answer
        nowhere = os.fdopen(os.open(os.devnull, os.O_WRONLY), "w", encoding="utf-8")
        sys.stdout, sys.stderr = sys.stdout or nowhere, sys.stderr or nowhere
    reconfigure = getattr(sys.stdout, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(
            errors="backslashreplace"
        )  # a character that the output cannot hold must not cost the verdict
    code = main()
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    atexit._run_exitfuncs()
    os._exit(code)
