"""Run what docs/how_to/command_line.rst shows, and compare with what it prints there."""

import re
import shlex
from pathlib import Path

from skglex._command_line import main

PAGE = Path(__file__).parents[2] / "docs" / "how_to" / "command_line.rst"
BLOCKS = re.findall(r"(?m)^\.\. code-block:: console\n\n((?:   .*\n|\n)+)", PAGE.read_text(encoding="utf-8"))


def as_pattern(shown):
    """Return a pattern in which dots stand for anything, numbers for any number, and bars for any bar."""
    text = re.escape(re.sub(r"[\d.]+(?=%)", "0", shown))
    text = re.sub(r"(?:\\#)+", "#+", text).replace("0%", "[0-9.]+%")
    return (
        re.sub(r"(?:\\\n)?\\\.\\\.\\\.(?:\\\n)?", "(?s:.*)", text)
        .replace("\\ ", " +")
        .replace("\\\n", "\\s+")
    )


def test_page(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")
    (script,) = re.findall(
        r"(?m)^\.\. code-block:: python\n\n((?:   .*\n|\n)+)", PAGE.read_text(encoding="utf-8")
    )
    exec(re.sub(r"(?m)^   ", "", script), {})
    n_commands = 0
    for block in BLOCKS:
        for part in re.split(r"(?m)^   \$ skglex ", block)[1:]:
            command, _, shown = re.sub(r"(?m)^   ", "", part).partition("\n")
            code = main(shlex.split(command))
            out, err = capsys.readouterr()
            assert code == (2 if "error:" in shown else 0), err
            assert re.search(as_pattern(shown.strip()), err if code else out), out + err
            n_commands += 1
    assert n_commands >= 10
    written = [
        "shap.parquet",
        "components.csv",
        "predictions.csv",
        "income_without_sex.json",
        "income_without_sex.onnx",
    ]
    assert all((tmp_path / name).stat().st_size for name in written)


def test_patterns():
    assert re.search(as_pattern("a  12.3%  ###\n...\nb 'x'?"), "a  4.56%  #\nand\nmore\nb 'x'?")
    assert not re.search(as_pattern("a 12%\nb"), "a 12%\nc")
