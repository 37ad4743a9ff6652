"""Turns of an assistant that say nothing about the sentence of the user behind them.

A user tells things after an "OK.", after a greeting and after the answer to an earlier question. These turns are put
before labelled sentences, to train and to measure a reader that keeps the same facts after every one of them.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping

__all__ = ["IDLE_TURNS", "idle_turn"]

#: Turns by kind and language.
IDLE_TURNS: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "ok": {
        "en": ("OK.", "Got it.", "Okay!", "Sure.", "Alright.", "Noted.", "Done.", "You're welcome!"),
        "zh": ("好的。", "好的", "嗯。", "收到。", "没问题。", "明白了。", "完成了。", "不客气!"),
    },
    "greeting": {
        "en": (
            "Hello! How can I help you today?", "Hi there! What can I do for you?", "Hey! What is on your mind?",
            "Good morning! What would you like to work on?", "Welcome back! How are you?",
            "I'm here to help. Is there anything else?",
        ),
        "zh": (
            "你好!有什么可以帮您?", "您好,请问有什么需要帮忙的吗?", "你好,我是你的助手,今天想做点什么?",
            "早上好!今天忙什么?",
            "欢迎回来!最近怎么样?", "还有什么需要我做的吗?",
        ),
    },
    "answer": {
        "en": (
            "The quickest way to descale a kettle is to boil equal parts of water and vinegar and rinse it twice.",
            'Here is the corrected formula: =SUMIF(A2:A40,"paid",C2:C40). It adds up only the rows marked as paid.',
            "Lisbon is about two and a half hours by plane. In March expect 17 degrees and some rain.",
            "The word comes from Latin. It first meant a fence and later the garden inside it.",
            "Use git stash before you switch branches, then git stash pop to get your changes back.",
            "In short, the treaty ended the war but left the border open. Historians still argue about the reasons.",
            "I shortened the letter to 120 words and made the last paragraph friendlier.",
            "The film is set in Naples in the fifties and won two prizes. It runs for about two hours.",
            "A list comprehension is faster here because it avoids the method lookup in every round of the loop.",
            "For four people you need 400 grams of rice, two onions and a litre of stock.",
        ),
        "zh": (
            "除水垢最快的办法是白醋和水一比一煮开,放半小时,再清洗两遍。",
            '公式已经改好:=SUMIF(A2:A40,"已付",C2:C40),只统计标记为已付的行。',
            "里斯本三月大概十七度,偶尔下雨,建议带一件薄外套。",
            "这个词来自拉丁语,最早指篱笆,后来指篱笆里的园子。",
            "切换分支之前先用git stash,切回来再git stash pop。",
            "简单说,条约结束了战争,但边界问题没有解决,史学界至今有争论。",
            "信已经压缩到一百二十字,最后一段语气柔和了一些。",
            "影片以五十年代的那不勒斯为背景,得过两个奖,片长约两小时。",
            "这里用列表推导式更快,因为每次循环少一次方法查找。",
            "四个人的话,准备四百克米饭、两个洋葱和一升高汤。",
        ),
    },
}  # fmt: skip


def idle_turn(text: str, lang: str, kind: str = "") -> str:
    """Return the idle turn that stands before *text*, always the same one, of any kind by default."""
    number = zlib.crc32(f"turn {text}".encode())
    turns = IDLE_TURNS[kind or sorted(IDLE_TURNS)[number % len(IDLE_TURNS)]][lang]
    return turns[number // len(IDLE_TURNS) % len(turns)]
