"""Load the data sets that are shipped with the package."""

import gzip
from importlib.resources import files
from typing import Any, Literal

import numpy as np
from sklearn.utils import Bunch

_PACKAGE = files("skglex.datasets")

_BIKE_INTEGERS = ("season", "yr", "mnth", "hr", "holiday", "weekday", "workingday", "weathersit")
_BIKE_FLOATS = ("temp", "atemp", "hum", "windspeed")
_BIKE_FEATURES = [*_BIKE_INTEGERS, *_BIKE_FLOATS, "dayofyear"]

_ADULT_INTEGERS = ("age", "fnlwgt", "education-num", "capital-gain", "capital-loss", "hours-per-week")
_ADULT_SUBSETS = {"train": ["train"], "test": ["test"], "all": ["train", "test"]}


def _import_pandas(caller: str, way_out: str = "") -> Any:
    """Import pandas, or raise an error with the ways out."""
    try:
        import pandas
    except ImportError as error:
        raise ImportError(
            f"{caller} needs pandas, which is not installed. Run pip install 'skglex[examples]'{way_out}."
        ) from error
    return pandas


def _describe(name: str) -> str:
    """Read the description of a data set."""
    return (_PACKAGE / "descr" / f"{name}.rst").read_text(encoding="utf-8")


def _read_text(name: str) -> dict[str, np.ndarray]:
    """Read the columns of a file as text with NumPy, so that the arrays can be loaded without pandas."""
    with (_PACKAGE / "data" / f"{name}.csv.gz").open("rb") as raw, gzip.open(raw, "rt") as lines:
        header = next(lines).strip().split(",")
        return dict(zip(header, np.loadtxt(lines, delimiter=",", dtype=str, unpack=True)))


def _read_bike_sharing() -> dict[str, np.ndarray]:
    """Read the columns as numbers."""
    text = _read_text("bike_sharing_hour")
    columns = {name: text[name].astype(np.int64) for name in (*_BIKE_INTEGERS, "cnt")}
    columns |= {name: text[name].astype(np.float64) for name in _BIKE_FLOATS}
    date = text["dteday"].astype("datetime64[D]")
    columns["dayofyear"] = (date - date.astype("datetime64[Y]")).astype(np.int64) + 1
    return columns


# The return type is ``Any`` because a type checker would reject ``load_bike_sharing().data`` for "Bunch or tuple".
def load_bike_sharing(*, return_X_y: bool = False, as_frame: bool = True) -> Any:
    """Load the hourly bike-sharing data (regression).

    ==============  ================
    Rows            17,379
    Features        13, all numbers
    Missing values  none
    Target          ``cnt``, 1 to 977
    ==============  ================

    The features are ``season``, ``yr``, ``mnth``, ``hr``, ``holiday``, ``weekday``, ``workingday``, ``weathersit``,
    ``temp``, ``atemp``, ``hum``, ``windspeed`` and ``dayofyear`` (1 to 366, from the date). The columns ``casual`` and
    ``registered`` of the original data are left out, since their sum is the target.

    Parameters
    ----------
    return_X_y : bool, default=False
        Return ``(data, target)`` instead of a `~sklearn.utils.Bunch`.
    as_frame : bool, default=True
        Return the data as pandas objects. With False, return NumPy arrays, which do not need pandas.

    Returns
    -------
    data : :class:`~sklearn.utils.Bunch`
        Dictionary-like object with the attributes

        data : DataFrame or ndarray of shape (17379, 13)
            The features. In a data frame, columns of integers have the dtype ``int64``. An array has the dtype
            ``float64``.
        target : Series or ndarray of shape (17379,)
            The number of rides in the hour.
        feature_names : list of str
            The names of the columns.
        target_names : list of str
            The name of the target, ``["cnt"]``.
        frame : DataFrame of shape (17379, 14) or None
            ``data`` with ``target`` as last column; None if ``as_frame`` is False.
        DESCR : str
            The description of the data set.
    (data, target) : tuple if ``return_X_y`` is True
        The entries ``data`` and ``target`` alone.

    Notes
    -----
    The data are shipped with the package under CC BY 4.0 [1]_. The figure of the paper uses the rows of 2011
    (``yr == 0``).

    References
    ----------
    .. [1] Fanaee-T, H. (2013). Bike Sharing.
       UCI Machine Learning Repository. https://doi.org/10.24432/C5W894.

    Examples
    --------
    >>> from skglex.datasets import load_bike_sharing
    >>> X, y = load_bike_sharing(return_X_y=True)
    >>> X.shape, int(y.sum())
    ((17379, 13), 3292679)
    >>> X[X["yr"] == 0].shape
    (8645, 13)
    """
    pandas = _import_pandas("load_bike_sharing", ", or pass as_frame=False") if as_frame else None
    columns = _read_bike_sharing()
    frame = None
    if pandas is not None:
        frame = pandas.DataFrame({name: columns[name] for name in [*_BIKE_FEATURES, "cnt"]})
        data, target = frame[_BIKE_FEATURES], frame["cnt"]
    else:
        data = np.column_stack([columns[name] for name in _BIKE_FEATURES]).astype(np.float64, copy=False)
        target = columns["cnt"]
    if return_X_y:
        return data, target
    return Bunch(
        data=data,
        target=target,
        frame=frame,
        feature_names=list(_BIKE_FEATURES),
        target_names=["cnt"],
        DESCR=_describe("bike_sharing"),
    )


def load_adult(
    *, subset: Literal["train", "test", "all"] = "train", return_X_y: bool = False, as_frame: bool = True
) -> Any:
    """Load the adult census data (binary classification).

    ==============  =====================================================================
    Rows            32,561 (train), 16,281 (test)
    Features        14: six numbers, eight of dtype ``category``
    Missing values  NaN, in ``workclass``, ``occupation`` and ``native-country``
    Target          ``income``: ``"<=50K"`` or ``">50K"`` (24.1 % of the training part)
    ==============  =====================================================================

    Parameters
    ----------
    subset : {"train", "test", "all"}, default="train"
        Part to load. "all" is the training part followed by the test part.
    return_X_y : bool, default=False
        Return ``(data, target)`` instead of a `~sklearn.utils.Bunch`.
    as_frame : bool, default=True
        Return the data as pandas objects. With False, return NumPy arrays, which do not need pandas. Categories are
        then codes, as in `~sklearn.datasets.fetch_openml`.

    Returns
    -------
    data : :class:`~sklearn.utils.Bunch`
        Dictionary-like object with the attributes

        data : DataFrame or ndarray of shape (n_samples, 14)
            The features. A categorical column has the same categories in every subset. An array has the dtype
            ``float64``, with codes for the categories and NaN for missing values.
        target : Series or ndarray of shape (n_samples,)
            The income class, a string.
        feature_names : list of str
            The names of the columns.
        target_names : list of str
            The two classes.
        frame : DataFrame of shape (n_samples, 15) or None
            ``data`` with ``target`` as last column; None if ``as_frame`` is False.
        categories : dict of str to list of str, or None
            The categories of the categorical columns, by name: the code i stands for entry i. None if ``as_frame`` is
            True.
        DESCR : str
            The description of the data set.
    (data, target) : tuple if ``return_X_y`` is True
        The entries ``data`` and ``target`` alone.

    Notes
    -----
    The data are shipped with the package under CC BY 4.0 [1]_.

    References
    ----------
    .. [1] Becker, B. and Kohavi, R. (1996). Adult.
       UCI Machine Learning Repository. https://doi.org/10.24432/C5XW20.

    Examples
    --------
    >>> from skglex.datasets import load_adult
    >>> X, y = load_adult(return_X_y=True)
    >>> X.shape, int((y == ">50K").sum())
    ((32561, 14), 7841)
    >>> len(X.dropna())
    30162
    """
    if subset not in _ADULT_SUBSETS:
        raise ValueError(f"subset must be one of {sorted(_ADULT_SUBSETS)}, but got {subset!r}.")
    pandas = _import_pandas("load_adult", ", or pass as_frame=False") if as_frame else None
    # Read both parts for every subset, so that all subsets have the same categories.
    parts = {part: _read_text(f"adult_{part}") for part in _ADULT_SUBSETS["all"]}
    names = list(parts["train"])[:-1]
    words = [name for name in names if name not in _ADULT_INTEGERS]
    categories = {
        name: sorted({*parts["train"][name].tolist(), *parts["test"][name].tolist()} - {"?"})
        for name in words
    }
    text = {
        name: np.concatenate([parts[part][name] for part in _ADULT_SUBSETS[subset]])
        for name in parts["train"]
    }
    numbers = {name: text[name].astype(np.int64) for name in _ADULT_INTEGERS}
    # A text that is no category is missing: its code is -1.
    codes = {
        name: np.where(text[name] == "?", -1, np.searchsorted(categories[name], text[name])) for name in words
    }
    frame, target = None, np.array(text["income"].tolist())
    if pandas is not None:
        columns = numbers | {
            name: pandas.Categorical.from_codes(codes[name], categories[name]) for name in words
        }
        frame = pandas.DataFrame(
            {name: columns[name] for name in names} | {"income": text["income"].tolist()}
        )
        data, target = frame[names], frame["income"]
    else:
        data = np.column_stack([(numbers | codes)[name] for name in names]).astype(np.float64)
        data[data < 0] = np.nan  # Only codes are negative.
    if return_X_y:
        return data, target
    return Bunch(
        data=data,
        target=target,
        frame=frame,
        categories=None if as_frame else categories,
        feature_names=names,
        target_names=["<=50K", ">50K"],
        DESCR=_describe("adult"),
    )
