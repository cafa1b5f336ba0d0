//! Rules without a word of one, by the form of a sentence: what it fixes, leaves out, excludes or ties to a later act.

use std::sync::LazyLock;

use super::pattern::{length, lines, pattern, strip};
use super::text::split;
use super::words::{Set, stretches};

/// Characters of a sentence that is read: a longer one tells more than it limits.
const LONGEST: usize = 240;
/// Characters of one without spaces between its words.
const SHORT: usize = 80;
/// Words of a sentence without a verb.
const FEW: usize = 12;

macro_rules! verbs {
    () => {
        concat!(
            r"(?:use|write|put|run|add|make|do|call|ask|answer|reply|respond|report|send|give|show|tell|include|follow",
            r"|format",
            r"|name|store|save|start|stop|wait|pause|fix|change|remove|delete|rename|replace|update|create|implement",
            r"|build",
            r"|test|find|look|read|move|set|allow|support|treat|switch|rewrite|refactor|document|commit|push|merge",
            r"|rebase",
            r"|deploy|install|review|verify|check|confirm|let|keep|leave|stick|hold|retain|preserve|maintain|reuse",
            r"|limit",
            r"|restrict|return|print|log|output|emit|load|open|close|copy|sort|group|split|wrap|extract|inline|port",
            r"|migrate",
            r"|convert|generate|produce|provide|list|mention|describe|summari[sz]e|assume|require|accept|reject|ignore",
            r"|skip",
            r"|exclude|omit|drop|hide|expose|export|import|define|register|validate|handle|retry|cache|pin|bump",
            r"|release|ship",
            r"|publish|revert|restore|roll|squash|stage|tag|work|get|take|pick|choose|focus|target|point|link|refer",
            r"|match",
            r"|mirror|align|begin|end|finish|continue|proceed|propose|plan|design|draft|prepare|draw|place|insert",
            r"|append",
            r"|extend|reduce|shorten|trim|cut|clean|simplify|delegate|spawn|assign|execute|apply|perform|touch|edit",
            r"|modify",
            r"|mark|inspect|search|compare|measure|record|track|specify|order|pass|render|display|talk|speak|bring",
            r"|turn)",
            r"(?:[\s,.!]|$)",
        )
    };
}

macro_rules! lead {
    () => {
        concat!(
            r"(?:(?:please|pls|also|and|but|then|so|just|ok(?:ay)?|yes|now|again|instead|otherwise|for now|in general",
            r"|finally",
            r"|next|first|next time|going forward|(?:you|we) (?:should|need to|have to)|let'?s",
            r"|i(?:'d| would)? (?:want|need|like) you to),? )*",
        )
    };
}

pattern!(
    /// A list's number and quotation marks in front of a sentence.
    MARK = r#"^(?:["'`(*_ ]|\d{1,3}[.)] |[a-z]\) )*"#
);
pattern!(
    /// A label in front of a sentence.
    LABEL = r#"^(?:[A-Z][\w/-]*(?: [\w/-]+){0,3}: )?["'`(*_ ]*"#
);
pattern!(IMPERATIVE = r"(?i)(?:^|; | [-–—] )", lead!(), verbs!(),);
pattern!(
    /// A sentence that begins with a noun that is a verb too, or with what the speaker does: "let me".
    NOUN =
        r"(?i)^",
        lead!(),
        r"(?:let (?:me|us)|\w+ (?:is|are|was|were|has|have|had|fails?|pass(?:es|ed)|failed|works?|runs?|does|did",
        r"|can|could|will|would",
        r"|of|results?|files?|cases?|suite|output|status|setup))\b",
);
pattern!(
    /// A sentence that asks to look whether something is so.
    CHECKS =
        r"(?i)^",
        lead!(),
        r"(?:verify|confirm|check|test)\b",
);
pattern!(
    /// A sentence that says what is to be otherwise.
    CHANGES =
        r"(?i)(?:^|; | [-–—] )",
        lead!(),
        r"(?:update|change|replace|fix|rename|switch|move|convert|migrate)\b",
);
pattern!(
    /// The beginning of a question, which many write without its mark.
    ASKS =
        r"(?i)^(?:(?:so|and|also|but|ok|please),? )*",
        r"(?:can|could|would|will|shall|should|did|do|does|is|are|why|what|how|wait,? (?:why|what|how|so|is|are))\b",
);
pattern!(
    /// Words that limit nothing where they stand so.
    HARMLESS =
        r"(?i)\b(?:keep (?:\w+ing|up|going|me|us|in mind|at it|track|on|an eye|(?:it|that|this) (?:up|in mind))",
        r"|leave (?:an?|me|us|feedback|for|(?:some |the )?comments?|now|early)",
        r"|use (?:it|this|that|them|cases?|of)|follow (?:the|this|these) (?:links?|steps? below)",
        r"|(?:still|currently) (?:stays?|remains?|(?:is|are) (?:left|kept))|exactly (?:what|how|why|where|which)",
        r"|(?:the|not|my|an|if|are|is|was) only|(?:i|we) (?:should|need to|have to|shall)",
        r"|not (?:only|sure|yet|just|really|working|necessarily|that|this|to mention|at all|much|too|so|bad|clear",
        r"|possible",
        r"|available|found|able|because|when|if|quite|an issue|a problem|exist\w*|start\w*|finish\w*|implement\w*",
        r"|i|we|it",
        r"|all|every\w*|especially|in use|needed|required|done)|the (?:unchanged|untouched|unmodified|intact))\b",
);
pattern!(
    /// An imperative that fixes a state.
    FIXES =
        r"(?i)(?:^|[,;:.(] |[-–—] |\b(?:and|but|then|so|just|please|also|let'?s) )",
        r"(?:keep \S|leave \S",
        r"|(?:retain|preserve|maintain|reuse|respect|honou?r) (?:the|all|our|its|any|every|existing|current|each",
        r"|this|these)\b",
        r"|stick (?:to|with)\b|hold off\b|refrain\b|adhere to\b|conform to\b|comply with\b|stay (?:with|within",
        r"|away|out)\b",
        r"|(?:limit|restrict) (?:\w+ ){1,4}to\b|follow (?:the|this|these|our|existing) \w)",
);
pattern!(
    /// A state that is to last.
    STAYS =
        r"(?i)\b(?:stays?|remains?|(?:is|are) (?:left|kept)) (?:as|at|in|on|off|out|under|within|the same|same",
        r"|un(?:changed|touched|modified|altered)|optional|required|private|public|read-only|backwards?|compatible",
        r"|consistent|stable|alone|intact|outside|inside|behind|separate|enabled|disabled|local|where (?:it",
        r"|they))\b",
);
pattern!(
    /// A sentence that begins with a negated noun.
    NO = r"(?i)^(?:(?:and|but|also|so|absolutely|please|yes),? )*(?:no|zero) [a-z]"
);
pattern!(
    /// A negated noun at the end.
    AND_NO = r"(?i)(?:[,;:] |\(|[-–—] |\b(?:and|but) )(?:and |but |with )?(?:no|zero) [a-z][\w'-]*(?: [\w'-]+){0,5}[.!)]*$"
);
pattern!(
    /// A contrast: this, not that.
    NOT = r#"(?i)(?:[,;] |\(| [-–—] )(?:and |but )?not [\w`"*]|\b(?:instead of|rather than|as opposed to)\b"#
);
pattern!(
    /// An exclusive.
    ONLY =
        r"(?i)\b(?:only|solely|exclusively|nothing (?:but|else|more)|at most|no (?:more|less|fewer|later|earlier",
        r"|longer) than",
        r"|not more than|strictly|verbatim|as[- ]is|everywhere|throughout|nowhere|in all cases|no matter",
        r"|exactly|except)\b",
);
pattern!(ONLY_LAST = r"(?i)^(?:[\w`./-]+ ){1,4}only[.!]?$");
pattern!(
    /// A condition on a later act.
    BEFORE =
        r"(?i)\b(?:before|prior to) (?:any|each|every|you|we|i|\w+ing|merge|commit|push|release|deploy(?:ment)?|that|a",
        r"|your",
        r"|further)\b|\b(?:until|till|unless|whenever|every time|each time|as soon as|one (?:at a time|by one)",
        r"|(?:on|after|before) (?:each|every)|(?:after|once) (?:you|i|we))\b|\bbefore (?:merge|commit|push",
        r"|release)[.!]?$",
);
pattern!(OUGHT = r"(?i)\b(?:should|needs? to|ha(?:s|ve) to|shall)\b");
pattern!(
    /// A correction of what was done.
    SAID =
        r"(?i)\bi (?:did ?n[o']?t|did not|never) (?:say|said|ask|asked|mean|meant|want|wanted|tell|told|approved?",
        r"|authori[sz]ed?|request|agreed?)\b",
        r"|\bi (?:don'?t|do not) (?:want|like)\b|\b(?:that'?s|this is|that is|that was|it'?s) not what (?:i|we)\b",
        r"|^(?:no,? )?i (?:said|told you|meant|asked (?:you )?(?:for|to))\b",
        r"|\byou (?:shouldn'?t|should not|were not supposed|weren'?t supposed|are not (?:to|allowed))\b",
        r"|\bnot what i (?:asked|meant|said|want)",
);
pattern!(
    /// What is to be as it was.
    SAME =
        r"(?i)\bsame (?:[\w-]+ ){0,3}as (?:before|now|today)\b|\b(?:as|like) before\b",
        r"|\b(?:unchanged|untouched|unmodified|intact|consistent with|(?:in line|in keeping) with",
        r"|backwards?[- ]compatib\w+)\b",
);
pattern!(
    /// A means for an end.
    USE =
        r"(?i)^",
        lead!(),
        r"use [^.!?]{2,60}? (?:for|everywhere|throughout|instead of)\b",
);
pattern!(
    /// An instruction for all things of a kind, or a preference.
    ALL =
        r"(?i)^(?:(?:for|on|in|with) (?:(?:all|any|every|each) )?[a-z][a-z -]*s\b(?: \([^)\n]*\))?,? (?:please ",
        r"|always )?",
        r"(?:use|set|write|run|keep|put|add|answer|reply|respond|call|choose|send|name|format)\b",
        r"|it(?:'s| is) (?:better|best|preferable) to\b)",
);
pattern!(
    /// The beginning of an instruction for one thing.
    ONE = r"(?i)^\w+ (?:(?:all|any|every|each) )?(?:the|this|that|my|our|these|those|an?) "
);
pattern!(
    /// What a report says that there is none of.
    RESULTS =
        r"(?i)\b(?:errors?|warnings?|issues?|regressions?|failures?|conflicts?|problems?|results?|output|matches",
        r"|response",
        r"|answers?|difference|progress|evidence|data|need|idea|worries|rush|doubt|reason|chance|sign|trace|clue",
        r"|way|luck",
        r"|thanks|wonder|matter|longer|more|further|such|one|news|module|named|found)\b",
);
pattern!(HAPPENED = r"\b[a-z]+ed(?:[.!]?$| (?:in|on|by|for|at|from|with|to|yet|since|during)\b)");
pattern!(
    /// The start of a line that a program printed.
    OUTPUT =
        r#"^\s*(?:={3,} |[✓✗✔✘●] |[$] |>>> |[+]{3} |--- |@@ |Traceback \(|File "|\[\w[\w -]+\] |\d{2}:\d{2}"#,
        r"|\d{4}-\d\d-\d\d",
        r"|(?:PASS|FAIL|ok|ERROR|WARN(?:ING)?|INFO|DEBUG|error|fatal|warning|panic)\b[:\s]|\S+@\S+:\S* ?[$#])",
);
pattern!(
    /// The end of a sentence, before a small letter too.
    STOP = r#"[.!?][)"'*]* +"#
);
pattern!(
    /// A sentence that begins with what to do, in Spanish, Portuguese, French, German or Russian.
    DO_ELSEWHERE =
        r"(?i)^(?:(?:por favor|s'il (?:te|vous) pla[iî]t|bitte|y|et|und|e|luego|ensuite|dann|depois|пожалуйста|и|но",
        r"|jetzt",
        r"|ahora|agora|maintenant),? )*",
        // Spanish and Portuguese
        r"(?:us(?:a|ad|en?|em)|utiliz[ae]|ha(?:z|ga|gan)|pon(?:ga|ha)?|escrib[ae]|escreva|a[ñn]ad[ae]|agreg(?:a",
        r"|ue)|cre[ae]",
        r"|crie|cambi[ae]|mude|altere|ejecut[ae]|execute|rode|lanz[ae]|lance|corr[ae]|corrij[ae]|guard[ae]",
        r"|borr[ae]|apague",
        r"|elimin[ae]|remova|quit[ae]|respond[ae]|contest[ae]|sub[ae]|prueb[ae]|teste|modific(?:a|que)|to(?:ca",
        r"|que)|edit[ae]",
        r"|le[ae]|leia|muestr[ae]|mostre|incluy[ae]|inclua|esper[ae]|avis[ae]|pregunt[ae]|pergunte|fa[cç]a|coloque",
        r"|adicione|verifi(?:ca|que)",
        // French
        r"|utilise[sz]?|fai(?:s|tes)|met(?:s|tez)|[eé]cri(?:s|vez)|ajoute[sz]?|lance[sz]|cr[eé]e[sz]|change[sz]",
        r"|modifie[sz]?",
        r"|supprime[sz]?|pren(?:ds|ez)|r[eé]pond(?:s|ez)|touche[sz]|attend(?:s|ez)|demande[sz]?|teste[sz]",
        r"|ex[eé]cute[sz]?",
        r"|montre[sz]?|corrige[sz]?|renomme[sz]?|d[eé]place[sz]?",
        // German
        r"|(?:nutz|verwend|benutz|schreib|mach|setz|stell|f[uü]hr|f[uü]g|[aä]nder|l[oö]sch|erstell|frag|antwort",
        r"|wart|pr[uü]f",
        r"|zeig|korrigier|ruf|leg|speicher|benenn|verschieb)e?t?|nimm|gib|lies|starte|baue",
        // Russian
        r"|[а-яё]{2,}(?:й|йте|ь|ьте|и|ите))\b",
);
pattern!(
    /// An exclusive, a contrast, or a condition on a later act.
    LIMITED_ELSEWHERE =
        r"(?i)\b(?:solo|sólo|solamente|[uú]nicamente|exclusivamente|nada m[aá]s que|como m[aá]ximo|en (?:vez|lugar) de",
        r"|antes d[eao]s?",
        r"|hasta que|a menos que|salvo (?:que|si)|excepto|só|somente|apenas|no m[aá]ximo|em vez de|ao inv[eé]s de",
        r"|at[eé] que",
        r"|exceto|enquanto n[aã]o|seulement|uniquement|exclusivement|rien que|au plus|au lieu d|plut[oô]t que",
        r"|avant (?:de|d|le|la|que|chaque)|jusqu|tant que|sauf|[àa] moins|nur|ausschließlich|lediglich|h[oö]chstens",
        r"|nichts außer|(?:an)?statt|bevor|vor (?:de[mr]|jede[mr])|bis (?:ich|du|zum|zur)|solange|außer|es sei denn",
        r"|erst (?:wenn|nach)|только|лишь|исключительно|не более|вместо|до (?:того|коммита|слияния|релиза)|пока",
        r"|перед",
        r"|если не|кроме|прежде чем)\b|, (?:y no|no|et pas|pas|non|und nicht|nicht|e n[aã]o|n[aã]o|а не|не) \w",
);
pattern!(
    /// A state that is to last.
    FIXED_ELSEWHERE =
        r"(?i)(?:^|[,;:.(] |\b(?:y|et|und|e|bitte|por favor|merci de|но|и|пожалуйста),? )",
        r"(?:mant[eé]n(?:er|ga|gan|lo|la|los|las)?|conserv(?:a|e|ar|e[sz])|dej(?:a|e|ad) (?:el|la|los|las|todo|tal",
        r"|como)",
        r"|respet[ae]|garde[sz]? (?:le|la|les|l'|ce|ces|tout)|laisse[sz]? (?:le|la|les|l'|ce|ces|tout)|maintene[sz]",
        r"|respecte[sz]?|behalte?|belass(?:e|t)?|lass(?:e|t)? (?:die|das|den|alles)|bleib(?:e|t)? (?:bei|in|auf)",
        r"|halte? dich an|mantenha|mant[eé]m|deix(?:a|e) (?:o|a|os|as|tudo|como)|preserv[ae]|respeit[ae]",
        r"|оставь(?:те)?",
        r"|сохрани(?:те)?|придерживай(?:ся|тесь))\b",
        r"|\b(?:se queda[n]? (?:como|en|igual)|sigue[n]? igual|reste(?:nt)? (?:tels?|inchang\w+|identiques?",
        r"|l[ea] m[eê]me)",
        r"|bleib(?:t|en) (?:wie|bei|unver\w+|gleich|so)|ficam? (?:como|igual)|permanecem? (?:como|igual",
        r"|inalterad\w+)",
        r"|оста(?:[её]тся|ются) (?:как|преж\w+|без))\b",
);
pattern!(
    NO_ELSEWHERE =
        r"(?i)^(?:sin|nada de|ning[uú]n[ao]?|pas d(?:e |')|aucune?|sans|keine?[rnms]?|ohne|nenhuma?|sem|никаких",
    r"|никакого",
    r"|никакой|без|ни одного)\b *(?:\w+[ ,.!]*){1,5}$",
);
pattern!(
    /// Words of a sentence that tells, or of a report.
    TELLS_ELSEWHERE =
        r"(?i)\b(?:es|est[áa]|hay|fue|son|tiene|puede|puedo|embargo|est|sont|ont|fait|peut|doute|ist|sind|war|hat",
        r"|haben|kann",
        r"|ich|wird|zweifel|ahnung|[ée]|h[áa]|foi|tem|pode|d[úu]vida|duda|нет|есть|был[ао]?|могу|сомнени\w+",
        r"|err?(?:or|eur|o)\w*|fehler|ошиб\w+|probl[eè]m\w*|проблем\w*|id[eé]e?a?|ideia)\b",
);
pattern!(
    SAID_ELSEWHERE =
        r"(?i)\b(?:no (?:dije|ped[ií]|quer[ií]a|quiero)|je n'ai pas (?:dit|demand[eé])|je ne (?:veux|voulais) pas",
    r"|(?:habe|hab) ich nicht (?:gesagt|gemeint|gewollt|verlangt)|ich habe nicht (?:gesagt|gemeint|verlangt)",
    r"|ich (?:will|wollte|m[oö]chte) (?:das |es )?nicht|(?:eu )?n[aã]o (?:disse|pedi|quis|quero)",
    r"|я не (?:говорил[аи]?|просил[аи]?|хочу|хотел[аи]?|имел[аи]? в виду))\b",
);
pattern!(
    /// A limit in Chinese, Japanese or Korean.
    UNSPACED =
        r"(?i)保持|维持|沿用|原样|别动|(?:无需|勿|不加|不许|不准|严禁)|而不是|而非|只(?:用|改|在|做|看|读|允许|修改",
        r"|使用|保留)",
        r"|仅(?:用|限|在|修改|使用|保留)|除非|直到.{1,20}(?:为止|再|才)|(?:提交|合并|推送|发布|修改|部署",
        r"|动手)(?:之前|以前|前)",
        r"|等我.{0,10}(?:再|后|确认)|我没有?(?:说|让你|要求)|不是我(?:要|说)",
        r"|まま(?:に|で|とし|。|$)|維持(?:して|する|し)|(?:変え|使わ|触ら)ず|ではなく|じゃなく|の代わりに",
        r"|(?:だけ|のみ)を?(?:使|変|直|修|編)|以外(?:は|を)|(?:する|の|ト|ジ|シュ)前に|まで(?:は)?(?:待|触|変)",
        r"|ない限り",
        r"|(?:なし|不要)(?:で|とする)?[。！]?$|とは言ってい?ない|頼んでい?ない",
        r"|그대로|유지(?:해|하|할)|(?:건드리|바꾸|고치)지 ?마|없이|말고|[이가] 아니라|대신|만 (?:사용|수정|변경|써",
        r"|바꿔|고쳐|쓰|고치)",
        r"|(?:하기|커밋|병합|푸시|배포) ?전에|때까지|않는 한|라고 (?:말)?하지 않|달라고 한 적",
);
pattern!(HAPPENED_UNSPACED = r"(?:[了吗呢]|ました|でした|ますか|ています|(?:었|았|했|됐)(?:습니다|어요|다))[。！.!]?$");

/// Words of a sentence that tells.
const FINITE: &str = "is are was were has have had did do does can could will would should found seen left yet so it i we you \
    they he she there this that who what when why how am been fails failed works worked came went got made \
    took gave said saw it's that's there's i'm i've you're we're they're isn't aren't wasn't don't doesn't \
    can't won't";
static FINITES: LazyLock<Set<&str>> = LazyLock::new(|| FINITE.split_whitespace().collect());

/// Whether a message is what a program printed, by three of its lines and a tenth of them.
pub fn is_output(text: &str) -> bool {
    let (mut printed, mut told) = (0, 0);
    for line in lines(text).filter(|line| !strip(line).is_empty()) {
        told += 1;
        printed += usize::from(OUTPUT.is_match(line));
    }
    printed >= 3 && printed * 10 >= told
}

/// Whether half of the sentences of a paragraph limit the work, or more.
pub fn limited(text: &str) -> bool {
    let told = text.replace("e.g. ", "e.g., ").replace("i.e. ", "i.e., ");
    let found: Vec<&str> =
        split(&told).into_iter().flat_map(|one| STOP.split(one)).filter(|one| !one.is_empty()).collect();
    2 * found.iter().filter(|one| limits(one)).count() >= found.len()
}

/// Whether a sentence limits the work without a word of a rule.
pub fn limits(sentence: &str) -> bool {
    let ends = sentence.trim_end_matches([' ', '"', '\'', ')']);
    if length(sentence) > LONGEST || ends.ends_with(['?', '？']) {
        return false;
    }
    let whole = sentence[MARK.find(sentence).map_or(0, |found| found.end)..].replace('’', "'");
    let label = LABEL.find(&whole).map_or(0, |found| found.end);
    let told = if CHANGES.is_match(&whole) { &whole } else { &whole[label..] };
    !ASKS.is_match(told) && (in_english(told) || elsewhere(told))
}

fn in_english(told: &str) -> bool {
    let does = IMPERATIVE.is_match(told) && !NOUN.is_match(told);
    let verbless = !does && !told.ends_with(':') && is_verbless(told);
    let rest = HARMLESS.replaced(told, "·");
    if [&SAID, &FIXES, &STAYS, &USE, &ONLY_LAST].iter().any(|one| one.is_match(&rest)) {
        return true;
    }
    if ALL.is_match(&rest) && !ONE.is_match(&rest) || negates(told) {
        return true;
    }
    if CHECKS.is_match(told) {
        return BEFORE.is_match(&rest);
    }
    let binds = does || OUGHT.is_match(&rest);
    binds && (ONLY.is_match(&rest) || BEFORE.is_match(&rest))
        || (binds || verbless) && SAME.is_match(&rest)
        || (binds || verbless) && NOT.is_match(&rest) && !(does && CHANGES.is_match(told) && !OUGHT.is_match(&rest))
        || does && AND_NO.find(&rest).is_some_and(|found| !RESULTS.is_match(&rest[found]))
}

/// Whether a short sentence has no verb, by its words.
fn is_verbless(told: &str) -> bool {
    let small = told.to_lowercase();
    let mut number = 0;
    let has_none = stretches(&small, |c| c == '\'').all(|word| {
        number += 1;
        number <= FEW && !FINITES.contains(word)
    });
    has_none && number >= 2
}

/// Whether a sentence without a verb says what there must not be.
fn negates(told: &str) -> bool {
    NO.is_match(told) && is_verbless(told) && !RESULTS.is_match(told) && !HAPPENED.is_match(&told.to_lowercase())
}

/// Whether a sentence in another language limits the work.
fn elsewhere(told: &str) -> bool {
    !told.is_ascii() && UNSPACED.is_match(told) && length(told) <= SHORT && !HAPPENED_UNSPACED.is_match(told)
        || FIXED_ELSEWHERE.is_match(told)
        || SAID_ELSEWHERE.is_match(told)
        || NO_ELSEWHERE.is_match(told) && !TELLS_ELSEWHERE.is_match(told)
        || DO_ELSEWHERE.is_match(told) && LIMITED_ELSEWHERE.is_match(told)
}
