//! Candidate lines of the summary for open items at the end of the zone that later messages do not resolve.

use trimtab_tokens::cancel::poll_now;

use super::announced::waits;
use super::arguments::Value;
use super::line::{Line, Section, float};
use super::ordered::Ordered;
use super::part::{HOSTED, Kind, Part, is_chat};
use super::pattern::pattern;
use super::statements::is_small_talk;
use super::text::{clean, sentences, split, without_code};
use super::words::{Map, Set, plain_words};
use super::worth::left_of_worth;

/// Prefix of the assistant's last words.
pub const LAST: &str = "last said: ";

pattern!(
    NEXT = r"(?i)\b(?:todo|fixme|next steps?|remaining|still (?:need|to|fail|open)|not yet|pending|follow[- ]?up|left to do",
    r"|would you like|do you want|shall i|should i|(?:am|is|are|m|re|still) waiting for)\b|^waiting for\b",
);

pattern!(
    /// A task with its number in an earlier summary.
    NUMBERED = r"^([a-z]+(?: [a-z]+)?) #([0-9]{1,9}): (.+)$"
);
pattern!(
    /// The number of a new task, in the result of the call that made it.
    GIVEN = r"#([0-9]{1,9})\b"
);
pattern!(LISTS = r"(?i)task|to_?do|plan");

/// Number of sentences at the end of the tail that are compared.
const MOST_TAIL: usize = 400;
/// Number of parts at the end of the zone that are searched.
const MOST_SPOKEN: usize = 40;

/// Listed tasks, calls without a result, an unanswered request and the last words, unless the tail continues them.
///
/// `before` are the lines of an earlier summary.
pub fn open_work(parts: &[&Part], after: &[&Part], before: &[Line], size: i64) -> Vec<Line> {
    let mut found = Vec::new();
    let mut add = |text: String, rank: f64, at: i64, number: usize| {
        found.push(Line::new(Section::OpenItems, text, rank, at, number));
    };
    let whole: Vec<&Part> = parts.iter().chain(after).copied().collect();
    for (place, (id, task)) in tasks(&whole, before).iter().enumerate() {
        if !task.is_done() {
            let number = if task.has_number { format!(" #{id}") } else { String::new() };
            add(format!("{}{number}: {}", task.status.replace('_', " "), clean(&task.text, 160)), 2.4, size, place);
        }
    }
    let results = whole.iter().filter(|part| part.kind == Kind::Result).map(|part| part.id.as_str());
    let answered: Set<&str> = results.chain([HOSTED]).collect();
    for part in parts.iter().filter(|part| part.kind == Kind::Call && !answered.contains(part.id.as_str())) {
        add(format!("no result yet: {} {}", part.name, clean(&part.text, 120)), 1.2, part.at, 0);
    }
    let spoken: Vec<&Part> = parts.iter().filter(|part| part.is_spoken()).copied().collect();
    if let Some(last) = spoken.last() {
        if !after.iter().any(|part| part.is_assistants()) {
            found.extend(last_words(last, parts));
        }
        found.extend(left(&spoken[spoken.len().saturating_sub(MOST_SPOKEN)..], after, size));
    }
    found
}

/// The last words, or the request that waits for an answer.
fn last_words(last: &Part, parts: &[&Part]) -> Vec<Line> {
    let ending = sentences(&last.text, 240);
    if last.kind == Kind::User {
        let same = |part: &&&Part| part.at == last.at && part.kind == last.kind && part.text == last.text;
        let first = parts.iter().position(|part| same(&part)).unwrap_or_default();
        let answered = parts[first..].iter().any(|part| part.is_assistants());
        let waits = ending.first().filter(|_| !answered);
        return waits
            .map(|one| Line::new(Section::OpenItems, format!("not answered yet: {one}"), 1.6, last.at, 0))
            .into_iter()
            .collect();
    }
    let says = |one: &str| !split(one).into_iter().all(is_small_talk);
    let long: Vec<&String> =
        ending.iter().filter(|one| one.chars().count() > 20 && !one.ends_with(':') && says(one)).collect();
    let lines = long.last().into_iter().chain(long.iter().take(2)).enumerate();
    let chats = is_chat(parts);
    let line = |(number, one): (usize, &&String)| {
        let left = if chats { left_of_worth(one) } else { 1.0 };
        let rank = (1.2 - 0.2 * float(number)) * left;
        Line::new(Section::OpenItems, format!("{LAST}{one}"), rank, last.at, number)
    };
    lines.map(line).collect()
}

/// Sentences of the assistant about open work.
///
/// Excludes answered questions, what somebody waited for when more was said after it, sentences that the tail repeats, and old
/// ones: three requests ago at the end of a turn, one request ago within a turn.
fn left(spoken: &[&Part], after: &[&Part], size: i64) -> Vec<Line> {
    let tail: Vec<Set<String>> = after
        .iter()
        .filter(|part| part.is_spoken())
        .flat_map(|part| sentences(&part.text, 300))
        .map(|one| words_of(&one))
        .collect();
    let tail = &tail[tail.len().saturating_sub(MOST_TAIL)..];
    let users: Vec<i64> =
        spoken.iter().chain(after).filter(|part| part.kind == Kind::User).map(|part| part.at).collect();
    let mut found = Vec::new();
    for (place, part) in spoken.iter().enumerate() {
        poll_now();
        let asked = users.iter().filter(|at| **at > part.at).count();
        let ends = spoken.get(place + 1).is_none_or(|behind| behind.kind == Kind::User);
        if part.kind != Kind::Assistant || asked > if ends { 2 } else { 0 } {
            continue;
        }
        let is_last = place + 1 == spoken.len() && tail.is_empty();
        for one in sentences(&without_code(&part.text), 240) {
            if !NEXT.is_match(&one) || one.ends_with(':') || (one.ends_with('?') && asked > 0) {
                continue;
            }
            if !is_last && waits(&one) {
                continue;
            }
            let words = words_of(&one);
            if !tail.iter().any(|again| 2 * words.intersection(again).count() > words.len()) {
                let rank = 0.5 + 0.5 * float(part.at) / float(size);
                found.push(Line::new(Section::OpenItems, one, rank, part.at, 0));
            }
        }
    }
    found
}

fn words_of(text: &str) -> Set<String> {
    plain_words(&text.to_lowercase(), 4, false).map(str::to_owned).collect()
}

/// A task of a list.
#[derive(Default)]
pub struct Task {
    pub text: String,
    pub status: String,
    /// Whether its id is the number that the agent calls it by.
    pub has_number: bool,
}

impl Task {
    pub fn is_done(&self) -> bool {
        matches!(self.status.as_str(), "completed" | "done" | "deleted" | "cancelled")
    }
}

/// Whether a line of an earlier summary is a task with its number: [`tasks`] goes on from it.
pub fn has_number(line: &Line) -> bool {
    line.section == Section::OpenItems && NUMBERED.is_match(&line.text)
}

/// The final task list, by id, which begins with the numbered tasks of an earlier summary.
pub fn tasks(parts: &[&Part], before: &[Line]) -> Ordered<Task> {
    let mut found: Ordered<Task> = Ordered::default();
    for line in before.iter().filter(|line| line.section == Section::OpenItems) {
        let Some(task) = NUMBERED.groups(&line.text) else { continue };
        let (text, status) = (task.text(3).to_owned(), task.text(1).replace(' ', "_"));
        *found.entry(task.text(2), Task::default) = Task { text, status, has_number: true };
    }
    let results: Map<&str, &str> = parts
        .iter()
        .filter(|part| part.kind == Kind::Result)
        .map(|part| (part.id.as_str(), part.text.as_str()))
        .collect();
    for part in parts.iter().filter(|part| part.kind == Kind::Call) {
        let arguments = &part.arguments;
        if let Some(listed) = arguments.get("todos").or_else(|| arguments.get("plan")).and_then(Value::list) {
            found.clear();
            for (at, one) in listed.iter().enumerate() {
                let Value::Map(one) = one else { continue };
                let field = |key: &str| one.get(key).filter(|value| value.says_something()).map(Value::words);
                let text = ["content", "step", "text"].into_iter().find_map(field).unwrap_or_default();
                let status = field("status").unwrap_or_else(|| "pending".to_owned());
                found.entry(&(at + 1).to_string(), || Task { text, status, has_number: false });
            }
        } else if let Some(subject) = arguments.text("subject").filter(|_| creates(part)) {
            let told = results.get(part.id.as_str()).and_then(|text| GIVEN.groups(text)).map(|found| found.text(1));
            let number = told.map_or_else(|| (found.len() + 1).to_string(), str::to_owned);
            let (text, status) = (subject.to_owned(), "pending".to_owned());
            *found.entry(&number, Task::default) = Task { text, status, has_number: told.is_some() };
        } else if let Some(status) = arguments.get("status").map(Value::words) {
            let task = arguments.words("taskId");
            if found.contains(&task) {
                found.entry(&task, Task::default).status = status;
            }
        }
    }
    found
}

/// Whether a call puts a task on the agent's list: a ticket has a subject and a description too.
fn creates(part: &Part) -> bool {
    LISTS.is_match(&part.name) && part.arguments.get("description").is_some()
}
