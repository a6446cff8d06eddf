"""Run the command line as ``python -m skglex``."""

import sys

from skglex._command_line import main

if __name__ == "__main__":
    sys.exit(main())
