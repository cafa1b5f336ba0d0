"""Folders of open models: a vocabulary trained here, and chat templates in the ways that published ones are written."""

from __future__ import annotations

import json
import random
import struct
from functools import cache
from pathlib import Path
from typing import Any

import tokenizers
from tokenizers import models, normalizers, pre_tokenizers, trainers

ADDED = ("<|begin|>", "<|start|>", "<|end|>", "<think>", "</think>", "<call>", "</call>", "[user]", "[model]", "[end]")
"""Added tokens; the first three are special."""

PATTERN = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
WORDS = "the user reads a file and calls tools; results come back as JSON text, 12 of 345 lines. don't I'LL we'Ve naïve"

TAGS = """
{%- macro shown(content) -%}
    {%- if content is string -%}{{ content }}
    {%- else -%}
        {%- for part in content %}{% if part.type == 'text' %}{{ part.text }}{% else %}<picture>{% endif %}{% endfor -%}
    {%- endif -%}
{%- endmacro -%}
{%- if tools -%}
    {{- '<|start|>system\\n' }}
    {%- if messages[0].role == 'system' %}{{- shown(messages[0].content) + '\\n\\n' }}{% endif %}
    {{- 'Tools:' }}
    {%- for tool in tools %}{{- '\\n' + (tool | tojson) }}{% endfor %}
    {{- '<|end|>\\n' }}
{%- elif messages[0].role == 'system' -%}
    {{- '<|start|>system\\n' + shown(messages[0].content) + '<|end|>\\n' }}
{%- endif -%}
{%- set ns = namespace(last=-1) -%}
{%- for message in messages[::-1] -%}
    {%- if message.role == 'user' and ns.last < 0 %}{% set ns.last = messages | length - 1 - loop.index0 %}{% endif -%}
{%- endfor -%}
{%- for message in messages -%}
    {%- if message.role == 'user' or (message.role == 'system' and not loop.first) -%}
        {{- '<|start|>' + message.role + '\\n' + shown(message.content) + '<|end|>\\n' }}
    {%- elif message.role == 'assistant' -%}
        {{- '<|start|>assistant\\n' }}
        {%- if message.reasoning_content and loop.index0 > ns.last -%}
            {{- '<think>\\n' + message.reasoning_content + '\\n</think>\\n\\n' }}
        {%- endif -%}
        {{- shown(message.content or '') }}
        {%- for call in message.tool_calls or [] -%}
            {{- '\\n<call>\\n' + call.function.name + ' ' + (call.function.arguments | tojson) + '\\n</call>' }}
        {%- endfor -%}
        {{- '<|end|>\\n' }}
    {%- elif message.role == 'tool' -%}
        {%- if loop.first or messages[loop.index0 - 1].role != 'tool' %}{{- '<|start|>user' }}{% endif -%}
        {{- '\\n<result>\\n' + shown(message.content) + '\\n</result>' }}
        {%- if loop.last or messages[loop.index0 + 1].role != 'tool' %}{{- '<|end|>\\n' }}{% endif -%}
    {%- endif -%}
{%- endfor -%}
{%- if add_generation_prompt %}{{- '<|start|>assistant\\n' }}{% endif -%}
{%- if quick is defined and quick %}{{- '<think>\\n\\n</think>\\n\\n' }}{% endif -%}
"""
"""Tags around messages, thinking dropped from earlier turns, results joined into one turn, a look at neighbours."""

SLICED = """
{{- bos_token }}
{%- if messages[0]['role'] == 'system' %}
    {%- set system = messages[0]['content'] | trim %}
    {%- set messages = messages[1:] %}
{%- else %}
    {%- set system = 'You help.' %}
{%- endif %}
{{- '[user]' + system + '[end]' }}
{%- if tools %}{{ tools | tojson(indent=4) }}{% endif %}
{%- for message in messages %}
    {%- if message['role'] == 'system' %}{{ raise_exception('a system message must come first') }}{% endif %}
    {%- set open = '[model]' if message['role'] == 'assistant' else '[user]' %}
    {%- generation %}{{ open }}{{ message['content'] | trim }}{% endgeneration %}
    {%- for call in message.get('tool_calls', []) %}
        {%- if loop.first %}{{ ' calls:' }}{% endif %}
        {%- for key, value in call.function.arguments.items() %}{{ key ~ '=' ~ value ~ ';' }}{% endfor %}
        {%- if loop.index > 2 %}{% break %}{% endif %}
    {%- endfor %}
    {{- '[end]' }}
{%- endfor %}
{%- if add_generation_prompt %}{{ '[model]' }}{% endif %}
"""
"""A default system text, messages behind the first, contents that are trimmed, a break."""

PARTS = """
{%- for message in messages %}
    {{- '<|start|>' + message.role + ' ' + message.content[0]['text'] + '<|end|>' }}
{%- endfor %}
{%- if add_generation_prompt %}<|start|>model {% endif %}
"""
"""Contents that are lists of parts, and nothing else."""

TEXTS = """
{%- for message in messages %}
    {%- if message.tool_calls %}
        {%- for call in message.tool_calls %}{{ '<call>' + call.function.name + call.function.arguments }}{% endfor %}
        {{- '</call>' }}
    {%- endif %}
    {{- message.role ~ ': ' ~ (message.content or '') ~ '\\n\\n' }}
{%- endfor %}
{{- 'assistant:' if add_generation_prompt }}
"""
"""Arguments that are JSON text, and no added token between messages."""

TEMPLATES = {"tags": TAGS, "sliced": SLICED, "parts": PARTS, "texts": TEXTS}


@cache
def vocabulary() -> str:
    """Return a small ``tokenizer.json`` of pairs of bytes, in the pattern of Qwen 2."""
    made = tokenizers.Tokenizer(models.BPE())
    made.normalizer = normalizers.NFC()
    split = pre_tokenizers.Split(tokenizers.Regex(PATTERN), behavior="isolated")
    made.pre_tokenizer = pre_tokenizers.Sequence(
        [split, pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)]
    )
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=600, initial_alphabet=alphabet, show_progress=False)
    made.train_from_iterator([WORDS] * 9 + [TAGS, SLICED], trainer)
    made.add_special_tokens([*ADDED[:3]])
    made.add_tokens([tokenizers.AddedToken(text, normalized=False) for text in ADDED[3:]])
    return made.to_str()


def make_folder(path: Path, template: str = "tags", window: int | None = 4_000, **files: str) -> Path:
    """Write a model's folder; ``files`` are further ones, by name without their suffix ``.json``."""
    path.mkdir(parents=True, exist_ok=True)
    (path / "tokenizer.json").write_text(vocabulary(), encoding="utf-8")
    names = {"bos_token": {"content": "<|begin|>"}, "eos_token": "<|end|>", "pad_token": None}
    settings = names | {"chat_template": TEMPLATES.get(template, template)}
    (path / "tokenizer_config.json").write_text(json.dumps(settings), encoding="utf-8")
    if window:
        (path / "config.json").write_text(json.dumps({"max_position_embeddings": window}), encoding="utf-8")
    for name, text in files.items():
        (path / f"{name}.json").write_text(text, encoding="utf-8")
    return path


PIECES = (
    *WORDS.split(),
    *("\n", "\n\n", " ", "  ", "\r\n", ".", "!!\n", "e\u0301", "中文", "\U0001f600", "<b>&", '"', "\\", "\x00"),
    *("<|end|>", "<think>", "</call>", "<|en", "12", "345.6"),
)


def some_text(rng: random.Random) -> str:
    """Return a text of words, white space, scripts, and added tokens."""
    return " ".join(rng.choices(PIECES, k=rng.randrange(1, 12)))


def conversation(seed: int, turns: int = 4, *, system: bool = True) -> list[dict[str, Any]]:
    """Return a conversation in Chat Completions' shape that ends with a user or a result."""
    rng = random.Random(seed)
    made: list[dict[str, Any]] = []
    if system and rng.random() < 0.5:
        made.append({"role": "system", "content": some_text(rng)})
    for turn in range(rng.randrange(1, turns + 1)):
        made.append({"role": "user", "content": some_text(rng)})
        for step in range(rng.randrange(3)):
            calls = [_call(rng, f"call_{turn}_{step}_{n}") for n in range(rng.randrange(1, 4))]
            said = {"role": "assistant", "content": rng.choice([None, "", some_text(rng)]), "tool_calls": calls}
            made.append(said | ({"reasoning_content": some_text(rng)} if rng.random() < 0.5 else {}))
            made += [{"role": "tool", "tool_call_id": call["id"], "content": some_text(rng)} for call in calls]
        made.append({"role": "assistant", "content": some_text(rng), "reasoning_content": some_text(rng)})
    made.append({"role": "user", "content": some_text(rng)})
    return made


def _call(rng: random.Random, name: str) -> dict[str, Any]:
    values = rng.choice([{}, {"path": some_text(rng)}, {"n": 1.5, "on": True, "é": None, "list": [1, {"a": "<"}]}])
    function = {"name": "read_file", "arguments": json.dumps(values, ensure_ascii=rng.random() < 0.5)}
    return {"id": name, "type": "function", "function": function}


TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "read_file",
            "description": "Reads a <file>, naïve.",
            "parameters": {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]},
        },
    }
]


def gguf_file(path: Path, template: str = "tags", *, begins: bool = False, window: int | None = 4_000) -> Path:
    """Write the same model as a GGUF file, without weights."""
    model = json.loads(vocabulary())["model"]
    tokens = [*model["vocab"], *ADDED]
    kinds = [1] * len(model["vocab"]) + [3] * 3 + [4] * (len(ADDED) - 3)
    keys: dict[str, Any] = {
        "general.architecture": "qwen2",
        "general.name": path.stem,
        "tokenizer.ggml.model": "gpt2",
        "tokenizer.ggml.pre": "qwen2",
        "tokenizer.ggml.tokens": tokens,
        "tokenizer.ggml.token_type": kinds,
        "tokenizer.ggml.merges": [" ".join(pair) for pair in model["merges"]],
        "tokenizer.ggml.bos_token_id": tokens.index("<|begin|>"),
        "tokenizer.ggml.eos_token_id": tokens.index("<|end|>"),
        "tokenizer.ggml.add_bos_token": begins,
        "tokenizer.chat_template": TEMPLATES.get(template, template),
    }
    if window:
        keys["qwen2.context_length"] = window
    data = b"GGUF" + struct.pack("<IQQ", 3, 0, len(keys))
    for name, value in keys.items():
        data += _packed(name) + _kind(value) + _packed(value)
    path.write_bytes(data)
    return path


def _kind(value: Any) -> bytes:
    if isinstance(value, list):
        return struct.pack("<I", 9)
    return struct.pack("<I", {str: 8, bool: 7, int: 4}[type(value)])


def _packed(value: Any) -> bytes:
    if isinstance(value, list):
        return _kind(value[0]) + struct.pack("<Q", len(value)) + b"".join(map(_packed, value))
    if isinstance(value, str):
        text = value.encode()
        return struct.pack("<Q", len(text)) + text
    return struct.pack("<?" if isinstance(value, bool) else "<I", value)
