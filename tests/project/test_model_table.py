"""The table of models in the documentation is what the readers declare, and what they declare is so."""

import runpy
from importlib import import_module
from pathlib import Path

import pytest

import skglex
from skglex._readers._registry import _READERS, UNSUPPORTED, declared_kinds, registered_path

ROOT = Path(skglex.__file__).parents[1]
pytest.importorskip("lightgbm")
pytest.importorskip("catboost")


def test_the_table_is_generated():
    tool = runpy.run_path(str(ROOT / "tools" / "model_table.py"))
    written = (ROOT / "docs" / "models" / "models_table.inc").read_text(encoding="utf-8")
    assert tool["write_tables"]() == written, "run python tools/model_table.py"


@pytest.mark.parametrize("module", dict.fromkeys(_READERS.values()))
def test_declared_classes_lead_to_their_reader(module):
    for kind in declared_kinds()[module]:
        for name in kind.classes:
            package, _, attribute = name.rpartition(".")
            try:
                model = getattr(import_module(package), attribute)
            except ImportError as error:
                pytest.skip(f"needs {package}: {error}")
            path = registered_path(model)
            assert path not in UNSUPPORTED, name
            assert _READERS[path] == module, name


def test_every_way_into_a_reader_is_declared():
    """A path of the registry without a declared class is one that the documentation leaves out."""
    used = set()
    for kinds in declared_kinds().values():
        for name in (name for kind in kinds for name in kind.classes):
            package, _, attribute = name.rpartition(".")
            try:
                used.add(registered_path(getattr(import_module(package), attribute)))
            except ImportError:
                used |= {path for path in _READERS if path.startswith(name.partition(".")[0])}
    assert used == set(_READERS)


def test_refusals_say_what_works():
    for path, why in UNSUPPORTED.items():
        assert any(word in why for word in ("Pass", "Use", "Fit", "use", "Leave")), path
