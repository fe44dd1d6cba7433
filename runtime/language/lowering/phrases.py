"""The English of steps: the patterns by which the rules recognise a step."""

from __future__ import annotations

import re
from functools import lru_cache

PREFIX = re.compile(
    r"^(?:(?:then|next|first|second|third|finally|now|please|also|afterwards|and|so|just|lastly)\b,?\s+"
    r"|(?!reply|apply|supply|rely|multiply|verify)[a-z]+ly\b,?\s+)+",
    re.IGNORECASE,
)
_SYMBOLS = "\u2190-\u2bff\ufe0f\u200d\U0001f000-\U0001faff"
ORNAMENTS = re.compile(rf"^[\s{_SYMBOLS}]+(?=\S)|(?<=\S)[\s!{_SYMBOLS}]+$")
"""Emoji and similar ornaments around a sentence."""
PBASM = re.compile(r"^(?:\d+(?:\.\d+)*:)?(EXE|TNK|QUE|CND|CHK|JMP|RET|YLD|LOP|ELS)\b:?\s*(.*)$", re.DOTALL)
LOOP = re.compile(
    r"^(?:(?:forever|endlessly|while|for\s+each|for\s+every|for\s+all|until|repeat|loop|iterate|as long as)\b|for\s+\$"
    r"|for\s+\w+\s+(?:in|from)\b|go\s+(?:through|over)\s+(?:each|every|all)\b[^,:]*\$|step\s+(?:through|over)\s+\$"
    r"|do\s+(?:up to|at most|exactly)\s+\$?\w+\s+times:?$"
    r"|do\s+(?:the following|this|these|that)\b.*\b(?:until|while|times|each|every)\b"
    r"|(?:up to|at most|no more than)\s+\$?\w+\s+(?:times|iterations|rounds|attempts|tries)\b)",
    re.IGNORECASE,
)
_TIMES = r"(?:times|iterations|rounds|attempts|tries|passes|cycles)"
REPEAT_TIMES = re.compile(
    r"^(?:(?:repeat|loop|iterate|do)(?:\s+(?:this|these|that|the following|it))?(?:\s+steps?)?\s+)?(?:for\s+)?"
    r"(?:up to|at most|no more than|a maximum of|a total of)?\s*"
    rf"(?:(\d+|\$\w+)(?:\s+{_TIMES}|\s?x)|(?<=\s)(twice|thrice))$",
    re.IGNORECASE,
)
BOUNDED = re.compile(
    rf"\b(?:up to|at most|no more than|a maximum of|max\.?|maximum)\s+(?:of\s+)?\S+\s+{_TIMES}\b", re.IGNORECASE
)
AGAIN_IF = re.compile(
    rf"^(?:if|unless)\b.*[,(]\s*(?:up to|at most|no more than|a maximum of)\s+\w+\s+{_TIMES}\)?:?$",
    re.IGNORECASE | re.DOTALL,
)
"""A condition that is tested again: "If it is not enough, up to 3 times"."""
REPEATS = re.compile(
    r"\b(?:until|till|while|as long as|for each|for every|for all|each|one by one|one after another|repeatedly"
    r"|forever|endlessly|again and again|every"
    rf"|continuously|always|twice|thrice|in parallel|at the same time|either|one of)\b|\b\w+\s+{_TIMES}\b",
    re.IGNORECASE,
)
"""Words that make a sentence repeat or be optional; the steps below are then part of it."""
_IT_DOES = r"(?:it|he|she|they|that|this)\s+(?:is|are|was|were|does|do|did|has|have)"
IF_SO = re.compile(
    r"^(?:check|see|verify|determine|find out|test|look)\s+(?:whether|if|that)\s+(.+?)\s*[:;,.\u2014-]+\s*(?:and\s+)?"
    rf"if\s+(so|yes|true|not|no|{_IT_DOES}(?:\s+not|n['\u2019]t)?)\b(?!\s+\w+\s*[:,])\s*[:,]?\s*(.*)$",
    re.IGNORECASE | re.DOTALL,
)
LAST_CONDITION = re.compile(r"[:;,.\u2014]\s*(?:and\s+)?(?=(?:if|unless|when)\b[^,:;]*:?$)", re.IGNORECASE)
BEHIND = re.compile(r"\s+\b(if|unless)\s+(?=\S)", re.IGNORECASE)
"""A condition after its action."""
OF_WHAT_WAS_SAID = re.compile(r"(?:it|that|they|those|these|this)\b", re.IGNORECASE)
"""The beginning of a condition that belongs to a message: "… when it arrives, if that is known"."""
SAYS_WHETHER = re.compile(
    r"^(?:ask|tell|inform|let|see|check|verify|determine|decide|confirm|clarify|find out|inquire|enquire|know|say|show"
    r"|mention|explain|consider|evaluate|assess|think about|think|figure out|understand|remind)\b",
    re.IGNORECASE,
)
"""A verb before an "if" that means "whether"."""
DOES_ONE_THING = re.compile(
    r"^(?:\$\w+[^=]*=(?!=)|(?:set|let|store|assign|break|continue|exit|leave)\b)", re.IGNORECASE
)
WHILE_IT_LASTS = re.compile(
    r"\s*\b(?:while|as long as)\s+(?:it['\u2019]s|(?:it|the meeting|this meeting)\s+(?:is|remains))\s+(?:still\s+)?"
    r"(active|ongoing|going on|running|open)\b",
    re.IGNORECASE,
)
LASTS = re.compile(r"\s+\b(until|till)\s+(?=\S)", re.IGNORECASE)
KEEP_ASKING = re.compile(r"^(?:keep|go on|continue)\s+(?:on\s+)?asking\b.*?\buntil\b", re.IGNORECASE)
MODIFIES = re.compile(
    r"^(?:be|do not|don't|never|always|keep (?:it|this|that|your)|make sure|ensure|use|mention|include|avoid|only|not"
    r"|for example|such as|e\.g|i\.e|and|or|but|they|their|it|its|he|she|the|an?|this|these|that|those|your|no|with"
    r"|without|in|at|on|by|as|like|including|your|there|here|some|any|all|both|each|one|two|three|remember|note)\b"
    r"|^[^\w$]*$",
    re.IGNORECASE,
)
"""A clause that says how, or of what, and contains no action."""
BRANCH = re.compile(
    r"^(?:if|when|whenever|once|unless|in case|depending on|(?:each|every|any) time"
    r"|switch\b(?!.*\bto\b)|case(?=\s+[^:]+:)|default(?=:))(?!\w)",
    re.IGNORECASE,
)
SWITCH = re.compile(r"^(?:switch\b|depending on\b[^,]*$)", re.IGNORECASE)
ELSE = re.compile(r"^(?:else|otherwise|elif)\b[,:]?\s*", re.IGNORECASE)
BRANCH_AT_START = re.compile(r"^(?:(?:else|otherwise),?\s+)?(?:if|when|unless)\s+", re.IGNORECASE)
JOINS = re.compile(r"(?:and|or|not|then|is|are|was|in|if|else|otherwise|to|of|than)\b", re.IGNORECASE)
"""Words with which no action begins."""
OTHER_SIDE = re.compile(r"[;.]\s*(?=(?:otherwise|else)\b(?!,?\s+if\b))", re.IGNORECASE)
ELSE_INSIDE = re.compile(
    r"(?:(?<!thing )(?<!body )(?<!one )(?<!where )(?<!what )(?<!who )\belse|\botherwise)\b", re.IGNORECASE
)
REPEATS_NOTHING = re.compile(r"^(?:repeat|loop|iterate|do)\b", re.IGNORECASE)
BEFORE_A_CONDITION = re.compile(
    r"^(?:(?:then|next|first|finally|lastly|now|also|afterwards|and|so|only)\b,?\s+)+(?=(?:if|when|unless|while|for)\b)",
    re.IGNORECASE,
)
LEAVE_LOOP = re.compile(
    r"^(?:break\b|(?:exit|leave|stop|end|quit)\s+(?:(?:the|this)\s+)?loop\b|stop\s+(?:looping|repeating)\b"
    r"|(?:go|move|proceed)(?:\s+on)?\s+(?:with|to)\s+the\s+next\s+(?:one|item|iteration|round|element|entry|\$\w+)$)",
    re.IGNORECASE,
)
SAYS_QUOTED_WHOLE = re.compile(
    r"^(?:say|print|show|display|tell (?:the user|them))\b\s*:?\s*(?:\"[^\"]*\"|\u201c[^\u201d]*\u201d)$", re.IGNORECASE
)
SAYS_QUOTED = re.compile(r"^(?:say|print|show|display)\b\s*:?\s*[\"\u201c]", re.IGNORECASE)
CLAUSE_START = re.compile(r",(?!\d{3}\b)\s*(?:then\s+)?|\s+then\s+|:\s+", re.IGNORECASE)

END_PROGRAM = re.compile(
    r"^(?:(?:end|exit|quit|terminate|stop|finish)(?:\s+(?:the\s+)?program)?|shut\s?down"
    r"|end\s+(?:(?:the|this)\s+)?(?:conversation|chat|session))$",
    re.IGNORECASE,
)
AND_END = re.compile(
    r"(?:\b(?:and|then)\s+|[,;.]\s*|\s&\s+)(?:then\s+)?(?:end|exit|quit|terminate|stop|finish|shut\s?down)"
    r"(?:\s+(?:the\s+|this\s+)?(?:program|conversation|chat|session)(?:\s+(?:now|immediately|at\s+once))?)?[.!]?$",
    re.IGNORECASE,
)
INDIRECT = re.compile(
    r"\b(?:to|how|that|can|could|must|should|may|will|what|when|why|where|who|which|please)\b", re.IGNORECASE
)
"""Words that may make the rest of a sentence part of the message: "how to save and quit"."""
AND_RETURN = re.compile(r"\b(?:and|then)\s+return\b(?!\s+to\b)", re.IGNORECASE)
RETURN = re.compile(r"^return\b\s*(.*)$", re.IGNORECASE | re.DOTALL)
TO_CALLER = re.compile(
    r"^nothing$|(?:^|\s+)(?:early$|now$|immediately$|(?:^control\s+)?(?:back\s+)?"
    r"(?:to\s+(?:the\s+|its\s+)?(?:caller|calling playbook)"
    r"|from\s+(?:the|this)\s+(?:playbook|meeting|call))$)",
    re.IGNORECASE,
)
RETURNED_TO = re.compile(r"(?:^|\s)(?:to|into|from)\s+(?!me\b)\S", re.IGNORECASE)
"""A "return" that goes to a place, or brings something to somebody."""
GO_TO = re.compile(
    r"^(?:(?:go|jump|skip|return|continue|proceed|loop)\s+(?:back\s+)?(?:to|with|from|at)\s+(?:the\s+)?step\s+"
    r"|(?:(?:go|jump)\s+(?:back\s+)?to|goto)\s+(?:step\s+)?|(?:repeat|restart|(?:start|begin)\s+(?:over|again))\s+(?:from|at|with)\s+step\s+|repeat\s+step\s+)(\d+)"
    r"(?:,?\s+((?:if|unless|until|while|as long as)\b.*))?$",
    re.IGNORECASE | re.DOTALL,
)
IF_JUMP = re.compile(
    r"^(if\s+[^,;]+?)(?:\s+then)?\s+((?:go|jump|goto|return|continue|skip|proceed)\b.*)$", re.IGNORECASE | re.DOTALL
)
"""A condition followed by its jump: "If yes go to step 2"."""
NOTE = re.compile(
    r"^(?:check|apply|see|follow|consider|read|heed)\s+(?:the\s+)?(?:note\s*#?\s*(\d+)|n(\d+)\b)", re.IGNORECASE
)

END_MEETING = re.compile(
    r"^(?:end|close|finish|conclude|adjourn)\s+(?:the\s+|this\s+)?meeting(?:\s+(\d+))?$", re.IGNORECASE
)
LEAVE_MEETING = re.compile(r"^(?:leave|exit|quit)\s+(?:the\s+|this\s+)?meeting(?:\s+(\d+))?$", re.IGNORECASE)
INVITE = re.compile(r"^(?:add|invite|bring)\s+(.+?)\s+(?:in)?to\s+(?:the|this|our)\s+meeting$", re.IGNORECASE)
INVITES = re.compile(r"\b(?:add|invite|bring)\s+(.+?)\s+(?:in)?to\b|\binvite\s+(.+)|\battendees\s*=", re.IGNORECASE)
HOLD = re.compile(r"^(?:have|hold|start|begin|call|conduct|run|join|open|set up)\s+(?:an?|the)\s+(.+)$", re.IGNORECASE)
TAKE_PART = re.compile(
    r"^(?:participate|take part|join(?:\s+in)?(?!\s+(?:\S+\s+)?meeting\s+\d)|collaborate|cooperate|contribute"
    r"|interact|negotiate|debate|facilitate|moderate|discuss|drive|lead|engage|stay|remain|continue|keep)\b",
    re.IGNORECASE,
)


WAIT = re.compile(r"^(?:wait|hold on|pause|yield)\b(?:\s+(?:for|until|to)\s+(.*))?", re.IGNORECASE)
TOGETHER = re.compile(
    r"^(?:review|go over|go through|plan|decide|evaluate|brainstorm|reflect|work out|figure out)\b", re.IGNORECASE
)
"""Verbs for thinking alone, or for discussing with somebody."""
THINK = re.compile(
    r"^(?:think|consider|decide|plan|reflect|reason|ponder|determine|figure out|evaluate|analy[sz]e|assess|weigh"
    r"|brainstorm|understand|review|note|observe|reconsider|re-?evaluate)\b",
    re.IGNORECASE,
)
TO_ITSELF = re.compile(r"^(?:remind|tell|ask)\s+(?:yourself|itself|me)\b", re.IGNORECASE)
ASK = re.compile(
    r"^(?:ask|prompt|request|query|inquire|enquire|confirm|clarify|verify|check|interview|consult|have|get|collect"
    r"|gather|obtain|find out|learn|chat|converse|talk"
    r"|(?:enter|begin|start|hold|carry on) an? (?:conversation|chat|dialog)|engage|discuss"
    r"|negotiate|let|invite|encourage(?=.*\bto\b)|offer|keep|help|remind and ask|elicit|quiz)\b",
    re.IGNORECASE,
)
ASK_ALWAYS = re.compile(
    r"^(?:(?:keep |go on )?asking|ask|prompt|inquire|enquire|interview|quiz|clarify)\b", re.IGNORECASE
)
ASK_IF_OBJECT = re.compile(
    r"^(?:get|have|check|keep|help|offer|verify|collect|obtain|gather|let|review|request|query)\b", re.IGNORECASE
)
ASKS_INSIDE = re.compile(
    r"(?:\band|\bthen|,)\s+ask\b|\b(?:and|then)\s+(?:wait|get|collect|request)\b"
    r"|\b(?:and|then)\s+(?:have|let)\s+(?:them|him|her|the\s+\w+)\s+(?:choose|pick|select|enter|decide|name|type|say|answer)\b",
    re.IGNORECASE,
)
TELL = re.compile(
    r"^(?:tell|greet|say|explain|inform|thank|thanks|present|show|welcome|introduce|apologi[sz]e|congratulate|respond"
    r"|reply|answer|remind|warn|notify|wish|mention|display|print|output|announce|acknowledge|reassure|advise|share"
    r"|describe yourself|state|communicate|let the user know|let them know|say goodbye|bid|compliment|praise|comfort"
    r"|message|broadcast|whisper|encourage|motivate|console|tease|scold|clearly announce)\b",
    re.IGNORECASE,
)
TELL_IF_NAMED = re.compile(
    r"^(?:summari[sz]e|list|describe|suggest|recommend|report|send|give|provide|offer|deliver|read|write|propose|recap"
    r"|pass|forward|hand(?!\s+over\b)|teach|guide|walk|return|help|repeat|let|point|direct|submit|demonstrate)\b",
    re.IGNORECASE,
)
TELL_A_MEETING = re.compile(
    r"^(?:summari[sz]e|list|describe|suggest|recommend|report|propose|recap|flag|provide|open|start|moderate)\b",
    re.IGNORECASE,
)
WORK = re.compile(
    r"^(?:remind (?:yourself|itself|me)|sleep|hand over)\b"
    r"|^(?:set|initiali[sz]e|increment|decrement|increase|decrease|compute|calculate|recalculate|store|remember|assign"
    r"|append|add|remove|update|create|generate|format|extract|convert|parse|choose|select|pick|sort|filter|count|sum"
    r"|write|draft|compose|build|make|prepare|combine|merge|split|clear|reset|save|record|load|find|search|fetch"
    r"|look up|retrieve|translate|classify|validate|round|multiply|divide|subtract|estimate|rank|compare|process"
    r"|break|continue|skip|do nothing|let \$|take|put|copy|replace|use|specify|identify|scan|check|verify|inspect"
    r"|examine|monitor|track|log|mark|define|test|measure|complete|apply|handle|perform|collect|get|gather|submit|list"
    r"|describe|summari[sz]e|propose|suggest|recommend|join|book|order|schedule|cancel|open|close|send|give|provide|read|wait)\b",
    re.IGNORECASE,
)
ASSIGN = re.compile(r"^\$\w+(?::[\w\[\], |]+?)?(?:\s*,\s*\$\w+(?::[\w\[\], |]+?)?)*\s*=(?!=)\s*", re.DOTALL)
SET_TO = re.compile(
    r"^(?:set|let|store|assign)\s+(?P<target>\$\w+(?::[\w\[\], |]+?)?)\s+(?:to|be|as|=)\s+(?P<value>.+)$",
    re.IGNORECASE | re.DOTALL,
)
CHANGE = re.compile(r"^\$\w+(?:\.\w+|\[[^\]]*\])*\s*(?:[-+*/%|&]?=(?!=)|\+\+|--)")
"""A change of a variable, or of a part of it, that ASSIGN does not recognise."""

CALL = re.compile(r"^([^\W\d]\w*(?:\.[^\W\d]\w*)?)\s*\(")
ASKS_OR_WAITS = re.compile(r"\b(?:ask|wait|prompt|request|collect|inquire)", re.IGNORECASE)
CALLED = re.compile(r"\b([^\W\d]\w*(?:\.[^\W\d]\w*)?)\(")
CALL_VERB = re.compile(
    r"^(?:call|run|use|execute|invoke|do|perform|start|trigger)\s+(?:the\s+)?(?:playbook\s+)?"
    r"([^\W\d]\w*(?:\.[^\W\d]\w*)?)\b(.*)$",
    re.IGNORECASE | re.DOTALL,
)
_OBJECT = r"(?:it|them|this|that|these|those|the|an?|all|each|every|their|its|his|her|for|if|whether|\$\w|\")"
ACTS = re.compile(
    r"^(?:(?:set|let)\s+\$\S+\s+(?:to|be|as|=)|\$\w+(?:\.\w+|\[[^\]]*\])*\s*[-+*/]?=(?!=)"
    r"|(?:save|record|write)(?!\s+(?:it|them|that|this|the answer|their)\b)\s+" + _OBJECT + ""
    r"|look\s+(?:\w+\s+)?up\b|break\b|continue with|start over|hand over|repeat\b"
    r"|(?:increase|increment|decrease|decrement|calculate|compute|recalculate|update|append|delete|remove|clear|reset"
    r"|search|fetch|retrieve|load|cancel|book|order|schedule|submit|log|validate|verify|check|process|send|create"
    r"|generate|find|prepare|translate|convert|sort|filter)\s+" + _OBJECT + r")",
    re.IGNORECASE,
)
"""Actions besides the message or the thought before them."""
WORKS_BY_CALL = re.compile(
    r"^(?:get|fetch|retrieve|load|look|call|find|search|create|make|send|save|store|book|order|schedule|cancel|open|close|update"
    r"|delete|remove|add|submit|register|record|check|validate|verify|reserve|process|pay|charge|place)\s"
    r"(?!.*\b(?:and|or|not|if|unless|then|until|while)\b.*\()[\w$'\u2019 -]*?\s*"
    r"\b(?:with|using|from|via|through|by(?:\s+(?:calling|using))?)\s+(?:the\s+)?(?P<call>[^\W\d][\w.]*\(.*\))$",
    re.IGNORECASE | re.DOTALL,
)
"""A sentence that says what its call is for: "Create the account with CreateAccount($email)"."""
CALL_WORD = re.compile(
    r"^(?:call|run|use|execute|invoke|perform|start|trigger)\s+(?:the\s+)?(?:playbook\s+)?", re.IGNORECASE
)
WITH_VARIABLES = re.compile(
    r"^\s*(?:playbook\s*)?(?:(?:with|on|for|using|passing)\s+(\$\w+(?:\s*(?:,|and|,\s*and)\s*\$\w+)*))?"
    r"(?:\s*(?:,|and)?\s*(?:to get|and get|to obtain|and store (?:it|the result) (?:in|as)|into|as|giving|to set)\s+"
    r"(\$\w+(?::\w+)?))?\s*\.?\s*$",
    re.IGNORECASE,
)
BY_A_CALL = re.compile(
    r"^[A-Za-z]+\s+(?:the\s+|an?\s+)?(\$\w+(?::\w+)?)\s+(?:with|by|using|from|via|by (?:calling|using))\s+"
    r"(?=[A-Za-z_][\w.]*\()"
)
"""The target of a call's result: "Find a $place with Search($name)"."""
KEEPS_RESULT = re.compile(
    r"[,;]?\s*(?:\b(?:and|then)\s+)*\b(?:save|store|keep|put|assign|record|remember)\s+"
    r"(?:it|(?:(?:the|its|their)\s+)?(?:results?|output|answer|return(?:ed)? value))\s+(?:as|in|into|to)\s+"
    r"(\$\w+(?::[\w\[\]]+)?)[.;]?$",
    re.IGNORECASE,
)
"""The end of a call's sentence that names the variable for its result."""
VERB_VARIABLE = re.compile(r"^([A-Za-z]+(?:\s+[A-Za-z]+)*?)\s+(?:the\s+|an?\s+)?\$(\w+)(:\w+)?$")
VARIABLE = re.compile(r"\$(\w+)(?::\w+(?:\[[\w, \[\]]*\])?)?")
TALKED_ABOUT = re.compile(
    r"\b(?:whether|if|about|of|than|given|confirm|approve|accept|pay|review|check|verify|regarding|concerning|rate|sign"
    r"|agree|show|tell|them|question|between)\b[^,;]*?\$\w+(?:[^,;]*?\b(?:or|and)\s+\$\w+)*"
    r"(?:\s+(?:is|are|was|were|has|looks?|fits?|works?)\b)?",
    re.IGNORECASE,
)
"""The subject of a question, up to a variable that it names."""
ITS_STATE = re.compile(
    r"\b(?:whether|if)\s+(?:(?:the|their)\s+(?:\w+\s+){0,2})?\$\w+\s+(?:is|are|was|were|has|looks?|fits?|works?)$",
    re.IGNORECASE,
)
ASKED_FOR = re.compile(
    r"(?:\bask(?:ing)?\b(?:\s+(?!to\b)\w+){0,4}?\s+for|\b(?:new|another|different|correct))\s+"
    r"(?:(?:the|their|an?|new|another)\s+)*\$(\w+)",
    re.IGNORECASE,
)
UNTIL = re.compile(r"\b(?:until|till)\s+(.+?)[.;]?$", re.IGNORECASE | re.DOTALL)
PERSON = re.compile(
    r"\b(?:users?|customers?|humans?|person|people|visitors?|guests?|clients?|players?|them|him|her)\b", re.IGNORECASE
)
PERSON_OUTSIDE = re.compile(r"\b(?:users?|customers?|humans?)\b", re.IGNORECASE)
ABOUT_OTHERS = re.compile(r"^(?:introduce|present|recommend)\b", re.IGNORECASE)
_ABOUT = r"(?:to|for|what|whether|if|about|how|when|where|which|who|why|that)\b"
TO_A_VARIABLE = (
    rf"(?:ask|tell|inform|notify|remind|consult|message|invite|prompt)\s+(\$\w+)(?:\.\w+|\[[^\]]*\])*\s+(?={_ABOUT})"
)
"""The start of a step whose addressee is in a variable: "Ask $colleague to …"."""
TO_VARIABLE_BEHIND = re.compile(
    r"^(?:send|say|give|pass|forward|report|show|present|explain|read|deliver|talk|speak)\b.*\b(?:to|with)\s+(\$\w+)[.!]?$",
    re.IGNORECASE | re.DOTALL,
)
TO_A_NAME = re.compile(
    r"^(?:ask|tell|inform|notify|remind|consult|message)\s+((?-i:[A-Z])\w+(?:\s+(?-i:[A-Z])\w+)*)"
    rf"(?:['\u2019]s\b|\s+agent\b)?(?:\s+\w+ly\b)?\s+(?={_ABOUT})",
    re.IGNORECASE,
)
ASKS_SOMEBODY = re.compile(
    r"^(?:ask|consult)\s+(?:(?:our|the|an?|my)\s+(?!questions?\b)\w+|(?-i:[A-Z])\w+(?:\s+(?-i:[A-Z])\w+)*)"
    r"(?:\s+agent\b)?(?:\s+\w+ly\b)?$",
    re.IGNORECASE,
)
"""A verb and whom it is for, and no more: behind it, "if" means "whether"."""
TO_SOMEBODY_ELSE = re.compile(
    r"^(?:ask|tell|inform|notify|remind|consult)\s+(?:our|the|an?|my)\s+(\w+)(?:\s+\w+ly)?\s+(?:what|whether|if|to|how|that|when|where|why)\b",
    re.IGNORECASE,
)
TO_A_NAME_BEHIND = re.compile(
    r"^(?:send|say|give|pass|forward|report|show|present|explain|deliver|talk|speak)\b.*\b(?:to|with)\s+((?-i:[A-Z])\w+)\W*$",
    re.IGNORECASE | re.DOTALL,
)
PRONOUN = re.compile(r"\b(?:them|him|her)\b", re.IGNORECASE)
REPLIES = re.compile(
    r"^(?:thank|greet|apologi[sz]e|acknowledge|reply|respond|answer|congratulate|welcome|praise|comfort|reassure|bid"
    r"|say\s+(?:good\s?bye|hello|hi|farewell|thanks|thank you|sorry|yes|no))\b",
    re.IGNORECASE,
)
"""Words for somebody who already takes part in the conversation."""
EVERYBODY = re.compile(
    r"\b(?:everyone|everybody|all|the meeting|attendees|participants|the team|the group|the room|both)\b", re.IGNORECASE
)
WHILE_ACTIVE = re.compile(
    r"\bmeeting\b|\b(?:is|are|remains?)\s+(?:still\s+)?(?:active|ongoing|going on)\b", re.IGNORECASE
)
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_EMPHASIS = re.compile(r"^(\*\*|__|\*|_)(?=[^\W_])([^*_]+)(?<=[\w,:])\1(?!\w)")
_CODE = re.compile(r"`(\$\w+(?::\w+)?|(?:[^\W\d]\w*\.)?[^\W\d]\w*\([^`]*\)|\$[^`]*=[^`]*)`")
_LOOKS = ("[", "`", "*", "_")
_NUMBERED = re.compile(r"^(?:step\s+\d+\s*[:.)\u2014-]\s*|\d+[.)]\s+)(?=\S)", re.IGNORECASE)
"""The number that an author gives a step."""
_ELSE_IF = re.compile(r"^(?:elif|elseif|elsif|else-if)\b[,:]?\s*", re.IGNORECASE)
"""The beginnings of a step with a box, code or emphasis."""
_BOX = re.compile(r"^\[[ xX]\]\s+(?=\S)")
_TYPED = re.compile(r"^(\$\w+)\s*:\s+([A-Za-z]\w*(?:\[[\w, ]*\])?)\s*=(?!=)\s*")
_WALRUS = re.compile(r"^(\$\w+(?::\w+)?)\s*:=\s*")
_WHOLE_CODE = re.compile(r"^`([^`]+)`[.;]?$")
_AWAITED = re.compile(r"^((?:\$\w+(?::[\w\[\]]+)?\s*=\s*)?)(?:await\s+)?(?:self\.)?(?=[^\W\d]\w*(?:\.\w+)?\()")
RESULTLESS = frozenset({"Say", "Tell", "SaveArtifact", "EndMeeting", "LeaveMeeting", "InviteToMeeting"})


@lru_cache(maxsize=1024)
def plain(text: str) -> str:
    """A step without what is only its looks: a box to tick, its number, emphasis at its beginning, code marks around
    variables and calls, and what Python would write around a call or for "else if". What stands in quotes stays as it
    is."""
    if text.startswith(_LOOKS):
        text = _EMPHASIS.sub(r"\2", _WHOLE_CODE.sub(r"\1", _BOX.sub("", text)))
    if text[:1].isdigit() or text[:4].casefold() == "step":
        text = _EMPHASIS.sub(r"\2", _NUMBERED.sub("", text))
    if text[:3].casefold() in ("eli", "els"):
        text = _ELSE_IF.sub("Else if ", text)
    if text.startswith("$"):
        text = _TYPED.sub(r"\1:\2 = ", _WALRUS.sub(r"\1 = ", text))
    if "`" in text:
        text = _CODE.sub(lambda match: match[0] if text.count('"', 0, match.start()) % 2 else match[1], text)
    return _AWAITED.sub(r"\1", text) if "(" in text else text


def spaced(name: str) -> str:
    """The words of a CamelCase name: HeadChef -> Head Chef."""
    return name if name.islower() else _HUMP.sub(" ", name)


def whole_call(text: str) -> str | None:
    """The name that is called when the text is one call and nothing else."""
    match = CALL.match(text)
    if match is None:
        return None
    depth, quote = 0, ""
    for index in range(match.end() - 1, len(text)):
        char = text[index]
        if quote:
            quote = "" if char == quote and text[index - 1] != "\\" else quote
        elif char == '"' or (char == "'" and not text[index - 1].isalnum()):
            quote = char
        elif char in "([{":
            depth += 1
        elif char in ")]}":
            depth -= 1
            if depth == 0:
                return match[1] if not text[index + 1 :].strip(" .;") else None
    return None
