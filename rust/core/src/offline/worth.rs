//! What a user's statement is worth: what it does, by its words, and what it names.

use std::hash::BuildHasher;
use std::sync::LazyLock;

use super::learned::{WIDE, learned};
use super::limits::limited;
use super::numbers::{float, one_if};
use super::pattern::{head, pattern};
use super::text::is_decimal;
use super::words::{Set, plain_words, stretches};
use crate::seeded::Seeded;

pattern!(
    /// Words of a demand.
    pub(super) MUST =
        r"(?i)\b(?:must|never|always|don'?t|do not|only|should|shouldn'?t|instead|without|please|make sure|ensure|need",
        r"|prefer|keep|avoid|whenever|from now on|(?:when|before|after|every time|each time) you",
        r"|your (?:repl(?:y|ies)|answers?|responses?))\b",
);
pattern!(
    /// A rule that stands, where [`MUST`] may be a single demand.
    pub(super) RULE =
        r"(?i)\b(?:(?:must|mustn'?t|never|always|don'?t|do not|make sure|ensure|prefer|avoid|whenever",
        r"|(?:nobody|no[- ]one)\b[^.!?\n]{0,60} (?:may|must|should|can see|is (?:to|allowed))",
        r"|from now on|at all times|no exceptions?|under no|forbidden|prohibited|off[- ]limits|mandatory|not allowed",
        r"|without (?:asking|approval|permission|consent|my|the|explicit)|needs? (?:approval|permission|consent)|may not",
        r"|(?:may|can|must|should|shall) only|(?:is|are) (?:only to|not to be)",
        r"|(?:ha(?:s|ve)|needs?|ought) to be (?:[a-z]+(?:ed|en|wn|lt|pt|ght|ne)|sent|spent|meant|read|put|set|cut|made|kept|paid|told)",
        r"|unless|whatever happens|remember (?:that|to)",
        r"|only (?:use|ever|change|touch|edit|run|do|ask|add|make|write|call",
        r"|the|in|on|at|by|for|from|with|when|if|once|after|to)",
        r"|(?:when|before|after|(?:every|each) time) you",
        r"|(?:your|every|each) (?:repl(?:y|ies)|answers?|responses?|commit))\b|only[,.;])",
);
pattern!(
    /// Words of a rule that tell how something is.
    TELLS =
        r"(?i)\b(?:i|it|they|he|she|that|this|there|you|who|which)(?:'ve|'d|'s|'m| was| am| have| had| has| could| can| would)?",
        r" (?:also |just |still |really |almost )?",
        r"(?:don'?t|do not|never|always|ensure|prefer)\b",
        r"|\b(?:do not|don'?t) (?:we|you|they|i)\b|\b(?:never|always) (?:fails|passes|works|finishes|shows|gets|crashes|hangs|breaks",
        r"|happens|appears)\b|\b(?:the|these|those|my|our) (?:[a-z]+ ){1,3}(?:do not|don'?t|never|always) (?:pass|fail|work|finish",
        r"|show|get|crash|hang|break|happen|appear)\b",
        r"|\bthere must\b|\bmust (?:be (?:an? |some )?(?:bug|error|typo|mistake|problem|issue|reason|something|because|due)|have been)\b",
);
pattern!(
    /// A guess or a state in another language that has a word of a rule.
    GUESSED =
        r"(?i)\b(?:immer noch|noch immer|(?:muss|m[üu]ssen) (?:am|an|im|in) [^.!?\n]{1,60} liegen|[ée]choue(?:nt)? toujours",
        r"|(?:error|fallo|problema|bug) debe)\b|要不要",
);
pattern!(
    /// A line in which a program reports an error.
    REPORTED = r"^(?:\w+\.)*\w*(?:Error|Exception|Warning): ",
);
pattern!(
    /// A rule in Spanish, French, German, Portuguese, Russian, Chinese, Japanese or Korean.
    ELSEWHERE =
        r"(?i)\b(?:nunca|jam[áa]s|siempre|debes?|hay que|prohibid[oa]|obligatori[oa]|aseg[úu]rate|tienes que",
        r"|jamais|toujours|il (?:ne )?faut|(?:tu|vous) (?:ne )?(?:dois|devez)|interdit|obligatoire",
        r"|nie|niemals|immer|stets|muss|m[üu]ssen|darf|darfst|d[üu]rfen|verboten|auf keinen fall|keinesfalls|unbedingt",
        r"|sempre|deve|proibid[oa]|obrigat[óo]ri[oa]|n[ãa]o (?:use|toque|mude|altere|apague|fa[çc]a)",
        r"|никогда|всегда|нельзя|обязательно|должен|должна|должны|запрещено|ни в коем случае)\b",
        r"|不要|不得|禁止|必须|必須|永远不|绝不|一定要|务必|不可以|千万别|只能|始终",
        r"|ないでください|してはいけ|必ず|決して|絶対に|しないで|常に",
        r"|절대|반드시|항상|하지 ?마|금지|안 됩니다|해야 (?:합|한|해)",
);
pattern!(
    CHOICE = r"(?i)\b(?:(?:let'?s|let us|we'?ll|we will|i'?ll|i will|we|i|please|to|should|can|and|then|put|make|have) (?:just |now )?",
    r"(?:use|go with|take|pick|choose|switch|stick|settle|move|it on|it be)|decid(?:e|ed|ing)|decision|instead|prefer",
    r"|rather than|switch(?:ed|ing)? to|go(?:ing)? with|went with|settled on|agreed on|make (?:it|that)|it has to be",
    r"|(?:is|will be|should be) called|named|means)\b",
);
pattern!(
    BACK = r"(?i)\b(?:scratch that|forget (?:what|that|it|about|the)|chang(?:e|ed) (?:my|our) mind|(?:on|having) second thoughts?",
    r"|never ?mind|no,? wait|wait,? no|(?:will not|won'?t) do|takes? (?:that|it) back|after all|not any ?more|no longer",
    r"|let'?s instead|change of plans?|correction|i was wrong|strike that|not .{1,40} but|rather .{1,40} than)\b",
);
pattern!(
    /// Words that take something back, whatever it was; those of [`BACK`] may as well say how something is.
    PLAINLY_BACK =
        r"(?i)\b(?:scratch that|forget (?:what|that|it|about)|chang(?:e|ed) (?:my|our) mind|(?:on|having) second thoughts?",
        r"|never ?mind|no,? wait|wait,? no|takes? (?:that|it) back|let'?s instead|change of plans?|i was wrong|strike that)\b",
);
pattern!(
    ASIDE = r"(?i)(?:^|[.!?] )(?:by the way|btw|off[- ]topic|fun fact|anyways?|speaking of|on a (?:side|different|lighter) note",
    r"|unrelated|side note|ha(?:ha)+|lol|honestly|guess what|did you (?:know|ever|see|hear)|do you (?:ever|think|like|know)",
    r"|have you (?:ever|seen|heard|been)|(?:that|it) reminds me|what(?:'s| is) your|how (?:are|long have) you|are you",
    r"|is it (?:just|strange|weird|normal)|i (?:just|keep|was|am|love|like|hate|feel|felt|miss|wonder|saw|watched|heard|had",
    r"|dreamt|used to|should really|can'?t believe|bought|started|tried|spent|slept|woke|finally)",
    r"|i'?(?:m|ve) (?:so|been|just|feeling|thinking|trying)|my (?:neighbou?r|sister|brother|mother|father|mom|mum|dad|wife",
    r"|husband|kids?|son|daughter|friend|cousin|aunt|uncle|roommate|flatmate|cat|dog|bike|car|back|head))\b",
);
pattern!(DOES = r"^ ?([A-Z]\w*)[\w'-]* (?:[a-z]+s|will|can|may|owns?)\b");
pattern!(
    ASKS = r"(?i)^ ?(?:please |also |then |and |next,? )*",
    r"(?:use|report|send|write|keep|answer|reply|respond|put|run|add|make|do|call|ask",
    r"|check|give|show|tell|include|follow|format|name|store|save|leave|start|stop|wait|fix|change|remove|delete|rename",
    r"|replace|update|create|implement|build|test|find|look|read|explain|move|set|move|allow|support|treat|switch|book",
    r"|note|remember|consider|rewrite|refactor|document|commit|push|merge|deploy|install|review|verify|ensure|let)\b",
);
pattern!(
    /// What to do where something holds.
    WHERE = r"(?i)\b(?:if|when|once|before|after)\b[^.!?;]{3,80}, (?:then |please |first |always )?",
        r"(?:use|report|send|write|keep|answer|reply|respond|put|run|add|make|do|call|ask",
        r"|check|give|show|tell|include|follow|format|name|store|save|leave|start|stop|wait|fix|change|remove|delete|rename",
        r"|replace|update|create|implement|build|test|find|look|read|explain|move|set|move|allow|support|treat|switch|book",
        r"|note|remember|consider|rewrite|refactor|document|commit|push|merge|deploy|install|review|verify|ensure|let)\b",
);
pattern!(
    /// A sentence that begins with "no".
    NO = r"(?:^|[.!;:] )No ([a-z]+) ([^.!?]{2,60})[.!]?$",
);
pattern!(
    /// A sentence that begins with what somebody is doing.
    NARRATES = r"(?i)^ ?(?:(?:i'?m|i am|we'?re|we are|just|still|also|now) )*([a-z]{2,}ing)\b",
);
pattern!(
    /// Where the work stands.
    STANDS = r"(?i)\b(?:current(?:ly)?|next (?:step|up|task)|progress|so far|remaining|awaiting|waiting (?:for|on)|pending|undecided",
    r"|unresolved|blocked|failing|open question|to ?do|(?:phase|step|stage|part) \d+|unpushed|unmerged|uncommitted)\b",
);
pattern!(
    /// A label in front of three words or more.
    KIND = r"^(?:[^\W\d_]+ ){0,2}([^\W\d_]+): \S+ \S+ \S",
);
pattern!(
    SCOPE =
        r"(?i)\b(?:you|your|me|my|session|every|each|always|never|whenever|from now on|repl(?:y|ies)|answers?|any)\b",
);
pattern!(
    /// The start of a line of a log.
    pub(super) LOGGED =
        r"^(?:\[[^\]]{2,40}\]|\d{1,4}[-:/.]\d{2}|(?:GET|POST|PUT|INFO|DEBUG|WARN|WARNING|ERROR|at) )",
);
pattern!(
    /// A word that stands for another one, of a sentence before.
    LEANS = r"(?i)\b(?:them|it|they|this|that|these|those|he|she|him|her)\b",
);
pattern!(LABEL = r"^[A-Z][A-Z _-]{2,30}:");
pattern!(STATES = r"[.!] ");
pattern!(MONEY = r"^[$€£]\d|\d[$€£]$");
pattern!(DATE = r"^\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}$");
pattern!(NUMBER = r"^\d[\d.,:%]*$");

/// Words of leisure, in lower case.
const LEISURE: &str = "weather rain raining rainy sunny snow cloudy weekend holiday holidays vacation trip beach hiking lunch dinner \
    breakfast soup pizza pasta coffee tea cake bread baking cooking recipe restaurant movie movies film films series \
    show episode season book novel music song songs concert band guitar piano game games football soccer basketball \
    match team puppy dog dogs cat cats bird garden gardening plants flowers sleep tired bored nap gym yoga jogging \
    running marathon birthday party wedding neighbour neighbor sister brother cousin grandma grandmother mood funny \
    joke laugh hilarious adorable cute weird strange dream dreams traffic bus noise noisy couch blanket museum \
    painting hobby hobbies chess puzzle knitting favourite favorite lovely delicious spicy tasty headache cold \
    sunset rainbow summer winter autumn spring yesterday tonight";
/// Words at the start of a sentence that name nobody and nothing.
const STARTERS: &str = "This That It Its He She His Her Hers There What Which Who Where How Why Yes No Is Was As Does Has Thanks The \
    Always Perhaps Besides Guess Let Here Mine These Those Sometimes Someone Somebody Everyone Everybody Nobody \
    Honestly You We They I My Our Your If When And But So Or";
/// Words that say nothing about a statement's topic.
const COMMON: &str = "the and for that this with from are was were has have had its but not you your can will would should could now \
    then than them they there here what when which where who why how all any also just into only still very already \
    again one two been being does did done get got let see use used always never about because instead actually must \
    every without please need needs want wants user";
/// Nouns that say of what kind a statement is, and no more than the statement shows.
const KINDS: &str = "rule rules constraint constraints requirement requirements preference preferences fact facts note notes info \
    information detail details goal goals state status policy instruction instructions guideline guidelines context \
    background reminder remark point convention standard statement observation";
/// Words behind "no" in a sentence that forbids nothing: "no problem".
const THERE_IS: &str = "one problem problems worries idea rush doubt wonder luck clue way need thanks matter error errors issue issues \
    change changes failure failures more longer news such reason chance sign trace";
/// Words of a sentence that tells, where one without them says what there must not be.
const FINITE: &str = "is are was were has have had did do does can could will would should found seen left yet so it i we you they \
    came went got made took gave said saw";
/// Words on "ing" that begin a sentence and are no work: "During".
const NOT_DOING: &str = "using during according nothing anything everything something regarding concerning including failing missing \
    pending string bring spring king thing wedding meeting morning evening building remaining following";
static KINDS_KNOWN: LazyLock<Set<&str>> = LazyLock::new(|| KINDS.split_whitespace().collect());
static THERE_IS_KNOWN: LazyLock<Set<&str>> = LazyLock::new(|| THERE_IS.split_whitespace().collect());
static FINITES: LazyLock<Set<&str>> = LazyLock::new(|| FINITE.split_whitespace().collect());
static NOT_DOINGS: LazyLock<Set<&str>> = LazyLock::new(|| NOT_DOING.split_whitespace().collect());
static LEISURES: LazyLock<Set<&str>> = LazyLock::new(|| LEISURE.split_whitespace().collect());
static STARTING: LazyLock<Set<&str>> = LazyLock::new(|| STARTERS.split_whitespace().collect());
static COMMONS: LazyLock<Set<&str>> = LazyLock::new(|| COMMON.split_whitespace().collect());

/// Characters around a word that are not of it.
const ENDS: [char; 16] = ['.', ',', ';', ':', '!', '?', '(', ')', '[', ']', '{', '}', '"', '\'', '`', '*'];
/// Characters of a statement whose token is worth half of the most.
const HALF: f64 = 40.0;

/// Evidence at which a statement has half of what was learned of it: chatter is more frequent than what has to be known.
const EVEN: f64 = 0.5;
/// Least evidence for a rule.
const BELIEVED: f64 = 0.25;
/// Evidence below which a sentence is chatter.
const CHATTER: f64 = -2.0;
/// Evidence below which it is chatter whatever words it has: "I ate it there, don't judge" rules nothing.
const PLAIN_CHATTER: f64 = -2.5;
/// What of the sum is the worth: the user's statements leave decisions, errors and files the room that they need.
const SHARE: f64 = 0.55;
/// Worth of a token of chatter.
const LEAST: f64 = 0.02;
/// What a limit adds to the worth of a statement, of which a word of a rule adds twice as much.
const LIMIT: f64 = 0.9;

/// The kind of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Sort {
    Money,
    Date,
    Number,
    Code,
    Name,
}

/// What a statement does and names.
#[derive(Clone, Debug, Default)]
#[allow(clippy::struct_excessive_bools)] // each is a feature of its worth
pub struct Said {
    /// Whether it is a rule.
    pub rule: bool,
    /// Whether it limits the work without a word of a rule; of a message, which alone shows what is output of a program.
    pub limit: bool,
    /// Whether it chooses something.
    pub choice: bool,
    /// Whether it takes something back.
    pub back: bool,
    /// Whether it says so of whatever was said before.
    pub plainly_back: bool,
    /// Whether it asks.
    pub question: bool,
    /// Whether it says who or what does something.
    tells: bool,
    /// Whether it begins with what to do.
    pub asks: bool,
    /// Whether it speaks of the listener, the speaker, or of all times.
    scope: bool,
    /// Whether it begins with what somebody is doing.
    narrates: bool,
    /// Whether it says where the work stands.
    stands: bool,
    /// The label in capitals in front.
    pub label: String,
    /// Hashes of the beginnings of its words, without values; ascending, each once.
    pub stems: Vec<u64>,
    /// Hashes of what it names, in lower case, by kind; ascending, each once.
    pub values: Vec<(Sort, u64)>,
    /// How much of it is small talk.
    talk: f64,
    /// Evidence that it has to be known; above 0 it is more like what has to be than like chatter.
    known: f64,
}

/// Marks of what a statement does.
const DOING: [&str; 9] = ["rule", "choice", "back", "question", "asks", "scope", "narrates", "stands", "tells"];
/// Marks of the number of its words: up to 2, 4, 7, 12, 20, or more.
const SIZES: [(&str, usize); 6] =
    [("size0", 2), ("size1", 4), ("size2", 7), ("size3", 12), ("size4", 20), ("size5", usize::MAX)];
/// Marks of what it names.
const SORTS: [(&str, Sort); 5] = [
    ("money", Sort::Money),
    ("date", Sort::Date),
    ("number", Sort::Number),
    ("code", Sort::Code),
    ("name", Sort::Name),
];
const DIGITS: [&str; 4] = ["digits0", "digits1", "digits2", "digits3"];
const ANCHORS: [&str; 4] = ["anchors0", "anchors1", "anchors2", "anchors3"];

impl Said {
    /// What a clean line does and names.
    pub fn of(text: &str) -> Self {
        let label = LABEL.find(text).map_or("", |found| &text[found]);
        let rest = &text[label.len()..];
        let question = text.ends_with(['?', '？']) && !STATES.is_match(text);
        let rules = || {
            let number = RULE.number(text, usize::MAX);
            number > 0 && number > TELLS.number(text, usize::MAX)
        };
        let elsewhere = || ELSEWHERE.is_match(text) && ELSEWHERE.is_match(&GUESSED.replaced(text, "·"));
        let rule =
            !question && !REPORTED.is_match(text) && (rules() || WHERE.is_match(text) || elsewhere() || forbids(text));
        let back = BACK.is_match(rest);
        let mut one = Self {
            rule,
            choice: CHOICE.is_match(rest),
            back,
            plainly_back: back && PLAINLY_BACK.is_match(rest),
            question,
            tells: DOES.groups(rest).is_some_and(|who| !STARTING.contains(who.text(1))),
            asks: ASKS.is_match(rest),
            scope: SCOPE.is_match(rest),
            narrates: narrates(rest),
            stands: STANDS.is_match(rest),
            label: label.to_owned(),
            talk: talk(rest),
            ..Self::default()
        };
        one.read(rest);
        let known = learned(text, form(text).chain(one.marks()));
        one.known = known;
        one.rule &= !one.is_plain_chatter(text);
        one
    }

    /// The marks of what it does and names.
    fn marks(&self) -> impl Iterator<Item = &'static str> {
        let does = [
            self.rule,
            self.choice,
            self.back,
            self.question,
            self.asks,
            self.scope,
            self.narrates,
            self.stands,
            self.tells,
        ];
        let does = DOING.into_iter().zip(does).filter_map(|(name, so)| so.then_some(name));
        let rest = [
            Some(ANCHORS[self.anchors()]),
            (!self.label.is_empty()).then_some("label"),
            (self.talk > 0.0).then_some("talk"),
            (self.talk >= 0.7).then_some("aside"),
        ];
        let named = SORTS.into_iter().filter(|(_, sort)| self.valued(*sort).next().is_some()).map(|(name, _)| name);
        does.chain(rest.into_iter().flatten()).chain(named)
    }

    /// Reads the words and the values.
    fn read(&mut self, text: &str) {
        let (mut begins, mut small) = (true, String::new());
        for raw in text.split(' ') {
            let word = raw.trim_matches(ENDS);
            if !word.is_empty() {
                small.clear();
                if word.is_ascii() {
                    small.push_str(word);
                    small.make_ascii_lowercase();
                } else {
                    small = word.to_lowercase();
                }
                if let Some(sort) = sort_of(word, begins) {
                    self.values.push((sort, Seeded.hash_one(small.as_str())));
                } else {
                    let told = plain_words(&small, 3, false).filter(|one| !COMMONS.contains(one));
                    self.stems.extend(told.map(|one| Seeded.hash_one(head(one, 5))));
                }
            }
            begins = raw.ends_with(['.', '!', '?']) || (begins && word.is_empty());
        }
        self.stems.sort_unstable();
        self.stems.dedup();
        self.values.sort_unstable();
        self.values.dedup();
    }

    /// What it does, with whether it limits the work.
    pub fn with_limit(text: &str) -> Self {
        let one = Self::of(text);
        Self { limit: !one.rule && !one.question && !one.is_plain_chatter(text) && limited(text), ..one }
    }

    /// Whether it binds, by a word of a rule or by its form.
    pub fn binds(&self) -> bool {
        self.rule || self.limit
    }

    /// Number of the values, at most three.
    pub fn anchors(&self) -> usize {
        self.values.len().min(3)
    }

    /// The values of a kind.
    pub fn valued(&self, sort: Sort) -> impl Iterator<Item = u64> {
        self.values.iter().filter(move |(one, _)| *one == sort).map(|(_, value)| *value)
    }

    /// Its words and values, each once.
    pub fn words(&self) -> Vec<u64> {
        let mut words: Vec<u64> =
            self.stems.iter().copied().chain(self.values.iter().map(|(_, value)| *value)).collect();
        words.sort_unstable();
        words.dedup();
        words
    }

    /// Worth of a token of the statement by itself: what was learned, and what it does by its words.
    pub fn worth(&self) -> f64 {
        let evidence = self.evidence();
        let sure = sure(evidence);
        let told = 2.0 * sure * (1.0 + 0.4 * evidence.max(0.0));
        let bound = one_if(self.binds()) * (0.5 + 0.5 * sure);
        (SHARE * (told + bound + self.does() * (0.3 + 0.7 * sure))).max(LEAST)
    }

    /// Whether it is chatter, whatever words it has; of a few words ("always ask") too little was learned.
    fn is_plain_chatter(&self, text: &str) -> bool {
        self.known < PLAIN_CHATTER && text.split(' ').nth(4).is_some()
    }

    /// How sure it is that it has to be known, between 0 and 1.
    pub fn sure(&self) -> f64 {
        sure(self.evidence())
    }

    /// Evidence beyond that of what is as often chatter. A rule may look like it, "my manager must not know": its word is
    /// believed.
    fn evidence(&self) -> f64 {
        if self.rule { self.known.max(BELIEVED) - EVEN } else { self.known - EVEN }
    }

    /// What it is worth by its words.
    fn does(&self) -> f64 {
        let mut rank = 0.8
            + 1.8 * one_if(self.rule)
            + LIMIT * one_if(self.limit)
            + 0.4 * one_if(!self.label.is_empty())
            + 0.25 * float(self.anchors())
            + 0.5 * one_if(self.choice)
            + 0.9 * one_if(self.back);
        rank += 0.3 * one_if(self.tells) + 0.4 * one_if(self.asks) + 0.5 * one_if(self.rule && self.scope);
        rank += 0.3 * one_if(self.stands) - 0.5 * one_if(self.narrates && !self.rule);
        let idle = one_if(self.question && self.anchors() == 0);
        rank -= self.talk * if self.rule { 0.3 } else { 1.0 } + 0.3 * idle;
        rank.max(0.05)
    }

    /// Whether it says something that is worth keeping by itself.
    pub fn tells_something(&self) -> bool {
        self.rule || self.back || self.choice || self.anchors() > 0
    }
}

/// The marks of how a text is written.
fn form(text: &str) -> impl Iterator<Item = &'static str> + use<> {
    let wide = text.chars().filter(|c| *c >= WIDE).count();
    let words = stretches(text, |_| false).count() + wide / 2;
    let numbers = text.split(|c| !is_decimal(c)).filter(|one| !one.is_empty()).count();
    let size = SIZES.iter().find(|(_, most)| words <= *most).map(|(name, _)| *name);
    let end = match text.chars().next_back() {
        Some('?' | '？') => Some("end?"),
        Some('!' | '！') => Some("end!"),
        Some('.' | '。') => Some("end."),
        Some(':' | '：') => Some("end:"),
        _ => None,
    };
    [Some("bias"), size, end, Some(DIGITS[numbers.min(3)])].into_iter().flatten()
}

/// What of the worth of a sentence of the assistant is left: chatter has a tenth.
pub fn left_of_worth(text: &str) -> f64 {
    0.1 + 0.9 * sure(learned(text, form(text)))
}

/// Evidence as a share between 0 and 1, and a half at 0. The root is the same on every machine, an exponential is not.
fn sure(evidence: f64) -> f64 {
    0.5 * (1.0 + evidence / (1.0 + evidence * evidence).sqrt())
}

/// How much of its worth a token of a statement has: of two facts, the shorter one leaves more room.
pub fn by_length(length: usize) -> f64 {
    2.0 * HALF / (HALF + float(length))
}

/// What words that come back add to the worth of a statement.
pub fn shared_worth(shared: usize) -> f64 {
    0.2 * float(shared.min(4))
}

/// Whether a sentence may be left out of its paragraph: it only chats.
pub fn is_aside(text: &str) -> bool {
    if talk(text) < 0.7 && learned(text, form(text)) >= CHATTER {
        return false; // as most are, found without what it does
    }
    let one = Said::of(text);
    let chats = || one.known < CHATTER || (one.talk >= 0.7 && one.known < EVEN && one.anchors() == 0);
    !one.rule && !one.back && !one.choice && chats()
}

/// Whether a sentence is worth keeping without the rest of its paragraph.
pub fn stands_alone(text: &str) -> bool {
    if LEANS.is_match(text) {
        return false;
    }
    let one = Said::of(text);
    one.known > 0.0 && (one.tells_something() || one.known > 1.0)
}

/// A statement without a label that only says of what kind it is.
pub fn without_kind(text: &str) -> &str {
    let Some(label) = KIND.groups(text) else { return text };
    let is_kind = KINDS_KNOWN.contains(label.text(1).to_lowercase().as_str());
    text.split_once(": ").filter(|_| is_kind).map_or(text, |(_, told)| told)
}

/// Whether a sentence without a verb says what there must not be.
fn forbids(text: &str) -> bool {
    // Most lines lack the word, which is found faster than the expression that begins anywhere.
    text.contains("No ")
        && NO.groups(text).is_some_and(|found| {
            let told = found.text(2).to_lowercase();
            !THERE_IS_KNOWN.contains(found.text(1))
                && !stretches(&told, |_| false).any(|word| FINITES.contains(word) || word.ends_with("ed"))
        })
}

/// Whether a sentence begins with what somebody is doing.
fn narrates(text: &str) -> bool {
    NARRATES.groups(text).is_some_and(|found| !NOT_DOINGS.contains(found.text(1).to_lowercase().as_str()))
}

fn talk(text: &str) -> f64 {
    let number = plain_words(&text.to_lowercase(), 3, false).filter(|one| LEISURES.contains(one)).count();
    0.7 * one_if(ASIDE.is_match(text)) + 0.35 * float(number.min(2))
}

fn sort_of(word: &str, begins: bool) -> Option<Sort> {
    if word.contains(|c: char| !c.is_ascii_alphabetic()) {
        if MONEY.is_match(word) {
            return Some(Sort::Money);
        }
        if DATE.is_match(word) {
            return Some(Sort::Date);
        }
        if NUMBER.is_match(word) {
            return Some(Sort::Number);
        }
        if word.contains(|c: char| matches!(c, '0'..='9' | '_' | '/' | '@' | '#')) {
            return Some(Sort::Code);
        }
    }
    let mut chars = word.chars();
    let (first, second) = (chars.next()?, chars.next()?);
    let is_name = first.is_uppercase() && (!begins || second.is_uppercase()) && second != '\'';
    (is_name && !STARTING.contains(word)).then_some(Sort::Name)
}
