"""The names that operators, modules and source lines are known by, whatever dialect they were written in."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from functools import cache

_SUFFIXED = re.compile(
    r"^(aten|quantized_decomposed|dim_order_ops|prims|torchao)_(.+?)_(default|out|[A-Z][A-Za-z_]*|\w*_out)$"
)
_DIALECT = re.compile(r"^(executorch\.exir\.dialects\.edge\._ops|torch\.ops)\.")
_REPR = re.compile(r"<(?:built-in (?:function|method)|function|class|EdgeOpOverload:) '?([\w.]+)")
_FRAME = re.compile(r'^\s*File "(.*)", line (\d+), in .*$')
_ROOT = re.compile(r"^L\['\w+'\]")
_OWN_NAMESPACES = frozenset({
    "aten", "prim", "prims", "prims_rng", "inductor", "quantized", "quantized_decomposed", "dim_order_ops",
    "executorch_prim", "executorch", "torchao", "et_vk", "backend", "edge", "_operator", "operator", "builtins", "math",
    "torch", "memory",
})  # fmt: skip
UNREGISTERED = "operator not registered"
_LIBRARIES = re.compile(r"[/\\](torch|torchao|executorch)[/\\]|^<(?!stdin>|ipython-input|string>)")


@cache
def op_type(target: str) -> str:
    """Returns the operator without namespace, overload and dialect.

    ``aten.conv2d.default``, ``torch.ops.aten.conv2d.default`` and ``torch.nn.functional.conv2d`` read ``conv2d``;
    ``aten_convolution_default`` reads ``convolution``.
    """
    text = short_target(target)
    if match := _SUFFIXED.match(text):
        return match[2]
    parts = text.split(".")
    if text == target and (parts[0] in _PYTHON or len(parts) != 3):
        return parts[-1]
    return parts[1] if len(parts) > 1 else text


_PYTHON = frozenset({"torch", "_operator", "operator", "builtins", "math", "executorch"})


def is_registered(target: str) -> bool:
    """Tells whether an operator that a file names, such as ``lab.scale2.default``, is PyTorch's or known here.

    Nothing is imported for it: without torch in the process only PyTorch's and ExecuTorch's own are known.
    """
    parts = target.split(".")
    if len(parts) != 3 or parts[0] in _OWN_NAMESPACES:
        return True
    torch = sys.modules.get("torch")
    if torch is None:
        return False
    try:
        return hasattr(getattr(getattr(torch.ops, parts[0]), parts[1]), parts[2])
    except (AttributeError, RuntimeError):
        return False


def short_target(target: str) -> str:
    """Returns an operator's target without the package that its dialect lives in: ``aten.conv2d.default``."""
    return _DIALECT.sub("", target)


@cache
def cited_target(text: str) -> str:
    """Returns the target that provenance cites, without what differs from process to process.

    ``<built-in function getitem>`` and ``<function alloc at 0x7f…>`` read ``getitem`` and ``alloc``, and
    ``<EdgeOpOverload: aten.convolution.default>: schema = …`` reads ``aten.convolution.default``.
    """
    match = _REPR.match(text)
    return match[1] if match else text


@cache
def source_line(stack_trace: str) -> tuple[str | None, int | None, str | None]:
    """Returns file, line and code of the innermost frame that is the user's own, else of the innermost frame.

    Frames inside torch, torchao and executorch are not the user's: a convolution's line is the one that calls the
    module, not the one in ``torch/nn/modules/conv.py``. A path whose bytes are no UTF-8 is written with escapes.
    """
    frames: list[tuple[str, int, str | None]] = []
    lines = stack_trace.encode("utf-8", "backslashreplace").decode().splitlines()
    for i, line in enumerate(lines):
        if match := _FRAME.match(line):
            code = lines[i + 1].strip() if i + 1 < len(lines) and not _FRAME.match(lines[i + 1]) else None
            frames.append((match[1], int(match[2]), code))
    own = [frame for frame in frames if not _LIBRARIES.search(frame[0])]
    return next(reversed(own or frames), (None, None, None))


_SPECIAL = re.compile(
    r"^__(i(?=(?:add|sub|mul|truediv|floordiv|mod|pow|matmul|and|or|xor|lshift|rshift)__$))?(\w+?)__$"
)


def spelled(function: str) -> str:
    """Returns a special method as the operator that it is: ``__add__`` reads ``add``, ``__isub__`` reads ``sub_``."""
    match = _SPECIAL.match(function)
    if not match:
        return function
    name = {"truediv": "div"}.get(match[2], match[2])
    return f"{name}_" if match[1] else name


def is_library(file: str) -> bool:
    """Tells whether a source file is torch's, torchao's or executorch's, not the user's."""
    return bool(_LIBRARIES.search(file))


def module_call(key: str) -> int:
    """Returns the 1-based call of a module from its ``nn_module_stack`` key: ``L__self__b.0@1`` is the second call."""
    call = key.rpartition("@")[2] if "@" in key else ""
    return int(call) + 1 if call.isdigit() else 1


def outer_calls(stack: Iterable[tuple[str, str]]) -> tuple[tuple[str, int], ...]:
    """Returns path and call of the modules of a stack, given as (key, path), that are not called for the first time."""
    return tuple((module_path(path), module_call(key)) for key, path in stack if "@" in key and module_call(key) > 1)


def module_path(path: str) -> str:
    """Returns a module's path from the root: ``L['self'].layer.0`` reads ``layer.0``, whatever ``self`` is called."""
    return _ROOT.sub("", path).removeprefix(".")
