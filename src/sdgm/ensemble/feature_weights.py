"""How much each input matters: the average squared gradient of a fitted function.

A recursive feature machine with a diagonal metric learns from the inputs multiplied by its root.
"""

from __future__ import annotations

import numpy as np

from sdgm._typing import FloatArray
from sdgm.ensemble.kernels import MemberKernel
from sdgm.ensemble.spaces import View


def squared_gradients(
    view: View, kernel: MemberKernel, coef: FloatArray, weight: FloatArray
) -> FloatArray:
    """Average squared derivative of ``sum_m k(x, c_m) coef_m`` by each input: (D,).

    Parameters
    ----------
    view : View
        The rows to average over, and the centres c.
    kernel : MemberKernel
        Matérn's.
    coef : (M, C) array
    weight : (n,) array
        Of the rows.
    """
    # with d the distance and q the rate, dk/dx = -q^2 exp(-q d) (x - c)
    Z, centers = view.Z, view.space.centers
    rate = kernel.rate(Z.shape[1])
    B = np.exp(-rate * view.distances)
    total = np.zeros(Z.shape[1])
    for a in coef.T:
        slope = Z * (B @ a)[:, None] - B @ (a[:, None] * centers)
        total += weight @ np.square(slope)
    return total * rate**4 / weight.sum()
