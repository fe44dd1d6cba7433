"""Words that belong to one topic, so that "diet" finds "vegetarian". English, with some Chinese; no dictionary."""

from __future__ import annotations

from collections.abc import Mapping

from runtime.memories.words import tokens

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


def _topics() -> Mapping[str, frozenset[int]]:
    found: dict[str, set[int]] = {}
    for number, words in enumerate(_TOPICS):
        for token in tokens(words):
            found.setdefault(token, set()).add(number)
    return {token: frozenset(numbers) for token, numbers in found.items()}


TOPICS = _topics()
"""The numbers of the topics of a token."""
