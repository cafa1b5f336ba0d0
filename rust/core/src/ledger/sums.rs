//! Sums the tokens of a list while its messages arrive; only messages whose cost can still change are kept.

use std::ops::Range;

use super::overhead::{opposite, side};
use super::{Kind, Ledger, Role};
use crate::error::Error;
use crate::prompt::Form;

/// Rows that are summed together; a ledger of them takes 25 MB.
const ROWS: usize = if cfg!(any(test, fuzzing)) { 2 } else { 1 << 18 };

/// The result that messages are summed into.
pub trait Sum: Default + Send {
    /// Adds `messages` of a ledger, whose cost is final; its first `open` messages are added already.
    ///
    /// # Errors
    ///
    /// [`Error::Overflow`] if the sum exceeds its type.
    fn add(&mut self, ledger: &Ledger, open: usize, messages: Range<usize>) -> Result<(), Error>;

    /// Continues at the `nth` of the missing messages; the `added` messages behind it are summed already.
    fn go_on(&mut self, _nth: usize, _added: usize) {}

    /// Subtracts the thinking that was added.
    fn forget(&mut self);

    /// Subtracts all tokens that were added: the provider skips them.
    fn hide(&mut self);
}

/// Tokens of a list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Its messages.
    pub messages: usize,
    /// Tokens of messages beyond those of their rows.
    pub overhead: u64,
    /// Tokens of rows, by [`Role`] and [`Kind`].
    pub tokens: [[u64; Kind::COUNT]; Role::COUNT],
}

impl Totals {
    /// Those of a ledger.
    #[must_use]
    pub fn of(ledger: &Ledger) -> Self {
        let mut totals = Self::default();
        totals.include(ledger, 0..ledger.messages());
        totals
    }

    /// The number of messages, their tokens beyond their rows, and tokens of rows by role and kind.
    #[must_use]
    pub fn parts(&self) -> (usize, u64, Vec<Vec<u64>>) {
        (self.messages, self.overhead, self.tokens.iter().map(|of| of.to_vec()).collect())
    }

    fn include(&mut self, ledger: &Ledger, messages: Range<usize>) {
        self.messages += messages.len();
        for message in messages {
            self.overhead += u64::from(ledger.overhead[message]);
            for row in ledger.rows_of(message) {
                let of = &mut self.tokens[ledger.role[message] as usize][ledger.kind[row] as usize];
                *of += u64::from(ledger.tokens[row]);
            }
        }
    }
}

impl Sum for Totals {
    fn add(&mut self, ledger: &Ledger, _: usize, messages: Range<usize>) -> Result<(), Error> {
        self.include(ledger, messages);
        Ok(())
    }

    fn forget(&mut self) {
        self.tokens.iter_mut().for_each(|of| of[Kind::Thinking as usize] = 0);
    }

    fn hide(&mut self) {
        *self = Self { messages: self.messages, ..Self::default() };
    }
}

/// A list that is summed while its messages arrive.
#[derive(Clone, Debug, Default)]
pub struct Sums<S> {
    sum: S,
    /// Number of summed messages.
    messages: usize,
    /// Messages whose cost can still change, behind those with open calls.
    kept: Ledger,
    /// Number of kept messages that are summed already and have open calls.
    open: usize,
    /// Number of kept rows from which summing is worth its time.
    wanted: usize,
}

impl<S: Sum> Sums<S> {
    /// Number of messages so far.
    #[must_use]
    pub fn messages(&self) -> usize {
        self.messages + self.kept.messages() - self.open
    }

    /// Appends messages of the list.
    ///
    /// # Errors
    ///
    /// [`Error::Overflow`] for more rows than a column's type can number.
    pub fn take(&mut self, next: Ledger) -> Result<(), Error> {
        if next.hidden().is_some() {
            self.sum.hide(); // of the kept messages, those that are not summed yet are hidden when they are
        }
        if next.is_free() {
            return self.add_all(next);
        }
        self.kept.append(next)?;
        self.settle()
    }

    /// Sums the kept messages whose cost is final; the others stay, and those with open calls.
    ///
    /// Later messages change the cost of a message only within its turn, by results of its calls, and by a text of the
    /// user, which removes the thinking before it.
    fn settle(&mut self) -> Result<(), Error> {
        if size(&self.kept) < self.wanted.max(ROWS) {
            return Ok(());
        }
        let mut ledger = std::mem::take(&mut self.kept);
        ledger.finish_costs();
        self.forget(&ledger);
        let (start, stop) = (self.turn(&ledger), ledger.messages());
        self.add(&ledger, self.open..start)?;
        // A later call can still change the first message of a turn that has only texts.
        let last = if has_steps(&ledger, start) { stop } else { start + 1 };
        self.add(&ledger, last..stop)?;
        self.sum.go_on(start - self.open, stop - last);
        for message in 0..start {
            if let Some(open) = opened(&ledger, message, start) {
                self.kept.append(open)?;
            }
        }
        self.open = self.kept.messages();
        self.kept.append(ledger.between(start..last))?;
        self.wanted = ROWS + 2 * size(&self.kept); // otherwise each chunk would visit all open calls
        Ok(())
    }

    /// The sum, including the kept messages.
    ///
    /// # Errors
    ///
    /// [`Error::Overflow`] for a message of more than 4,294,967,295 tokens, if tokens of each message are wanted.
    pub fn end(mut self, empty: Ledger) -> Result<S, Error> {
        let mut kept = std::mem::take(&mut self.kept);
        kept.append(empty)?;
        self.add_all(kept)?;
        Ok(self.sum)
    }

    fn add_all(&mut self, mut ledger: Ledger) -> Result<(), Error> {
        ledger.finish_costs();
        self.forget(&ledger);
        let left = ledger.messages() - self.open;
        self.add(&ledger, self.open..ledger.messages())?;
        self.sum.go_on(left, 0);
        Ok(())
    }

    fn add(&mut self, ledger: &Ledger, messages: Range<usize>) -> Result<(), Error> {
        self.messages += messages.len();
        self.sum.add(ledger, self.open, messages)
    }

    /// The first message of the last turn.
    fn turn(&self, ledger: &Ledger) -> usize {
        let side = |message: usize| side(ledger.role[message]);
        let last = ledger.messages() - 1;
        (self.open..last).rfind(|before| side(*before) != side(last)).map_or(self.open, |before| before + 1)
    }

    /// Subtracts the thinking that was added, if the prompt drops it and a text of the user followed.
    fn forget(&mut self, ledger: &Ledger) {
        let prompt = ledger.terms.prompt;
        if prompt.form != Form::Plain && !prompt.keeps_thinking && ledger.words().is_some() {
            self.sum.forget();
        }
    }
}

/// Tokens of each message of a list with missing messages.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Each {
    /// Tokens of the messages, in order.
    pub tokens: Vec<u32>,
    /// Position of the first missing message, and the number of known messages behind it.
    next: usize,
    behind: usize,
    /// Thinking that a text of the user would remove: its message and its tokens.
    thought: Vec<(usize, u32)>,
}

impl Each {
    fn place(&self, nth: usize) -> usize {
        self.next + if nth > 0 { self.behind + nth } else { 0 }
    }
}

impl Sum for Each {
    /// Stores the tokens of the messages at their positions in the list.
    fn add(&mut self, ledger: &Ledger, open: usize, messages: Range<usize>) -> Result<(), Error> {
        let forgets = !ledger.is_free() && !ledger.terms.prompt.keeps_thinking;
        for message in messages {
            let place = self.place(message - open);
            if place >= self.tokens.len() {
                self.tokens.resize(place + 1, 0);
            }
            self.tokens[place] = ledger.cost(message)?;
            if forgets {
                let thinking = ledger.rows_of(message).filter(|row| ledger.kind[*row] == Kind::Thinking);
                self.thought.extend(thinking.map(|row| (place, ledger.tokens[row])));
            }
        }
        Ok(())
    }

    fn go_on(&mut self, nth: usize, added: usize) {
        let behind = if nth == 0 { self.behind } else { 0 };
        (self.next, self.behind) = (self.place(nth), behind + added);
    }

    fn forget(&mut self) {
        for (place, tokens) in self.thought.drain(..) {
            self.tokens[place] -= tokens;
        }
    }

    fn hide(&mut self) {
        self.tokens.fill(0);
        self.thought.clear();
    }
}

/// Number of rows, or of messages if they have no rows.
fn size(ledger: &Ledger) -> usize {
    ledger.rows().max(ledger.messages())
}

/// Whether messages from `start` on have a call, a result, thinking or a provider's compaction.
fn has_steps(ledger: &Ledger, start: usize) -> bool {
    let kinds = &ledger.kind[ledger.first[start] as usize..];
    kinds.iter().any(|kind| kind.is_call() || kind.is_result() || matches!(kind, Kind::Thinking | Kind::Compaction))
}

/// Message `index` with its calls that have no result before message `stop`, in a turn of its own apart from the one that
/// begins there; `None` without such calls.
fn opened(ledger: &Ledger, index: usize, stop: usize) -> Option<Ledger> {
    let (rows, behind) = (ledger.rows_of(index), ledger.first[stop] as usize);
    let is_closed = |row: usize| usize::try_from(ledger.pair[row]).is_ok_and(|pair| pair < behind);
    let is_open = |row: usize| ledger.kind[row].is_call() && !is_closed(row);
    if !rows.clone().any(is_open) {
        return None;
    }
    let mut open = ledger.between(index..index + 1);
    open.role = vec![opposite(ledger.role[stop])];
    for (kind, row) in open.kind.iter_mut().zip(rows) {
        *kind = if is_open(row) { *kind } else { Kind::Opaque };
    }
    Some(open)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counter::Counter;
    use crate::jsonl::Reader;
    use crate::prompt::Prompt;
    use crate::shape::Provider;
    use trimtab_tokens::Encoding;

    /// Lines of messages in any order: results before their calls, twice, never; ids again and again.
    fn lines(state: &mut u64, count: usize) -> Vec<String> {
        let mut next = |below: usize| {
            *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (*state >> 33) as usize % below
        };
        let mut line = |_| {
            let role = ["user", "user", "assistant", "assistant", "assistant", "system", "critic"][next(7)];
            let blocks: Vec<String> = (0..next(4))
                .map(|_| match (next(9), next(5)) {
                    (0, id) => format!(r#"{{"type": "tool_result", "tool_use_id": "{id}", "content": "ok {id}"}}"#),
                    (1, id) => format!(r#"{{"type": "tool_result", "tool_use_id": "{id}", "is_error": true}}"#),
                    (2 | 3, id) => format!(r#"{{"type": "tool_use", "id": "{id}", "name": "f{id}", "input": {{}}}}"#),
                    (4, id) => format!(r#"{{"type": "thinking", "thinking": "well {id}", "signature": "QUJD"}}"#),
                    (5, id) => format!(r#"{{"type": "server_tool_use", "id": "{id}", "name": "web", "input": {{}}}}"#),
                    (6, 4) => r#"{"type": "compaction", "content": null}"#.to_owned(),
                    (6, 2 | 3) => r#"{"type": "compaction", "content": "so far"}"#.to_owned(),
                    (_, id) => format!(r#"{{"type": "text", "text": "words {id}"}}"#),
                })
                .collect();
            format!("{{\"role\": \"{role}\", \"content\": [{}]}}\n", blocks.join(", "))
        };
        (0..count).map(&mut line).collect()
    }

    #[test]
    fn what_is_added_up_as_it_comes_is_what_the_whole_costs() {
        let prompt = Prompt { user: 3, assistant: 5, system: 7, again: 2, call: 11, calls: 13, ..Prompt::PLAIN };
        let prompt = Prompt { parallel: 17, result: 19, results: 23, each: 29, failed: 31, ..prompt };
        let prompt = Prompt { thinking: 37, thought: 41, keeps_thinking: false, ..prompt };
        let mut state = 1;
        for turn in 0..600 {
            let form = [Form::Plain, Form::Framed, Form::Tagged][turn % 3];
            let mut counter = Counter::from(Encoding::O200k);
            counter.prompt = Prompt { form, keeps_thinking: turn % 2 == 0, ..prompt };
            let lines = lines(&mut state, turn / 10);
            let provider = Some(Provider::Anthropic);
            let mut adding = Reader::<Sums<Totals>>::of(counter, provider);
            let mut counting = Reader::<Sums<Each>>::of(counter, provider);
            let mut keeping = Reader::new(counter, provider);
            for line in &lines {
                adding.take_line(line);
                counting.take_line(line);
                keeping.take_line(line);
            }
            let ledger = keeping.finish().unwrap().found;
            let mut whole = Totals::default();
            whole.add(&ledger, 0, 0..ledger.messages()).unwrap();
            assert_eq!(adding.finish().unwrap().found, whole, "{form:?} {lines:?}");
            assert_eq!(counting.finish().unwrap().found.tokens, ledger.per_message().unwrap(), "{form:?} {lines:?}");
        }
    }

    #[test]
    fn of_turns_that_end_and_calls_that_are_answered_little_is_kept() {
        let mut reader = Reader::<Sums<Totals>>::of(Counter::from(Encoding::O200k), Some(Provider::Anthropic));
        for _ in 0..100 {
            for (role, block) in [
                ("user", r#""type": "text", "text": "go""#),
                ("assistant", r#""type": "tool_use", "id": "a", "name": "f", "input": {}"#),
                ("user", r#""type": "tool_result", "tool_use_id": "a", "content": "ok""#),
            ] {
                reader.take_line(&format!("{{\"role\": \"{role}\", \"content\": [{{{block}}}]}}\n"));
                let kept = reader.collected().kept.messages();
                assert!(kept < 8, "{kept}");
            }
        }
        assert_eq!(reader.finish().unwrap().found.messages, 300);
    }
}
