"""A counter goes through pickle with its settings, and without what it has read."""

from __future__ import annotations

import base64
import copy
import pickle

import pytest

from support.models import CLAUDE, CLAUDE_BOUND, GPT
from support.transcripts import transcript
from trimtab import Counter
from trimtab.counting import Estimate

TEXT = "hello world, 12345 日本語\n"
MADE = {
    **{name: lambda name=name: Counter(name) for name in ("o200k_base", "cl100k_base", "claude-new")},
    **{model: lambda model=model: Counter.for_model(model) for model in (CLAUDE, CLAUDE_BOUND, GPT)},
    "chars": lambda: Counter.chars("bytes", "floor"),
    "estimate": lambda: Estimate("e", "utf16", "half_up", message=4, call=9, image=1_000, min_tokens=7).counter(),
}


@pytest.mark.parametrize("name", MADE)
def test_a_pickled_counter_counts_the_same(name: str) -> None:
    counter, messages = MADE[name](), transcript("u:40 c1 r1:900 a:90", provider="anthropic")
    before = counter.per_message(messages).tolist()
    for again in (pickle.loads(pickle.dumps(counter)), copy.deepcopy(counter)):
        assert again.explain() == counter.explain()
        assert again.count(TEXT) == counter.count(TEXT)
        assert again.per_message(messages).tolist() == before
    assert len(pickle.dumps(counter)) < 1_000, "what was read stays"


def test_a_counter_of_a_file_is_read_from_it_again(tmp_path) -> None:
    ranks = Counter("cl100k_base").vocabulary("cl100k_base")
    path = tmp_path / "some.tiktoken"
    path.write_bytes(b"".join(b"%s %d\n" % (base64.b64encode(token), rank) for rank, token in enumerate(ranks)))
    counter = Counter.from_file(path)
    packed = pickle.dumps(counter)
    assert pickle.loads(packed).count(TEXT) == counter.count(TEXT)
    path.unlink()
    with pytest.raises(FileNotFoundError, match="some.tiktoken"):
        pickle.loads(packed)
