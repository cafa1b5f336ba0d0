//! The summary: ranks candidate lines and names, and renders the best.

use trimtab_tokens::cancel::poll_now;

use super::choose::{Count, ROOT, fitted};
use super::earlier::{Earlier, earlier, still_holds, update};
use super::errors::errors;
use super::files::{Done, files, folders};
use super::language::{Language, READ};
use super::line::{Candidate, Line, Section, float};
use super::names::{Sort, Term, Terms, chance, place, quoted};
use super::open_work::open_work;
use super::ordered::Ordered;
use super::part::{Kind, Part};
use super::pattern::{head, is_space, length, pattern};
use super::renamed::{Renamed, outdate, without_substitutions};
use super::replaced::relate;
use super::retracted::reconcile;
use super::statements::{answers, decisions, project, requests};
use super::text::{clean, is_code, sentences, split, without_code};
use super::tool_runs::{EDITS, WRITES, commands, tell_apart};
use super::words::{Map, Set, stretches};
use super::worth::{by_length, stands_alone, without_kind};
use crate::error::Error;
use crate::text::with_commas;

pattern!(FILE = r"\w\.\w+$");

/// Value of a name that surely occurs again, relative to a token of a request.
const NAME: f64 = 5.0;
/// Least chance that a file comes back which was changed: what was done is known, whoever says its name again.
const CHANGED: f64 = 0.6;
/// Limit from which a paragraph is kept whole or left out.
const IN_PARTS: i64 = 1_000;
/// Limit up to which a label that only says of what kind a statement is goes.
const TERSE: i64 = 600;
/// Words of instructions that carry no topic.
const COMMON: [&str; 15] = [
    "that", "this", "with", "from", "have", "what", "when", "which", "should", "would", "about", "into", "keep",
    "focus", "summary",
];

/// Messages to be summarized, and how.
pub struct Zone {
    /// The parts of the zone's messages, oldest first.
    pub parts: Vec<Part>,
    /// Number of the zone's messages; the positions of its parts are smaller.
    pub size: usize,
    /// The parts of the messages after the zone; their positions begin at 0 as well.
    pub after: Vec<Part>,
    /// The summary that the zone starts with; empty for none.
    pub previous: String,
    /// The caller's instructions for the summary; empty for none.
    pub instructions: String,
}

/// Requests, decisions, files, commands, errors, names and open items of a zone, by rank, in at most `limit` tokens by
/// `count`. Deterministic.
///
/// Extracts sentences, lines and names and ranks them by the evidence that they will be needed again: late, in several
/// messages, in the user's text, in a call's arguments, in an error, in the instructions. An earlier summary is updated.
/// The messages after the zone resolve failures that succeed there, close open items that they continue, and lower the rank
/// of statements that they retract, by a heuristic on words. It is not empty where there is a message and a character
/// fits.
///
/// # Errors
///
/// Errors of `count`.
pub fn summary(mut zone: Zone, limit: i64, count: &mut Count<'_>) -> Result<String, Error> {
    if limit < 1 {
        return Ok(String::new());
    }
    let size = i64::try_from(zone.size.max(1)).unwrap_or(i64::MAX);
    for part in &mut zone.after {
        part.at += size;
    }
    let mut before = earlier(&zone.previous);
    let known: Vec<&Part> = zone.parts.iter().filter(|part| !repeats(part, &zone.previous)).collect();
    let after: Vec<&Part> = zone.after.iter().collect();
    let whole: Vec<&Part> = known.iter().chain(&after).copied().collect();
    let spoken: Vec<&Part> = whole.iter().filter(|part| part.is_spoken()).copied().collect();
    tell_apart(&whole, &before.lines);
    let renamed = Renamed::of(&whole);
    let new = lines_of(&known, &after, &whole, &before.lines, size);
    update(&mut before, &new, &whole);
    let held = before.lines.iter().filter(|line| still_holds(line, &whole)).cloned();
    let mut lines: Vec<Line> = held.chain(new).collect();
    let mut later = requests(&after, &[], size);
    let wishes = later.len();
    later.extend(decisions(&after, &[], size));
    reconcile(&mut lines, &mut later, &spoken);
    relate(&mut lines, &mut later[..wishes]);
    outdate(&mut lines, &renamed);
    let mut terms = gathered(&zone, &known, &after, &spoken, &before);
    for line in lines.iter().filter(|line| line.section == Section::Errors) {
        terms.mark(&line.text, place::FAILED);
    }
    terms.settle(&folders(&known));
    let mut candidates = from_lines(&lines, &mut terms, size, &zone.instructions, limit);
    let gone = gone(&lines, &candidates, &mut terms);
    let listed = from_terms(&mut terms, &known, &before, size, &renamed).into_iter();
    let stays =
        |one: &Candidate| one.section != Section::Identifiers || !one.names.iter().any(|name| gone.contains(name));
    candidates.extend(listed.filter(stays));
    let is_wordless = candidates.is_empty();
    let mut words = String::new();
    for part in whole.iter().filter(|part| part.kind == Kind::User) {
        if words.len() >= 4 * READ {
            break;
        }
        words.push_str(head(&part.text, READ));
        words.push('\n');
    }
    words.push_str(head(&zone.previous, READ));
    let language = Language::of(&words, &zone.previous);
    let text = fitted(candidates, limit, count, language)?;
    let text = if text.is_empty() { tally(&known, limit, count)? } else { text };
    if text.is_empty() && zone.size > 0 { number_of(size, is_wordless, limit, count) } else { Ok(text) }
}

/// The number of messages, within the limit: the fallback without candidates and calls, and for a limit of a few tokens.
fn number_of(size: i64, is_wordless: bool, limit: i64, count: &mut Count<'_>) -> Result<String, Error> {
    let number = format!("- {} message{}", with_commas(size.unsigned_abs()), if size == 1 { "" } else { "s" });
    let wordless = is_wordless.then(|| format!("{number} without words"));
    for text in wordless.into_iter().chain([number, "…".to_owned(), ".".to_owned()]) {
        if count(&text)? <= limit {
            return Ok(text);
        }
    }
    Ok(String::new())
}

/// The number of calls of each tool, within the limit: the fallback without candidates.
fn tally(known: &[&Part], limit: i64, count: &mut Count<'_>) -> Result<String, Error> {
    let mut times: Ordered<u64> = Ordered::default();
    for part in known.iter().filter(|part| part.kind == Kind::Call) {
        *times.entry(&clean(&part.name, 60), || 0) += 1;
    }
    let total: u64 = times.iter().map(|(_, times)| times).sum();
    let mut calls: Vec<(&str, u64)> = times.iter().map(|(name, times)| (name, *times)).collect();
    calls.sort_by_key(|(_, times)| std::cmp::Reverse(*times));
    let named = calls.iter().filter(|(name, _)| !name.is_empty()).take(20);
    let words: Vec<String> = named.map(|(name, times)| format!("{name} {}", with_commas(*times))).collect();
    for shown in (1..=words.len()).rev() {
        let line = format!("## Commands\n- {} tool calls: {}", with_commas(total), words[..shown].join(", "));
        if count(&line)? <= limit {
            return Ok(line);
        }
    }
    Ok(String::new())
}

/// Whether a part is the message with the earlier summary.
fn repeats(part: &Part, previous: &str) -> bool {
    if previous.is_empty() || matches!(part.kind, Kind::Result | Kind::Call) || part.at > 1 {
        return false;
    }
    let held: Set<&str> = stretches(previous, |_| false).collect();
    let again: Set<&str> = stretches(&part.text, |_| false).filter(|word| held.contains(word)).collect();
    held.len() > 3 && float(again.len()) >= 0.9 * float(held.len())
}

fn gathered(zone: &Zone, known: &[&Part], after: &[&Part], spoken: &[&Part], before: &Earlier) -> Terms {
    let mut terms = Terms::new(quoted(spoken.iter().map(|part| part.text.as_str())));
    terms.note(&before.names, -1, place::EARLIER);
    let paths: Vec<&str> = before.files.iter().map(|(path, _)| path.as_str()).collect();
    terms.note(&paths.join("\n"), -1, place::EARLIER);
    for part in known {
        poll_now();
        let writes = || EDITS.is_match(&part.name) || WRITES.is_match(&part.name);
        let places = match part.kind {
            Kind::User => place::USER,
            Kind::Assistant => place::ASSISTANT,
            Kind::Call if writes() => place::CALLED | place::WROTE,
            Kind::Call => place::CALLED,
            Kind::Earlier => place::EARLIER,
            Kind::Result | Kind::Note | Kind::Project => 0,
        };
        terms.note(&without_substitutions(part), part.at, places);
    }
    for part in after {
        poll_now();
        terms.mark_after(&part.name);
        terms.mark_after(&without_substitutions(part));
    }
    terms.mark(&zone.instructions, place::ASKED);
    terms
}

fn lines_of(known: &[&Part], after: &[&Part], whole: &[&Part], before: &[Line], size: i64) -> Vec<Line> {
    let by_id = |kind: Kind| -> Map<&str, &Part> {
        whole.iter().filter(|part| part.kind == kind).map(|part| (part.id.as_str(), *part)).collect()
    };
    let calls = by_id(Kind::Call);
    let mut lines = requests(known, after, size);
    lines.extend(answers(known, &calls, size));
    lines.extend(project(known));
    lines.extend(decisions(known, after, size));
    lines.extend(commands(whole, &by_id(Kind::Result), size));
    lines.extend(errors(whole, &calls, size));
    lines.extend(open_work(known, after, before, size));
    for part in known.iter().filter(|part| part.kind == Kind::Earlier) {
        for (number, one) in sentences(&without_code(&part.text), 300).into_iter().enumerate() {
            let rank = if is_code(&one) { 0.2 } else { 0.5 };
            lines.push(Line::new(Section::Earlier, one, rank, part.at, number));
        }
    }
    lines
}

/// The names that only lines have which were replaced, or which stay behind the zone.
fn gone(lines: &[Line], told: &[Candidate], terms: &mut Terms) -> Set<usize> {
    let mut gone: Set<usize> = Set::default();
    for line in lines.iter().filter(|line| line.trust == 0.0) {
        gone.extend(terms.of(&clean(&line.text, 520)));
    }
    for name in told.iter().flat_map(|one| &one.names) {
        gone.remove(name);
    }
    gone
}

/// Lines as candidates; the names in them and what the instructions ask for raise them.
fn from_lines(lines: &[Line], terms: &mut Terms, size: i64, instructions: &str, limit: i64) -> Vec<Candidate> {
    let small = instructions.to_lowercase();
    let asked: Set<&str> = long_words(&small).filter(|word| !COMMON.contains(word)).collect();
    let mut found = Vec::new();
    for line in lines {
        let text = clean(&line.text, 520);
        if text.is_empty() || line.trust == 0.0 {
            continue;
        }
        let names = terms.of(&text);
        let mut worths: Vec<f64> = names.iter().map(|name| chance(terms.at(*name), size)).collect();
        worths.sort_by(f64::total_cmp);
        let worth: f64 = worths.iter().fold(0.0, |sum, one| sum + one);
        let mut rank = (line.rank + 0.5 * NAME * worth / (4.0 + float(length(&text)) / 4.0)) * line.trust;
        if !asked.is_empty() {
            let small = text.to_lowercase();
            let hits: Set<&str> = long_words(&small).filter(|word| asked.contains(word)).collect();
            rank *= [1.0, 2.0, 3.0, 4.0][hits.len().min(3)];
        }
        let is_terse = limit <= TERSE && line.section.is_users();
        let text = if is_terse { without_kind(&text).to_owned() } else { text };
        let candidate = |text: String, rank, names, is_part| {
            let at = (line.at, line.number);
            Candidate { section: line.section, group: "", text, rank, at, names, is_part }
        };
        let sentences = if line.section.is_users() {
            rank *= by_length(length(&text));
            if limit < IN_PARTS { split(&text) } else { Vec::new() }
        } else {
            Vec::new()
        };
        let alone = sentences.iter().filter(|one| sentences.len() > 1 && stands_alone(one));
        let parts: Vec<Candidate> =
            alone.map(|one| candidate((*one).to_owned(), 0.8 * rank, terms.of(one), true)).collect();
        found.push(candidate(text, rank, names, false));
        found.extend(parts);
    }
    found
}

/// The words of four characters or more.
fn long_words(text: &str) -> impl Iterator<Item = &str> {
    stretches(text, |_| false).filter(|word| length(word) >= 4)
}

/// Names as candidates, and the files with what was done to them.
fn from_terms(terms: &mut Terms, known: &[&Part], before: &Earlier, size: i64, renamed: &Renamed) -> Vec<Candidate> {
    let mut done: Ordered<Done> = Ordered::default();
    for (path, how) in before.files.iter().cloned().chain(files(known)) {
        let name = terms.path(&clean(path.trim_matches(is_space).trim_end_matches('/'), 160));
        if !name.is_empty() && !name.contains(' ') && name != terms.root {
            let strongest = done.entry(&name, || how);
            *strongest = how.min(*strongest);
        }
    }
    for (name, _) in done.iter() {
        terms.add_path(name);
    }
    let candidate = |section, group, text: &str, rank, at| Candidate {
        section,
        group,
        text: clean(text, 300),
        rank,
        at: (at, 0),
        names: Vec::new(),
        is_part: false,
    };
    let mut found = Vec::new();
    if !terms.root.is_empty() {
        found.push(candidate(Section::Files, ROOT, &terms.root, 1.5, 0));
    }
    for (name, term) in terms.iter().filter(|(_, term)| term.seen > 0 && !term.text.is_empty()) {
        let how = done.get(&term.text).copied();
        let is_path = term.sort == Sort::Path;
        if is_path && how.is_none() && !term.text.contains('/') && !FILE.is_match(&term.text) {
            continue;
        }
        let least = if how.is_some_and(|how| how != Done::Read) { CHANGED } else { 0.0 };
        let mut rank = NAME * chance(term, size).max(least) * worth_of(how) / (1.0 + float(length(&term.text)) / 4.0);
        if renamed.gone(&term.text, term.last) {
            rank *= 0.2;
        }
        let section = if how.is_some() || is_path { Section::Files } else { Section::Identifiers };
        if section == Section::Identifiers && term.places & place::AFTER != 0 {
            continue; // the messages behind the summary say it
        }
        let group = how.map_or_else(|| group_of(term), Done::name);
        let mut one = candidate(section, group, &term.text, rank, term.last);
        one.names.extend((one.text == term.text).then_some(name));
        found.push(one);
    }
    found
}

fn worth_of(how: Option<Done>) -> f64 {
    match how {
        Some(Done::Edited | Done::Created) => 2.5,
        Some(Done::Deleted) => 2.0,
        Some(Done::Read) => 1.4,
        None => 1.0,
    }
}

fn group_of(term: &Term) -> &'static str {
    match term.sort {
        Sort::Path => "mentioned",
        Sort::Name => "names",
        Sort::Id => "ids",
        Sort::Url => "urls",
        Sort::Version => "versions",
    }
}
