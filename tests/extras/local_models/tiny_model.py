"""A tiny model with random weights, built where it is needed; nothing is fetched."""

from pathlib import Path
from typing import Any

_CHAT = (
    "{% for message in messages %}<|user|>{{ message['content'] }}<|end|>{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>{% endif %}"
)


def build_tiny_model(folder: Path, **shape: Any) -> Path:
    """Two layers of 64 dimensions, or another shape, and a tokenizer of single bytes.

    Another shape is made on the GPU, if there is one: a processor takes minutes for large ones.
    """
    import torch
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import AutoModelForCausalLM, PreTrainedTokenizerFast, Qwen2Config

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
        "vocab_size": len(fast),
        "hidden_size": 64,
        "intermediate_size": 128,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
    }
    config = Qwen2Config(
        max_position_embeddings=16_384 if shape else 4096,
        eos_token_id=fast.eos_token_id,
        initializer_range=0.02 if shape else 0.3,
        **usual | shape,
    )
    with torch.device("cuda" if shape and torch.cuda.is_available() else "cpu"):
        dtype = torch.bfloat16 if shape else torch.float32
        model = AutoModelForCausalLM.from_config(config, dtype=dtype)
    model.save_pretrained(folder)
    return folder
