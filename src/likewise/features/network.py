"""EfficientNet-lite0 as an ONNX graph, made from its weights.

A stem, seven stages of inverted residuals with ReLU6 and without squeeze-and-excite,
a head of 1,280 channels, and the mean over space (Tan and Le, ICML 2019; the lite
variant of 2020). Batch normalisation is folded into the convolutions. Pictures come in
as bytes, so the scaling of their colours is part of the graph.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from likewise.errors import MissingExtraError
from likewise.features.checkpoint import Weights

SIDE = 224  # pixels
N_FEATURES = 1280
# Stride and number of blocks of each stage; kernels and channels are the weights'.
STAGES = ((1, 1), (2, 2), (2, 2), (2, 3), (1, 3), (2, 4), (1, 1))
# What the weights were trained with: (x - 127) / 128, and batch norm's epsilon.
MIDDLE, SCALE = 127.0, 128.0
EPSILON = 1e-3
# Old enough for every onnxruntime of the last years.
OPSET, IR_VERSION = 13, 8


def build_graph(weights: Weights) -> bytes:
    """The network in ONNX: pictures (n, 224, 224, 3) uint8 in, (n, 1280) out."""
    try:
        from onnx import TensorProto, helper
    except ModuleNotFoundError as error:
        raise MissingExtraError("The built-in picture embedding", "embed") from error

    graph = _Graph(weights)
    tensor = graph.add_input("pictures")
    tensor = graph.add_convolution(tensor, "_conv_stem", "_bn0", stride=2, size=SIDE)
    size = SIDE // 2
    for block, stride in enumerate(_strides()):
        tensor = graph.add_block(tensor, f"_blocks.{block}.", stride, size)
        size //= stride
    tensor = graph.add_convolution(tensor, "_conv_head", "_bn1")
    graph.add("GlobalAveragePool", [tensor], "pooled")
    graph.add("Flatten", ["pooled"], "vectors")
    pictures: list[str | int | None] = ["n", SIDE, SIDE, 3]
    model = helper.make_model(
        helper.make_graph(
            graph.nodes,
            "efficientnet-lite0",
            [helper.make_tensor_value_info("pictures", TensorProto.UINT8, pictures)],
            [
                helper.make_tensor_value_info(
                    "vectors", TensorProto.FLOAT, ["n", N_FEATURES]
                )
            ],
            graph.constants,
        ),
        producer_name="likewise",
        opset_imports=[helper.make_opsetid("", OPSET)],
        ir_version=IR_VERSION,
    )
    return bytes(model.SerializeToString(deterministic=True))


def fold_norm(
    kernel: NDArray[Any], weights: Weights, norm: str
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Kernel and bias of a convolution that does what it and its batch norm did."""
    gain, shift, mean, variance = (
        weights[f"{norm}.{name}"].astype(np.float64)
        for name in ("weight", "bias", "running_mean", "running_var")
    )
    factor = gain / np.sqrt(variance + EPSILON)  # (n_channels,)
    folded = kernel * factor[:, None, None, None]
    return folded.astype(np.float32), (shift - mean * factor).astype(np.float32)


def same_padding(size: int, kernel: int, stride: int) -> list[int]:
    """Zeros before and after both sides, so that size / stride pixels come out.

    An odd number of zeros has the larger half behind, as in the training.
    """
    total = max(0, (-(-size // stride) - 1) * stride + kernel - size)
    return [total // 2, total // 2, total - total // 2, total - total // 2]


def _strides() -> Iterator[int]:
    """The stride of each block: a stage's own first, then 1."""
    for stride, n_blocks in STAGES:
        yield from [stride] + [1] * (n_blocks - 1)


class _Graph:
    """Collects nodes and constants; every `add` gives the name of its result."""

    def __init__(self, weights: Weights) -> None:
        self.weights = weights
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def add(self, kind: str, inputs: list[str], output: str, **options: Any) -> str:
        from onnx import helper

        self.nodes.append(helper.make_node(kind, inputs, [output], **options))
        return output

    def add_constant(self, name: str, values: Any) -> str:
        from onnx import numpy_helper

        array = np.asarray(values, dtype=np.float32)
        self.constants.append(numpy_helper.from_array(array, name))
        return name

    def add_input(self, name: str) -> str:
        """Bytes in rows of pixels become scaled numbers in planes of colour."""
        from onnx import TensorProto

        self.add("Cast", [name], "numbers", to=TensorProto.FLOAT)
        self.add("Transpose", ["numbers"], "planes", perm=[0, 3, 1, 2])
        self.add("Sub", ["planes", self.add_constant("middle", MIDDLE)], "centred")
        return self.add("Div", ["centred", self.add_constant("scale", SCALE)], "scaled")

    def add_convolution(
        self,
        tensor: str,
        name: str,
        norm: str,
        *,
        stride: int = 1,
        size: int = 1,
        is_linear: bool = False,
        is_depthwise: bool = False,
    ) -> str:
        """Convolution and batch norm in one, then ReLU6 unless it is linear."""
        raw = self.weights[f"{name}.weight"]
        kernel, bias = fold_norm(raw, self.weights, norm)
        self.add_constant(f"{name}.kernel", kernel)
        self.add_constant(f"{name}.bias", bias)
        side = kernel.shape[-1]
        out = self.add(
            "Conv",
            [tensor, f"{name}.kernel", f"{name}.bias"],
            f"{name}.out",
            kernel_shape=[side, side],
            strides=[stride, stride],
            pads=same_padding(size, side, stride) if side > 1 else [0, 0, 0, 0],
            group=len(kernel) if is_depthwise else 1,
        )
        return out if is_linear else self._add_relu6(out)

    def add_block(self, tensor: str, block: str, stride: int, size: int) -> str:
        """Expand, filter each channel, project; added to what came in if alike."""
        inside = tensor
        if f"{block}_expand_conv.weight" in self.weights:
            inside = self.add_convolution(
                inside, f"{block}_expand_conv", f"{block}_bn0"
            )
        inside = self.add_convolution(
            inside,
            f"{block}_depthwise_conv",
            f"{block}_bn1",
            stride=stride,
            size=size,
            is_depthwise=True,
        )
        project = f"{block}_project_conv"
        out = self.add_convolution(inside, project, f"{block}_bn2", is_linear=True)
        if stride > 1 or self._n_channels_in(block) != self._n_channels_out(block):
            return out
        return self.add("Add", [tensor, out], f"{block}sum")

    def _n_channels_in(self, block: str) -> int:
        """Channels that come into a block; the first one does not expand them."""
        expand = self.weights.get(f"{block}_expand_conv.weight")
        depthwise = self.weights[f"{block}_depthwise_conv.weight"]
        return int(len(depthwise) if expand is None else expand.shape[1])

    def _n_channels_out(self, block: str) -> int:
        return len(self.weights[f"{block}_project_conv.weight"])

    def _add_relu6(self, tensor: str) -> str:
        if not any(constant.name == "six" for constant in self.constants):
            self.add_constant("zero", 0.0)
            self.add_constant("six", 6.0)
        return self.add("Clip", [tensor, "zero", "six"], f"{tensor}.clipped")
