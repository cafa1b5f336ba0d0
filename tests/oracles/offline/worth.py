"""What a user's statement is worth: what it does, by its words, and what it names."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from math import sqrt

from . import learned
from .limits import limited

MUST = re.compile(
    r"\b(?:must|never|always|don'?t|do not|only|should|shouldn'?t|instead|without|please|make sure|ensure|need"
    r"|prefer|keep|avoid|whenever|from now on|(?:when|before|after|every time|each time) you"
    r"|your (?:repl(?:y|ies)|answers?|responses?))\b",
    re.IGNORECASE,
)
RULE = re.compile(
    r"\b(?:(?:must|mustn'?t|never|always|don'?t|do not|make sure|ensure|prefer|avoid|whenever"
    r"|(?:nobody|no[- ]one)\b[^.!?\n]{0,60} (?:may|must|should|can see|is (?:to|allowed))"
    r"|from now on|at all times|no exceptions?|under no|forbidden|prohibited|off[- ]limits|mandatory|not allowed"
    r"|without (?:asking|approval|permission|consent|my|the|explicit)|needs? (?:approval|permission|consent)|may not"
    r"|(?:may|can|must|should|shall) only|(?:is|are) (?:only to|not to be)"
    r"|(?:ha(?:s|ve)|needs?|ought) to be (?:[a-z]+(?:ed|en|wn|lt|pt|ght|ne)|sent|spent|meant|read|put|set|cut|made"
    r"|kept|paid|told)"
    r"|unless|whatever happens|remember (?:that|to)"
    r"|only (?:use|ever|change|touch|edit|run|do|ask|add|make|write|call"
    r"|the|in|on|at|by|for|from|with|when|if|once|after|to)"
    r"|(?:when|before|after|(?:every|each) time) you"
    r"|(?:your|every|each) (?:repl(?:y|ies)|answers?|responses?|commit))\b|only[,.;])",
    re.IGNORECASE,
)
"""A rule that stands, where ``MUST`` may be a single demand."""
STATES = re.compile(r"[.!] ")
TELLS = re.compile(
    r"\b(?:i|it|they|he|she|that|this|there|you|who|which)(?:'ve|'d|'s|'m| was| am| have| had| has| could| can| would)?"
    r" (?:also |just |still |really |almost )?"
    r"(?:don'?t|do not|never|always|ensure|prefer)\b"
    r"|\b(?:do not|don'?t) (?:we|you|they|i)\b|\b(?:never|always) (?:fails|passes|works|finishes|shows|gets|crashes"
    r"|hangs|breaks|happens|appears)\b"
    r"|\b(?:the|these|those|my|our) (?:[a-z]+ ){1,3}(?:do not|don'?t|never|always) (?:pass|fail|work|finish|show"
    r"|get|crash|hang|break|happen|appear)\b"
    r"|\bthere must\b|\bmust (?:be (?:an? |some )?(?:bug|error|typo|mistake|problem|issue|reason|something|because|due)"
    r"|have been)\b",
    re.IGNORECASE,
)
"""Words of a rule that tell how something is."""
GUESSED = re.compile(
    r"\b(?:immer noch|noch immer|(?:muss|m[üu]ssen) (?:am|an|im|in) [^.!?\n]{1,60} liegen|[ée]choue(?:nt)? toujours"
    r"|(?:error|fallo|problema|bug) debe)\b|要不要",
    re.IGNORECASE,
)
"""A guess or a state in another language that has a word of a rule."""
REPORTED = re.compile(r"^(?:\w+\.)*\w*(?:Error|Exception|Warning): ")
"""A line in which a program reports an error."""
ELSEWHERE = re.compile(
    r"\b(?:nunca|jam[áa]s|siempre|debes?|hay que|prohibid[oa]|obligatori[oa]|aseg[úu]rate|tienes que"
    r"|jamais|toujours|il (?:ne )?faut|(?:tu|vous) (?:ne )?(?:dois|devez)|interdit|obligatoire"
    r"|nie|niemals|immer|stets|muss|m[üu]ssen|darf|darfst|d[üu]rfen|verboten|auf keinen fall|keinesfalls|unbedingt"
    r"|sempre|deve|proibid[oa]|obrigat[óo]ri[oa]|n[ãa]o (?:use|toque|mude|altere|apague|fa[çc]a)"
    r"|никогда|всегда|нельзя|обязательно|должен|должна|должны|запрещено|ни в коем случае)\b"
    r"|不要|不得|禁止|必须|必須|永远不|绝不|一定要|务必|不可以|千万别|只能|始终"
    r"|ないでください|してはいけ|必ず|決して|絶対に|しないで|常に"
    r"|절대|반드시|항상|하지 ?마|금지|안 됩니다|해야 (?:합|한|해)",
    re.IGNORECASE,
)
"""A rule in Spanish, French, German, Portuguese, Russian, Chinese, Japanese or Korean."""
CHOICE = re.compile(
    r"\b(?:(?:let'?s|let us|we'?ll|we will|i'?ll|i will|we|i|please|to|should|can|and|then|put|make"
    r"|have) (?:just |now )?"
    r"(?:use|go with|take|pick|choose|switch|stick|settle|move|it on|it be)|decid(?:e|ed|ing)|decision|instead|prefer"
    r"|rather than|switch(?:ed|ing)? to|go(?:ing)? with|went with|settled on|agreed on|make (?:it|that)|it has to be"
    r"|(?:is|will be|should be) called|named|means)\b",
    re.IGNORECASE,
)
BACK = re.compile(
    r"\b(?:scratch that|forget (?:what|that|it|about|the)|chang(?:e|ed) (?:my|our) mind|(?:on|having) second thoughts?"
    r"|never ?mind|no,? wait|wait,? no|(?:will not|won'?t) do|takes? (?:that|it) back|after all|not any ?more|no longer"
    r"|let'?s instead|change of plans?|correction|i was wrong|strike that|not .{1,40} but|rather .{1,40} than)\b",
    re.IGNORECASE,
)
PLAINLY_BACK = re.compile(
    r"\b(?:scratch that|forget (?:what|that|it|about)|chang(?:e|ed) (?:my|our) mind|(?:on|having) second thoughts?"
    r"|never ?mind|no,? wait|wait,? no|takes? (?:that|it) back|let'?s instead|change of plans?|i was wrong"
    r"|strike that)\b",
    re.IGNORECASE,
)
"""Words that take something back, whatever it was; those of ``BACK`` may as well say how something is."""
ASIDE = re.compile(
    r"(?:^|[.!?] )(?:by the way|btw|off[- ]topic|fun fact|anyways?|speaking of|on a (?:side|different|lighter) note"
    r"|unrelated|side note|ha(?:ha)+|lol|honestly|guess what|did you (?:know|ever|see|hear)"
    r"|do you (?:ever|think|like|know)"
    r"|have you (?:ever|seen|heard|been)|(?:that|it) reminds me|what(?:'s| is) your|how (?:are|long have) you|are you"
    r"|is it (?:just|strange|weird|normal)|i (?:just|keep|was|am|love|like|hate|feel|felt|miss|wonder|saw"
    r"|watched|heard|had"
    r"|dreamt|used to|should really|can'?t believe|bought|started|tried|spent|slept|woke|finally)"
    r"|i'?(?:m|ve) (?:so|been|just|feeling|thinking|trying)|my (?:neighbou?r|sister|brother|mother|father"
    r"|mom|mum|dad|wife"
    r"|husband|kids?|son|daughter|friend|cousin|aunt|uncle|roommate|flatmate|cat|dog|bike|car|back|head))\b",
    re.IGNORECASE,
)
DOES = re.compile(r"^ ?([A-Z]\w*)[\w'-]* (?:[a-z]+s|will|can|may|owns?)\b")
_STARTERS = """
This That It Its He She His Her Hers There What Which Who Where How Why Yes No Is Was As Does Has Thanks The Always
Perhaps Besides Guess Let Here Mine These Those Sometimes Someone Somebody Everyone Everybody Nobody Honestly You We
They
I My
Our Your If When And But So Or
"""
STARTERS = frozenset(_STARTERS.split())
"""Words at the start of a sentence that name nobody and nothing."""
_DO = (
    r"(?:use|report|send|write|keep|answer|reply|respond|put|run|add|make|do|call|ask"
    r"|check|give|show|tell|include|follow|format|name|store|save|leave|start|stop|wait|fix|change|remove|delete|rename"
    r"|replace|update|create|implement|build|test|find|look|read|explain|move|set|move|allow|support|treat|switch|book"
    r"|note|remember|consider|rewrite|refactor|document|commit|push|merge|deploy|install|review|verify|ensure|let)\b"
)
ASKS = re.compile(r"^ ?(?:please |also |then |and |next,? )*" + _DO, re.IGNORECASE)
WHERE = re.compile(
    r"\b(?:if|when|once|before|after)\b[^.!?;]{3,80}, (?:then |please |first |always )?" + _DO, re.IGNORECASE
)
"""What to do where something holds."""
SCOPE = re.compile(
    r"\b(?:you|your|me|my|session|every|each|always|never|whenever|from now on|repl(?:y|ies)|answers?|any)\b",
    re.IGNORECASE,
)
LOGGED = re.compile(r"^(?:\[[^\]]{2,40}\]|\d{1,4}[-:/.]\d{2}|(?:GET|POST|PUT|INFO|DEBUG|WARN|WARNING|ERROR|at) )")
"""The start of a line of a log."""
LEANS = re.compile(r"\b(?:them|it|they|this|that|these|those|he|she|him|her)\b", re.IGNORECASE)
"""A word that stands for another one, of a sentence before."""
NO = re.compile(r"(?:^|[.!;:] )No ([a-z]+) ([^.!?]{2,60})[.!]?$")
_THERE_IS = frozenset(
    "one problem problems worries idea rush doubt wonder luck clue way need thanks matter error errors issue issues"
    " change changes failure failures more longer news such reason chance sign trace".split()
)
_FINITE = frozenset(
    "is are was were has have had did do does can could will would should found seen left yet so it i we you"
    " they came went got made took gave said saw".split()
)
"""Words of a sentence that tells, where one without them says what there must not be."""
NARRATES = re.compile(r"^ ?(?:(?:i'?m|i am|we'?re|we are|just|still|also|now) )*([a-z]{2,}ing)\b", re.IGNORECASE)
"""A sentence that begins with what somebody is doing."""
_NOT_DOING = frozenset(
    "using during according nothing anything everything something regarding concerning including failing missing"
    " pending string bring spring king thing wedding meeting morning evening building remaining following".split()
)
STANDS = re.compile(
    r"\b(?:current(?:ly)?|next (?:step|up|task)|progress|so far|remaining|awaiting|waiting (?:for|on)|pending|undecided"
    r"|unresolved|blocked|failing|open question|to ?do|(?:phase|step|stage|part) \d+|unpushed|unmerged|uncommitted)\b",
    re.IGNORECASE,
)
"""Where the work stands."""
LABEL = re.compile(r"^[A-Z][A-Z _-]{2,30}:")
_KINDS = """
rule rules constraint constraints requirement requirements preference preferences fact facts note notes info
information detail details goal goals state status policy instruction instructions guideline guidelines context
background reminder remark point convention standard statement observation
"""
KINDS = frozenset(_KINDS.split())
"""Nouns that say of what kind a statement is, and no more than the statement shows."""
KIND = re.compile(r"^(?:[^\W\d_]+ ){0,2}([^\W\d_]+): \S+ \S+ \S")
"""A label in front of three words or more."""
_LEISURE = """
weather rain raining rainy sunny snow cloudy weekend holiday holidays vacation trip beach hiking lunch dinner breakfast
soup pizza pasta coffee tea cake bread baking cooking recipe restaurant movie movies film films series show episode
season book novel music song songs concert band guitar piano game games football soccer basketball match team puppy dog
dogs cat cats bird garden gardening plants flowers sleep tired bored nap gym yoga jogging running marathon birthday
party
wedding neighbour neighbor sister brother cousin grandma grandmother mood funny joke laugh hilarious adorable cute weird
strange dream dreams traffic bus noise noisy couch blanket museum painting hobby hobbies chess puzzle knitting
favourite favorite lovely delicious spicy tasty headache cold sunset rainbow summer winter autumn spring yesterday
tonight
"""
LEISURE = frozenset(_LEISURE.split())
_WORD = re.compile(r"[^\W\d_]{3,}")
_ENDS = ".,;:!?()[]{}\"'`*"
_MONEY = re.compile(r"^[$€£]\d|\d[$€£]$")
_DATE = re.compile(r"^\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}$")
_NUMBER = re.compile(r"^\d[\d.,:%]*$")
_COMMON = frozenset(
    "the and for that this with from are was were has have had its but not you your can will would should could now"
    " then than them they there here what when which where who why how all any also just into only still very already"
    " again one two been being does did done get got let see use used always never about because instead actually"
    " must every without please need needs want wants user".split()
)


@dataclass(slots=True)
class Said:
    """What a statement does and names.

    Attributes:
        rule: whether it is a rule.
        limit: whether it limits the work without a word of a rule.
        choice: whether it chooses something.
        back: whether it takes something back.
        plainly_back: whether it says so of whatever was said before.
        question: whether it asks.
        label: the label in capitals in front.
        stems: the beginnings of its words, without values.
        values: what it names, by kind: money, date, number, code, name.
        talk: how much of it is small talk.
        tells: whether it says who or what does something.
        asks: whether it begins with what to do.
        scope: whether it speaks of the listener, the speaker, or of all times.
        narrates: whether it begins with what somebody is doing.
        stands: whether it says where the work stands.
        known: evidence that it has to be known.
    """

    rule: bool
    choice: bool
    back: bool
    question: bool
    label: str
    stems: frozenset[str]
    values: dict[str, frozenset[str]] = field(default_factory=dict)
    talk: float = 0.0
    tells: bool = False
    asks: bool = False
    scope: bool = False
    narrates: bool = False
    stands: bool = False
    limit: bool = False
    plainly_back: bool = False
    known: float = 0.0

    @property
    def binds(self) -> bool:
        """Whether it is a rule or a limit."""
        return self.rule or self.limit

    @property
    def evidence(self) -> float:
        """Evidence beyond that of what is as often chatter; a rule may look like it, and its word is believed."""
        return (max(self.known, BELIEVED) if self.rule else self.known) - EVEN

    @property
    def anchors(self) -> int:
        """Number of the values, at most three."""
        return min(sum(map(len, self.values.values())), 3)


def said(text: str) -> Said:
    """What a clean line does and names."""
    one = _said(text)
    known = learned.known(text, [*learned.form(text), *_marks(one)])
    return replace(one, known=known, rule=one.rule and not _plain_chatter(text, known))


def _plain_chatter(text: str, known: float) -> bool:
    """Whether a statement is chatter, whatever words it has; of a few words too little was learned."""
    return known < PLAIN_CHATTER and text.count(" ") >= 4


def marked(text: str) -> list[int]:
    """The places of all marks of a text."""
    return [*learned.form(text), *_marks(_said(text))]


def _marks(one: Said) -> list[int]:
    """The places of the marks of what a statement does and names."""
    does = ("rule", "choice", "back", "question", "asks", "scope", "narrates", "stands", "tells")
    names = [name for name in does if getattr(one, name)]
    names.append(f"anchors{one.anchors}")
    names += [kind for kind, found in one.values.items() if found]
    names += ["label"] * bool(one.label) + ["talk"] * (one.talk > 0) + ["aside"] * (one.talk >= 0.7)
    return learned.marks(names)


def _said(text: str) -> Said:
    rule = (
        len(RULE.findall(text)) > len(TELLS.findall(text))
        or WHERE.search(text)
        or ELSEWHERE.search(GUESSED.sub("·", text))
        or _forbids(text)
    )
    question = text.endswith(("?", "\uff1f")) and not STATES.search(text)
    label = LABEL.match(text)
    rest = text[label.end() :] if label else text
    values: dict[str, set[str]] = {}
    stems: set[str] = set()
    begins = True
    for raw in rest.split(" "):
        word = raw.strip(_ENDS)
        if word:
            if kind := _kind(word, begins=begins):
                values.setdefault(kind, set()).add(word.lower())
            else:
                small = word.lower()
                stems.update(one[:5] for one in _WORD.findall(small) if one not in _COMMON)
        begins = raw.endswith((".", "!", "?")) or (begins and not word)
    who = DOES.match(rest)
    return Said(
        bool(rule) and not question and not REPORTED.search(text),
        bool(CHOICE.search(rest)),
        bool(BACK.search(rest)),
        question,
        label[0] if label else "",
        frozenset(stems),
        {kind: frozenset(found) for kind, found in values.items()},
        _talk(rest),
        bool(who and who[1] not in STARTERS),
        bool(ASKS.search(rest)),
        bool(SCOPE.search(rest)),
        _narrates(rest),
        bool(STANDS.search(rest)),
        plainly_back=bool(PLAINLY_BACK.search(rest)),
    )


def with_limit(text: str) -> Said:
    """What a clean line does and names, with whether it limits the work."""
    one = said(text)
    limits = not one.rule and not one.question and not _plain_chatter(text, one.known)
    return replace(one, limit=limits and limited(text))


def _kind(word: str, *, begins: bool) -> str:
    """The kind of a value; empty for a word."""
    if _MONEY.search(word):
        return "money"
    if _DATE.match(word):
        return "date"
    if _NUMBER.match(word):
        return "number"
    if any(c in "0123456789_/@#" for c in word):
        return "code"
    if len(word) > 1 and word[0].isupper() and (not begins or word[1].isupper()) and word[1] != "'":
        return "" if word in STARTERS else "name"
    return ""


def _forbids(text: str) -> bool:
    """Whether a sentence without a verb says what there must not be."""
    found = NO.search(text)
    if not found or found[1] in _THERE_IS:
        return False
    return not any(word in _FINITE or word.endswith("ed") for word in re.findall(r"\w+", found[2].lower()))


def _narrates(text: str) -> bool:
    """Whether a sentence begins with what somebody is doing."""
    found = NARRATES.search(text)
    return bool(found and found[1].lower() not in _NOT_DOING)


def _talk(text: str) -> float:
    leisure = sum(one in LEISURE for one in _WORD.findall(text.lower()))
    return 0.7 * bool(ASIDE.search(text)) + 0.35 * min(leisure, 2)


def without_kind(text: str) -> str:
    """A statement without a label that only says of what kind it is."""
    label = KIND.match(text)
    return text.partition(": ")[2] if label and label[1].lower() in KINDS else text


BELIEVED, PLAIN_CHATTER = 0.25, -2.5
"""Least evidence for a rule, and evidence below which it is chatter whatever words it has."""
EVEN, CHATTER, SHARE, LEAST = 0.5, -2.0, 0.55, 0.02
"""Evidence for half of what was learned, and below which it chats; the share of the sum; the worth of chatter."""


def is_aside(text: str) -> bool:
    """Whether a sentence may be left out of its paragraph: it only chats."""
    if _talk(text) < 0.7 and learned.known(text, learned.form(text)) >= CHATTER:
        return False
    one = said(text)
    if one.rule or one.back or one.choice:
        return False
    return one.known < CHATTER or (one.talk >= 0.7 and one.known < EVEN and one.anchors == 0)


def stands_alone(text: str) -> bool:
    """Whether a sentence is worth keeping without the rest of its paragraph."""
    one = said(text)
    tells = one.rule or one.back or one.choice or one.anchors > 0
    return not LEANS.search(text) and one.known > 0 and (tells or one.known > 1)


def worth(one: Said) -> float:
    """Worth of a token of a statement by itself: what was learned, and what it does by its words."""
    share = sure(one.evidence)
    told = 2 * share * (1 + 0.4 * max(one.evidence, 0.0))
    bound = one.binds * (0.5 + 0.5 * share)
    return max(SHARE * (told + bound + _does(one) * (0.3 + 0.7 * share)), LEAST)


def left_of_worth(text: str) -> float:
    """What of the worth of a sentence of the assistant is left: chatter has a tenth."""
    return 0.1 + 0.9 * sure(learned.known(text, learned.form(text)))


def sure(evidence: float) -> float:
    """Evidence as a share between 0 and 1, and a half at 0."""
    return 0.5 * (1 + evidence / sqrt(1 + evidence * evidence))


def _does(one: Said) -> float:
    """What a statement is worth by its words."""
    rank = 0.8 + 1.8 * one.rule + 0.9 * one.limit
    rank = rank + 0.4 * bool(one.label) + 0.25 * one.anchors + 0.5 * one.choice + 0.9 * one.back
    rank += 0.3 * one.tells + 0.4 * one.asks + 0.5 * (one.rule and one.scope)
    rank += 0.3 * one.stands - 0.5 * (one.narrates and not one.rule)
    rank -= one.talk * (0.3 if one.rule else 1.0) + 0.3 * (one.question and not one.anchors)
    return max(rank, 0.05)


HALF = 40
"""Characters of a statement whose token is worth half of the most."""


def by_length(length: int) -> float:
    """How much of its worth a token of a statement has: of two facts, the shorter one leaves more room."""
    return 2 * HALF / (HALF + length)


def shared_worth(shared: int) -> float:
    """What words that come back add to the worth of a statement."""
    return 0.2 * min(shared, 4)
