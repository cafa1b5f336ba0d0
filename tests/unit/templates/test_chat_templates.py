"""Prompts of chat templates have the tokens that the slow way gives them, message by message."""

from __future__ import annotations

import itertools
import json
import os
import pickle
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import trimtab
from oracles.chat_template import prompt, tokens
from support.model_folders import ADDED, TEMPLATES, TOOLS, conversation, make_folder, vocabulary
from support.scale import scaled
from trimtab import Counter, CountError, Model
from trimtab.session.rendered import MOST
from trimtab.templates import renderer
from trimtab.templates.chat import as_chat, as_functions, system_message
from trimtab.templates.renderer import Renderer

NAMES = {"bos_token": "<|begin|>", "eos_token": "<|end|>"}
SEEDS = range(scaled(25))


def made(path: Path, template: str = "tags", **options: Any) -> Model:
    return Model.from_folder(make_folder(path / template, template), **options)


def is_plain(message: dict[str, Any]) -> bool:
    return message["role"] != "tool" and "tool_calls" not in message


@pytest.mark.parametrize("template", ["tags", "sliced", "parts", "texts"])
def test_a_prompt_has_the_tokens_that_the_slow_way_gives_it(tmp_path: Path, template: str) -> None:
    model = made(tmp_path, template)
    for seed in SEEDS:
        messages = conversation(seed)
        if template == "parts":
            messages = [message for message in messages if is_plain(message)]
            shown = [{**message, "content": [{"type": "text", "text": message["content"]}]} for message in messages]
        else:
            shown = messages
        for tools in (None, TOOLS):
            text = prompt(TEMPLATES[template], shown, tools, parses=template != "texts", **NAMES)
            assert trimtab.count(messages, model=model, tools=tools) == tokens(vocabulary(), text), (seed, text)


def test_a_folder_says_what_its_template_reads(tmp_path: Path) -> None:
    reads = {name: made(tmp_path, name).template for name in TEMPLATES}
    assert {name: (one.contents, one.parses) for name, one in reads.items() if one} == {
        "tags": ("either", True),
        "sliced": ("text", True),
        "parts": ("parts", True),
        "texts": ("text", False),
    }


def test_each_message_has_what_the_prompt_grows_by(tmp_path: Path) -> None:
    """Without a look at neighbours and without thinking, messages add up; the tags end each of them."""
    counter = Counter.for_model(made(tmp_path))
    for seed in SEEDS:
        messages = [message for message in conversation(seed) if is_plain(message)]
        for message in messages:
            message.pop("reasoning_content", None)
        found = counter.rendered(messages)
        totals = [counter.rendered(messages[: n + 1]).total for n in range(len(messages))]
        grown = [after - before for before, after in itertools.pairwise(totals)]
        assert list(found.messages[1:]) == grown
        assert found.total == totals[-1]
        assert counter.per_message(messages).tolist() == list(found.messages)


def test_a_message_that_looks_at_its_neighbours_keeps_what_it_writes(tmp_path: Path) -> None:
    counter = Counter.for_model(made(tmp_path))
    call = {"type": "function", "function": {"name": "read_file", "arguments": "{}"}}
    messages = [
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": "", "tool_calls": [{"id": "a"} | call, {"id": "b"} | call]},
        {"role": "tool", "tool_call_id": "a", "content": "one"},
        {"role": "tool", "tool_call_id": "b", "content": "two"},
    ]
    texts = [
        "<|start|>user\ngo<|end|>\n",
        "<|start|>assistant\n\n<call>\nread_file {}\n</call>\n<call>\nread_file {}\n</call><|end|>\n",
        "<|start|>user\n<result>\none\n</result>",
        "\n<result>\ntwo\n</result><|end|>\n",
        "<|start|>assistant\n",
    ]
    template = counter.template
    assert template
    assert [
        text for _, text in template.parts([dict(each) for _, each in as_chat(messages, "openai_chat", "text")])
    ] == texts
    found = counter.rendered(messages)
    assert found.total == tokens(vocabulary(), "".join(texts))
    assert (found.head, found.tail) == (0, tokens(vocabulary(), texts[-1]))


def test_what_stands_in_front_of_all_messages_and_behind_them_is_told_apart(tmp_path: Path) -> None:
    counter = Counter.for_model(made(tmp_path, "sliced"))
    user = {"role": "user", "content": "hello there"}
    found = counter.rendered([user], tools=TOOLS)
    head = "<|begin|>[user]You help.[end]" + json.dumps(TOOLS, ensure_ascii=False, indent=4)
    assert found.head == tokens(vocabulary(), head)
    assert found.messages == (tokens(vocabulary(), "[user]hello there[end]"),)
    assert found.tail == tokens(vocabulary(), "[model]")
    beside = counter.rendered([user], system=[{"type": "text", "text": "Be short."}])
    assert beside.head == tokens(vocabulary(), "<|begin|>[user]Be short.[end]")


def test_options_of_a_template_are_handed_on(tmp_path: Path) -> None:
    messages = conversation(3)
    quick, slow = (Model.from_folder(make_folder(tmp_path / "m"), quick=quick) for quick in (True, False))
    text = prompt(TEMPLATES["tags"], messages, quick=True)
    assert trimtab.count(messages, model=quick) == tokens(vocabulary(), text)
    assert trimtab.count(messages, model=slow) < trimtab.count(messages, model=quick)


def test_blocks_are_handed_on_as_servers_read_them() -> None:
    blocks = [
        {"role": "user", "content": "go"},
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "hm", "signature": "s"},
                {"type": "text", "text": "I look"},
                {"type": "tool_use", "id": "a", "name": "ls", "input": {"path": "."}},
            ],
        },
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "a", "content": [{"type": "text", "text": "x.py"}]},
                {"type": "text", "text": "and?"},
                {"type": "image", "source": {}},
            ],
        },
        {"role": "assistant", "content": []},
    ]
    function = {"name": "ls", "arguments": {"path": "."}}
    assert as_chat(blocks, "anthropic", "text") == [
        (0, {"role": "user", "content": "go"}),
        (
            1,
            {
                "role": "assistant",
                "content": "I look",
                "tool_calls": [{"id": "a", "type": "function", "function": function}],
                "reasoning_content": "hm",
                "thinking": "hm",
                "reasoning": "hm",
            },
        ),
        (2, {"role": "tool", "tool_call_id": "a", "content": "x.py"}),
        (2, {"role": "user", "content": "and?"}),
    ]
    assert system_message([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}])[0]["content"] == "a\nb"
    assert system_message(None) == []
    tool = {"name": "ls", "description": None, "input_schema": {"type": "object"}}
    made_of = as_functions([tool])
    assert made_of == [{"type": "function", "function": {"name": "ls", "parameters": {"type": "object"}}}]
    assert as_functions(None) is None


SHOWN = """<|start|>{{ m.role }}
{{ m.content }}
{% for c in m.tool_calls or [] %}<call>{{ c.function.name }} {{ c.function.arguments }}</call>{% endfor %}
<|end|>
"""
PICKY = (
    "{% for m in messages %}{% for c in m.tool_calls or [] %}"
    "{% if c.id | length != 9 or loop.length > 1 %}{{ raise_exception('one call of nine letters') }}{% endif %}"
    "{% endfor %}" + SHOWN + "{% endfor %}"
)
HIDING = (
    "{% set n = namespace(all=[]) %}{% for m in messages %}{% set n.all = n.all + [m] %}{% endfor %}"
    "{% for m in n.all %}" + SHOWN + "{% endfor %}"
)


@pytest.mark.parametrize("template", [PICKY, HIDING], ids=["picky", "hiding"])
def test_numbers_are_fitted_to_templates_that_take_few_calls_or_hide_their_messages(
    tmp_path: Path, template: str
) -> None:
    """As those of Mistral and Llama 3.1, and of Devstral 2 and EXAONE 4: what a loop adds is told without them."""
    model = Model.from_folder(make_folder(tmp_path / "m", template))
    counter, messages = Counter.for_model(model), [{"role": "user", "content": "go"}]
    for n in range(30):
        call = {"type": "function", "function": {"name": "read_file", "arguments": '{"path": "a"}'}}
        messages.append({"role": "assistant", "content": "", "tool_calls": [{"id": f"call{n:05}"} | call]})
        messages.append({"role": "tool", "tool_call_id": f"call{n:05}", "content": "a file"})
    fitted = trimtab.Ledger.of(messages, counter=counter, provider="openai_chat").total + model.prompt.opening
    assert fitted / 1.3 <= counter.rendered(messages).total <= fitted * MOST


@pytest.mark.parametrize("provider", ["openai_responses", "gemini", "bedrock"])
def test_messages_that_no_such_server_takes_are_refused(provider: str) -> None:
    with pytest.raises(CountError, match=f"have the shape of {provider}"):
        as_chat([], provider, "text")
    with pytest.raises(CountError, match="tools with a name"):
        as_functions([{"type": "web_search"}])


@pytest.mark.parametrize(
    ("given", "ready"),
    [
        ('{"a": 1}', {"a": 1}),
        ({"a": 1}, {"a": 1}),
        ("[1]", [1]),
        ("", {}),
        (None, {}),
        ("not json", "not json"),
        ("[" * 100_000, "[" * 100_000),
    ],
    ids=lambda value: str(value)[:20],
)
def test_arguments_are_the_values_that_their_texts_stand_for(given: Any, ready: Any) -> None:
    message = {"role": "assistant", "tool_calls": [{"id": "a", "function": {"name": "f", "arguments": given}}]}
    [(_, made)] = as_chat([message], "openai_chat", "text")
    assert made["tool_calls"][0]["function"]["arguments"] == ready
    [(_, made)] = as_chat([message], "openai_chat", "text", parses=False)
    text = given if isinstance(given, str) and given else json.dumps(given or {})
    assert made["tool_calls"][0]["function"]["arguments"] == text


def test_contents_are_what_the_template_reads() -> None:
    parts = [
        {"type": "text", "text": "a"},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64," + "A" * 99}},
        {"type": "input_audio", "input_audio": {}},
        {"type": "text", "text": "b"},
    ]
    short = [parts[0], {"type": "image"}, {"type": "audio"}, parts[3]]

    def read(message: dict[str, Any], contents: Any) -> Any:
        [(_, made)] = as_chat([{"role": "user", **message}], "openai_chat", contents)
        return made["content"]

    assert [read({"content": parts}, how) for how in ("text", "either", "parts")] == ["a\nb", short, short]
    text = [{"type": "text", "text": "x"}]
    assert [read({"content": "x"}, how) for how in ("text", "either", "parts")] == ["x", "x", text]
    for none in ({}, {"content": None}):
        assert [read(none, how) for how in ("text", "either", "parts")] == ["", "", []]
    assert read({"content": ["a", parts[3]]}, "either") == [parts[0], parts[3]]
    odd = {"role": "assistant", "content": None, "tool_calls": [None, {"function": 3}]}
    assert as_chat([odd], "openai_chat", "text") == [
        (0, {"role": "assistant", "content": "", "tool_calls": [None, {"function": 3}]})
    ]


def test_what_a_message_leaves_empty_is_not_handed_on(tmp_path: Path) -> None:
    """As Llama 3.1's template asks: what vLLM leaves out of a request, an empty list of calls, is no call."""
    template = """
{%- for m in messages -%}
    {%- if 'tool_calls' in m %}{{- raise_exception('one call at once') if m.tool_calls | length != 1 }}{% endif -%}
    {{- '<|start|>' + m.content + (m.reasoning or '') + '<|end|>' }}
{%- endfor -%}"""
    user, answer = {"role": "user", "content": "go"}, {"role": "assistant", "content": "hello"}
    model = Model.from_folder(make_folder(tmp_path / "m", template))
    found = trimtab.count([user, answer], model=model)
    assert trimtab.count([user, answer | {"tool_calls": []}], model=model) == found
    assert trimtab.count([user, answer | {"tool_calls": None, "reasoning": None}], model=model) == found
    for name in ("reasoning", "reasoning_content", "thinking"):
        text = "<|start|>go<|end|><|start|>hello there<|end|>"
        assert trimtab.count([user, answer | {name: " there"}], model=model) == tokens(vocabulary(), text)


def test_prompts_with_tools_take_the_template_for_tools(tmp_path: Path) -> None:
    other = "{% for m in messages %}{{ m.content }}{% endfor %}{% for t in tools %}{{ t.function.name }}{% endfor %}"
    folder = make_folder(tmp_path / "m")
    listed = [{"name": "default", "template": TEMPLATES["tags"]}, {"name": "tool_use", "template": other}]
    (folder / "tokenizer_config.json").write_text(json.dumps({"chat_template": listed}))
    messages = [{"role": "user", "content": "hello there"}]
    model = Model.from_folder(folder)
    assert trimtab.count(messages, model=model, tools=TOOLS) == tokens(vocabulary(), "hello thereread_file")
    assert trimtab.count(messages, model=model) == tokens(vocabulary(), prompt(TEMPLATES["tags"], messages))
    (folder / "additional_chat_templates").mkdir()
    (folder / "additional_chat_templates/tool_use.jinja").write_text("{{ messages[0].content }}<|end|>")
    assert trimtab.count(messages, model=Model.from_folder(folder), tools=TOOLS) == tokens(
        vocabulary(), "hello there<|end|>"
    )


def test_special_tokens_that_the_vocabulary_lacks_are_tokens_and_changed_files_are_read_again(tmp_path: Path) -> None:
    folder = make_folder(tmp_path / "m", "{% for m in messages %}{{ m.content }}<over>{% endfor %}")
    message = [{"role": "user", "content": "hello"}]
    before = trimtab.count(message, model=Model.from_folder(folder))
    settings = json.loads((folder / "tokenizer_config.json").read_text())
    (folder / "tokenizer_config.json").write_text(json.dumps(settings | {"eos_token": "<over>"}))
    after = trimtab.count(message, model=Model.from_folder(folder))
    assert after == tokens(vocabulary(), "hello") + 1 < before
    file = json.loads(vocabulary())
    file["added_tokens"].append(file["added_tokens"][-1] | {"id": 700, "content": "hello"})
    (folder / "tokenizer.json").write_text(json.dumps(file))
    assert trimtab.count(message, model=Model.from_folder(folder)) == 2


def test_added_tokens_of_older_folders_stand_in_a_file_of_their_own(tmp_path: Path) -> None:
    folder = make_folder(tmp_path / "m", "{% for m in messages %}{{ m.content }}<over>{% endfor %}")
    message = [{"role": "user", "content": "hello"}]
    before = trimtab.count(message, model=Model.from_folder(folder))
    (folder / "added_tokens.json").write_text('{"<over>": 700}')
    assert trimtab.count(message, model=Model.from_folder(folder)) == tokens(vocabulary(), "hello") + 1 < before
    settings = json.loads((folder / "tokenizer_config.json").read_text()) | {"added_tokens_decoder": {}}
    (folder / "tokenizer_config.json").write_text(json.dumps(settings))
    assert trimtab.count(message, model=Model.from_folder(folder)) == before


@pytest.mark.parametrize(
    "settings",
    [
        {"additional_special_tokens": ["<over>", {"content": "<x>"}, 3, None]},
        {"extra_special_tokens": ["<over>"]},
        {"extra_special_tokens": {"image_token": "<over>"}},
        {"added_tokens_decoder": {"700": {"content": "<over>"}}, "extra_special_tokens": "<x>"},
    ],
    ids=str,
)
def test_added_tokens_that_the_settings_list_are_tokens(tmp_path: Path, settings: dict[str, Any]) -> None:
    template = "{% for m in messages %}{{ m.content }}<over>{% endfor %}"
    folder = make_folder(tmp_path / "m", tokenizer_config=json.dumps(settings | {"chat_template": template}))
    message = [{"role": "user", "content": "hello"}]
    assert trimtab.count(message, model=Model.from_folder(folder)) == tokens(vocabulary(), "hello") + 1


def test_a_counter_and_a_model_go_to_another_process(tmp_path: Path) -> None:
    model, messages = made(tmp_path), conversation(5)
    for value in (model, Counter.for_model(model)):
        again = pickle.loads(pickle.dumps(value))
        assert again.template == model.template
    again = pickle.loads(pickle.dumps(Counter.for_model(model)))
    assert again.per_message(messages).tolist() == Counter.for_model(model).per_message(messages).tolist()
    assert pickle.loads(pickle.dumps(Counter("o200k_base"))).template is None


def test_a_vocabulary_of_another_kind_has_its_added_tokens_in_the_settings(tmp_path: Path) -> None:
    model = made(tmp_path)
    assert model.template
    listed = tuple((text, False, False, False, False) for text in ADDED)
    other = replace(model, template=replace(model.template, added=listed))
    messages = conversation(8)
    assert trimtab.count(messages, model=other) == trimtab.count(messages, model=model)


@pytest.mark.parametrize(
    ("files", "words"),
    [
        ({"tokenizer.json": None}, "no vocabulary in it"),
        ({"tokenizer_config.json": "{}"}, "no chat template in it"),
        ({"tokenizer_config.json": "[]"}, "no JSON object"),
        ({"tokenizer_config.json": "{"}, r"tokenizer_config\.json: "),
        ({"config.json": None}, "names the window"),
        ({"config.json": "{}"}, "names the window"),
        ({"config.json": '{"max_position_embeddings": true}'}, "names the window"),
        ({"tokenizer.json": "{}"}, "tokenizer.json"),
        ({"tokenizer.json": ""}, "tokenizer.json"),
        ({"tokenizer.json": '{"pre_tokenizer": {"type": "Metaspace", "prepend_scheme": "first"}}'}, "begin otherwise"),
        (
            {"tokenizer.json": None, "tokenizer.model": "", "special_tokens_map.json": '{"legacy": false}'},
            "begin otherwise",
        ),
        ({"added_tokens.json": "["}, r"added_tokens\.json: "),
        ({"chat_template.jinja": "{% for %}"}, "cannot render this: TemplateSyntaxError"),
        ({"chat_template.jinja": "{{ raise_exception('not you') }}"}, "cannot render this: TemplateError: not you"),
        ({"chat_template.jinja": "nothing of it"}, "does not show what a user says"),
        ({"chat_template.jinja": "{{ messages[0].content.__class__.x }}"}, "SecurityError"),
    ],
    ids=str,
)
def test_a_folder_that_lacks_something_is_refused_by_name(
    tmp_path: Path, files: dict[str, str | None], words: str
) -> None:
    folder = make_folder(tmp_path / "m")
    for name, text in files.items():
        (folder / name).unlink(missing_ok=True)
        if text is not None:
            (folder / name).write_text(text)
    with pytest.raises((ValueError, CountError), match=words):
        Model.from_folder(folder)


def test_a_folder_that_is_none_is_said_to_be_none(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no such folder or file"):
        Model.from_folder(tmp_path / "nowhere")


def test_files_of_a_folder_stand_in_for_each_other(tmp_path: Path) -> None:
    folder = make_folder(tmp_path / "m", generation_config='{"max_new_tokens": 700}')
    (folder / "config.json").write_text('{"text_config": {"max_position_embeddings": 9000}}')
    first = Model.from_folder(folder)
    assert (first.name, first.window, first.max_output) == ("m", 9_000, 700)
    assert Model.from_folder(folder, window=2_000).max_output == 500
    named = [{"name": "rag", "template": "no"}, {"name": "default", "template": TEMPLATES["tags"]}]
    (folder / "tokenizer_config.json").write_text(json.dumps({"chat_template": named}))
    assert first.template
    assert Model.from_folder(folder).template == replace(first.template, names=(), added=())
    (folder / "special_tokens_map.json").write_text(json.dumps(NAMES))
    assert Model.from_folder(folder).template == first.template
    (folder / "chat_template.jinja").write_text(TEMPLATES["sliced"])
    found = Model.from_folder(folder).template
    assert found
    assert found.source == TEMPLATES["sliced"]


def test_without_the_extra_it_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(renderer, "find_spec", lambda _: None)
    with pytest.raises(ImportError, match=r"pip install 'trimtab\[open\]'"):
        Renderer().render("", {"messages": []})


USER = {"messages": [{"role": "user", "content": "x"}]}


def test_a_process_that_ended_is_replaced_and_threads_wait_for_each_other() -> None:
    one = Renderer()
    assert one.render("{{ messages[0].content }}", USER) == [(-1, "x")]
    process = one._process
    assert process
    process.kill()  # its end may be noticed only when it gives no answer
    assert one.render("{{ messages[0].content }}", USER) == [(-1, "x")]
    found: list[Any] = []

    def ask(number: int) -> None:
        found.extend((number, one.render("{{ n }}", USER | {"n": str(number)})) for _ in range(20))

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(found) == sorted((number, [(-1, str(number))]) for number in range(4) for _ in range(20))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_a_forked_child_has_a_process_of_its_own() -> None:
    one = Renderer()
    one.render("", USER)
    owner = one._process
    read, write = os.pipe()
    child = os.fork()
    if not child:
        text = str(one.render("{{ 7 * 6 }}", USER))
        os.write(write, f"{text} {one._process is not owner}".encode())
        os._exit(0)
    os.waitpid(child, 0)
    assert os.read(read, 100) == b"[(-1, '42')] True"
    assert one.render("{{ 6 * 6 }}", USER) == [(-1, "36")]
    assert one._process is owner


def test_a_parent_does_not_wait_for_the_children_that_it_forked() -> None:
    code = (
        "import os, sys, time\n"
        "from trimtab.templates.renderer import RENDERER\n"
        "RENDERER.render('', {'messages': [1]})\n"
        "if not os.fork(): time.sleep(60)\n"
    )
    # It ends long before its child, which holds a copy of the renderer's pipes: a hang ends by the timeout.
    command = [sys.executable, "-W", "ignore", "-c", code]
    assert subprocess.run(command, timeout=50, check=True, stdout=subprocess.DEVNULL).returncode == 0
