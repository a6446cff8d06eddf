"""Check that a test names each kernel of the planted forest."""

import re
from pathlib import Path

import pytest

import skglex._planted

TESTS = Path(__file__).parents[1]
KERNELS = Path(skglex._planted.__file__).parent / "_kernels"


def public_kernels():
    for path in sorted(KERNELS.glob("[a-z]*.py")):
        yield from re.findall(
            r"^@(?:kernel|helper|inlined)\ndef ([a-z]\w*)", path.read_text(encoding="utf-8"), re.MULTILINE
        )


@pytest.mark.parametrize("kernel", [*public_kernels()])
def test_a_test_names_the_kernel(kernel):
    texts = [path.read_text(encoding="utf-8") for path in TESTS.rglob("*.py")]
    assert any(re.search(rf"\b{kernel}\b", text) for text in texts)
