"""Options of the test suite."""


def pytest_addoption(parser):
    parser.addoption(
        "--fuzz-cases",
        type=int,
        default=None,
        help="number of random models that each test of tests/test_fuzz.py looks at, drawn anew (default: few, fixed)",
    )


# a script that tests/test_memory.py starts with arguments
collect_ignore = ["_limited.py"]
