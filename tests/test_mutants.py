"""The mutation tester's mutants are other programs."""

import ast
import random

from tools import mutants


def test_mutants_differ_in_what_they_do():
    every = mutants.mutants()
    assert {mutant.kind for mutant in every} >= {
        "comparison",
        "arithmetic",
        "constant",
        "statement",
        "return",
    }
    assert not any(mutant.module.startswith("skglex.kernels") for mutant in every)
    for mutant in random.Random(0).sample(every, 100):
        assert ast.dump(ast.parse(mutant.source())) != ast.dump(ast.parse(mutant.path.read_text("utf-8")))
