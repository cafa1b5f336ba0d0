//! Candidate lines of the summary for requests and decisions, with their ranks.

use std::rc::Rc;

use trimtab_tokens::cancel::poll_now;

use super::announced::{LEAST, announces};
use super::limits::is_output;
use super::line::{Line, Section, float, one_if};
use super::part::{Kind, Part, is_chat};
use super::pattern::{head, is_space, length, pattern, tail};
use super::text::{bare, clean, is_code, sentences, split, unwrapped, without_code};
use super::words::{Map, Set, stretches};
use super::worth::{LOGGED, MUST, Said, is_aside, left_of_worth};

pattern!(
    DECIDED =
        r"(?i)\b(?:root cause|decided?|because|turns? out|the (?:real |actual )?(?:problem|issue|bug|fix|reason|cause)",
    r"|fixed|instead|confirmed|verified|all tests|pass(?:es|ed)?|fail(?:s|ed)?|implemented|removed|renamed|merged|pushed",
    r"|committed|completed?|works|conclu\w+|recommend\w*|blocked|found that|means that|caused by|won'?t|cannot|must)\b",
);
pattern!(
    FILLER = r"(?i)^(?:let me|let's|now|step \d|i'll|i will|great|good|perfect|ok(?:ay)?|sure|excellent",
    r"|you'?re (?:absolutely )?right|i'm (?:going|now)|i (?:see|need to)|next,? i|looking at)\b",
);

pattern!(
    /// Names of tools that ask the user.
    ASKING = r"(?i)^(?:ask(?:_?(?:user|human|followup|question|me)\w*)?|questions?|\w*(?:elicit|clarif)\w*)$|user_?(?:input|question)"
);
pattern!(
    /// Names of tools that ask the user to approve a plan.
    PLANNED = r"(?i)exit_?plan|plan_?exit"
);
pattern!(
    /// How the result of such a tool begins that has the user's words.
    ANSWERED =
        r"(?i)^\s*(?:user has (?:answered|approved|rejected|declined)|your questions? (?:have|has) been answered",
        r"|user (?:answered|approved|rejected|declined|said)|the user (?:approved|rejected|declined|answered|said|provided))\b",
);
pattern!(
    /// What stands in front of the user's words in the result of a call that was refused.
    REFUSED = r"(?i)the user (?:said|provided the following reason[^:\n]*):\s*"
);

pattern!(
    /// An item of a list with numbers.
    ITEM = r"^\d{1,2}[.)] "
);
pattern!(
    /// A row of a table, or of a picture of a screen.
    ROW = r"^\s*[|\x{2500}-\x{259F}]"
);
pattern!(
    /// An item of a list.
    LISTED = r"^\s*(?:[-*+•]|\d{1,3}[.)])\s"
);

/// Most characters of a paragraph that stays whole.
const LONGEST: usize = 400;
/// Most characters of the lines of a block that stand together: a longer one is needed as a whole less often, and has less
/// room.
const BLOCK: usize = 200;

/// Words of small talk.
const SMALL: &str = "no nope yes yep yeah ok okay k thanks thank thx you ty great good perfect better best nice cool sure \
    right exactly agreed fine well done awesome excellent wonderful lovely correct that that's thats is it it's its this \
    was very so much looks lgtm hello hi hey please continue go on ahead proceed again all to me now then same next and a \
    for the indeed cheers acknowledged noted understood got will do continuing proceeding moving with plan sounds";

/// Whether a sentence has only words without information.
pub fn is_small_talk(sentence: &str) -> bool {
    static KNOWN: std::sync::LazyLock<Set<&str>> = std::sync::LazyLock::new(|| SMALL.split_whitespace().collect());
    let mut number = 0;
    let is_known = stretches(sentence, |c| matches!(c, '\'' | '’')).all(|one| {
        // The lower case of a word is cut again: that of one letter has a mark, which ends a word.
        stretches(&one.to_lowercase().replace('’', "'"), |c| c == '\'').all(|word| {
            let word = word.trim_start_matches('\'');
            number += usize::from(!word.is_empty());
            number <= 6 && (word.is_empty() || KNOWN.contains(word))
        })
    });
    is_known && number > 0
}

/// The paragraphs of the user; those of the newest request rank highest, unless `after` has a newer one.
///
/// Small talk is left out unless it is the whole newest request, or the whole answer to a question; then the line includes
/// the question.
pub fn requests(parts: &[&Part], after: &[&Part], size: i64) -> Vec<Line> {
    let is_users = |part: &&Part| part.kind == Kind::User;
    let [first, last] = [parts.iter().position(is_users), parts.iter().rposition(is_users)];
    let newer = after.iter().any(is_users);
    let (mut seen, mut question, mut found) = (Set::default(), "", Vec::new());
    for (place, part) in parts.iter().enumerate() {
        poll_now();
        if part.kind == Kind::Assistant {
            question = tail(part.text.trim_end_matches(is_space), 400);
        }
        if part.kind != Kind::User {
            continue;
        }
        let newest = match last == Some(place) {
            false => 0.0,
            true if newer => 0.25,
            true => 3.0,
        };
        let printed = is_output(&part.text);
        for (number, (one, is_block)) in asked(&part.text, question, newest > 1.0).into_iter().enumerate() {
            if !seen.insert(one.clone()) {
                continue;
            }
            let mut does = if printed || is_block { Said::of(&one) } else { Said::with_limit(&one) };
            does.rule &= !is_block;
            let more = 0.2 * float(part.at) / float(size) + 0.5 * one_if(number == 0 && first == Some(place));
            let rank = rank_of(&one, &does, number, more, newest * 20.0 / (20.0 + float(number)));
            let section = if does.binds() && !is_opened(&one) { Section::Rules } else { Section::Requests };
            let mut line = Line::new(section, one, rank, part.at, number);
            line.does = Some(Rc::new(does));
            found.push(line);
        }
    }
    found
}

/// Worth of a token of the user's paragraph with a number in its message; a rule far behind is one too.
///
/// `more` fades with the number, and what the `newest` request has more does not.
pub fn rank_of(one: &str, does: &Said, number: usize, more: f64, newest: f64) -> f64 {
    let fades = if does.rule {
        32.0
    } else if does.limit {
        16.0
    } else {
        8.0
    };
    let more = (0.3 * one_if(MUST.is_match(one)) + more) * (0.1 + 0.9 * does.sure());
    let rank = (more + does.worth()) * fades / (fades + float(number)) + newest;
    let fragment = || number > 0 && (length(one) < 20 || one.ends_with(':') || is_code(one));
    rank * if fragment() || LOGGED.is_match(one) { 0.4 } else { 1.0 }
}

/// The sentences of each paragraph of a text, in pieces of some hundred characters, without list marks and bold.
///
/// The items of a list below a rule stand in its paragraph: "Never do this:" alone says nothing, and its items without it
/// the opposite. The next item of the list that the rule itself is in is not below it.
fn paragraphs(lines: Vec<(String, bool)>) -> Vec<Paragraph> {
    let mut found: Vec<Paragraph> = Vec::new();
    let mut rule: Option<Opening> = None;
    for (raw, is_block) in lines {
        if is_block {
            rule = None;
            found.push(Paragraph { sentences: vec![raw], is_block });
            continue;
        }
        if let Some(above) = rule.as_ref().filter(|above| LISTED.is_match(&raw) && above.holds(&raw)) {
            if let Some(item) = bare(&raw, LONGEST) {
                add_item(&mut found, &above.text, &item);
            }
            continue;
        }
        rule = None;
        let (mut piece, mut size) = (Vec::new(), 0);
        let parts = if length(&raw) > 60 { split(&raw) } else { vec![raw.as_str()] };
        for plain in parts.into_iter().filter_map(|part| bare(part, 500)) {
            if !piece.is_empty() && size + length(&plain) > LONGEST {
                found.push(std::mem::take(&mut piece).into());
                size = 0;
            }
            size += length(&plain) + 1;
            piece.push(plain);
        }
        if !piece.is_empty() {
            rule = Opening::of(&raw, &piece);
            found.push(piece.into());
        }
    }
    found
}

/// A paragraph of a text.
struct Paragraph {
    /// Its sentences, clean.
    sentences: Vec<String>,
    /// Whether it is a block: code, a table or a picture of a screen.
    is_block: bool,
}

impl From<Vec<String>> for Paragraph {
    fn from(sentences: Vec<String>) -> Self {
        Self { sentences, is_block: false }
    }
}

/// Lines with those of a block as one of up to [`BLOCK`] characters, as one of them alone says nothing; each with whether it is
/// one. Lines of words that are a rule stay apart.
fn with_blocks(lines: Vec<String>) -> Vec<(String, bool)> {
    let is_fence = |raw: &String| raw.trim_start_matches(is_space).starts_with("```");
    let fences = lines.iter().filter(|raw| is_fence(raw)).count();
    let (mut out, mut seen, mut inside, mut goes_on) = (Vec::<(String, bool)>::new(), 0, false, false);
    for raw in lines {
        if is_fence(&raw) {
            seen += 1;
            (inside, goes_on) = (!inside && seen < fences, false); // one without its pair opens nothing
            continue;
        }
        let line = match ROW.is_match(&raw) {
            true => bare(&raw, LONGEST).or_else(|| Some(String::new())),
            false if inside => Some(clean(&raw, LONGEST)).filter(|line| is_code(line) || !Said::of(line).rule),
            false => None,
        };
        let Some(line) = line else {
            goes_on = false;
            out.push((raw, false));
            continue;
        };
        if line.is_empty() {
            continue;
        }
        let held = out.last_mut().filter(|(block, _)| goes_on && length(block) + length(&line) < BLOCK);
        if let Some((block, _)) = held {
            block.extend([" ", &line]);
        } else {
            out.push((line, true));
        }
        goes_on = true;
    }
    out
}

/// A rule that opens the list below it.
struct Opening {
    /// What stands in front of the items: the last sentence, or all where that is no rule by itself.
    text: String,
    /// The indentation of a list's item.
    indent: Option<usize>,
}

impl Opening {
    fn of(raw: &str, piece: &[String]) -> Option<Self> {
        let whole = Some(joined(piece)).filter(|text| is_opened(text) && Said::of(text).rule)?;
        let last = split(&whole).pop().filter(|last| Said::of(last).rule).map(str::to_owned);
        Some(Self { text: last.unwrap_or(whole), indent: LISTED.is_match(raw).then(|| indent(raw)) })
    }

    /// Whether an item stands below it, not beside it.
    fn holds(&self, item: &str) -> bool {
        self.indent.is_none_or(|own| indent(item) > own)
    }
}

/// The characters of white space that a line begins with.
fn indent(line: &str) -> usize {
    line.chars().take_while(|c| is_space(*c)).count()
}

/// Adds an item to the last paragraph, or to a further one that begins with the same rule.
fn add_item(found: &mut Vec<Paragraph>, rule: &str, item: &str) {
    match found.last_mut().and_then(|piece| piece.sentences.last_mut()) {
        Some(last) if is_opened(last) || length(last) + length(item) <= LONGEST => {
            last.push_str(if is_opened(last) { " " } else { "; " });
            last.push_str(item);
        }
        _ => found.push(vec![format!("{rule} {item}")].into()),
    }
}

/// Whether a line only opens what comes below it.
pub fn is_opened(line: &str) -> bool {
    line.ends_with([':', '：'])
}

/// A paragraph without sentences of small talk, and without asides unless it has nothing else.
fn telling(piece: &[String]) -> String {
    let kept: Vec<&str> = piece.iter().flat_map(|one| split(one)).filter(|one| !is_small_talk(one)).collect();
    if kept.len() < 2 {
        return joined(&kept);
    }
    let told: Vec<&str> = kept.iter().filter(|one| !is_aside(one)).copied().collect();
    joined(if told.is_empty() { &kept } else { &told })
}

/// Sentences as one text; behind a full-width stop there is no space.
fn joined<S: AsRef<str>>(sentences: &[S]) -> String {
    let mut text = String::new();
    for one in sentences {
        if !text.is_empty() && !text.ends_with(['。', '！', '？']) {
            text.push(' ');
        }
        text.push_str(one.as_ref());
    }
    text
}

/// The paragraphs of a user's text without small talk, and whether each is a block.
fn asked(text: &str, question: &str, last: bool) -> Vec<(String, bool)> {
    let found = paragraphs(with_blocks(unwrapped(text)));
    let told = |one: &Paragraph| if one.is_block { one.sentences[0].clone() } else { telling(&one.sentences) };
    let kept = found.iter().map(|one| (told(one), one.is_block)).filter(|(line, _)| !line.is_empty());
    let kept: Vec<(String, bool)> = kept.collect();
    if !kept.is_empty() || found.is_empty() {
        return kept;
    }
    let asked = if question.ends_with('?') { sentences(&without_code(question), 300).pop() } else { None };
    match asked.as_deref().and_then(|asked| split(asked).pop()) {
        Some(asked) => vec![(format!("{} (asked: {asked})", found[0].sentences[0]), false)],
        None if last => found.iter().map(|one| (joined(&one.sentences), false)).collect(),
        None => Vec::new(),
    }
}

/// The user's words that arrived as results: answers to questions, approvals, and reasons of refusals.
pub fn answers(parts: &[&Part], calls: &Map<&str, &Part>, size: i64) -> Vec<Line> {
    let mut found = Vec::new();
    for part in parts.iter().filter(|part| part.kind == Kind::Result) {
        poll_now();
        // A page or a program may write that the user said so: by a tool that asks, and in a refusal, nobody else speaks.
        let name = calls.get(part.id.as_str()).map_or("", |call| call.name.as_str());
        let reason = part.is_refused().then(|| REFUSED.find(head(&part.text, 2_000))).flatten().map(|found| found.end);
        let approved = || PLANNED.is_match(name) && ANSWERED.is_match(head(&part.text, 200));
        if reason.is_some() || ASKING.is_match(name) || approved() {
            let text = clean(&part.text[reason.unwrap_or_default()..], LONGEST);
            if !text.is_empty() {
                let rank = 2.0 + 0.2 * float(part.at) / float(size);
                found.push(Line::new(Section::Requests, text, rank, part.at, 0));
            }
        }
    }
    found
}

/// The rules of the project, as a program put them in.
pub fn project(parts: &[&Part]) -> Vec<Line> {
    let (mut found, mut seen) = (Vec::new(), Set::default());
    for part in parts.iter().filter(|part| part.kind == Kind::Project) {
        poll_now();
        let lines = unwrapped(&without_code(&part.text)).into_iter().map(|raw| (raw, false)).collect();
        for (number, piece) in paragraphs(lines).iter().enumerate() {
            let one = joined(&piece.sentences);
            let does = Said::of(&one);
            if (does.rule || does.asks || MUST.is_match(&one)) && seen.insert(one.clone()) {
                let rank = project_rank(&does) * 64.0 / (64.0 + float(number));
                found.push(Line::new(Section::Project, one, rank, part.at, number));
            }
        }
    }
    found
}

/// Worth of a token of a project's rule.
pub fn project_rank(does: &Said) -> f64 {
    0.6 * does.worth()
}

/// The conclusions of the assistant. Its last words may announce work; they are trusted only if no work follows, and so are
/// numbered items below an announcement.
pub fn decisions(parts: &[&Part], after: &[&Part], size: i64) -> Vec<Line> {
    let last = parts.iter().filter(|part| part.kind == Kind::Assistant).map(|part| part.at).max().unwrap_or(-1);
    let ahead = after.iter().any(|part| part.is_assistants());
    let chats = is_chat(parts);
    let (mut seen, mut found) = (Set::default(), Vec::new());
    for (place, part) in parts.iter().enumerate().filter(|(_, part)| part.kind == Kind::Assistant) {
        poll_now();
        let ends = parts.get(place + 1).is_none_or(|behind| behind.kind == Kind::User);
        let mut steps = false;
        for (number, one) in sentences(&without_code(&part.text), 300).into_iter().enumerate() {
            let is_item = ITEM.is_match(&one);
            if !is_item {
                steps = one.ends_with(':') && announces(&one);
            }
            if one.len() < LEAST || seen.contains(&one) || one.ends_with(':') || is_small_talk(&one) {
                continue;
            }
            seen.insert(one.clone());
            let marks = DECIDED.number(&one, 2);
            let filler = FILLER.is_match(&one);
            let rank = 0.25
                + 0.25 * if marks > 1 { 2.0 } else { one_if(marks > 0) }
                + 0.3 * float(part.at) / float(size)
                + 0.25 * one_if(ends);
            let behind = float(number);
            let left = if chats { left_of_worth(&one) } else { 1.0 };
            let rank = (rank - 0.3 * one_if(filler)).max(0.02) * 12.0 / (12.0 + behind) * left;
            let mut line = Line::new(Section::Decisions, one, rank, part.at, number);
            if marks == 0 && (filler || (steps && is_item)) {
                line.trust = if ahead && part.at == last { 0.05 } else { 0.4 };
            }
            found.push(line);
        }
    }
    found
}
