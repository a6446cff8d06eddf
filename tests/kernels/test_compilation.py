"""Keep compiled kernels where all environments of a user find them, and nobody else writes."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numba
import pytest

import skglex
from skglex._kernels import compilation

pytestmark = [
    pytest.mark.skipif(numba.config.DISABLE_JIT, reason="nothing is compiled"),
    pytest.mark.skipif(sys.platform != "linux", reason="other systems have other folders"),
]
PROGRAM = """
from skglex._kernels import report_compilations
from skglex._kernels.subsets import count_members
report_compilations(1)
print(count_members(2).sum() - 1, sum(count_members.stats.cache_hits.values()))
"""


def test_another_installation_compiles_nothing_again(tmp_path):
    for i in range(2):
        shutil.copytree(Path(skglex.__file__).parent, tmp_path / f"{i}" / "skglex")
        env = {**os.environ, "PYTHONPATH": ".", "XDG_CACHE_HOME": str(tmp_path / "cache")}
        command, folder = [sys.executable, "-c", PROGRAM], tmp_path / f"{i}"
        found = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, check=True)
        assert found.stdout == f"3 {i}\n"
        assert found.stderr.startswith("[skglex] compiling kernels") == (i == 0)


@pytest.fixture
def home(monkeypatch, tmp_path):
    """Give the user another cache, and forget the folder that was chosen."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(numba.config, "CACHE_DIR", "")
    compilation.cache_folder.cache_clear()
    yield tmp_path / "home"
    compilation.cache_folder.cache_clear()


def test_a_cache_that_others_can_write_to_is_not_used(home):
    folder = compilation.cache_folder()
    assert folder.parent == home / "skglex"
    assert folder.stat().st_mode & 0o777 == folder.parent.stat().st_mode & 0o777 == 0o700
    folder.parent.chmod(0o777)
    compilation.cache_folder.cache_clear()
    assert home not in compilation.cache_folder().parents
    folder.parent.chmod(0o700)


def test_the_folder_that_the_user_names(home, monkeypatch, tmp_path):
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path / "chosen"))
    assert compilation.cache_folder().parent == tmp_path / "chosen" / "skglex"


@pytest.mark.parametrize("cause", ["no folder", "no sources"])
def test_kernels_are_compiled_anew_where_there_is_no_place_for_a_cache(home, cause, monkeypatch):
    def fail(*args, **params):
        raise PermissionError

    if cause == "no folder":
        monkeypatch.setattr(Path, "mkdir", fail)
    else:
        monkeypatch.setattr(Path, "rglob", lambda path, pattern: [])
    compilation._warn_once.cache_clear()
    with pytest.warns(UserWarning, match="Set NUMBA_CACHE_DIR"):
        twice = compilation.kernel(lambda x: 2 * x)
    assert twice(2.5) == 5
    compilation.kernel(lambda x: x)  # It warns once.


def test_a_cache_that_cannot_be_written_is_passed_over(home, monkeypatch):
    twice = compilation.kernel(lambda x: 2 * x)
    monkeypatch.setattr("tempfile.tempdir", None)
    shutil.rmtree(home)
    assert twice(2.5) == 5
