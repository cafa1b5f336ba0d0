"""Models by their files: GGUF, the stores of other programs, the user's own names."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

import trimtab
from oracles.chat_template import prompt, tokens
from support.model_folders import ADDED, TEMPLATES, TOOLS, conversation, gguf_file, make_folder, vocabulary
from trimtab import Model, _core
from trimtab.templates.places import NamedPlace, name_places, named_places, names_file, place_of

RAW = json.dumps(json.loads(vocabulary()) | {"normalizer": None})
"""The vocabulary as llama.cpp uses it: it normalizes no text."""

NAMES = {"bos_token": "<|begin|>", "eos_token": "<|end|>"}


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("HF_HOME", "HF_HUB_CACHE", "OLLAMA_MODELS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("TRIMTAB_HOME", str(tmp_path / "trimtab"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("template", ["tags", "sliced"])
def test_a_gguf_file_counts_as_the_folder_that_it_was_made_of(home: Path, template: str) -> None:
    model = Model.from_folder(gguf_file(home / "small.gguf", template))
    assert (model.name, model.window) == ("small", 4_000)
    for seed in range(20):
        messages = conversation(seed)
        text = prompt(TEMPLATES[template], messages, TOOLS, **NAMES)
        assert trimtab.count(messages, model=model, tools=TOOLS) == tokens(RAW, text)


@pytest.mark.parametrize("template", ["tags", "sliced"])
def test_a_server_that_puts_a_token_in_front_puts_it_there_once(home: Path, template: str) -> None:
    plain, begun = (Model.from_folder(gguf_file(home / f"{n}.gguf", template, begins=bool(n))) for n in range(2))
    messages = conversation(2)
    more = trimtab.count(messages, model=begun) - trimtab.count(messages, model=plain)
    assert more == (template == "tags")  # the other template writes it itself


def test_what_a_gguf_file_does_not_say_is_missed_by_name(home: Path) -> None:
    with pytest.raises(ValueError, match="names the window"):
        Model.from_folder(gguf_file(home / "a.gguf", window=None))
    assert Model.from_folder(home / "a.gguf", window=900).window == 900
    with pytest.raises(ValueError, match="no chat template in it"):
        Model.from_folder(gguf_file(home / "b.gguf", ""))
    (home / "c.gguf").write_bytes((home / "b.gguf").read_bytes()[:90])
    with pytest.raises(ValueError, match="cut off or damaged"):
        Model.from_folder(home / "c.gguf")
    (home / "d.gguf").write_bytes(b"something else")
    with pytest.raises(ValueError, match="neither a folder nor a GGUF file"):
        Model.from_folder(home / "d.gguf")


def test_what_the_core_reads_of_a_gguf_file(home: Path) -> None:
    file = gguf_file(home / "small.gguf", "a template", begins=True)
    expected = ("small", "a template", 4_000, "<|begin|>", "<|end|>", True, [*ADDED])
    assert _core.gguf(file.read_bytes()) == expected
    assert _core.gguf(b"") is None
    whole = file.read_bytes()
    for end in range(4, len(whole), 997):
        with pytest.raises(ValueError, match="cut off or damaged"):
            _core.gguf(whole[:end])


def test_stores_of_other_programs_are_read_by_name(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache = home / ".cache/huggingface/hub/models--Qwen--Qwen3-8B"
    snapshot = make_folder(cache / "snapshots/0123")
    (cache / "refs").mkdir()
    (cache / "refs/main").write_text("0123")
    assert place_of("hf:Qwen/Qwen3-8B") == snapshot
    assert Model.named("hf:Qwen/Qwen3-8B").window == 4_000
    monkeypatch.setenv("HF_HOME", str(home / "elsewhere"))
    with pytest.raises(ValueError, match="no such model in the cache of Hugging Face"):
        place_of("hf:Qwen/Qwen3-8B")
    monkeypatch.setenv("HF_HUB_CACHE", str(cache.parent))
    assert place_of("hf:Qwen/Qwen3-8B") == snapshot
    (cache / "refs/main").write_text("4567")
    with pytest.raises(ValueError, match="no such snapshot"):
        place_of("hf:Qwen/Qwen3-8B")

    studio = home / ".lmstudio/models/maker/small-GGUF"
    studio.mkdir(parents=True)
    file = gguf_file(studio / "small-Q4.gguf")
    (studio / "mmproj-small.gguf").write_bytes(b"")
    assert place_of("lmstudio:maker/small-GGUF") == file
    gguf_file(studio / "small-Q8.gguf")
    with pytest.raises(ValueError, match="has 2 models: name one, such as lmstudio:maker/small-GGUF/small-Q4"):
        place_of("lmstudio:maker/small-GGUF")
    assert place_of("lmstudio:maker/small-GGUF/small-Q8.gguf") == studio / "small-Q8.gguf"
    with pytest.raises(ValueError, match="no such model of LM Studio"):
        place_of("lmstudio:maker/other")

    store = home / ".ollama/models"
    manifest = store / "manifests/registry.ollama.ai/library/small/8b"
    manifest.parent.mkdir(parents=True)
    (store / "blobs").mkdir()
    gguf_file(store / "blobs/sha256-ab")
    layers = [
        {"mediaType": "x", "digest": "y"},
        {"mediaType": "application/vnd.ollama.image.model", "digest": "sha256:ab"},
    ]
    manifest.write_text(json.dumps({"layers": layers}))
    assert Model.named("ollama:small:8b").window == 4_000
    for name in ("ollama:small", "ollama:other:8b"):
        with pytest.raises(ValueError, match="no manifest of a model of Ollama"):
            place_of(name)
    manifest.write_text("{")
    with pytest.raises(ValueError, match="no manifest of a model of Ollama"):
        place_of("ollama:small:8b")


def test_a_name_of_the_users_own_stands_for_its_place(home: Path) -> None:
    assert named_places() == {}
    folder = make_folder(home / "models/own")
    name_places({"mine": NamedPlace(str(folder), 3_000), "gpt-5.5": NamedPlace(str(folder))})
    assert named_places() == {"gpt-5.5": NamedPlace(str(folder)), "mine": NamedPlace(str(folder), 3_000)}
    assert Model.named("mine").window == 3_000
    assert Model.named("mine", window=2_000).window == 2_000
    assert Model.named("gpt-5.5").template is not None
    assert trimtab.Compactor("mine", archive="memory").budget().window == 3_000
    name_places({})
    assert Model.named("gpt-5.5").template is None
    for damaged in ("{", "[]", '{"a": 3}', '{"a": {}}'):
        names_file().write_text(damaged)
        os.utime(names_file(), ns=(len(damaged), len(damaged)))
        with pytest.raises(ValueError, match=r"models\.json: no object of names"):
            named_places()


def test_a_damaged_file_of_names_stops_names_that_are_not_built_in(
    home: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder = make_folder(home / "m")
    name_places({"mine": NamedPlace(str(folder))})
    names_file().write_text("{")
    for name in ("mine", "some-model-of-nobody"):
        with pytest.raises(ValueError, match=r"models\.json: no object of names"):
            Model.named(name)
    assert caplog.text == ""
    for name in ("claude-sonnet-5-5", "openrouter/deepseek/deepseek-r1", "gpt-oss-20b", str(folder)):
        assert Model.named(name).window
    assert caplog.text.count(f"{names_file()}: no object of names") == 1
    assert trimtab.count([{"role": "user", "content": "go"}], model="gpt-5.5") > 1


def test_a_path_that_is_not_there_is_said(home: Path) -> None:
    with pytest.raises(ValueError, match="nowhere: no such folder or file"):
        Model.named(f"{home}/nowhere")


def test_a_window_that_nobody_names_is_assumed_where_a_name_is_looked_up_and_said(
    home: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder = make_folder(home / "m", window=None)
    model = Model.named(str(folder))
    assert (model.window, model.known) == (8_192, False)
    assert "no file names its window; assumed 8,192" in caplog.text
    assert Model.named(str(folder), window=5_000).known
    assert trimtab.Compactor(str(folder), window=5_000, archive="memory").budget().window == 5_000
    assert trimtab.Counter.for_model(str(folder)).template is not None
    with pytest.raises(ValueError, match="no file that names the window: give window="):
        Model.from_folder(folder)
