from __future__ import annotations

import importlib
import re
import subprocess
import sys

import pytest

from guard.lazy_regex import LazyRegex, lazy_regex
from tests.source_tree import MODULES


def patterns_in(value: object) -> list[LazyRegex]:
    if isinstance(value, LazyRegex):
        return [value]
    items = value.values() if isinstance(value, dict) else value if isinstance(value, (tuple, list, frozenset)) else ()
    return [pattern for item in items for pattern in patterns_in(item)]


def test_every_pattern_of_a_module_compiles() -> None:
    found = 0
    for name in MODULES:
        if name.split(".")[0] in {"agent_home", "assembler", "distill", "recall"}:
            for pattern in patterns_in(list(vars(importlib.import_module(name)).values())):
                assert pattern.groups >= 0, name  # compiles it
                found += 1
    assert found > 400


def test_the_methods_are_those_of_the_compiled_pattern() -> None:
    lazy, compiled = lazy_regex(r"(?P<word>b+)c?", re.IGNORECASE), re.compile(r"(?P<word>b+)c?", re.IGNORECASE)
    text = "abBc bb c"
    for method in ("findall", "split"):
        assert getattr(lazy, method)(text) == getattr(compiled, method)(text)
    assert [match.span("word") for match in lazy.finditer(text, 1, 5)] == [(1, 3)]
    assert (lazy.sub("-", text), lazy.subn("-", text)) == (compiled.sub("-", text), compiled.subn("-", text))
    assert lazy.match(text) is None
    assert lazy.fullmatch("Bbc") is not None
    assert (lazy.pattern, lazy.flags, lazy.groups, lazy.groupindex) == (
        compiled.pattern, compiled.flags, compiled.groups, compiled.groupindex,
    )  # fmt: skip


def test_an_error_in_a_pattern_is_raised_at_its_first_use() -> None:
    with pytest.raises(re.error):
        lazy_regex("(").search("text")


def test_importing_the_closing_compiles_few_patterns() -> None:
    # All of them take a fifth of a closing of three messages, which uses half.
    program = (
        "import re, sys\ncount = 0\ncompiled = re._compiler.compile\n"
        "def counted(pattern, flags=0):\n"
        "    global count\n    code = sys._getframe(3).f_code\n"
        "    count += code.co_filename.endswith('.py') and any(f'/{name}/' in code.co_filename for name in\n"
        "        ('agent_home', 'assembler', 'distill', 'recall')) and 'site-packages' not in code.co_filename\n"
        "    return compiled(pattern, flags)\n"
        "re._compiler.compile = counted\nimport distill.close\nprint(count)"
    )
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert int(run.stdout) < 30
