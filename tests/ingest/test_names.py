import pytest

from fxstore.ingest.names import cited_target, module_call, module_path, op_type, source_line


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        ("aten.conv2d.default", "conv2d"),
        ("torch.ops.aten.conv2d.default", "conv2d"),
        ("executorch.exir.dialects.edge._ops.aten.convolution.default", "convolution"),
        ("aten_convolution_default", "convolution"),
        ("aten.mul.Scalar_out", "mul"),
        ("quantized_decomposed.quantize_per_tensor.default", "quantize_per_tensor"),
        ("torch.nn.functional.relu", "relu"),
        ("_operator.getitem", "getitem"),
        ("lab.scale2.default", "scale2"),
        ("torch.ops.higher_order.cond", "cond"),
        ("conv2d", "conv2d"),
    ],
)
def test_op_type(target: str, expected: str) -> None:
    assert op_type(target) == expected


def test_source_line_is_the_users_own() -> None:
    trace = (
        'File "/home/me/model.py", line 74, in forward\n    y = torch.relu(self.conv(x))\n'
        '  File "/env/site-packages/torch/nn/modules/conv.py", line 565, in forward\n    return self._conv(input)'
    )
    assert source_line(trace) == ("/home/me/model.py", 74, "y = torch.relu(self.conv(x))")
    assert source_line("no frame here") == (None, None, None)


def test_modules() -> None:
    assert module_call("L__self__b.0@1") == 2
    assert module_call("L__self__b") == 1
    assert module_path("L['self'].layer.0") == "layer.0"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("<built-in function getitem>", "getitem"),
        ("<function alloc at 0x7f041d53c9a0>", "alloc"),
        (
            "<EdgeOpOverload: aten.convolution.default>: schema = aten::convolution(Tensor input)",
            "aten.convolution.default",
        ),
        ("aten.conv2d.default", "aten.conv2d.default"),
        ("p_conv_weight", "p_conv_weight"),
    ],
)
def test_a_cited_target_holds_no_address(text: str, expected: str) -> None:
    assert cited_target(text) == expected
