"""Require that mutants are different programs."""

import ast
import random

import pytest


def test_mutants_differ_in_what_they_do():
    pytest.importorskip("coverage", reason="needs coverage: pip install -e '.[dev]'")
    from tools import mutants

    every = mutants.mutants(mutants.MODULES)
    assert {mutant.kind for mutant in every} >= {
        "comparison",
        "arithmetic",
        "constant",
        "statement",
        "return",
    }
    assert not any(mutant.module.startswith("skglex._kernels") for mutant in every)
    for mutant in random.Random(0).sample(every, 100):
        assert ast.dump(ast.parse(mutant.source())) != ast.dump(ast.parse(mutant.path.read_text("utf-8")))
