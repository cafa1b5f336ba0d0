//! The outcome of calls, and the last success of each command or edit.

use std::collections::{HashMap, HashSet, VecDeque};

use super::part::Part;
use super::pattern::{head, length, pattern, tail};
use super::text::clean;

pattern!(EXIT = r#"(?i)(?:exit(?:ed)?(?: with)?(?: code| status)?|returncode"?)[:=]? *(-?\d+)"#);
pattern!(
    TESTS = r"\b\d+ (?:passed|failed|errors?|passing|failing|problems?|issues?|tests?)\b",
    r"|^test result:|^Tests:|^FAIL\b",
);
pattern!(
    /// What every line has that [`TESTS`] matches: found without a look at what a word is.
    TEST_WORDS = r" (?:pass|fail|error|problem|issue|test)|test result:|Tests:|FAIL"
);
pattern!(FAILING = r"\b[1-9]\d* (?:failed|failing|errors?)\b|^test result: FAILED|^FAIL\b");

/// Most commands with the same words whose files are compared: sessions run few more between a failure and its fix.
const MOST_WIDE: usize = 40;

impl Part {
    /// How the call of a result ended, and whether it failed.
    pub fn outcome(&self) -> &(String, bool) {
        self.outcome.get_or_init(|| {
            let text = if length(&self.text) > 6_000 {
                [head(&self.text, 2_000), "\n", tail(&self.text, 4_000)].concat().into()
            } else {
                std::borrow::Cow::Borrowed(self.text.as_str())
            };
            let code = EXIT.groups(head(&text, 400)).map(|found| found.text(1).to_owned()).filter(|code| code != "0");
            let tests = tests_in(&text);
            let failed = self.failed || code.is_some() || tests.is_some_and(|line| FAILING.is_match(line));
            let words =
                code.map_or_else(|| if failed { "failed" } else { "ok" }.to_owned(), |code| format!("exit {code}"));
            let told = tests.map(|line| format!("{words}; {}", clean(line, 100)));
            (told.unwrap_or(words), failed)
        })
    }
}

/// The last line that reports the result of tests.
fn tests_in(text: &str) -> Option<&str> {
    let mut end = text.len();
    for word in TEST_WORDS.find_all(text).into_iter().rev() {
        if word.start < end {
            let start = text[..word.start].rfind('\n').map_or(0, |at| at + 1);
            let line = text[start..].split('\n').next().unwrap_or_default();
            if TESTS.is_match(line) {
                return Some(line);
            }
            end = start;
        }
    }
    None
}

/// The last success of each command or edit.
#[derive(Default)]
pub struct Endings {
    well: HashMap<String, i64>,
    files: HashSet<String>,
    wide: HashMap<String, VecDeque<(HashSet<String>, i64)>>,
}

impl Endings {
    /// Records a success.
    pub fn well(&mut self, key: &str, at: i64) {
        self.well.insert(key.to_owned(), at);
        let (words, about) = taken_apart(key);
        self.files.extend(about.iter().cloned());
        if about.len() > 1 {
            let known = self.wide.entry(words).or_default();
            if known.len() == MOST_WIDE {
                known.pop_front();
            }
            known.push_back((about, at));
        }
    }

    /// Removes a success.
    pub fn ill(&mut self, key: &str) {
        self.well.remove(key);
    }

    /// Whether a command with this file succeeded.
    pub fn about(&self, file: &str) -> bool {
        self.files.contains(file)
    }

    /// Whether a target succeeded after a position, or its command with these and more files did.
    pub fn since(&self, key: &str, at: i64) -> bool {
        if self.well.get(key).is_some_and(|last| *last > at) {
            return true;
        }
        let (words, about) = taken_apart(key);
        let holds =
            |(wide, last): &(HashSet<String>, i64)| about.len() < wide.len() && about.is_subset(wide) && *last > at;
        !about.is_empty() && self.wide.get(&words).is_some_and(|known| known.iter().any(holds))
    }
}

/// The words of a command without its files, and its files.
fn taken_apart(key: &str) -> (String, HashSet<String>) {
    let is_file = |word: &&str| word.contains('/') || word.chars().skip(1).any(|c| c == '.');
    let about = key.split(' ').filter(is_file).map(str::to_owned).collect();
    (key.split(' ').filter(|word| !is_file(word)).collect::<Vec<_>>().join(" "), about)
}
