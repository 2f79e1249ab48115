"""Nodes measured on four real models: ``python -m bench.numbers [MODEL…]``.

MobileNetV2 (all seventeen blocks, on 64 x 64 images), a ViT, a BERT (both of transformers, two layers, from a
configuration) and a decoder with a KV cache over three steps; float and quantised; lowered to XNNPACK and run on this
machine's runtime. Two tables: per model and form the nodes measured / nodes in Python (quantised or edge, and lowered
with the delegates' insides, against float) and on the device (delegates' insides by added outputs), and the rows that
``Inspector.calculate_numeric_gap`` gives for the same run; then, stage by stage, why the others are not measured.
"""

from __future__ import annotations

import copy
import tempfile
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

import fxstore
from bench.arguments import one_of, options
from bench.ingest import mobilenet_v2
from fxstore.ingest.demo.pipeline import compile_network
from fxstore.ingest.measure.runtime import run_pte

warnings.filterwarnings("ignore")


class Cached(nn.Module):
    """One layer of a decoder: queries, and the cache of keys and values that each step writes its place of."""

    def __init__(self, width: int = 32, heads: int = 4, most: int = 8) -> None:
        super().__init__()
        self.heads, self.norm = heads, nn.LayerNorm(width)
        self.qkv, self.out, self.up = (nn.Linear(width, n) for n in (3 * width, width, 2 * width))
        self.down = nn.Linear(2 * width, width)
        self.register_buffer("keys", torch.zeros(1, heads, most, width // heads))
        self.register_buffer("values", torch.zeros(1, heads, most, width // heads))

    def forward(self, x: Tensor, place: Tensor) -> Tensor:
        batch, tokens, width = x.shape
        q, k, v = self.qkv(self.norm(x)).view(batch, tokens, 3, self.heads, width // self.heads).permute(2, 0, 3, 1, 4)
        self.keys.index_copy_(2, place, k)
        self.values.index_copy_(2, place, v)
        seen = torch.arange(self.keys.shape[2]) <= place
        scores = (q @ self.keys.transpose(-1, -2) / 3.0).masked_fill(~seen, -1e4)
        mixed = (scores.softmax(-1) @ self.values).transpose(1, 2).reshape(batch, tokens, width)
        x = x + self.out(mixed)
        return x + self.down(nn.functional.silu(self.up(x)))


class Decoder(nn.Module):
    """Embedding, two layers, logits; one token a step."""

    def __init__(self) -> None:
        super().__init__()
        self.tokens, self.head = nn.Embedding(50, 32), nn.Linear(32, 50)
        self.layers = nn.ModuleList(Cached() for _ in range(2))

    def forward(self, ids: Tensor, place: Tensor) -> Tensor:
        x = self.tokens(ids)
        for layer in self.layers:
            x = layer(x, place)
        return self.head(x)


class First(nn.Module):
    """A network of transformers with the first of its outputs only."""

    def __init__(self, network: nn.Module) -> None:
        super().__init__()
        self.network = network

    def forward(self, x: Tensor) -> Tensor:
        return self.network(x, return_dict=False)[0]


def mobilenet() -> tuple[nn.Module, list[tuple[Any, ...]]]:
    """With batch-norms that have seen data: at their initial ones a random network's values die out layer by layer."""
    network = mobilenet_v2(small=False)
    for module in network.modules():
        if isinstance(module, nn.BatchNorm2d):
            module.momentum = None  # the mean of all batches
    with torch.no_grad():
        network.train()(torch.randn(8, 3, 64, 64))
    return network.eval(), [(torch.randn(1, 3, 64, 64),)]


def vit() -> tuple[nn.Module, list[tuple[Any, ...]]]:
    from transformers import ViTConfig, ViTModel

    sizes = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 64}
    config = ViTConfig(image_size=32, patch_size=8, attn_implementation="sdpa", **sizes)
    return First(ViTModel(config, add_pooling_layer=False)).eval(), [(torch.randn(1, 3, 32, 32),)]


def bert() -> tuple[nn.Module, list[tuple[Any, ...]]]:
    from transformers import BertConfig, BertModel

    sizes = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 64}
    config = BertConfig(vocab_size=100, max_position_embeddings=32, attn_implementation="eager", **sizes)
    return First(BertModel(config, add_pooling_layer=False)).eval(), [(torch.randint(0, 100, (1, 8)),)]


def decoder() -> tuple[nn.Module, list[tuple[Any, ...]]]:
    return Decoder().eval(), [(torch.tensor([[3 + step]]), torch.tensor([step])) for step in range(3)]


MODELS: dict[str, Callable[[], tuple[nn.Module, list[tuple[Any, ...]]]]] = {
    "mobilenet": mobilenet,
    "vit": vit,
    "bert": bert,
    "decoder": decoder,
}


WHY = {
    "constants": ("constant", "computed from weights alone"),
    "measured at another node": (
        *("same value as", "measured at its outputs", "folded into its batch-norm: measured"),
        *("integer codes: measured", "quantised as it is computed: measured", "inside a delegate: measured"),
    ),
    "steps within an operator": ("a step of …, measured at", "perhaps a step of …, measured at"),
    "no values": ("memory planned", "inserted by"),
}
"""What the reasons of ``coverage`` begin with."""


@dataclass
class Row:
    """One model in one form.

    Attributes:
        stages: Per stage, nodes, nodes measured, and how many are not measured, by reason.
    """

    name: str
    form: str
    stages: dict[str, tuple[int, int, dict[str, int]]]
    worst: float
    incumbent: str

    def cells(self) -> list[str]:
        """Returns its row of the first table."""
        counts = [f"{measured} / {nodes}" for nodes, measured, _ in self.stages.values()]
        return [self.name, self.form, *counts, f"{self.worst:.4f}", self.incumbent]

    def reasons(self) -> Iterator[list[str]]:
        """Yields its rows of the second table; reasons of no known kind stand as they are."""
        for stage, (nodes, measured, reasons) in self.stages.items():
            left, counts = dict(reasons), []
            for begins in WHY.values():
                kind = [reason for reason in left if reason.startswith(begins)]
                counts.append(str(sum(left.pop(reason) for reason in kind)))
            rest = "; ".join(f"{count} {reason}" for reason, count in left.items())
            yield [self.name, self.form, stage, str(nodes), str(measured), *counts, rest or "0"]


def row_of(name: str, quantise: bool) -> Row:
    """Compiles a model, runs all of its stages, and counts."""
    torch.manual_seed(0)
    network, inputs = MODELS[name]()
    carry = len(inputs) > 1
    live: dict[str, Any] = {}
    program = compile_network(network, inputs[0], lambda stage, source: _keep(live, stage, source), quantise=quantise)
    with fxstore.connect(":memory:") as store:
        with store.record(name, strict=True) as rec:
            for stage, source in live.items():
                rec.stage(stage, source)
            middle = "quantized" if quantise else "edge"
            rec.measure(inputs, stages=[middle, "lowered"], metrics=["mse", "cosine"], carry_state=carry)
            rec.device(inputs, reference="float", metrics=["mse", "cosine"], carry_state=carry)
        counted = {stage: _coverage(store, f"{stage} vs float") for stage in (middle, "lowered", "runtime")}
        worst = store.sql(
            "SELECT min(m.value) FROM metrics AS m JOIN overlays AS o USING (overlay_id) "
            "WHERE o.name = 'runtime vs float' AND m.metric = 'cosine'"
        ).fetchall()[0][0]
    return Row(name, "quantised" if quantise else "float", counted, worst, incumbent(program, inputs[0]))


def _keep(live: dict[str, Any], stage: str, source: Any) -> None:
    if stage == "prepared":
        return
    if stage == "lowered":  # emitting edits it
        source = copy.deepcopy(source.exported_program())
    live[stage] = source


def _coverage(store: Any, overlay: str) -> tuple[int, int, dict[str, int]]:
    ((nodes, measured, reasons),) = store.sql(
        "SELECT c.nodes, c.measured, c.reasons FROM coverage AS c JOIN overlays AS o USING (overlay_id) "
        "WHERE o.name = ?", [overlay]
    ).fetchall()  # fmt: skip
    return nodes, measured, reasons


def incumbent(program: Any, inputs: tuple[Any, ...]) -> str:
    """Returns how many rows ``Inspector.calculate_numeric_gap`` has for the same program, or why it has none."""
    from executorch.devtools import Inspector

    run = run_pte(bytes(program.buffer), [("forward", list(inputs))])
    record = program.get_etrecord()
    record._representative_inputs = list(inputs)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "run.etdp").write_bytes(run.etdump)
        (folder / "run.bin").write_bytes(run.debug)
        try:
            record.save(str(folder / "model.etrecord"))
            from executorch.devtools.etrecord import parse_etrecord

            read = parse_etrecord(str(folder / "model.etrecord"))
            read._representative_inputs = list(inputs)
            paths = {"etdump_path": str(folder / "run.etdp"), "debug_buffer_path": str(folder / "run.bin")}
            return str(len(Inspector(etrecord=read, **paths).calculate_numeric_gap(distance="MSE")))
        except Exception as error:  # whatever it makes of the model is its answer
            return f"none: {type(error).__name__}: {str(error).splitlines()[0][:60] if str(error) else ''}"


HEADER = ("model", "form", "quantised or edge", "lowered", "device", "worst cosine on the device", "Inspector's rows")


def main(names: list[str]) -> None:
    rows = []
    _print(HEADER, ["---"] * len(HEADER))
    for name in names or list(MODELS):
        for quantise in (False, True):
            try:
                rows.append(row_of(name, quantise))
            except Exception as error:
                _print([name, "quantised" if quantise else "float", f"{type(error).__name__}: {error}"])
                continue
            _print(rows[-1].cells())
    header = ("model", "form", "stage", "nodes", "measured", *WHY, "else")
    print()
    _print(header, ["---"] * len(header), *(reasons for row in rows for reasons in row.reasons()))


def _print(*rows: Sequence[str]) -> None:
    for row in rows:
        print(f"| {' | '.join(row)} |", flush=True)


if __name__ == "__main__":
    parser = options(__file__, __doc__)
    parser.add_argument("models", metavar="MODEL", nargs="*", type=one_of(MODELS), help=f"of {', '.join(MODELS)}")
    main(parser.parse_args().models)
