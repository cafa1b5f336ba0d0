"""The adapter of smolagents, in agents of the real framework."""

from __future__ import annotations

import json
import pickle
from typing import Any, ClassVar

import pytest

pytest.importorskip("smolagents", reason="make adapters installs smolagents")

from PIL import Image
from smolagents import CodeAgent, tool
from smolagents.memory import ActionStep, PlanningStep, TaskStep
from smolagents.models import ChatMessage, MessageRole
from smolagents.models import Model as Interface
from smolagents.monitoring import LogLevel, Timing, TokenUsage
from smolagents.utils import AgentGenerationError

import trimtab
from support.agent_smolagents import Chat, agent
from support.agents import CALLS, MODEL, OPTIONS, RULE, Model, Summarizer, look, run_page
from trimtab.adapters.smolagents import MemoryCompaction, NoticeStep


@pytest.fixture(scope="module")
def encode(tiktoken_encoding: Any) -> Any:
    return tiktoken_encoding("o200k_base").encode_ordinary


def turn(running: Any, text: str, how: str = "run") -> None:
    """Run the agent; after a refusal, again."""
    for _ in range(5):
        try:
            if how == "run":
                running.run(text, reset=False)
            else:
                assert list(running.run(text, reset=False, stream=True))
        except AgentGenerationError as error:
            if "maximum context length" not in str(error):
                raise
            text = "Go on."
        else:
            return


@pytest.mark.slow
@pytest.mark.parametrize("how", ["run", "stream"])
def test_an_agent_stays_within_its_window(how: str, encode: Any) -> None:
    """250 calls, an overflow in the middle, and in each turn a process that has only the steps and the state."""
    stub, summarizer, archive = Model(encode), Summarizer(), trimtab.archive.open_archive("memory")
    said, steps, stored = RULE + " Look at everything.", b"", {}
    while stub.calls < CALLS:
        compaction = MemoryCompaction(MODEL, session="talk", summarizer=summarizer, archive=archive, **OPTIONS)
        running = agent(stub, compaction, stream_outputs=how == "stream")
        if steps:
            running.memory.steps = pickle.loads(steps)
            compaction.restore(json.loads(json.dumps(stored)))
        turn(running, said, how)
        stored = compaction.state()
        for step in running.memory.steps:
            step.model_input_messages = None
        steps = pickle.dumps(running.memory.steps)
        said = f"Go on with part {stub.calls}."
    stub.judge()
    assert stored["rounds"] >= 5
    assert summarizer.calls <= stored["rounds"]
    assert stored["forecast"]["usage"] is not None
    assert len(running.memory.steps) < 100
    assert archive.search("everything", session="talk")


def test_untouched_steps_stay_the_same_objects(encode: Any) -> None:
    seen: list[Any] = []
    running = agent(Model(encode), MemoryCompaction(MODEL, **OPTIONS), seen.append)
    turn(running, "go")
    kept = running.memory.steps
    assert kept[0].task == "go"
    assert any(step.observations.startswith("[trimtab") for step in kept if isinstance(step, ActionStep))
    assert all(any(step is old for old in seen) for step in kept[-5:])


def test_a_prompt_that_cannot_shrink_is_noted(encode: Any) -> None:
    running = agent(Model(encode, 2_010, 2_010), MemoryCompaction(MODEL))
    with pytest.raises(AgentGenerationError) as caught:
        running.run("words " * 3_000)
    assert "trimtab" in caught.value.__notes__[0]


def action(number: int, **fields: Any) -> ActionStep:
    timing = Timing(start_time=float(number))
    return ActionStep(step_number=number, timing=timing, token_usage=TokenUsage(0, 0), **fields)


def test_pictures_plans_and_errors_leave_and_the_rest_stays(encode: Any) -> None:
    compaction = MemoryCompaction(MODEL, window=12_000, max_output=2_000)
    running = agent(Model(encode))
    picture = Image.new("RGB", (512, 512))
    plan = ChatMessage(MessageRole.ASSISTANT, "plan " * 300)
    steps = running.memory.steps
    steps += [TaskStep("look at it", task_images=[picture]), PlanningStep([], plan, "plan " * 300, Timing(0.0))]
    for n in range(12):
        last = action(n, model_output=f"So {n}. " * 100, observations=f"seen {n} " * 300, observations_images=[picture])
        compaction(last, running)
        steps.append(last)
    assert compaction.state()["rounds"] >= 1
    assert any(isinstance(step, NoticeStep) for step in steps)
    assert steps[-1] is last
    assert last.observations_images == [picture]
    written = running.write_memory_to_messages()
    assert sum(len(message.content) for message in written) >= len(steps)
    text = str([message.content for message in written])
    assert text.count("<PIL.Image") < 12
    assert "look at it" in text


def test_an_agent_that_writes_code_is_kept_inside(encode: Any) -> None:
    class Coder(Interface):
        prompts: ClassVar[list[int]] = []

        def generate(self, messages: Any, **_: Any) -> ChatMessage:
            tokens = trimtab.count([{"role": "user", "content": str([m.content for m in messages])}], model=MODEL)
            self.prompts.append(tokens)
            code = "final_answer(1)" if len(self.prompts) == 40 else f"print('{len(self.prompts)} ' * 400)"
            return ChatMessage(MessageRole.ASSISTANT, f"Thought\n<code>\n{code}\n</code>", token_usage=TokenUsage(0, 0))

    model, compaction = Coder(), MemoryCompaction(MODEL, **OPTIONS)
    running = CodeAgent([], model, step_callbacks=[compaction], max_steps=100, verbosity_level=LogLevel.OFF)
    assert running.run("go") == 1
    assert compaction.state()["rounds"] >= 1
    assert max(model.prompts) < 18_000


def test_a_compactor_takes_no_keywords_beside_it() -> None:
    with pytest.raises(TypeError, match="window"):
        MemoryCompaction(trimtab.Compactor(MODEL), window=9_000)


def test_the_page_runs(encode: Any, capsys: pytest.CaptureFixture[str]) -> None:
    run_page("smolagents", model=Chat(Model(encode, 2_000_000, 2_000_000)), tools=[tool(look)])
    assert capsys.readouterr().out.splitlines()[-1].startswith("gpt-5.5 ")
