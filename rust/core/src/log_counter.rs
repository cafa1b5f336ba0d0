//! Counts logs of agents as reading them as objects counts them.

use crate::counter::Counter;
use crate::ledger::{Builder, Kind, Ledger, Whole};
use crate::log::{Format, read};
use crate::mended::mended;
use crate::session::ledger_of;
use crate::shape::Provider;
use crate::validate::{Options, Problem, validate};

/// The codes of a message at the end that is nothing but thinking.
const BARE: [&str; 2] = ["thinking_last", "reasoning_without_item"];

/// Repairs one after the other: blank texts go, then thinking behind which nothing is left, then white space at the end.
const ROUNDS: usize = 4;

/// Rules of a provider for its sessions.
#[derive(Clone, Copy, Debug)]
pub struct Rules {
    /// The provider.
    pub provider: Provider,
    /// What a log is repaired by.
    pub repair: Options,
    /// What its row is judged by.
    pub judge: Options,
}

/// Counts logs that need no repair, or those of which nearly all are: no blank text, no thinking or white space at the end.
#[derive(Clone, Debug)]
pub struct LogCounter {
    /// Counts the texts.
    pub counter: Counter,
    /// The format of all logs; `None` takes that of each one's first line.
    pub format: Option<Format>,
    /// The rules of each provider whose logs are counted.
    pub rules: Vec<Rules>,
}

impl LogCounter {
    /// The format of a log and the ledger of its next prompt; `None` where more has to be said of it than that, or more than
    /// the core has to look at it: a place that cannot be read, a problem, another repair, another format.
    ///
    /// # Examples
    ///
    /// ```
    /// use trimtab_core::counter::Counter;
    /// use trimtab_core::log::Format;
    /// use trimtab_core::log_counter::{LogCounter, Rules};
    /// use trimtab_core::validate::Options;
    /// use trimtab_tokens::Encoding;
    ///
    /// let (provider, repair) = (Format::ClaudeCode.provider(), Options::default());
    /// let rules = vec![Rules { provider, repair, judge: repair }];
    /// let logs = LogCounter { counter: Counter::from(Encoding::O200k), format: None, rules };
    /// let text = br#"{"type": "user", "uuid": "1", "message": {"role": "user", "content": "tea"}}"#;
    /// let (format, ledger) = logs.ledger(text).expect("nothing is wrong with it");
    /// assert_eq!((format, ledger.messages(), ledger.total()), (Format::ClaudeCode, 1, 1));
    /// assert!(logs.ledger(&text[1..]).is_none());
    /// ```
    #[must_use]
    pub fn ledger(&self, text: &[u8]) -> Option<(Format, Ledger)> {
        let (prompt, _) = read(text, None).ok()??; // an error is found again where the log is read as objects
        let format = Format::named(prompt.format).ok()?;
        let rules = self.rules.iter().find(|rules| rules.provider == format.provider())?;
        let is_plain = prompt.faults.is_empty() && prompt.messages() > 0;
        if !is_plain || self.format.is_some_and(|wanted| wanted != format) {
            return None;
        }
        let lines = prompt.lines(&[(0, text)], prompt.messages()).ok()??;
        let ledger = ledger_of(&lines, self.counter, rules.provider, prompt.messages()).ok()??;
        let ledger = self.repaired(lines, ledger, rules)?;
        let is_accepted = rules.judge == rules.repair || problems(&ledger, rules.provider, rules.judge).is_empty();
        is_accepted.then_some((format, ledger))
    }

    /// The ledger of messages that are JSON, a line each, behind the repairs that most logs need; `None` where they need others.
    fn repaired(&self, mut lines: String, mut ledger: Ledger, rules: &Rules) -> Option<Ledger> {
        for _ in 0..ROUNDS {
            let problems = problems(&ledger, rules.provider, rules.repair);
            if problems.is_empty() {
                return Some(ledger);
            }
            if has_separator(&lines) {
                return None;
            }
            if ends_bare(&ledger, &problems) {
                let none = Builder::<Whole<String>>::new(self.counter.prompt, 0).finish(&self.counter).ok()?;
                ledger = ledger.head(ledger.messages() - 1).extend(none).ok()?; // no text is counted again
                lines.truncate(lines.rfind('\n')?);
            } else {
                lines = mended(&lines, &problems)?;
                ledger = ledger_of(&lines, self.counter, rules.provider, ledger.messages()).ok()??;
            }
        }
        None
    }
}

/// Whether JSON has an escape of U+001C to U+001F: a text of these separators is blank to a repair, and to no rule.
fn has_separator(json: &str) -> bool {
    let mut digits = memchr::memmem::find_iter(json.as_bytes(), b"\\u001").map(|at| json.as_bytes().get(at + 5));
    digits.any(|digit| matches!(digit, Some(b'c'..=b'f' | b'C'..=b'F')))
}

fn problems(ledger: &Ledger, provider: Provider, rules: Options) -> Vec<Problem> {
    validate(ledger, provider, rules, None)
}

/// Whether all that is wrong is that the last message is nothing but thinking: the log was cut off there.
fn ends_bare(ledger: &Ledger, problems: &[Problem]) -> bool {
    let last = ledger.messages() - 1;
    let is_bare = |problem: &Problem| BARE.contains(&problem.code) && problem.index == last;
    last > 0 && problems.iter().all(is_bare) && ledger.rows_of(last).all(|row| ledger.kind[row] == Kind::Thinking)
}
