"""Set the options of the compiler by the caller of a kernel.

The options shorten the compilation at first use. They change no result.
"""

# For kernels that Python calls. No kernel is needed as a C callback.
PUBLIC = {"cache": True, "nogil": True, "no_cfunc_wrapper": True}
# For kernels that only other kernels call, so that a wrapper for Python would never be used.
INTERNAL = {**PUBLIC, "no_cpython_wrapper": True}
# For kernels with a single caller: a call would pass many arrays, and the code would be compiled twice.
INLINED = {"cache": True, "nogil": True, "inline": "always"}
