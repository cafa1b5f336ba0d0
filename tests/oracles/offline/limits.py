"""Rules without a word of one, by a sentence's form: what it fixes, leaves out, excludes or ties to a later act."""

from __future__ import annotations

import re

from .text import split

LONGEST = 240
"""Characters of a sentence that is read: a longer one tells more than it limits."""
SHORT = 80
"""Characters of one without spaces between its words."""
FEW = 12
"""Words of a sentence without a verb."""


def _pattern(*parts: str) -> re.Pattern[str]:
    return re.compile("".join(parts), re.IGNORECASE)


_DO = (
    r"(?:use|write|put|run|add|make|do|call|ask|answer|reply|respond|report|send|give|show|tell|include|follow"
    r"|format"
    r"|name|store|save|start|stop|wait|pause|fix|change|remove|delete|rename|replace|update|create|implement"
    r"|build"
    r"|test|find|look|read|move|set|allow|support|treat|switch|rewrite|refactor|document|commit|push|merge"
    r"|rebase"
    r"|deploy|install|review|verify|check|confirm|let|keep|leave|stick|hold|retain|preserve|maintain|reuse"
    r"|limit"
    r"|restrict|return|print|log|output|emit|load|open|close|copy|sort|group|split|wrap|extract|inline|port"
    r"|migrate"
    r"|convert|generate|produce|provide|list|mention|describe|summari[sz]e|assume|require|accept|reject|ignore"
    r"|skip"
    r"|exclude|omit|drop|hide|expose|export|import|define|register|validate|handle|retry|cache|pin|bump"
    r"|release|ship"
    r"|publish|revert|restore|roll|squash|stage|tag|work|get|take|pick|choose|focus|target|point|link|refer"
    r"|match"
    r"|mirror|align|begin|end|finish|continue|proceed|propose|plan|design|draft|prepare|draw|place|insert"
    r"|append"
    r"|extend|reduce|shorten|trim|cut|clean|simplify|delegate|spawn|assign|execute|apply|perform|touch|edit"
    r"|modify"
    r"|mark|inspect|search|compare|measure|record|track|specify|order|pass|render|display|talk|speak|bring"
    r"|turn)"
    r"(?:[\s,.!]|$)"
)
_LEAD = (
    r"(?:(?:please|pls|also|and|but|then|so|just|ok(?:ay)?|yes|now|again|instead|otherwise|for now|in general"
    r"|finally"
    r"|next|first|next time|going forward|(?:you|we) (?:should|need to|have to)|let'?s"
    r"|i(?:'d| would)? (?:want|need|like) you to),? )*"
)
MARK = re.compile(r"^(?:[\"'`(*_ ]|\d{1,3}[.)] |[a-z]\) )*")
"""A list's number and quotation marks in front of a sentence."""
LABEL = re.compile(r"^(?:[A-Z][\w/-]*(?: [\w/-]+){0,3}: )?[\"'`(*_ ]*")
"""A label in front of a sentence."""
IMPERATIVE = _pattern(r"(?:^|; | [-–—] )", _LEAD, _DO)
NOUN = _pattern(
    r"^",
    _LEAD,
    r"(?:let (?:me|us)|\w+ (?:is|are|was|were|has|have|had|fails?|pass(?:es|ed)|failed|works?|runs?|does|did"
    r"|can|could|will|would"
    r"|of|results?|files?|cases?|suite|output|status|setup))\b",
)
"""A sentence that begins with a noun that is a verb too, or with what the speaker does: "let me"."""
CHECKS = _pattern(r"^", _LEAD, r"(?:verify|confirm|check|test)\b")
"""A sentence that asks to look whether something is so."""
CHANGES = _pattern(r"(?:^|; | [-–—] )", _LEAD, r"(?:update|change|replace|fix|rename|switch|move|convert|migrate)\b")
"""A sentence that says what is to be otherwise."""
ASKS = _pattern(
    r"^(?:(?:so|and|also|but|ok|please),? )*"
    r"(?:can|could|would|will|shall|should|did|do|does|is|are|why|what|how|wait,? (?:why|what|how|so|is|are))\b"
)
"""The beginning of a question, which many write without its mark."""
HARMLESS = _pattern(
    r"\b(?:keep (?:\w+ing|up|going|me|us|in mind|at it|track|on|an eye|(?:it|that|this) (?:up|in mind))"
    r"|leave (?:an?|me|us|feedback|for|(?:some |the )?comments?|now|early)"
    r"|use (?:it|this|that|them|cases?|of)|follow (?:the|this|these) (?:links?|steps? below)"
    r"|(?:still|currently) (?:stays?|remains?|(?:is|are) (?:left|kept))|exactly (?:what|how|why|where|which)"
    r"|(?:the|not|my|an|if|are|is|was) only|(?:i|we) (?:should|need to|have to|shall)"
    r"|not (?:only|sure|yet|just|really|working|necessarily|that|this|to mention|at all|much|too|so|bad|clear"
    r"|possible"
    r"|available|found|able|because|when|if|quite|an issue|a problem|exist\w*|start\w*|finish\w*|implement\w*"
    r"|i|we|it"
    r"|all|every\w*|especially|in use|needed|required|done)|the (?:unchanged|untouched|unmodified|intact))\b"
)
"""Words that limit nothing where they stand so."""
FIXES = _pattern(
    r"(?:^|[,;:.(] |[-–—] |\b(?:and|but|then|so|just|please|also|let'?s) )"
    r"(?:keep \S|leave \S"
    r"|(?:retain|preserve|maintain|reuse|respect|honou?r) (?:the|all|our|its|any|every|existing|current|each"
    r"|this|these)\b"
    r"|stick (?:to|with)\b|hold off\b|refrain\b|adhere to\b|conform to\b|comply with\b|stay (?:with|within"
    r"|away|out)\b"
    r"|(?:limit|restrict) (?:\w+ ){1,4}to\b|follow (?:the|this|these|our|existing) \w)"
)
"""An imperative that fixes a state."""
STAYS = _pattern(
    r"\b(?:stays?|remains?|(?:is|are) (?:left|kept)) (?:as|at|in|on|off|out|under|within|the same|same"
    r"|un(?:changed|touched|modified|altered)|optional|required|private|public|read-only|backwards?|compatible"
    r"|consistent|stable|alone|intact|outside|inside|behind|separate|enabled|disabled|local|where (?:it"
    r"|they))\b"
)
"""A state that is to last."""
NO = _pattern(r"^(?:(?:and|but|also|so|absolutely|please|yes),? )*(?:no|zero) [a-z]")
"""A sentence that begins with a negated noun."""
AND_NO = _pattern(
    r"(?:[,;:] |\(|[-–—] |\b(?:and|but) )(?:and |but |with )?(?:no|zero) [a-z][\w'-]*(?: [\w'-]+){0,5}[.!)]*$"
)
"""A negated noun at the end."""
NOT = _pattern(
    r"(?:[,;] |\(| [-–—] )(?:and |but )?not [\w`\"*]|\b(?:instead of|rather than|as opposed to)\b",
)
"""A contrast: this, not that."""
ONLY = _pattern(
    r"\b(?:only|solely|exclusively|nothing (?:but|else|more)|at most|no (?:more|less|fewer|later|earlier"
    r"|longer) than"
    r"|not more than|strictly|verbatim|as[- ]is|everywhere|throughout|nowhere|in all cases|no matter"
    r"|exactly|except)\b"
)
"""An exclusive."""
ONLY_LAST = _pattern(r"^(?:[\w`./-]+ ){1,4}only[.!]?$")
BEFORE = _pattern(
    r"\b(?:before|prior to) (?:any|each|every|you|we|i|\w+ing|merge|commit|push|release|deploy(?:ment)?|that|a"
    r"|your"
    r"|further)\b|\b(?:until|till|unless|whenever|every time|each time|as soon as|one (?:at a time|by one)"
    r"|(?:on|after|before) (?:each|every)|(?:after|once) (?:you|i|we))\b|\bbefore (?:merge|commit|push"
    r"|release)[.!]?$"
)
"""A condition on a later act."""
OUGHT = _pattern(r"\b(?:should|needs? to|ha(?:s|ve) to|shall)\b")
SAID = _pattern(
    r"\bi (?:did ?n[o']?t|did not|never) (?:say|said|ask|asked|mean|meant|want|wanted|tell|told|approved?"
    r"|authori[sz]ed?|request|agreed?)\b"
    r"|\bi (?:don'?t|do not) (?:want|like)\b|\b(?:that'?s|this is|that is|that was|it'?s) not what (?:i|we)\b"
    r"|^(?:no,? )?i (?:said|told you|meant|asked (?:you )?(?:for|to))\b"
    r"|\byou (?:shouldn'?t|should not|were not supposed|weren'?t supposed|are not (?:to|allowed))\b"
    r"|\bnot what i (?:asked|meant|said|want)"
)
"""A correction of what was done."""
SAME = _pattern(
    r"\bsame (?:[\w-]+ ){0,3}as (?:before|now|today)\b|\b(?:as|like) before\b"
    r"|\b(?:unchanged|untouched|unmodified|intact|consistent with|(?:in line|in keeping) with"
    r"|backwards?[- ]compatib\w+)\b"
)
"""What is to be as it was."""
USE = _pattern(r"^", _LEAD, r"use [^.!?]{2,60}? (?:for|everywhere|throughout|instead of)\b")
"""A means for an end."""
ALL = _pattern(
    r"^(?:(?:for|on|in|with) (?:(?:all|any|every|each) )?[a-z][a-z -]*s\b(?: \([^)\n]*\))?,? (?:please "
    r"|always )?"
    r"(?:use|set|write|run|keep|put|add|answer|reply|respond|call|choose|send|name|format)\b"
    r"|it(?:'s| is) (?:better|best|preferable) to\b)"
)
"""An instruction for all things of a kind, or a preference."""
ONE = _pattern(r"^\w+ (?:(?:all|any|every|each) )?(?:the|this|that|my|our|these|those|an?) ")
"""The beginning of an instruction for one thing."""
RESULTS = _pattern(
    r"\b(?:errors?|warnings?|issues?|regressions?|failures?|conflicts?|problems?|results?|output|matches"
    r"|response"
    r"|answers?|difference|progress|evidence|data|need|idea|worries|rush|doubt|reason|chance|sign|trace|clue"
    r"|way|luck"
    r"|thanks|wonder|matter|longer|more|further|such|one|news|module|named|found)\b"
)
"""What a report says that there is none of."""
FINITE = frozenset(
    "is are was were has have had did do does can could will would should found seen left yet so it i we you they he"
    " she there this that who what when why how am been fails failed works worked came went got made took gave said"
    " saw it's that's there's i'm i've you're we're they're isn't aren't wasn't don't doesn't can't won't".split()
)
"""Words of a sentence that tells."""
HAPPENED = re.compile(r"\b[a-z]+ed(?:[.!]?$| (?:in|on|by|for|at|from|with|to|yet|since|during)\b)")

OUTPUT = re.compile(
    r"^\s*(?:={3,} |[✓✗✔✘●] |[$] |>>> |[+]{3} |--- |@@ |Traceback \(|File \"|\[\w[\w -]+\] |\d{2}:\d{2}"
    r"|\d{4}-\d\d-\d\d"
    r"|(?:PASS|FAIL|ok|ERROR|WARN(?:ING)?|INFO|DEBUG|error|fatal|warning|panic)\b[:\s]|\S+@\S+:\S* ?[$#])"
)
"""The start of a line that a program printed."""


def is_output(text: str) -> bool:
    """Whether a message is what a program printed, by three of its lines and a tenth of them."""
    told = [line for line in text.splitlines() if line.strip()]
    printed = sum(bool(OUTPUT.search(line)) for line in told)
    return printed >= 3 and printed * 10 >= len(told)


def is_limit(line: str) -> bool:
    """Whether a line of a message is a limit, where it is no rule."""
    return len(line.encode()) >= 8 and not line.endswith(tuple("{};,?？")) and limited(line)


STOP = re.compile(r"[.!?][)\"'*]* +")
"""The end of a sentence, before a small letter too."""


def limited(text: str) -> bool:
    """Whether half of the sentences of a paragraph limit the work, or more."""
    told = text.replace("e.g. ", "e.g., ").replace("i.e. ", "i.e., ")
    found = [one for sentence in split(told) for one in STOP.split(sentence) if one]
    return 2 * sum(map(limits, found)) >= len(found)


def limits(sentence: str) -> bool:
    """Whether a sentence limits the work without a word of a rule."""
    if len(sentence) > LONGEST or sentence.rstrip(" \"')").endswith(("?", "？")):
        return False
    whole = MARK.sub("", sentence, count=1).replace("’", "'")
    told = whole if CHANGES.search(whole) else LABEL.sub("", whole, count=1)
    if ASKS.search(told):
        return False
    return _in_english(told) or _elsewhere(told)


def _in_english(told: str) -> bool:
    does = bool(IMPERATIVE.search(told)) and not NOUN.search(told)
    checks = bool(CHECKS.search(told))
    verbless = not does and not told.endswith(":") and _is_verbless(told)
    rest = HARMLESS.sub("·", told)
    if any(one.search(rest) for one in (SAID, FIXES, STAYS, USE, ONLY_LAST)):
        return True
    if (ALL.search(rest) and not ONE.search(rest)) or _negates(told):
        return True
    if checks:
        return bool(BEFORE.search(rest))
    ought = bool(OUGHT.search(rest))
    return bool(
        ((does or ought) and (ONLY.search(rest) or BEFORE.search(rest)))
        or ((does or ought or verbless) and SAME.search(rest))
        or (((does and not CHANGES.search(told)) or ought or verbless) and NOT.search(rest))
        or (does and (found := AND_NO.search(rest)) and not RESULTS.search(found[0]))
    )


def _is_verbless(told: str) -> bool:
    """Whether a short sentence has no verb, by its words."""
    words = re.findall(r"[\w']+", told.lower())
    return 2 <= len(words) <= FEW and FINITE.isdisjoint(words)


def _negates(told: str) -> bool:
    """Whether a sentence without a verb says what there must not be."""
    return bool(
        NO.search(told) and _is_verbless(told) and not RESULTS.search(told) and not HAPPENED.search(told.lower())
    )


DO_ELSEWHERE = _pattern(
    r"^(?:(?:por favor|s'il (?:te|vous) pla[iî]t|bitte|y|et|und|e|luego|ensuite|dann|depois|пожалуйста|и|но"
    r"|jetzt"
    r"|ahora|agora|maintenant),? )*"
    # Spanish and Portuguese
    r"(?:us(?:a|ad|en?|em)|utiliz[ae]|ha(?:z|ga|gan)|pon(?:ga|ha)?|escrib[ae]|escreva|a[ñn]ad[ae]|agreg(?:a"
    r"|ue)|cre[ae]"
    r"|crie|cambi[ae]|mude|altere|ejecut[ae]|execute|rode|lanz[ae]|lance|corr[ae]|corrij[ae]|guard[ae]"
    r"|borr[ae]|apague"
    r"|elimin[ae]|remova|quit[ae]|respond[ae]|contest[ae]|sub[ae]|prueb[ae]|teste|modific(?:a|que)|to(?:ca"
    r"|que)|edit[ae]"
    r"|le[ae]|leia|muestr[ae]|mostre|incluy[ae]|inclua|esper[ae]|avis[ae]|pregunt[ae]|pergunte|fa[cç]a|coloque"
    r"|adicione|verifi(?:ca|que)"
    # French
    r"|utilise[sz]?|fai(?:s|tes)|met(?:s|tez)|[eé]cri(?:s|vez)|ajoute[sz]?|lance[sz]|cr[eé]e[sz]|change[sz]"
    r"|modifie[sz]?"
    r"|supprime[sz]?|pren(?:ds|ez)|r[eé]pond(?:s|ez)|touche[sz]|attend(?:s|ez)|demande[sz]?|teste[sz]"
    r"|ex[eé]cute[sz]?"
    r"|montre[sz]?|corrige[sz]?|renomme[sz]?|d[eé]place[sz]?"
    # German
    r"|(?:nutz|verwend|benutz|schreib|mach|setz|stell|f[uü]hr|f[uü]g|[aä]nder|l[oö]sch|erstell|frag|antwort"
    r"|wart|pr[uü]f"
    r"|zeig|korrigier|ruf|leg|speicher|benenn|verschieb)e?t?|nimm|gib|lies|starte|baue"
    # Russian
    r"|[а-яё]{2,}(?:й|йте|ь|ьте|и|ите))\b"
)
"""A sentence that begins with what to do, in Spanish, Portuguese, French, German or Russian."""
LIMITED_ELSEWHERE = _pattern(
    r"\b(?:solo|sólo|solamente|[uú]nicamente|exclusivamente|nada m[aá]s que|como m[aá]ximo|en (?:vez|lugar) de"
    r"|antes d[eao]s?"
    r"|hasta que|a menos que|salvo (?:que|si)|excepto|só|somente|apenas|no m[aá]ximo|em vez de|ao inv[eé]s de"
    r"|at[eé] que"
    r"|exceto|enquanto n[aã]o|seulement|uniquement|exclusivement|rien que|au plus|au lieu d|plut[oô]t que"
    r"|avant (?:de|d|le|la|que|chaque)|jusqu|tant que|sauf|[àa] moins|nur|ausschließlich|lediglich|h[oö]chstens"
    r"|nichts außer|(?:an)?statt|bevor|vor (?:de[mr]|jede[mr])|bis (?:ich|du|zum|zur)|solange|außer|es sei denn"
    r"|erst (?:wenn|nach)|только|лишь|исключительно|не более|вместо|до (?:того|коммита|слияния|релиза)|пока"
    r"|перед"
    r"|если не|кроме|прежде чем)\b|, (?:y no|no|et pas|pas|non|und nicht|nicht|e n[aã]o|n[aã]o|а не|не) \w"
)
"""An exclusive, a contrast, or a condition on a later act."""
FIXED_ELSEWHERE = _pattern(
    r"(?:^|[,;:.(] |\b(?:y|et|und|e|bitte|por favor|merci de|но|и|пожалуйста),? )"
    r"(?:mant[eé]n(?:er|ga|gan|lo|la|los|las)?|conserv(?:a|e|ar|e[sz])|dej(?:a|e|ad) (?:el|la|los|las|todo|tal"
    r"|como)"
    r"|respet[ae]|garde[sz]? (?:le|la|les|l'|ce|ces|tout)|laisse[sz]? (?:le|la|les|l'|ce|ces|tout)|maintene[sz]"
    r"|respecte[sz]?|behalte?|belass(?:e|t)?|lass(?:e|t)? (?:die|das|den|alles)|bleib(?:e|t)? (?:bei|in|auf)"
    r"|halte? dich an|mantenha|mant[eé]m|deix(?:a|e) (?:o|a|os|as|tudo|como)|preserv[ae]|respeit[ae]"
    r"|оставь(?:те)?"
    r"|сохрани(?:те)?|придерживай(?:ся|тесь))\b"
    r"|\b(?:se queda[n]? (?:como|en|igual)|sigue[n]? igual|reste(?:nt)? (?:tels?|inchang\w+|identiques?"
    r"|l[ea] m[eê]me)"
    r"|bleib(?:t|en) (?:wie|bei|unver\w+|gleich|so)|ficam? (?:como|igual)|permanecem? (?:como|igual"
    r"|inalterad\w+)"
    r"|оста(?:[её]тся|ются) (?:как|преж\w+|без))\b"
)
"""A state that is to last."""
NO_ELSEWHERE = _pattern(
    r"^(?:sin|nada de|ning[uú]n[ao]?|pas d(?:e |')|aucune?|sans|keine?[rnms]?|ohne|nenhuma?|sem|никаких"
    r"|никакого"
    r"|никакой|без|ни одного)\b *(?:\w+[ ,.!]*){1,5}$"
)
TELLS_ELSEWHERE = _pattern(
    r"\b(?:es|est[áa]|hay|fue|son|tiene|puede|puedo|embargo|est|sont|ont|fait|peut|doute|ist|sind|war|hat"
    r"|haben|kann"
    r"|ich|wird|zweifel|ahnung|[ée]|h[áa]|foi|tem|pode|d[úu]vida|duda|нет|есть|был[ао]?|могу|сомнени\w+"
    r"|err?(?:or|eur|o)\w*|fehler|ошиб\w+|probl[eè]m\w*|проблем\w*|id[eé]e?a?|ideia)\b"
)
"""Words of a sentence that tells, or of a report."""
SAID_ELSEWHERE = _pattern(
    r"\b(?:no (?:dije|ped[ií]|quer[ií]a|quiero)|je n'ai pas (?:dit|demand[eé])|je ne (?:veux|voulais) pas"
    r"|(?:habe|hab) ich nicht (?:gesagt|gemeint|gewollt|verlangt)|ich habe nicht (?:gesagt|gemeint|verlangt)"
    r"|ich (?:will|wollte|m[oö]chte) (?:das |es )?nicht|(?:eu )?n[aã]o (?:disse|pedi|quis|quero)"
    r"|я не (?:говорил[аи]?|просил[аи]?|хочу|хотел[аи]?|имел[аи]? в виду))\b"
)
UNSPACED = _pattern(
    r"保持|维持|沿用|原样|别动|(?:无需|勿|不加|不许|不准|严禁)|而不是|而非|只(?:用|改|在|做|看|读|允许|修改"
    r"|使用|保留)"
    r"|仅(?:用|限|在|修改|使用|保留)|除非|直到.{1,20}(?:为止|再|才)|(?:提交|合并|推送|发布|修改|部署"
    r"|动手)(?:之前|以前|前)"
    r"|等我.{0,10}(?:再|后|确认)|我没有?(?:说|让你|要求)|不是我(?:要|说)"
    r"|まま(?:に|で|とし|。|$)|維持(?:して|する|し)|(?:変え|使わ|触ら)ず|ではなく|じゃなく|の代わりに"
    r"|(?:だけ|のみ)を?(?:使|変|直|修|編)|以外(?:は|を)|(?:する|の|ト|ジ|シュ)前に|まで(?:は)?(?:待|触|変)"
    r"|ない限り"
    r"|(?:なし|不要)(?:で|とする)?[。！]?$|とは言ってい?ない|頼んでい?ない"
    r"|그대로|유지(?:해|하|할)|(?:건드리|바꾸|고치)지 ?마|없이|말고|[이가] 아니라|대신|만 (?:사용|수정|변경|써"
    r"|바꿔|고쳐|쓰|고치)"
    r"|(?:하기|커밋|병합|푸시|배포) ?전에|때까지|않는 한|라고 (?:말)?하지 않|달라고 한 적"
)
"""A limit in Chinese, Japanese or Korean."""
HAPPENED_UNSPACED = re.compile(
    r"(?:[了吗呢]|ました|でした|ますか|ています|(?:었|았|했|됐)(?:습니다|어요|다))[。！.!]?$"
)


def _elsewhere(told: str) -> bool:
    """Whether a sentence in another language limits the work."""
    if UNSPACED.search(told) and len(told) <= SHORT and not HAPPENED_UNSPACED.search(told):
        return True
    if FIXED_ELSEWHERE.search(told) or SAID_ELSEWHERE.search(told):
        return True
    if NO_ELSEWHERE.search(told) and not TELLS_ELSEWHERE.search(told):
        return True
    return bool(DO_ELSEWHERE.search(told) and LIMITED_ELSEWHERE.search(told))
