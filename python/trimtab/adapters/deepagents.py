"""Deep Agents: the middleware of LangChain, in the place of the one that ``create_deep_agent`` adds by itself."""

from __future__ import annotations

from .langchain import CompactionMiddleware


class DeepAgentsMiddleware(CompactionMiddleware):
    """Keeps the messages of a deep agent and of its subagents inside the model's context window.

    ``create_deep_agent`` replaces its own summarization by a middleware of that name; under any other name both run.
    Everything else is as ``trimtab.adapters.langchain.CompactionMiddleware`` does it.

    Args:
        model: an id, a ``Model``, or a ``Compactor``.
        **options: keywords of a new ``Compactor``.

    Raises:
        TypeError: there are options beside a Compactor.
        ValueError: an option has an unknown value.
    """

    @property
    def name(self) -> str:
        """The name of the middleware whose place it takes."""
        return "SummarizationMiddleware"
