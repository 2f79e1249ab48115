"""Which arguments of an operator are passed by keyword, where a file names all of them and tells none apart.

From the schemas of torch 2.13 and ExecuTorch 1.5: what stands after ``*`` in ``add(Tensor self, …, *, Scalar alpha)``.
A test compares the rule to the schemas of the installed torch.
"""

from __future__ import annotations

from functools import cache

_KEYWORD = frozenset({
    "adjoint", "alpha", "approximate", "assume_unique", "atol", "aweights", "beta", "check_errors", "correction",
    "decimals", "device", "dim_order", "driver", "dtype", "dx", "edge_order", "enable_gqa", "fweights", "generator",
    "hermitian", "implicit", "include_self", "indexing", "interpolation", "invert", "is_coalesced", "is_matrix",
    "layout", "left", "log_target", "memory_format", "out", "out0", "out1", "out2", "out_int32", "path", "pin_memory",
    "pivot", "requires_grad", "right", "rounding_mode", "rtol", "scale", "side", "sorter", "spacing", "stable",
    "use_dynamic",
})  # fmt: skip
"""Of the operators that have an argument of that name, most take it by keyword only."""

_POSITIONAL = {
    "_add_relu.Scalar": "alpha", "_add_relu_.Scalar": "alpha", "_cudnn_attention_backward": "out",
    "_efficient_attention_backward": "out", "_fake_quantize_learnable_per_channel_affine": "scale",
    "_fake_quantize_learnable_per_channel_affine_backward": "scale",
    "_fake_quantize_learnable_per_tensor_affine": "scale",
    "_fake_quantize_learnable_per_tensor_affine_backward": "scale",
    "_fake_quantize_per_tensor_affine_cachemask_tensor_qparams": "scale", "_flash_attention_backward": "out",
    "_flash_attention_forward_no_dropout_inplace": "out", "_foreach_norm.Scalar": "dtype",
    "_foreach_powsum.Scalar": "dtype", "_fused_dropout": "generator", "_fused_moving_avg_obs_fq_helper": "scale",
    "_fused_moving_avg_obs_fq_helper_functional": "scale", "_make_per_channel_quantized_tensor": "scale",
    "_make_per_tensor_quantized_tensor": "scale", "_masked_scale": "scale", "_no_grad_normal_": "generator",
    "_no_grad_uniform_": "generator", "_safe_softmax": "dtype", "_sample_dirichlet": "generator",
    "_scaled_dot_product_cudnn_attention_backward": "out",
    "_scaled_dot_product_efficient_attention_backward": "out",
    "_scaled_dot_product_flash_attention_backward": "out",
    "_scaled_dot_product_flash_attention_for_cpu_backward": "out",
    "_scaled_dot_product_fused_attention_overrideable_backward": "out", "_sobol_engine_draw": "dtype",
    "_sparse_log_softmax.int": "dtype", "_sparse_softmax.int": "dtype", "_standard_gamma": "generator",
    "_to_dense": "dtype", "add.Scalar": "alpha", "add_.Scalar": "alpha", "allclose": "atol rtol",
    "binomial": "generator", "celu": "alpha", "celu_": "alpha", "cudnn_convolution_add_relu": "alpha",
    "elu": "alpha scale", "elu_": "alpha scale", "elu_backward": "alpha scale",
    "fake_quantize_per_channel_affine": "scale", "fake_quantize_per_channel_affine_cachemask": "scale",
    "fake_quantize_per_tensor_affine": "scale", "fake_quantize_per_tensor_affine_cachemask": "scale",
    "fused_moving_avg_obs_fake_quant": "scale", "glu_backward_jvp": "dx", "glu_jvp": "dx",
    "hamming_window": "alpha beta", "is_contiguous": "memory_format", "is_pinned": "device",
    "is_strides_like_format": "memory_format", "isclose": "atol rtol", "kaiser_window.beta": "beta",
    "linalg_matrix_rank.default": "hermitian", "linalg_matrix_rank.out": "hermitian",
    "linalg_matrix_rank.out_tol_tensor": "hermitian", "linalg_matrix_rank.tol_tensor": "hermitian",
    "linalg_pinv.default": "hermitian", "linalg_pinv.out": "hermitian", "linalg_pinv.out_rcond_tensor": "hermitian",
    "linalg_pinv.rcond_tensor": "hermitian", "log_softmax.int": "dtype", "miopen_convolution_add_relu": "alpha",
    "native_dropout_backward": "scale", "native_norm.ScalarOpt_dim_dtype": "dtype", "ormqr": "left",
    "pin_memory": "device", "poisson": "generator", "quantize_per_channel": "dtype",
    "quantize_per_tensor": "dtype scale", "quantize_per_tensor_dynamic": "dtype", "requires_grad_": "requires_grad",
    "rrelu": "generator", "rrelu_": "generator", "rrelu_with_noise": "generator", "rrelu_with_noise_": "generator",
    "rrelu_with_noise_functional": "generator", "rsub.Scalar": "alpha", "smooth_l1_loss": "beta",
    "smooth_l1_loss_backward": "beta", "softmax.int": "dtype", "softplus": "beta", "softplus_backward": "beta",
    "special_softmax": "dtype", "sub.Scalar": "alpha", "sub_.Scalar": "alpha", "subtract.Scalar": "alpha",
    "subtract_.Scalar": "alpha", "sym_is_contiguous": "memory_format", "to.device": "device dtype memory_format",
    "to.dtype": "dtype memory_format", "to.other": "memory_format", "to.prim_Device": "device dtype",
    "to.prim_dtype": "dtype", "to_dense": "dtype", "to_mkldnn": "dtype", "view.dtype": "dtype",
    "view_copy.dtype": "dtype",
}  # fmt: skip

_ALSO = {
    "Generator": "seed", "_addmm_activation": "use_gelu", "_clone_dim_order": "non_blocking",
    "_scaled_dot_product_flash_attention_for_cpu": "attn_mask",
    "_scaled_dot_product_flash_attention_for_cpu_backward": "attn_mask", "_to_copy": "non_blocking",
    "_to_dim_order_copy": "non_blocking", "_to_sparse": "blocksize dense_dim", "addcdiv": "value",
    "addcdiv_": "value", "addcmul": "value", "addcmul_": "value", "aminmax": "dim keepdim",
    "argsort.stable": "descending dim", "cumulative_trapezoid": "dim", "gather": "sparse_grad", "gradient": "dim",
    "hash_tensor": "keepdim mode", "histogram": "density range weight", "linalg_cholesky": "upper",
    "linalg_cholesky_ex": "upper", "linalg_cross": "dim", "linalg_diagonal": "dim1 dim2 offset",
    "linalg_solve_triangular": "unitriangular upper", "linalg_vander": "N", "linalg_vecdot": "dim",
    "nonzero_static": "fill_value size", "repeat_interleave": "output_size", "scatter.reduce": "reduce",
    "scatter.value_reduce": "reduce", "scatter_.reduce": "reduce", "scatter_.value_reduce": "reduce",
    "sort.stable": "descending dim", "sort.values_stable": "descending dim", "std.correction": "keepdim",
    "std_mean.correction": "keepdim", "sym_constrain_range": "max min", "sym_constrain_range_for_size": "max min",
    "to.dtype_layout": "copy non_blocking", "to_dense": "masked_grad", "to_sparse.default": "blocksize dense_dim",
    "trapezoid": "dim", "trapz": "dim", "var.correction": "keepdim", "var_mean.correction": "keepdim",
}  # fmt: skip

_DECOMPOSED = frozenset({
    ("out_dtype", "default"), ("out_dtype", "tensor"), ("out_dtype", "tensor2"), ("out_dtype", "out"),
    ("dtype", "dtype"), ("dtype", "dtype_out"),
})  # fmt: skip
"""Argument and overload: ``dequantize_per_tensor.default``, ``embedding_byte.dtype``."""


@cache
def is_keyword(target: str, name: str) -> bool:
    """Returns whether graphs pass that argument of an operator, such as ``aten.add.Tensor``, by keyword.

    Operators of other namespaces are taken to have all but the output by position: their schemas are not at hand.
    """
    namespace, _, operator = target.partition(".")
    if namespace == "quantized_decomposed":
        return name == "out" or (name, operator.rpartition(".")[2]) in _DECOMPOSED
    if namespace not in ("aten", "dim_order_ops"):
        return name == "out"
    keys = (operator, operator.removesuffix("_out"), operator.partition(".")[0])
    if any(name in _ALSO.get(key, "").split() for key in keys):
        return True
    return name in _KEYWORD and not any(name in _POSITIONAL.get(key, "").split() for key in keys)
