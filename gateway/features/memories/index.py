"""Finding memories by the words of a question: their forms, typing errors in them, and words of the same topic.

The words by which memories are found: stems, and pairs of characters where a script has no spaces between words.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from heapq import nlargest
from itertools import islice
from math import log

from runtime.core.near_names import mistakes_between

_TOPICS = (
    "diet food eat meal vegetarian vegan meat fish allergy allergic gluten lactose halal kosher cook breakfast lunch"
    " dinner restaurant dish taste hungry nut peanut dairy 饮食 吃饭 素食 吃素 过敏 食物",
    "drink coffee tea water wine beer alcohol juice espresso milk 咖啡 喝茶 饮料",
    "home live address city town country move apartment flat house street neighbourhood neighborhood 住址 住在 城市",
    "work job profession employer company office career colleague occupation boss engineer teacher nurse doctor lawyer"
    " developer designer 工作 职业 公司",
    "family wife husband spouse partner child kid son daughter mother father parent brother sister married sibling"
    " grandmother grandfather 家人 家庭 孩子 妻子 丈夫",
    "pet dog cat puppy kitten hamster parrot animal rabbit 宠物 小猫 小狗",
    "health ill illness sick medicine medication diabetes asthma pain disease doctor treatment blood 健康 生病 药物",
    "birthday born birth age old year 生日 年龄",
    "language speak english german french spanish chinese italian dutch norwegian portuguese russian japanese 语言",
    "hobby sport music game play football tennis guitar piano hike swim run bike chess read book film movie garden"
    " 爱好 运动 音乐",
    "travel trip journey flight fly hotel holiday vacation train airport seat aisle window 旅行 旅游 航班",
    "phone email mail contact telephone number reach call 电话 邮箱 联系",
    "money budget price pay salary cost cheap expensive bank currency 预算 价格",
    "time schedule morning evening afternoon night weekend hour monday tuesday wednesday thursday friday saturday"
    " sunday available free meet meeting 时间 早上 晚上",
    "school study university student course exam degree learn class 学校 学习 大学",
    "clothes size shoe shirt wear colour color dress 衣服 尺码 颜色",
    "car drive vehicle bicycle bus commute licence license 汽车 开车",
    "religion faith church mosque temple pray christian muslim jewish buddhist hindu 信仰",
    "name nickname pronoun call title 名字 称呼",
    "project deadline task goal plan report team release 项目 计划",
)

_TYPED_WRONG = 0.6
"""The weight of a word that differs from the question's by a typing error."""

_SAME_TOPIC = 0.25
"""The weight of a word that only belongs to the same topic."""

_FIXED_CHARS = 4
"""Shorter words are compared letter by letter."""

_NEAR_WORDS = 3
"""The words that are taken for what a misspelt one may have meant."""

_OFTEN = 2000
"""A word in more memories than this, and in a fourth of them, tells nothing."""

_LONGEST_QUESTION = 60
_MOST_MISSPELT = 8
"""The words of a question that are looked for, and those of them that may be misspelt."""

_RUNS = re.compile(
    r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uac00-\ud7af]+"
    r"|[^\W_\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uac00-\ud7af]+"
)
_UNSPACED = re.compile(r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uac00-\ud7af]")

_EMPTY = frozenset(
    re.findall(
        r"\w+",
        "a about all also am an and any anything are as at be been being but by can could did do does done each"
        " else ever everything few for from had has have he her here him his how i if in into is it its itself just"
        " know known me mine more most much my myself no not now of on one only or other our out over own person"
        " people please recall remember said say says she should so some something still such tell than that the"
        " their them then there these they thing things this those to too up us user very was we were what when"
        " where which who whom whose why will with would yes you your s t re ve ll d m don didn doesn isn won",
    )
)
"""Words by which nothing is found."""

_ENDINGS = (
    ("ational", "ate"),
    ("ations", "ate"),
    ("ation", "ate"),
    ("arians", "arian"),
    ("ically", "ic"),
    ("ingly", ""),
    ("fully", ""),
    ("ness", ""),
    ("ments", ""),
    ("ment", ""),
    ("ings", ""),
    ("ing", ""),
    ("iest", "y"),
    ("ies", "y"),
    ("ied", "y"),
    ("ers", ""),
    ("er", ""),
    ("ed", ""),
    ("ly", ""),
    ("es", ""),
    ("s", ""),
)
_LEAST_STEM = 3


@lru_cache(maxsize=8192)
def stem(word: str) -> str:
    """The part of an English word that its forms share: "allergies" and "allergy", "working" and "works"."""
    for ending, instead in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= _LEAST_STEM and not word.endswith("ss"):
            word = word[: -len(ending)] + instead
            break
    if len(word) > _LEAST_STEM and word[-1] == word[-2] and word[-1] not in "aeiouls":
        word = word[:-1]
    return word[:-1] if word.endswith("e") and len(word) > _LEAST_STEM else word


def runs(text: str) -> Iterator[str]:
    """The words of a text in small letters without accents; a run of Chinese, Japanese or Korean is one."""
    plain = unicodedata.normalize("NFKD", text.casefold())
    yield from _RUNS.findall(unicodedata.normalize("NFC", "".join(c for c in plain if not unicodedata.combining(c))))


def is_unspaced(word: str) -> bool:
    return _UNSPACED.match(word) is not None


def tokens(text: str) -> list[str]:
    """What a text is found by, in order: stems, and of scripts without spaces each pair of characters."""
    found: list[str] = []
    for word in runs(text):
        if is_unspaced(word):
            found += [word] if len(word) == 1 else [word[at : at + 2] for at in range(len(word) - 1)]
        elif word not in _EMPTY:
            found.append(stem(word))
    return found


def _topics() -> Mapping[str, frozenset[int]]:
    found: dict[str, set[int]] = {}
    for number, words in enumerate(_TOPICS):
        for token in tokens(words):
            found.setdefault(token, set()).add(number)
    return {token: frozenset(numbers) for token, numbers in found.items()}


TOPICS = _topics()
"""The numbers of the topics of a token."""


class MemoryIndex:
    """An index over texts, which are numbered from 0 in the order in which they are added: the oldest first."""

    def __init__(self, texts: Iterable[str] = ()) -> None:
        self._count = 0
        self._places: dict[str, list[int]] = defaultdict(list)
        self._topics: dict[int, list[int]] = defaultdict(list)
        self._by_pairs: dict[str, list[str]] = defaultdict(list)
        for text in texts:
            self.add(text)

    def __len__(self) -> int:
        return self._count

    def add(self, text: str) -> None:
        """Add a text that is newer than all others."""
        number, self._count = self._count, self._count + 1
        found = dict.fromkeys(tokens(text))
        for token in found:
            self._add(token, number)
        for topic in {topic for token in found for topic in TOPICS.get(token, ())}:
            self._topics[topic].append(number)

    def _add(self, token: str, number: int) -> None:
        if token not in self._places and _may_be_misspelt(token):
            for pair in _pairs(token):
                self._by_pairs[pair].append(token)
        self._places[token].append(number)

    def search(self, question: str, limit: int) -> list[int]:
        """The numbers of the texts that fit a question best, the best first; of equal ones the newest."""
        scores: dict[int, float] = defaultdict(float)
        topics: set[int] = set()
        misspelt = 0
        for token in islice(dict.fromkeys(tokens(question)), _LONGEST_QUESTION):
            topics |= TOPICS.get(token, frozenset())
            if token in self._places:
                self._score(scores, self._places[token], 1.0)
            elif _may_be_misspelt(token) and token not in TOPICS and misspelt < _MOST_MISSPELT:
                misspelt += 1
                for near in self._near(token):
                    topics |= TOPICS.get(near, frozenset())
                    self._score(scores, self._places[near], _TYPED_WRONG)
        for topic in topics:
            self._score(scores, self._topics.get(topic, ()), _SAME_TOPIC)
        best = nlargest(limit, scores.items(), key=lambda found: (found[1], found[0]))
        return [number for number, _ in best]

    def _score(self, scores: dict[int, float], places: Sequence[int], weight: float) -> None:
        if len(places) > _OFTEN and 4 * len(places) > self._count:
            return
        worth = weight * log(1 + (self._count + 1) / (len(places) + 0.5))
        for number in places:
            scores[number] += worth

    def _near(self, token: str) -> list[str]:
        """Words that a misspelt one may have meant."""
        shared: Counter[str] = Counter()
        for pair in _pairs(token):
            shared.update(self._by_pairs.get(pair, ()))
        allowed = 1 if len(token) < 2 * _FIXED_CHARS else 2
        words = (word for word, _ in shared.most_common(40))
        near = [(far, word) for word in words if (far := mistakes_between(token, word, allowed)) is not None]
        return [word for _, word in sorted(near)][:_NEAR_WORDS]


def _may_be_misspelt(token: str) -> bool:
    return len(token) >= _FIXED_CHARS and not is_unspaced(token) and not token.isdecimal()


def _pairs(token: str) -> set[str]:
    """The pairs of neighbouring letters, and the first letter with where it stands."""
    return {f"^{token[0]}", *(token[at : at + 2] for at in range(len(token) - 1))}
