"""Check that leaves and components add up to the model's own margin."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from skglex._leaves._leaves import LeafEnsemble
from skglex.exceptions import AdditivityError


def require_equal(
    model_margin: NDArray[np.float64],
    summed_margin: NDArray[np.float64],
    rounding: NDArray[np.float64],
    rows: NDArray[np.int64],
    what: str,
    where: str,
    cause: str | None = None,
) -> None:
    """Raise unless sums of leaves or components equal the model's margin, up to rounding.

    Parameters
    ----------
    model_margin, summed_margin : ndarray of shape (n_samples, n_outputs)
        What the model predicts, and what ``what`` add up to.
    rounding : ndarray that broadcasts to (n_samples, n_outputs)
        Largest difference that rounding explains.
    rows : ndarray of shape (n_samples,)
        Numbers of the rows, for the message.
    what, where : str
        What is summed, and the method that checks it, for the message.
    cause : str, optional
        Why they may differ, if it is known.

    Raises
    ------
    AdditivityError
        They differ.
    """
    if model_margin.shape != summed_margin.shape:
        raise _misread(
            f"{summed_margin.shape[1]} outputs were read, but its margin has {model_margin.shape[1]}",
            where,
            cause,
        )
    rounding = np.broadcast_to(rounding, model_margin.shape)
    with np.errstate(invalid="ignore"):  # A target of one class gives infinite margins.
        error = np.where(model_margin == summed_margin, 0.0, np.abs(model_margin - summed_margin))
    if not (close := error <= rounding).all():
        row, output = np.unravel_index(np.argmax(np.where(close, -np.inf, error - rounding)), error.shape)
        raise _misread(
            f"on row {rows[row]} its margin is {model_margin[row, output]!r}, but the {what} add up to "
            f"{summed_margin[row, output]!r}, off by {error[row, output]:.3g} (rounding: "
            f"{rounding[row, output]:.1g})",
            where,
            cause,
        )


def rounding_of(ensemble: LeafEnsemble) -> NDArray[np.float64]:
    """Return by how much a margin that the model sums in float32 may differ from a sum in float64, per output.

    This bounds the worst case: late trees add the same small value again and again, rounded the same way each time.
    """
    n_trees = np.zeros(ensemble.n_outputs)
    scale = np.abs(ensemble.base).astype(np.float64)
    width = ensemble.value.shape[1]
    occupied = np.diff(ensemble.tree_ptr) > 0
    if len(ensemble.value):
        largest = np.maximum.reduceat(np.abs(ensemble.value), ensemble.tree_ptr[:-1][occupied])
        first = ensemble.output[ensemble.tree_ptr[:-1][occupied]]
        for v in range(width):
            np.add.at(scale, first + v, largest[:, v])
            np.add.at(n_trees, first + v, 1)
    epsilon = float(np.finfo(np.float32).eps)
    return epsilon / 2 * (8 + n_trees) * scale + np.finfo(np.float32).tiny


def _misread(what: str, where: str, cause: str | None) -> AdditivityError:
    if cause is not None:
        return AdditivityError(f"the model was not read exactly: {what}. {cause}")
    retrained = "If the model was trained further since fit, fit again. Otherwise please"
    return AdditivityError(
        f"the model was not read exactly: {what}. No component can be trusted, so {where} stops here. "
        f"{retrained if where != 'fit' else 'Please'} report this with the model, the versions of its library and of "
        "treelite, and the row; check_additivity=False skips this check"
    )
