"""Build an ONNX graph node by node."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from skglex._utils import import_optional
from skglex._version import __version__

_OPSETS = {"": 17, "ai.onnx.ml": 3}
_IR_VERSION = 8


class Graph:
    """Collect the nodes and constants of an ONNX graph."""

    def __init__(self) -> None:
        self.onnx = import_optional("onnx", "onnx")
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def add(self, operator: str, *inputs: str, name: str | None = None, **attributes: Any) -> str:
        """Add a node; return its name, which is the name of its only output."""
        name = name or f"{operator}_{len(self.nodes)}"
        self.nodes.append(self.onnx.helper.make_node(operator, list(inputs), [name], name=name, **attributes))
        return name

    def constant(self, values: Any, dtype: DTypeLike | None = None) -> str:
        """Add a constant; return its name."""
        name = f"constant_{len(self.constants)}"
        self.constants.append(self.onnx.numpy_helper.from_array(np.asarray(values, dtype=dtype), name))
        return name

    def absent_where(self, condition: str, x: str) -> str:
        """Add a node that replaces values by NaN where a condition holds."""
        return self.add("Where", condition, self.constant(np.float64(np.nan)), x)

    def cast(self, x: str, dtype: DTypeLike) -> str:
        """Add a cast to another type."""
        return self.add("Cast", x, to=self.type_of(dtype))

    def type_of(self, dtype: DTypeLike) -> int:
        """Return ONNX's number of a type."""
        dtype = np.dtype(dtype)
        if dtype.kind in "OU":
            return int(self.onnx.TensorProto.STRING)
        return int(self.onnx.helper.np_dtype_to_tensor_dtype(dtype))

    def model(self, inputs: list[Any], outputs: list[Any], description: str, metadata: dict[str, Any]) -> Any:
        """Return the checked model; inputs and outputs are tuples of name, type and shape. Metadata become JSON."""
        helper = self.onnx.helper
        described = [
            [helper.make_tensor_value_info(name, self.type_of(dtype), shape) for name, dtype, shape in group]
            for group in (inputs, outputs)
        ]
        graph = helper.make_graph(self.nodes, "skglex", *described, initializer=self.constants)
        opsets = [helper.make_opsetid(domain, version) for domain, version in _OPSETS.items()]
        model = helper.make_model(
            graph,
            opset_imports=opsets,
            ir_version=_IR_VERSION,
            producer_name="skglex",
            producer_version=__version__,
            doc_string=description,
        )
        helper.set_model_props(model, {name: json.dumps(value) for name, value in metadata.items()})
        self.onnx.checker.check_model(model)
        return model
