"""Options for the compiler, by who calls a kernel; they shorten the first use and change no number."""

# Called from Python too. Nothing needs a kernel as a C callback.
PUBLIC = {"cache": True, "nogil": True, "no_cfunc_wrapper": True}
# Called by other kernels only, so a wrapper for Python would be compiled in vain.
INTERNAL = {**PUBLIC, "no_cpython_wrapper": True}
# Part of the one kernel that calls it: a call would pass many arrays, and compile the code twice.
INLINED = {"cache": True, "nogil": True, "inline": "always"}
