"""MKL's question whether to go on, answered by compiled code: numba gives C a function that needs no Python lock.

MKL asks on all its threads, 17 000 times for a roll of 100 000 samples; answered in Python, that made the factorization
a third slower.
"""

import numpy as np
from numba import carray, cfunc, types
from numba.core import cgutils
from numba.extending import intrinsic

# Whether to give up, and the percentage done: what both sides read and write.
STATE = np.zeros(2, dtype=np.int32)
_ADDRESS = STATE.ctypes.data


@intrinsic
def _pointer(_typing_context, address):
    """The address as a pointer."""

    def generate(_context, builder, _signature, arguments):
        return builder.inttoptr(arguments[0], cgutils.voidptr_t)

    return types.voidptr(address), generate


# int progress(int *thread, int *step, char *stage, int length): anything but 0 makes MKL return.
@cfunc(types.int32(types.voidptr, types.CPointer(types.int32), types.CPointer(types.uint8), types.int32))
def answer(_thread, step, stage, length):
    """Tell PARDISO and the dense routine it spends its time in (DPOTRF) whether to go on; nobody else is stopped."""
    state, name = carray(_pointer(_ADDRESS), 2, np.int32), carray(stage, length)
    is_pardiso = length > 1 and name[0] == ord("P")
    if is_pardiso:
        state[1] = carray(step, 1)[0]
    return state[0] if is_pardiso or (length > 1 and name[0] == ord("D") and name[1] == ord("P")) else 0
