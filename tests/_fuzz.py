"""Keep the former name until the tests that import it have moved."""

from tests.support.hand_built import *  # noqa: F403
