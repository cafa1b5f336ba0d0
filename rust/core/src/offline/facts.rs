//! The facts of a zone that a written summary must have: rules, requests, files written, open tasks, and tests.

use super::earlier::{INSIDE, earlier};
use super::files::{Done, files};
use super::limits::{is_output, limited};
use super::line::{Line, Section};
use super::open_work::tasks;
use super::part::{Kind, Part};
use super::pattern::{length, lines, pattern, strip};
use super::replaced::{WAS, relate};
use super::text::{clean, is_code, sentences, split};
use super::tool_runs::tell_apart;
use super::words::{Map, Set};
use super::worth::RULE;

pattern!(
    /// A word of [`RULE`] that says how something is.
    DESCRIBES = r"(?i)\b(?:(?:i|we) (?:don'?t|do not) (?:know|think|remember|see|mind|care)",
    r"|(?:it|they|this|that|which|there|he|she) (?:don'?t|do not|never|always))\b",
);
pattern!(
    /// A heading of rules, in the languages that a summary is written in.
    RULES = r"(?i)^#+\s*(?:the )?(?:(?:standing |user )?(?:rules|constraints)|regeln|r[eè]gles|reglas|regras|правила|规则|規則|ルール|규칙)",
);
pattern!(TESTS = r"(?i)\b(?:tests?|pytest|jest|vitest|tox|nox|rspec|ctest|phpunit|check|build|lint)\b");

/// Characters of a rule's paragraph.
const RULE_CHARS: usize = 500;

/// The facts of a zone.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// The paragraphs in which the user gives a rule, oldest first, those of an earlier summary in front.
    pub rules: Vec<String>,
    /// Those in which the user limits the work without a word of a rule, oldest first.
    pub limits: Vec<String>,
    /// The first words of the first request; empty if an earlier summary has it.
    pub request: String,
    /// The files that calls wrote and did not delete afterwards.
    pub written: Vec<String>,
    /// The tasks that are not done: text and status.
    pub tasks: Vec<(String, String)>,
    /// The last run of each test or build command: the command, and whether it shows a failure; None if it says nothing.
    pub tests: Vec<(String, Option<bool>)>,
}

impl Facts {
    /// The facts of the parts, of which `after` stay behind the summary.
    #[must_use]
    pub fn of(parts: &[Part], after: &[Part], previous: &str) -> Self {
        let zone: Vec<&Part> = parts.iter().collect();
        let whole: Vec<&Part> = parts.iter().chain(after).collect();
        let before = earlier(previous).lines;
        tell_apart(&whole, &before);
        let open = tasks(&whole, &before);
        let (rules, limits) = rules(&zone, after, previous);
        Self {
            rules,
            limits,
            request: if previous.is_empty() { request(&zone) } else { String::new() },
            written: written(&zone),
            tasks: open
                .iter()
                .filter(|(_, task)| !task.is_done() && !task.text.is_empty())
                .map(|(_, task)| (clean(&task.text, 160), task.status.replace('_', " ")))
                .collect(),
            tests: tests(&whole),
        }
    }
}

/// The rules that still hold, and the limits: none that a later statement replaces or takes back.
fn rules(parts: &[&Part], after: &[Part], previous: &str) -> (Vec<String>, Vec<String>) {
    let line = |at: i64, (number, text): (usize, String)| {
        let section = if is_rule(&text) { Section::Rules } else { Section::Requests };
        Line::new(section, text, 0.0, at, number)
    };
    let rule = |at: i64, text: String| Line::new(Section::Rules, text, 0.0, at, 0);
    let mut lines: Vec<Line> = (i64::MIN..).zip(of_earlier(previous)).map(|(at, text)| rule(at, text)).collect();
    let mut limiting = Set::default();
    for part in parts {
        match part.kind {
            Kind::User => {
                let from = lines.len();
                lines.extend(told(part).map(|one| line(part.at, one)));
                if !is_output(&part.text) {
                    let others = lines[from..].iter().filter(|line| line.section != Section::Rules);
                    limiting.extend(others.filter(|line| is_limit(&line.text)).map(|line| line.text.clone()));
                }
            }
            Kind::Earlier => lines.extend(of_earlier(&part.text).into_iter().map(|text| rule(part.at, text))),
            _ => {}
        }
    }
    let users = after.iter().filter(|part| part.kind == Kind::User);
    let behind = parts.last().map_or(0, |part| part.at + 1);
    let mut later: Vec<Line> = users.flat_map(|part| told(part).map(|one| line(behind + part.at, one))).collect();
    relate(&mut lines, &mut later);
    let kept: Set<&str> = later.iter().map(|line| line.text.as_str()).collect();
    let holds = |line: &Line| line.trust >= 0.5 && !line.text.starts_with(WAS) || kept.contains(line.text.as_str());
    let mut seen = Set::default();
    let hold = lines.into_iter().filter(holds).filter(|line| seen.insert(line.text.clone()));
    let (rules, others): (Vec<Line>, Vec<Line>) = hold.partition(|line| line.section == Section::Rules);
    let texts = |lines: Vec<Line>| lines.into_iter().map(|line| line.text);
    (texts(rules).collect(), texts(others).filter(|text| limiting.contains(text)).collect())
}

/// The user's sentences of a message, numbered.
fn told(part: &Part) -> impl Iterator<Item = (usize, String)> {
    sentences(&part.text, RULE_CHARS).into_iter().enumerate()
}

/// The rules of an earlier summary: the lines under its heading of rules, and others that give one.
fn of_earlier(text: &str) -> Vec<String> {
    let (mut under, mut found) = (false, Vec::new());
    for line in lines(text) {
        if line.starts_with('#') {
            under = RULES.is_match(line);
        } else if let Some(item) = strip(line).strip_prefix("- ") {
            let item = clean(item.strip_prefix(INSIDE).unwrap_or(item), RULE_CHARS);
            if under && !item.is_empty() || is_rule(&item) {
                found.push(item);
            }
        }
    }
    found
}

/// Whether a line of the user gives a rule, and does not only say how something is.
fn is_rule(line: &str) -> bool {
    length(line) >= 8
        && !line.ends_with('?')
        && (!is_code(line) || line.ends_with(['.', '!', '。', '！']))
        && split(line).iter().any(|one| RULE.is_match(&DESCRIBES.replaced(one, "")))
}

/// Whether a line of the user limits the work without a word of a rule, and is no code.
fn is_limit(line: &str) -> bool {
    line.len() >= 8 && !line.ends_with(['{', '}', ';', ',', '?', '？']) && limited(line)
}

fn request(parts: &[&Part]) -> String {
    let first = parts.iter().filter(|part| part.kind == Kind::User);
    first.flat_map(|part| sentences(&part.text, 300)).find(|one| length(one) >= 12 && !is_code(one)).unwrap_or_default()
}

fn written(parts: &[&Part]) -> Vec<String> {
    let (mut last, mut order): (Map<String, Done>, Vec<String>) = (Map::default(), Vec::new());
    for (path, done) in files(parts) {
        let path = clean(&path, 160);
        if done == Done::Read || path.is_empty() || path.contains(' ') {
            continue;
        }
        if last.insert(path.clone(), done).is_none() {
            order.push(path);
        }
    }
    order.retain(|path| last[path] != Done::Deleted);
    order
}

fn tests(parts: &[&Part]) -> Vec<(String, Option<bool>)> {
    let results: Map<&str, &Part> =
        parts.iter().filter(|part| part.kind == Kind::Result).map(|part| (part.id.as_str(), *part)).collect();
    let mut found: Vec<(String, Option<bool>)> = Vec::new();
    for call in parts.iter().filter(|part| part.kind == Kind::Call && TESTS.is_match(part.shell())) {
        let fails = results
            .get(call.id.as_str())
            .and_then(|result| if result.shows_failure() { Some(true) } else { result.is_ok().then_some(false) });
        let command = call.target().to_owned();
        found.retain(|(known, _)| *known != command);
        found.push((command, fails));
    }
    found
}
