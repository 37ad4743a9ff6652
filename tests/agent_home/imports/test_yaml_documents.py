"""Documents of other systems are read as data, with limits."""

from __future__ import annotations

import pytest

from agent_home.imports.yaml_documents import MOST_BYTES, ManifestUnreadable, yaml_documents

#: Each mapping merges ten of the one before.
MERGED = "a0: &a0 {x: 1}\n" + "\n".join(
    f"a{level}: &a{level}\n  <<: [{', '.join([f'*a{level - 1}'] * 10)}]" for level in range(1, 12)
)


def test_documents_and_the_items_of_a_list_come_one_by_one() -> None:
    text = "a: 1\n---\nkind: List\nitems:\n  - b: 2\n  - 3\n---\n- c\n"
    assert [sorted(row) for row in yaml_documents(text, "x")] == [["a"], ["items", "kind"], ["b"]]
    assert yaml_documents('{"a": [1]}', "x.json") == [{"a": [1]}]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a: [", "is no YAML"),
        ("just words", "no YAML mapping"),
        ("", "no YAML mapping"),
        ("!!python/object/apply:os.system ['true']", "is no YAML"),
        ("a: " + "[" * 50_000, "too deep"),
        ("[1],\n" * 20_000 + "[", "is no YAML"),
        ("\n".join(f"k{number}: {{a: 1}}" for number in range(60_000)), "too many values"),
        ("a: 2026-99-99", "is no YAML"),
        ("x: !!bool maybe", "is no YAML"),
        ("x: !!timestamp 'notatime'", "is no YAML"),
        (MERGED, "too many values"),
        ("x" * (MOST_BYTES + 1), "larger than 2 MB"),
    ],
)
def test_what_cannot_be_read_is_named(text: str, said: str) -> None:
    with pytest.raises(ManifestUnreadable, match=said):
        yaml_documents(text, "file.yaml")
