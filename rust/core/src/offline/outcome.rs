//! The outcome of a call, as its result states it.
//!
//! A call succeeded or failed only where a field of the message or an exit code says so. Otherwise there is what the
//! output shows, which is quoted.

use super::faults::faults;
use super::part::{Part, Stated};
use super::pattern::{head, length, pattern, tail};
use super::text::clean;

pattern!(
    /// A line in which an agent states a command's exit code.
    pub(super) EXIT = r"(?im)^(?:exit (?:code|status):? ?|(?:exit|rc)[:=] ?|<(?:returncode|return_code|exit_?code)>|command executed .*\bexit code: ",
    r"|[\[<]?(?:(?:(?:the )?(?:process|command|program)|shellid: ?\w+) )?(?:exited|completed|finished|failed|terminated)",
    r" with (?:exit )?(?:code|status):? )(-?[0-9]{1,10})(?:</\w+>)?[.\]>]*\r?$",
);
pattern!(
    pub(super) TESTS = r"\b\d+ (?:pass(?:ed|ing)?|fail(?:ed|ing)?|errors?|problems?|issues?|tests?)\b",
    r"|^test result:|^Tests:|^FAIL\b",
);
pattern!(
    /// Words of every line that [`TESTS`] matches: found without a look at the limits of words.
    TEST_WORDS = r" (?:pass|fail|error|problem|issue|test)|test result:|Tests:|FAIL"
);
pattern!(FAILING = r"\b[1-9]\d* (?:fail(?:ed|ing)?|errors?)\b|^test result: FAILED|^FAIL\b");

pattern!(
    PASSING = r"\b[1-9]\d* pass(?:ed|ing)?\b|\b0 (?:fail(?:ed|ing)?|errors?|problems?|issues?)\b|^test result: ok"
);

pattern!(
    /// The start of a result of a call that the user did not allow.
    REFUSED = r"(?i)^\s*(?:the user doesn['’]t want to (?:proceed|take this action)|the tool use was rejected|(?:the )?user (?:rejected|declined|denied|chose to))\b"
);
/// The outcome of a call that the user did not allow.
const NOT_ALLOWED: &str = "refused by the user";

/// Characters at each end of a result in which an exit code is looked for: agents write a few lines around the output.
const MARGIN: usize = 600;
/// Lines before the last one about tests in which its counts may stand: runners end with a few lines of totals.
const TOTALS: usize = 5;
/// Before the reason why the outcome of a command is not known.
pub const NOT_KNOWN: &str = "not known, ";
/// Before the words that a result of unknown outcome shows.
pub const OUTPUT_SHOWS: &str = "output shows: ";

impl Part {
    /// Whether a result says that its call failed, or counts failed tests.
    pub fn failed(&self) -> bool {
        self.says_failed() || self.stated().tests_fail == Some(true)
    }

    /// Whether a result says so of its call, or its output has failed tests or an error line, behind the totals of passed ones.
    pub fn shows_failure(&self) -> bool {
        self.failed() || !self.logged().map_or(self.faults(), |(_, behind)| behind).is_empty()
    }

    /// Whether a result says that its call succeeded, and neither the command hides its exit code nor the output shows a
    /// failure.
    pub fn is_ok(&self) -> bool {
        self.says_ok() && self.hidden.is_none() && !self.shows_failure()
    }

    /// How the call of a result ended: `ok`, `failed` or the exit code where it is stated, why it is not known where the
    /// command hides it and no failure shows, and what the output shows.
    pub fn ending(&self) -> String {
        let Stated { code, tests, tests_fail, .. } = self.stated();
        let is_ok = self.is_ok();
        let hidden = self.hidden.filter(|_| self.says_ok() && !self.shows_failure());
        let word = match code {
            _ if hidden.is_some() => format!("{NOT_KNOWN}{}", hidden.unwrap_or_default()),
            Some(code) if !is_zero(code) || !(is_ok || self.is_error == Some(true)) => format!("exit {code}"),
            _ if self.is_refused() => NOT_ALLOWED.to_owned(),
            _ if self.says_failed() => "failed".to_owned(),
            _ if is_ok => "ok".to_owned(),
            _ => String::new(),
        };
        let is_known = is_ok || self.says_failed();
        let lines = self.logged().map_or(self.faults(), |(_, behind)| behind);
        let fault = lines.iter().find(|line| !line.starts_with("Traceback (")).or(lines.first());
        let fault = fault.filter(|_| !is_known && *tests_fail != Some(true)).map(|line| clean(line, 100));
        let quoted = fault.into_iter().chain(tests.clone()).collect::<Vec<_>>().join("; ");
        let introduced = if is_known || quoted.is_empty() { quoted } else { format!("{OUTPUT_SHOWS}{quoted}") };
        [word, introduced].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("; ")
    }

    /// Whether the user did not allow the call: nothing went wrong.
    pub fn is_refused(&self) -> bool {
        self.is_error == Some(true) && REFUSED.is_match(&self.text)
    }

    fn says_failed(&self) -> bool {
        self.is_error == Some(true) || self.stated().code.as_deref().is_some_and(|code| !is_zero(code))
    }

    fn says_ok(&self) -> bool {
        !self.says_failed() && (self.is_error == Some(false) || self.stated().code.is_some())
    }

    /// The error lines of a result whose tests passed: those that the tests logged, and those behind their totals.
    ///
    /// None if no tests passed.
    pub fn logged(&self) -> Option<(Vec<&String>, &[String])> {
        let Stated { tests_fail: Some(false), behind, .. } = self.stated() else { return None };
        Some((self.faults().iter().filter(|line| !behind.contains(line)).collect(), behind))
    }

    fn stated(&self) -> &Stated {
        self.stated.get_or_init(|| {
            let text = if length(&self.text) > 6_000 {
                [head(&self.text, 2_000), "\n", tail(&self.text, 4_000)].concat().into()
            } else {
                std::borrow::Cow::Borrowed(self.text.as_str())
            };
            let (mut tests, mut tests_fail, end) = tests_in(&text);
            let code = exit_code(&self.codes, &text);
            let is_sure = self.hidden.is_none() && (self.is_error == Some(false) || code.is_some());
            // Several suites may have run: the last one's totals say nothing of the others.
            if tests_fail == Some(false)
                && !is_sure
                && let Some(failing) = failing_in(&text[..end])
            {
                tests = tests.map(|last| format!("{failing}; {last}"));
                tests_fail = Some(true);
            }
            let behind = if tests_fail == Some(false) { faults(&text[end..]) } else { Vec::new() };
            Stated { code, tests, tests_fail, behind }
        })
    }
}

/// The exit code that a result states; of several, the first that is not 0.
fn exit_code(fields: &[i64], text: &str) -> Option<String> {
    let ends = if length(text) > 2 * MARGIN { vec![head(text, MARGIN), tail(text, MARGIN)] } else { vec![text] };
    let lines = ends.into_iter().flat_map(|end| EXIT.all_groups(end)).map(|found| found.text(1).to_owned());
    let mut codes = fields.iter().map(i64::to_string).chain(lines).peekable();
    let first = codes.peek().cloned();
    codes.find(|code| !is_zero(code)).or(first)
}

fn is_zero(code: &str) -> bool {
    code.trim_start_matches('-').bytes().all(|digit| digit == b'0')
}

/// The last line that counts failed tests.
fn failing_in(text: &str) -> Option<String> {
    let last = text.split('\n').rev().find(|line| TESTS.is_match(line) && FAILING.is_match(line));
    last.map(|line| clean(line, 100))
}

/// The last line that reports the result of tests, whether it counts failures, and where it ends. Behind the line before it
/// that counts some if it does not itself.
fn tests_in(text: &str) -> (Option<String>, Option<bool>, usize) {
    let (mut last, mut searched): (Option<std::ops::Range<usize>>, usize) = (None, text.len());
    for word in TEST_WORDS.find_all(text).into_iter().rev() {
        if word.start >= searched {
            continue;
        }
        let start = text[..word.start].rfind('\n').map_or(0, |at| at + 1);
        let end = text[start..].find('\n').map_or(text.len(), |at| start + at);
        let line = &text[start..end];
        searched = start;
        if !TESTS.is_match(line) {
            continue;
        }
        let fails = if FAILING.is_match(line) { Some(true) } else { PASSING.is_match(line).then_some(false) };
        let Some(below) = last.clone() else {
            if fails.is_some() {
                return (Some(clean(line, 100)), fails, end);
            }
            last = Some(start..end);
            continue;
        };
        if text[start..below.start].matches('\n').count() > TOTALS {
            break;
        }
        if fails.is_some() {
            return (Some(format!("{}; {}", clean(line, 100), clean(&text[below.clone()], 100))), fails, below.end);
        }
    }
    (last.map(|line| clean(&text[line], 100)), None, text.len())
}
