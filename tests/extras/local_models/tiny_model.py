"""A tiny model with random weights, built where it is needed; nothing is fetched."""

from pathlib import Path
from typing import Any

_CHAT = (
    "{% for message in messages %}<|user|>{{ message['content'] }}<|end|>{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>{% endif %}"
)


def build_tiny_model(folder: Path, **shape: Any) -> Path:
    """Two layers of 64 dimensions, or another shape, and a tokenizer of single bytes."""
    import torch
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast, Qwen2Config, Qwen2ForCausalLM

    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    tokenizer = Tokenizer(models.BPE(vocab={c: i for i, c in enumerate(alphabet)}, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    fast = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        eos_token="<|end|>",
        additional_special_tokens=["<|user|>", "<|assistant|>"],
    )
    fast.chat_template = _CHAT
    fast.save_pretrained(folder)
    torch.manual_seed(7)
    usual: dict[str, Any] = {
        "hidden_size": 64,
        "intermediate_size": 128,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
    }
    config = Qwen2Config(
        vocab_size=len(fast),
        max_position_embeddings=16_384 if shape else 4096,
        eos_token_id=fast.eos_token_id,
        initializer_range=0.02 if shape else 0.3,
        **usual | shape,
    )
    model = Qwen2ForCausalLM(config)
    (model.bfloat16() if shape else model).save_pretrained(folder)
    return folder
