"""Han characters, and whether they are Chinese."""

from __future__ import annotations

from guard.lazy_regex import lazy_regex

__all__ = ["HAN", "chinese_characters"]

#: Han characters, as a class of a regular expression without its brackets.
HAN = "\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_RUN = lazy_regex(f"[{HAN}]+")
#: Letters of Japanese and Korean. Han characters beside them are mostly no Chinese.
_OTHER = lazy_regex("[\u3041-\u309f\u30a1-\u30fa\uac00-\ud7af]")
#: Han characters beside one Japanese or Korean letter in a Chinese text, at least.
_HAN_PER_OTHER = 20


def chinese_characters(text: str) -> int:
    """Count the Han characters of *text*. A text in Japanese or Korean has none that are Chinese.

    >>> chinese_characters("周五 deploy"), chinese_characters("金曜日に")
    (2, 0)
    """
    if text.isascii():
        return 0
    han = sum(len(run) for run in _RUN.findall(text))
    return 0 if len(_OTHER.findall(text)) * _HAN_PER_OTHER > han else han
