"""Run a command, and turn errors into one line and an exit code."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Sequence

from skglex._command_line._parser import build_parser
from skglex._command_line._terminal import Mistake, Progress, one_line, warnings_in_one_line

DONE, FAULT, MISTAKE, INTERRUPTED = 0, 1, 2, 130


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line.

    Parameters
    ----------
    argv : sequence of str, default=None
        The arguments. None: those of the process.

    Returns
    -------
    int
        The exit code: 0 if all went well, 2 for a mistake of the user, 1 for a fault of skglex, 130 for Ctrl-C.
    """
    parser, show_traceback = build_parser(), False
    try:
        args, unknown = parser.parse_known_args(argv)
        if unknown:
            help_of = f"skglex {args.command} --help" if args.command else "skglex --help"
            raise Mistake(f"unrecognized arguments: {' '.join(unknown)}. See {help_of}")
        if args.command is None:
            parser.print_help(sys.stderr)
            return MISTAKE
        show_traceback = args.traceback
        with warnings_in_one_line():
            args.run(args, Progress(quiet=args.quiet))
            sys.stdout.flush()
    except SystemExit as stop:  # --help and --version
        return int(stop.code or 0)
    except KeyboardInterrupt:
        return _report("interrupted", INTERRUPTED)
    except BrokenPipeError:
        # Whoever reads stdout has closed it, as `head` does. Python must not write to it when it exits.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return DONE
    except Exception as error:
        if show_traceback:
            traceback.print_exc()
        # The package raises these for arguments and rows that do not fit; their texts say what would.
        if isinstance(error, (Mistake, ValueError, TypeError, ImportError, OSError, MemoryError)):
            return _report(one_line(error) or type(error).__name__, MISTAKE)
        text = f"{type(error).__name__}: {one_line(error)}"
        return _report(f"{text}. This should not happen: --traceback shows where it comes from", FAULT)
    return DONE


def _report(text: str, code: int) -> int:
    print(f"skglex: error: {text}", file=sys.stderr)
    return code
