"""Small networks of published architectures, from the configurations of ``transformers``; random weights."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional


class Named(nn.Module):
    """A network of ``transformers`` as a function from its inputs, in order, to one of its outputs."""

    def __init__(self, network: nn.Module, inputs: str, output: str = "logits", **options: Any) -> None:
        super().__init__()
        self.network, self.inputs, self.output, self.options = network, inputs.split(), output, options

    def forward(self, *given: Tensor) -> Tensor:
        return self.network(**dict(zip(self.inputs, given, strict=True)), **self.options)[self.output]


def _ids(count: int = 6) -> Tensor:
    return torch.randint(0, 50, (1, count))


Built = tuple[nn.Module, tuple[Tensor, ...]]
_TWO_HEADS = {"num_hidden_layers": 1, "num_attention_heads": 2, "hidden_size": 16, "intermediate_size": 32}


def whisper() -> Built:
    """Encoder of a spectrogram, decoder of tokens."""
    from transformers import WhisperConfig, WhisperForConditionalGeneration

    config = WhisperConfig(
        vocab_size=50, num_mel_bins=8, encoder_layers=1, decoder_layers=1, encoder_attention_heads=2,
        decoder_attention_heads=2, encoder_ffn_dim=32, decoder_ffn_dim=32, d_model=16, max_source_positions=8,
        max_target_positions=8, pad_token_id=0, bos_token_id=1, eos_token_id=2, decoder_start_token_id=1,
    )  # fmt: skip
    network = WhisperForConditionalGeneration(config)
    return Named(network, "input_features decoder_input_ids", use_cache=False), (torch.randn(1, 8, 16), _ids())


def t5() -> Built:
    """Encoder and decoder with relative positions."""
    from transformers import T5Config, T5ForConditionalGeneration

    config = T5Config(
        vocab_size=50, d_model=16, d_kv=8, d_ff=32, num_layers=1, num_heads=2, decoder_start_token_id=0
    )  # fmt: skip
    network = T5ForConditionalGeneration(config)
    return Named(network, "input_ids decoder_input_ids", use_cache=False), (_ids(), _ids(4))


def swin() -> Built:
    """Attention in shifted windows."""
    from transformers import SwinConfig, SwinForImageClassification

    config = SwinConfig(image_size=16, patch_size=2, embed_dim=8, depths=[2, 2], num_heads=[2, 2], window_size=4)
    return Named(SwinForImageClassification(config), "pixel_values"), (torch.randn(1, 3, 16, 16),)


def convnext() -> Built:
    """Depthwise convolutions, layer norms over channels."""
    from transformers import ConvNextConfig, ConvNextForImageClassification

    config = ConvNextConfig(num_stages=2, hidden_sizes=[8, 16], depths=[1, 1], image_size=16)
    return Named(ConvNextForImageClassification(config), "pixel_values"), (torch.randn(1, 3, 16, 16),)


def mamba() -> Built:
    """A state-space model, its scan unrolled over four tokens."""
    from transformers import MambaConfig, MambaModel

    config = MambaConfig(vocab_size=50, hidden_size=16, state_size=4, num_hidden_layers=1, time_step_rank=2)
    return Named(MambaModel(config), "input_ids", "last_hidden_state", use_cache=False), (_ids(4),)


def mixtral() -> Built:
    """A mixture of experts behind grouped attention."""
    from transformers import MixtralConfig, MixtralForCausalLM

    config = MixtralConfig(
        vocab_size=50, num_key_value_heads=1, num_local_experts=4, experts_implementation="batched_mm", **_TWO_HEADS
    )
    return Named(MixtralForCausalLM(config), "input_ids", use_cache=False), (_ids(),)


def wav2vec() -> Built:
    """1-d convolutions, one with a weight that is computed (weight norm)."""
    from transformers import Wav2Vec2Config, Wav2Vec2Model

    config = Wav2Vec2Config(
        conv_dim=(8, 8), conv_stride=(5, 2), conv_kernel=(10, 3), num_conv_pos_embeddings=4,
        num_conv_pos_embedding_groups=2, num_feat_extract_layers=2, **_TWO_HEADS,
    )  # fmt: skip
    return Named(Wav2Vec2Model(config), "input_values", "last_hidden_state"), (torch.randn(1, 200),)


def segformer() -> Built:
    """A pyramid of attention with reduced keys, and a decoder that joins its levels."""
    from transformers import SegformerConfig, SegformerForSemanticSegmentation

    config = SegformerConfig(
        num_encoder_blocks=2, depths=[1, 1], sr_ratios=[2, 1], hidden_sizes=[8, 16], patch_sizes=[3, 3],
        strides=[2, 2], num_attention_heads=[1, 2], mlp_ratios=[2, 2], decoder_hidden_size=8,
    )  # fmt: skip
    return Named(SegformerForSemanticSegmentation(config), "pixel_values"), (torch.randn(1, 3, 16, 16),)


def resnet() -> Built:
    """Residual blocks with batch-norms, and shortcuts with their own."""
    from transformers import ResNetConfig, ResNetForImageClassification

    config = ResNetConfig(embedding_size=8, hidden_sizes=[8, 16], depths=[1, 2], layer_type="basic")
    return Named(ResNetForImageClassification(config), "pixel_values"), (torch.randn(1, 3, 32, 32),)


def clip() -> Built:
    """Two towers, and the product of what they give."""
    from transformers import CLIPConfig, CLIPModel

    text = {"vocab_size": 50, "max_position_embeddings": 8, "projection_dim": 8, "eos_token_id": 2, **_TWO_HEADS}
    images = {"image_size": 16, "patch_size": 8, "projection_dim": 8, **_TWO_HEADS}
    network = CLIPModel(CLIPConfig(text_config=text, vision_config=images, projection_dim=8))
    return Named(network, "input_ids pixel_values", "logits_per_image"), (_ids(), torch.randn(1, 3, 16, 16))


def gemma() -> Built:
    """Two decoder layers, one that sees a window only; soft caps."""
    from transformers import Gemma2Config, Gemma2ForCausalLM

    config = Gemma2Config(
        vocab_size=50, num_key_value_heads=1, head_dim=8, sliding_window=4, **{**_TWO_HEADS, "num_hidden_layers": 2}
    )
    return Named(Gemma2ForCausalLM(config), "input_ids", use_cache=False), (_ids(),)


class _Detector(nn.Module):
    """Two levels, anchors decoded to boxes, and the best five of them."""

    def __init__(self) -> None:
        super().__init__()
        self.stem, self.low, self.high = _block(3, 8), _block(8, 16), _block(16, 16)
        self.lateral = nn.Conv2d(16, 16, 1)
        self.classes, self.boxes, self.object = nn.Conv2d(16, 5, 1), nn.Conv2d(16, 4, 1), nn.Conv2d(16, 1, 1)

    def head(self, level: Tensor, stride: int) -> tuple[Tensor, Tensor]:
        """Returns boxes and scores of a level."""
        boxes = self.boxes(level)
        rows, columns = (torch.arange(size) for size in boxes.shape[2:])
        y, x = torch.meshgrid(rows, columns, indexing="ij")
        centre = (boxes[:, :2].sigmoid() + torch.stack([x, y]).float()) * stride
        whole = torch.cat([centre, boxes[:, 2:].exp() * stride], 1)
        return whole.flatten(2), (self.classes(level).sigmoid() * self.object(level).sigmoid()).flatten(2)

    def forward(self, image: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        low = self.low(self.stem(image))
        high = self.high(low)
        joined = self.lateral(low) + functional.interpolate(high, scale_factor=2.0)
        near, far = self.head(joined, 4), self.head(high, 8)
        boxes, scores = (torch.cat(parts, -1).transpose(1, 2) for parts in zip(near, far, strict=True))
        best, label = scores.max(-1)
        top, index = best.topk(5, -1)
        return boxes.gather(1, index[..., None].expand(-1, -1, 4)), top, label.gather(1, index)


def _block(cin: int, cout: int) -> nn.Sequential:
    return nn.Sequential(nn.Conv2d(cin, cout, 3, 2, 1, bias=False), nn.BatchNorm2d(cout), nn.SiLU())


def detector() -> Built:
    """A detector with its decoding of boxes."""
    return _Detector(), (torch.randn(1, 3, 32, 32),)


class _Gru(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.gru, self.out = nn.GRU(8, 8, 2, bidirectional=True, batch_first=True), nn.Linear(16, 3)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        y, state = self.gru(x)
        return self.out(y), state


def gru() -> Built:
    """Two layers in both directions, three steps."""
    return _Gru(), (torch.randn(1, 3, 8),)


ARCHITECTURES: dict[str, Callable[[], Built]] = {
    one.__name__: one
    for one in (
        whisper, t5, swin, convnext, mamba, mixtral, wav2vec, segformer, resnet, clip, gemma, detector, gru,
    )
}  # fmt: skip
