"""A chat template is a stranger's code: what it tries fails by name, in little time and memory."""

from __future__ import annotations

import itertools
import json
import subprocess
import sys

import pytest

from trimtab import CountError
from trimtab.templates.renderer import Renderer

VALUES = {"messages": [{"role": "user", "content": "x"}], "tools": None}
INSIDE = ["''", "messages", "messages[0]", "namespace", "dict", "range", "lipsum", "cycler", "joiner", "strftime_now"]
INSIDE += ["raise_exception", "self", "loop", "messages[0].get", "namespace()", "dict()", "none", "1"]
BESIDE = ["__class__", "__init__", "__globals__", "__self__", "__subclasses__", "_places", "func_globals", "gi_frame"]
ESCAPES = [f"{{{{ {a}.{b}.x }}}}" for a, b in itertools.product(INSIDE, BESIDE)]
"""Ways to Python's own values: each a look behind an attribute that the sandbox hides."""

LIMITED = {
    "an endless loop": "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}",
    "sorting without end": "{% for a in range(99999) %}{% set x = range(99999) | sort | list %}{% endfor %}",
    "words without end": "{{ lipsum(n=100000000) }}",
    "digits without end": "{% set n = namespace(a=9) %}{% for i in range(60) %}{% set n.a = n.a * n.a %}{% endfor %}",
    "a gigabyte of output": "{% for a in range(99999) %}{{ 'x' * 20000 }}{% endfor %}",
    "a long text": "{{ 'x' * 1000000000 }}",
    "a doubled text": "{% set n = namespace(a='x') %}{% for i in range(60) %}{% set n.a = n.a ~ n.a %}{% endfor %}",
    "a doubled list": "{% set n = namespace(a=[1]) %}{% for i in range(60) %}{% set n.a = n.a + n.a %}{% endfor %}",
    "a wide field": "{{ 'x' | center(2000000000) }}",
    "a wide number": "{{ '%2000000000d' % 1 }}",
    "a wide format": "{{ '{:>2000000000}'.format(1) }}",
    "a wide text": "{{ 'x'.ljust(2000000000) }}",
    "a replaced text": "{{ ('a' * 100000).replace('a', 'b' * 100000) }}",
    "a wide indent": "{{ messages | tojson(indent='x' * 100000000) }}",
    "a macro in itself": "{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}",
    "many brackets": "{{ " + "(" * 3_000 + "1" + ")" * 3_000 + " }}",
    "many blocks": "{% if 1 %}" * 3_000,
}
REFUSED = {
    "an import": "{% import 'os' as os %}",
    "a file": "{% include '/etc/passwd' %}",
    "a parent": "{% extends '/etc/passwd' %}",
    "a large power": "{{ 9 ** 99999 }}",
    "a changed list": "{{ messages.append(1) }}",
    "a changed message": "{{ messages[0].update({'role': 'x'}) }}",
    "a long range": "{{ range(1000000000) | list | length }}",
    "a hidden name": "{{ namespace(_a=1) }}",
    "a hidden name later": "{% set n = namespace() %}{% set n._a = 1 %}",
    "an unknown filter": "{{ 1 | system }}",
    "bytes that are no block": "{% \x00 %}",
    "half a block": "{{ 1 ",
}


@pytest.fixture(scope="module")
def renderer() -> Renderer:
    return Renderer()


@pytest.mark.parametrize("template", ESCAPES)
def test_nothing_of_python_is_in_reach(renderer: Renderer, template: str) -> None:
    with pytest.raises(CountError, match="SecurityError|UndefinedError"):
        renderer.render(template, VALUES)


@pytest.mark.parametrize("template", LIMITED.values(), ids=LIMITED)
def test_what_takes_too_much_is_ended(renderer: Renderer, template: str) -> None:
    with pytest.raises(CountError, match="it takes too much|it is nested too deeply"):
        renderer.render(template, VALUES)
    assert renderer.render("{{ messages[0].content }}", VALUES) == [(-1, "x")]


@pytest.mark.parametrize("template", REFUSED.values(), ids=REFUSED)
def test_what_no_template_needs_is_refused(renderer: Renderer, template: str) -> None:
    with pytest.raises(CountError, match="Error: "):
        renderer.render(template, VALUES)


MEASURED = """
import json, resource, sys
from trimtab import CountError
from trimtab.templates.renderer import Renderer
renderer = Renderer()
for template in json.load(sys.stdin):
    try:
        renderer.render(template, {"messages": [{"role": "user", "content": "x"}]})
    except CountError:
        renderer._end()
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(used.ru_utime + used.ru_stime, used.ru_maxrss)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="other systems limit no memory")
def test_each_takes_less_than_2_seconds_of_a_processor_and_200_megabytes() -> None:
    given = json.dumps([*LIMITED.values()])
    done = subprocess.run([sys.executable, "-c", MEASURED], input=given, capture_output=True, text=True, check=True)
    seconds, kilobytes = map(float, done.stdout.split())
    assert seconds < 2 * len(LIMITED)
    assert kilobytes < 200 * 1_024


def test_a_message_of_any_text_comes_back_as_it_is(renderer: Renderer) -> None:
    for text in ("\ud800 alone", "a\nb\r\n\u2028c", "\x00", "{{ 1 }}", "中文 \U0001f600", ""):
        values = {"messages": [{"role": "user", "content": text}]}
        source = "{% for m in messages %}{{ m.content }}{% endfor %}"
        assert [part for _, part in renderer.render(source, values)] == [text]


def test_places_survive_loops_that_end_early_and_loops_in_loops(renderer: Renderer) -> None:
    source = (
        "a{% for m in messages %}{% if loop.first %}b{% endif %}{% for n in messages %}{% if loop.last %}"
        "{{ n.content }}{% endif %}{% endfor %}{{ m.content }}"
        "{% if not loop.last %}{{ loop.nextitem.content }}{% endif %}{% endfor %}"
        "{% for m in messages[1:] %}{% if m.content == '3' %}{% break %}{% endif %}-{{ m.content }}{% endfor %}z"
    )
    values = {"messages": [{"content": str(n)} for n in range(1, 4)]}
    assert renderer.render(source, values) == [(-1, "a"), (0, "b312"), (1, "323"), (2, "33"), (1, "-2"), (3, "z")]


def test_a_loop_that_is_broken_off_has_no_text_behind_it(renderer: Renderer) -> None:
    source = (
        "{% for m in messages[::-1] %}{{ loop.index }}{% if m.content == '2' %}{% break %}{% endif %}{% endfor %}y"
        "{% for m in messages %}{% for n in messages %}{{ loop.index }}{% break %}{% endfor %}{{ m.content }}"
        "{% endfor %}z"
    )
    values = {"messages": [{"content": str(n)} for n in range(1, 4)]}
    found = [(2, "1"), (1, "2"), (3, "y"), (0, "11"), (1, "12"), (2, "13"), (3, "z")]
    assert renderer.render(source, values) == found


@pytest.mark.slow
def test_the_limits_leave_room_for_long_prompts(renderer: Renderer) -> None:
    source = "{% for m in messages %}<{{ m.role }}>{{ m.content | trim }}{{ loop.index }}{% endfor %}"
    values = {"messages": [{"role": "user", "content": f"word {n} " * 50} for n in range(50_000)]}
    assert len(renderer.render(source, values)) == 50_000
