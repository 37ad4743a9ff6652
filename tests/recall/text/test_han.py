"""Han characters count as Chinese unless the text is Japanese or Korean."""

from __future__ import annotations

import pytest

from recall.text.han import chinese_characters


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("", 0),
        ("see you on Friday", 0),
        ("我们周五见", 5),
        ("周五 deploy 发票服务", 6),
        ("金曜日に会議があります", 0),
        ("회의는 金요일에 있습니다", 0),
        ("这家店叫“月の家”，" + "我们常常一起去那里吃饭聊天" * 2, 32),
    ],
)
def test_han_characters_are_counted_only_in_chinese(text: str, count: int) -> None:
    assert chinese_characters(text) == count
