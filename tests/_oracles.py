"""Keep the former name until the tests that import it have moved."""

from tests.support.oracles import *  # noqa: F403
