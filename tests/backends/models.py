#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the small models that the tests of the inference engines run.

  models.py FOLDER

Pictures are 10 pixels wide and 6 high, so that a mix-up of the two shows. Weights are small whole
numbers, so that results are exact in 32-bit floats. Models that are broken are among them: their
names say how.
"""
import os
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

HEIGHT, WIDTH = 6, 10
PICTURE = [1, 3, HEIGHT, WIDTH]
FLOAT, INT64 = TensorProto.FLOAT, TensorProto.INT64


def tensor(name, values, kind=np.float32):
    return numpy_helper.from_array(np.array(values, dtype=kind), name)


def info(name, shape, kind=FLOAT):
    return helper.make_tensor_value_info(name, kind, shape)


def node(operation, inputs, outputs, **attributes):
    return helper.make_node(operation, inputs, outputs, name=operation + "_" + outputs[0], **attributes)


def model(nodes, inputs, outputs, weights=(), domain=None, operations=11):
    graph = helper.make_graph(nodes, "test", inputs, outputs, list(weights))
    imports = [helper.make_opsetid("", operations)]
    if domain:
        imports.append(helper.make_opsetid(domain, 1))
    made = helper.make_model(graph, opset_imports=imports, producer_name="vcap")
    made.ir_version = 6
    return made.SerializeToString()


def plus_one(shape):
    """Gives its input plus one."""
    return model([node("Add", ["picture", "one"], ["values"])], [info("picture", shape)],
                 [info("values", shape)], [tensor("one", [1])])


def weights_of_conv(inputs=3, outputs=2, side=3):
    """1, 2, 3, … 7, 1, 2, …: the tests compute the same numbers."""
    count = outputs * inputs * side * side
    return (np.arange(count) % 7 + 1).reshape(outputs, inputs, side, side)


def conv(name, source, target, weights, **attributes):
    side = weights.shape[-1]
    return (node("Conv", [source, name], [target], kernel_shape=[side, side],
                 pads=[side // 2] * 4, **attributes), tensor(name, weights))


def sum_of_channels():
    layer, weights = conv("weights", "picture", "values", np.array([1, 10, 100]).reshape(1, 3, 1, 1))
    return model([layer], [info("picture", PICTURE)], [info("values", [1, 1, HEIGHT, WIDTH])], [weights])


def scaling(shape, result):
    """The sum of each pixel's channels, times two, for any size."""
    layer, weights = conv("weights", "picture", "values", np.full((1, 3, 1, 1), 2))
    return model([layer], [info("picture", shape)], [info("values", result)], [weights])


def convolution(values=None):
    layer, weights = conv("weights", "picture", "values", weights_of_conv() if values is None else values)
    return model([layer], [info("picture", PICTURE)], [info("values", [1, 2, HEIGHT, WIDTH])], [weights])


def of_pixels(compressed, flat=False):
    """A convolution of single pixels, times two; compressed: its weights have 8 bits, and a scale for each
    output. A product, which activations are too, does not make its input quantized. flat: they lack the
    dimensions of the kernel, which the model adds."""
    weights, shape = weights_of_conv(3, 32, 1), [1, 32, HEIGHT, WIDTH]
    product = node("Mul", ["picture", "two"], ["doubled"])
    layers = [product, node("Conv", ["doubled", "weights"], ["values"], kernel_shape=[1, 1])]
    values = [tensor("two", [2]), tensor("weights", weights)]
    if compressed:
        layers.insert(1, node("DequantizeLinear", ["small_weights", "scales", "zeros"], ["weights"], axis=0))
        values[1:] = [tensor("small_weights", 2 * weights, np.int8), tensor("scales", [0.5] * 32),
                      tensor("zeros", [0] * 32, np.int8)]
    if flat:
        layers[1] = node("DequantizeLinear", ["small_weights", "scales", "zeros"], ["flat_weights"], axis=0)
        layers.insert(2, node("Unsqueeze", ["flat_weights", "kernel"], ["weights"]))
        values[1] = tensor("small_weights", (2 * weights).reshape(32, 3), np.int8)
        values.append(tensor("kernel", [2, 3], np.int64))
    return model(layers, [info("picture", PICTURE)], [info("values", shape)], values, operations=13)


def nan_weights():
    values = weights_of_conv().astype(np.float32)
    values[0, 0, 1, 1] = np.nan
    return convolution(values)


def two_outputs():
    layer, weights = conv("weights", "picture", "second", np.array([1, 10, 100]).reshape(1, 3, 1, 1))
    return model([node("Add", ["picture", "one"], ["first"]), layer], [info("picture", PICTURE)],
                 [info("first", PICTURE), info("second", [1, 1, HEIGHT, WIDTH])],
                 [tensor("one", [1]), weights])


def with_constant(shape, reaches_picture):
    """A second input: multiplies the picture, or leads to a second output."""
    nodes = [node("Mul", ["picture", "factor"], ["values"])] if reaches_picture else [
        node("Add", ["picture", "one"], ["values"]), node("Add", ["factor", "one"], ["other"])]
    outputs = [info("values", PICTURE)] + ([] if reaches_picture else [info("other", shape)])
    return model(nodes, [info("picture", PICTURE), info("factor", shape)], outputs,
                 [] if reaches_picture else [tensor("one", [1])])


def arg_max():
    return model([node("ArgMax", ["picture"], ["values"], axis=1, keepdims=1)], [info("picture", PICTURE)],
                 [info("values", [1, 1, HEIGHT, WIDTH], INT64)])


def own_size_only():
    """Accepts no other size: its result has as many elements as its own size."""
    return model([node("Reshape", ["picture", "shape"], ["values"])], [info("picture", PICTURE)],
                 [info("values", [1, 3 * HEIGHT * WIDTH])],
                 [tensor("shape", [1, 3 * HEIGHT * WIDTH], np.int64)])


def custom_operation():
    return model([node("Frobnicate", ["picture"], ["values"], domain="org.example.vcap")],
                 [info("picture", PICTURE)], [info("values", PICTURE)], domain="org.example.vcap")


def unknown_operation():
    return model([node("Frobnicate", ["picture"], ["values"])], [info("picture", PICTURE)],
                 [info("values", PICTURE)])


def huge_constant():
    """Adds a tensor of 2^40 elements to the picture's sum. The tensor takes a few bytes in the file."""
    return model([node("ConstantOfShape", ["shape"], ["huge"]),
                  node("ReduceSum", ["huge"], ["sum"], axes=[0, 1], keepdims=0),
                  node("Add", ["picture", "sum"], ["values"])],
                 [info("picture", PICTURE)], [info("values", PICTURE)],
                 [tensor("shape", [1 << 20, 1 << 20], np.int64)])


def huge_expand():
    return model([node("Expand", ["picture", "shape"], ["values"])], [info("picture", [1, 3, 1, 1])],
                 [info("values", [1, 3, 1 << 20, 1 << 20])],
                 [tensor("shape", [1, 3, 1 << 20, 1 << 20], np.int64)])


def huge_at_run_time():
    """The shape of its result comes from the picture's pixels: 255^5 elements if it is white."""
    return model([node("ReduceMax", ["picture"], ["brightest"], axes=[0, 1, 2, 3], keepdims=0),
                  node("Cast", ["brightest"], ["length"], to=INT64),
                  node("Unsqueeze", ["length"], ["one_length"], axes=[0]),
                  node("Concat", ["one_length"] * 5, ["shape"], axis=0),
                  node("ConstantOfShape", ["shape"], ["values"])],
                 [info("picture", PICTURE)], [info("values", ["a", "b", "c", "d", "e"])])


def external_weights():
    """Names another file for its weights, which a model in memory does not have."""
    weights = onnx.TensorProto(name="weights", data_type=FLOAT, dims=[1, 3, 1, 1],
                               data_location=TensorProto.EXTERNAL)
    for key, value in (("location", "/etc/passwd"), ("offset", "0"), ("length", "12")):
        weights.external_data.add(key=key, value=value)
    return model([node("Conv", ["picture", "weights"], ["values"], kernel_shape=[1, 1])],
                 [info("picture", PICTURE)], [info("values", [1, 1, HEIGHT, WIDTH])], [weights])


def slow():
    """Some milliseconds for each picture; the first output is each channel's largest value."""
    nodes, weights = [node("GlobalMaxPool", ["picture"], ["largest"])], []
    source, inputs = "picture", 3
    for number in range(6):
        layer, values = conv(f"weights{number}", source, f"layer{number}",
                             weights_of_conv(inputs, 32) / 1000)
        nodes.append(layer)
        weights.append(values)
        source, inputs = f"layer{number}", 32
    nodes.append(node("GlobalAveragePool", [source], ["average"]))
    return model(nodes, [info("picture", [1, 3, 64, 64])],
                 [info("largest", [1, 3, 1, 1]), info("average", [1, 32, 1, 1])], weights)


def ir(offset=0, shape=PICTURE):
    """Adds a number from the .bin file to the picture."""
    dims = "".join(f"<dim>{length}</dim>" for length in shape)
    port = '<port id="{}" precision="FP32">' + dims + "</port>"
    return f"""<?xml version="1.0"?>
<net name="test" version="11">
  <layers>
    <layer id="0" name="picture" type="Parameter" version="opset1">
      <data shape="{",".join(map(str, shape))}" element_type="f32"/>
      <output><port id="0" precision="FP32" names="picture">{dims}</port></output>
    </layer>
    <layer id="1" name="one" type="Const" version="opset1">
      <data element_type="f32" shape="1,1,1,1" offset="{offset}" size="4"/>
      <output><port id="0" precision="FP32"><dim>1</dim><dim>1</dim><dim>1</dim><dim>1</dim></port></output>
    </layer>
    <layer id="2" name="add" type="Add" version="opset1">
      <data auto_broadcast="numpy"/>
      <input>{port.format(0)}<port id="1" precision="FP32"><dim>1</dim><dim>1</dim><dim>1</dim><dim>1</dim></port></input>
      <output><port id="2" precision="FP32" names="values">{dims}</port></output>
    </layer>
    <layer id="3" name="values" type="Result" version="opset1"><input>{port.format(0)}</input></layer>
  </layers>
  <edges>
    <edge from-layer="0" from-port="0" to-layer="2" to-port="0"/>
    <edge from-layer="1" from-port="0" to-layer="2" to-port="1"/>
    <edge from-layer="2" from-port="2" to-layer="3" to-port="0"/>
  </edges>
</net>
""".encode()


MODELS = {
    "plus_one.onnx": plus_one(PICTURE),
    "plus_one_any_batch.onnx": plus_one(["n", 3, HEIGHT, WIDTH]),
    "gray.onnx": plus_one([1, 1, HEIGHT, WIDTH]),
    "nhwc.onnx": plus_one([1, HEIGHT, WIDTH, 3]),
    "sum.onnx": sum_of_channels(),
    "scaling.onnx": scaling(PICTURE, [1, 1, HEIGHT, WIDTH]),
    "scaling_any_size.onnx": scaling([1, 3, "h", "w"], [1, 1, "h", "w"]),
    "convolution.onnx": convolution(),
    "of_pixels.onnx": of_pixels(False),
    "of_pixels_compressed.onnx": of_pixels(True),
    "of_pixels_compressed_flat.onnx": of_pixels(True, flat=True),
    "nan_weights.onnx": nan_weights(),
    "two_outputs.onnx": two_outputs(),
    "flat_constant.onnx": with_constant([1, 4], False),
    "picture_like_constant.onnx": with_constant([1, 3, 1, 1], True),
    "arg_max.onnx": arg_max(),
    "own_size_only.onnx": own_size_only(),
    "slow.onnx": slow(),
    "no_output.onnx": model([node("Add", ["picture", "one"], ["values"])], [info("picture", PICTURE)], [],
                            [tensor("one", [1])]),
    "no_input.onnx": model([node("Add", ["one", "one"], ["values"])], [], [info("values", [1])],
                           [tensor("one", [1])]),
    "vector_input.onnx": plus_one([1, 4]),
    "custom_operation.onnx": custom_operation(),
    "unknown_operation.onnx": unknown_operation(),
    "huge_input.onnx": plus_one([1, 3, 1 << 20, 1 << 20]),
    "huge_constant.onnx": huge_constant(),
    "huge_expand.onnx": huge_expand(),
    "huge_at_run_time.onnx": huge_at_run_time(),
    "external_weights.onnx": external_weights(),
    "plus_one.xml": ir(),
    "plus_one.bin": np.array([1], dtype=np.float32).tobytes(),
    "weights_beyond_the_file.xml": ir(offset=1 << 40),
    "huge_input.xml": ir(shape=[1, 3, 1 << 20, 1 << 20]),
}


def main():
    folder = sys.argv[1]
    os.makedirs(folder, exist_ok=True)
    for name, content in MODELS.items():
        with open(os.path.join(folder, name), "wb") as file:
            file.write(content)


if __name__ == "__main__":
    main()
