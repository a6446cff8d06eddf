"""Test how the command line starts, ends and fails."""

import os
import re
import subprocess
import sys
import warnings

import pytest

import skglex
from skglex._command_line import _commands
from skglex._command_line._parser import build_parser

COMMANDS = ("report", "summary", "components", "shap", "debias")


def test_module(files):
    """Run the program as users do, in a process of its own."""
    command = [sys.executable, "-m", "skglex", "shap", "booster.ubj", "rows.csv", "--keep", "ID"]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(command, cwd=files.folder, env=env, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.splitlines()[-1].startswith(
        "skglex: error: --keep names 'ID', but rows.csv has no such column"
    )
    assert "decomposing" not in done.stderr  # The error comes before the work.


def test_version(run):
    assert run("--version").out == f"skglex {skglex.__version__}\n"


@pytest.mark.parametrize("command", COMMANDS)
def test_help_has_examples_that_parse(command, run):
    done = run(command, "--help")
    assert done.code == 0
    examples = re.findall(rf"(?m)^  skglex ({command} .+)$", done.out.replace('"House prices"', "x"))
    assert len(examples) >= 3
    for example in examples:
        assert build_parser().parse_args(example.split()).command == command


def test_help_without_a_command(run):
    done = run()
    assert done.code == 2
    assert "start here" in done.err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["frobnicate"], "there is no command 'frobnicate'. The commands are 'report', 'summary'"),
        (["sumary"], "there is no command 'sumary'. Did you mean 'summary'? See skglex --help"),
        (
            ["shap", "rows.csv", "booster.ubj", "-q"],
            "rows.csv is no model that skglex can read: it is a table. The model comes first",
        ),
        (["shap", "a", "b", "--top", "3"], "unrecognized arguments: --top 3. See skglex shap --help"),
        (["shap"], "MODEL, DATA. See skglex shap --help"),
        (["shap", "a", "b", "--sample", "0"], "a whole number of at least 1, got '0'"),
        (["report", "a", "b", "--max-rows", "-1"], "--max-rows"),
        (["debias", "a", "b", "--remove", "sex,"], "names separated by commas"),
        (["debias", "a", "b", "--remove", "x", "--strength", "much"], "expected a number, got 'much'"),
        (["shap", "booster.ubj", "rows.csv", "--nothing"], "unrecognized arguments: --nothing"),
    ],
)
def test_mistakes_are_one_line(arguments, said, run):
    done = run(*arguments)
    assert done.code == 2
    assert done.out == ""
    assert said in done.err
    assert done.err.count("\n") == 1


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        (ValueError("two\nlines"), 2, "skglex: error: two lines\n"),
        (RuntimeError("odd"), 1, "skglex: error: RuntimeError: odd. This should not happen: --traceback"),
        (KeyboardInterrupt(), 130, "skglex: error: interrupted\n"),
    ],
)
def test_errors(error, code, said, run, monkeypatch):
    def fail(args, say):
        raise error

    monkeypatch.setattr(_commands, "summary", fail)
    done = run("summary", "booster.ubj")
    assert done.code == code
    assert said in done.err
    if code == 1:
        assert "Traceback" not in done.err
        assert "Traceback" in run("summary", "booster.ubj", "--traceback").err


def test_warnings_are_one_line(run, monkeypatch):
    def warn(args, say):
        for _ in range(2):
            warnings.warn("two\nlines", UserWarning, stacklevel=2)
        warnings.warn("old", DeprecationWarning, stacklevel=2)

    monkeypatch.setattr(_commands, "summary", warn)
    assert run("summary", "booster.ubj").err == "skglex: warning: two lines\n"


def test_what_is_done_is_said(run):
    done = run("shap", "booster.ubj", "rows.csv")
    steps = ["loading booster.ubj", "reading rows.csv", "decomposing", "computing"]
    assert all(f"skglex: {step}" in done.err for step in steps)
    assert not run("shap", "booster.ubj", "rows.csv", "--quiet").err
