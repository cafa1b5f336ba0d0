"""Model ids: the host that serves a model, its plain id, and what a suffix says."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

_OWN_NAMES = (
    "anthropic azure bedrock cerebras cohere dashscope databricks deepinfra deepseek fireworks_ai gemini "
    "github_copilot groq minimax mistral moonshot nebius novita ollama openai openrouter perplexity sambanova "
    "together_ai vercel_ai_gateway vertex_ai watsonx xai zai"
)
"""Hosts whose ids begin with the name that the catalog has."""

HOSTS = {host: host for host in _OWN_NAMES.split()} | {
    "accounts": "fireworks_ai",  # accounts/fireworks/models/...
    "azure_ai": "azure",
    "bedrock_converse": "bedrock",
    "cohere_chat": "cohere",
    "copilot": "github_copilot",
    "fireworks": "fireworks_ai",
    "github-copilot": "github_copilot",
    "google": "gemini",
    "google-gla": "gemini",
    "google-vertex": "vertex_ai",
    "mistralai": "mistral",
    "moonshotai": "moonshot",
    "openai-chat": "openai",
    "openai-responses": "openai",
    "projects": "vertex_ai",  # projects/.../publishers/google/models/...
    "publishers": "vertex_ai",
    "qwen_ai_platform": "dashscope",
    "qwencloud": "dashscope",
    "together": "together_ai",
    "vercel": "vercel_ai_gateway",
    "vertex": "vertex_ai",
    "x-ai": "xai",
    "z-ai": "zai",
}
"""Hosts, by the prefixes of ids that name them: ``openrouter/anthropic/claude-sonnet-4.5``, ``openai:gpt-5``."""

_MAKERS = (
    ("claude", "anthropic"),
    ("gpt|chatgpt|codex|davinci|babbage|o\\d", "openai"),
    ("gemini|gemma", "gemini"),
    ("grok", "xai"),
    ("qwen|qwq|qvq", "dashscope"),
    ("deepseek", "deepseek"),
    ("mistral|mixtral|ministral|codestral|devstral|magistral|pixtral|open-mistral|open-mixtral", "mistral"),
    ("kimi|moonshot", "moonshot"),
    ("glm", "zai"),
    ("minimax", "minimax"),
    ("command", "cohere"),
    ("sonar", "perplexity"),
)
"""The maker's own host, by the start of a plain id."""

_VENDORS = r"^(?:(?:[a-z][a-z-]*|ai21)\.)+(?=[a-z])"
"""Bedrock's way to write an id, which no other host has: us.anthropic.claude, meta.llama3, qwen.qwen3."""

_TAGS = r":(free|beta|thinking|extended|exacto|nitro|online|floor|batch|flex)$"
_DATES = r"([-@]\d{8}|-\d{4}-\d{2}-\d{2}|-latest|@default|@\d{3}|-00\d)(?=$|-v\d|[:\[])"


@dataclass(frozen=True, slots=True)
class ModelId:
    """An id, taken apart.

    Attributes:
        host: the host that a prefix names, as the catalog calls it; None without a prefix.
        name: the id without host, vendor, region, date, version and tags, in lower case.
        tuned: whether it is a fine-tuned model of OpenAI: ``ft:gpt-4o:org::id``.
        prefix: the text before a slash that is no host of ``HOSTS``: a vendor, a proxy, or another host; else None.
        wide: whether it ends in ``[1m]``, Claude Code's mark of a window of 1,000,000.
        dated: the name with its date, or with ``-latest``.
        style: the host that alone writes ids as this one is written; None if it may be any host's.
    """

    host: str | None
    name: str
    tuned: bool = False
    prefix: str | None = None
    wide: bool = False
    dated: str = ""
    style: str | None = None

    @classmethod
    @lru_cache(256)
    def of(cls, text: str) -> ModelId:
        """Return the parts of an id."""
        rest, host = text.strip().lower(), None
        while (found := re.match(r"([\w-]+)[:/](.+)", rest)) and found[1] in HOSTS:
            host, rest = host or HOSTS[found[1]], found[2]
        tuned = rest.startswith("ft:")
        if tuned:
            rest = rest.split(":")[1]
        wide = rest.endswith("[1m]")
        before, _, name = rest.removesuffix("[1m]").removeprefix("models/").rpartition("/")
        vendors = re.match(_VENDORS, name)
        name = name[vendors.end() :] if vendors else name
        name = re.sub(_TAGS, "", name)
        name = re.sub(r"(?<!^claude)-v\d+:\d+$", "", name)  # claude-v2:1 is Claude 2.1
        if re.match(r"claude-\w+-\d", name):
            name = re.sub(r"-v\d+$", "", name)
        plain, dated = _claude(re.sub(_DATES, "", name)), _claude(name)
        return cls(host, plain, tuned, before.split("/")[0] or None, wide, dated, "bedrock" if vendors else None)

    @property
    def key(self) -> str:
        """The name as the tables are searched."""
        return ("ft:" if self.tuned else "") + key_of(self.name)

    @property
    def dated_key(self) -> str:
        """The key of an id that the tables have apart from its name."""
        return ("ft:" if self.tuned else "") + key_of(self.dated)

    @property
    def maker(self) -> str | None:
        """The host of the model's maker, as the catalog calls it; None if the id does not show it."""
        return next((host for start, host in _MAKERS if re.match(start, self.name)), None)


def key_of(name: str) -> str:
    """Return a name as the tables are searched: vendors write 4.5 and 4-5."""
    return name.replace(".", "-")


def _claude(name: str) -> str:
    """Return a Claude's name in Anthropic's order of words: claude-3-7-sonnet, but claude-sonnet-4-5."""
    if not name.startswith("claude-"):
        return name
    name = key_of(name)
    if found := re.fullmatch(r"claude-(opus|sonnet|haiku)-3((?:-\d)?)(.*)", name):
        return f"claude-3{found[2]}-{found[1]}{found[3]}"
    if found := re.fullmatch(r"claude-([4-9](?:-\d)?)-(opus|sonnet|haiku)(.*)", name):
        return f"claude-{found[2]}-{found[1]}{found[3]}"
    return name
